"""What the other may hold in the play between two: every hand that fits what was seen, and how likely.

Weighs how often good players keep the hand, what the cards I have seen leave of it, and how well
the cards he laid, and his gos, agree with the solved play.
May import: crib_env, agents.pegging, agents.discards, agents.tables.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from agents.discards import removal
from agents.pegging import (
    CARD_BITS,
    DEALER,
    HAND_CARDS,
    MAX_CHOICES,
    MAX_LINE,
    N_HANDS,
    PONE,
    POSITION,
    choices,
    place_at,
    rank_at,
    step,
    with_rank,
    write_opening,
)
from agents.tables.play import chances_at
from crib_env.cards import N_RANKS, N_SUITS, NO_CARD, pip_of, rank_of
from crib_env.rules import MAX_DEALT
from crib_env.state import GO_CARD, LOG_SEAT

STRAYS = 0.05  # of hands are kept, and of cards laid, for reasons of the other's own

# What a thinker writes on: a PLAYER of `tables.deal` and the hands the other may still hold.
MIND = np.dtype(
    [
        ("line", POSITION, (MAX_LINE,)),
        ("chances", "f8", (MAX_CHOICES,)),
        ("chance", "u8"),  # state of the generator
        ("n", "i8"),
        ("hands", "i8", (N_HANDS,)),  # packed ranks still held
        ("weights", "f8", (N_HANDS,)),  # sum to one
        ("unseen", "f8", (N_RANKS,)),  # cards of each rank in neither my six nor the starter
    ]
)


@njit(cache=True)
def list_hands(view, prior, numbers, strategy, mind):
    """Write every hand the other may hold, and its weight, into the mind.

    Args:
        view: VIEW record, in the play, the looker to act.
        prior: float32[2, 1820], how often each hand is kept, by role, never zero.
        numbers: `pegging.hand_numbers()`.
        strategy: ENTRY[2**k], what he is thought to play by.
        mind: MIND record.
    """
    role = PONE if view.dealer == 0 else DEALER
    laid = laid_by_other(view)
    write_unseen(view, mind.unseen)
    left = np.int64(view.cards_left[1])
    ranks = np.full(HAND_CARDS, first_rank(view.denied[1]), np.int64)
    mind.n = 0
    total = 0.0
    while True:
        hand = np.int64(0)
        whole = laid
        for k in range(left):
            hand |= (ranks[k] + 1) << (CARD_BITS * k)
            whole = with_rank(whole, ranks[k])
        weight = removal(whole, mind.unseen)
        if weight > 0:
            weight *= prior[role, numbers[whole]]
            weight *= agreement(view, whole, role, strategy, mind)
        if weight > 0:
            mind.hands[mind.n] = hand
            mind.weights[mind.n] = weight
            mind.n += 1
            total += weight
        if not next_multiset(ranks, left):
            break
    for i in range(mind.n):
        mind.weights[i] /= total


@njit(cache=True)
def first_rank(denied):
    """The lowest rank that a go has not ruled out."""
    rank = 0
    while rank < N_RANKS and pip_of(rank) <= denied:
        rank += 1
    return rank


@njit(cache=True)
def next_multiset(ranks, n):
    """The next multiset of n ranks, the lowest rank last to change; False after the last one."""
    k = n - 1
    while k >= 0 and ranks[k] >= N_RANKS - 1:
        k -= 1
    if k < 0:
        return False
    ranks[k] += 1
    for later in range(k + 1, n):
        ranks[later] = ranks[k]
    return True


@njit(cache=True)
def laid_by_other(view):
    """The packed ranks the other has laid in this deal."""
    laid = np.int64(0)
    for i in range(view.n_log):
        card = view.log[i] % LOG_SEAT
        if view.log[i] >= LOG_SEAT and card != GO_CARD:
            laid = with_rank(laid, np.int64(rank_of(card)))
    return laid


@njit(cache=True)
def write_unseen(view, unseen):
    """Cards of each rank that are neither mine nor the starter, into `unseen` (float[13]); his laid ones count."""
    unseen[:] = N_SUITS
    for k in range(MAX_DEALT):
        unseen[rank_of(view.dealt[k])] -= 1
    if view.starter != NO_CARD:
        unseen[rank_of(view.starter)] -= 1


@njit(cache=True)
def agreement(view, whole, role, strategy, mind):
    """How likely a player with the hand `whole` would have laid what was laid; 0 if his gos deny it."""
    mine = np.int64(0)
    for k in range(HAND_CARDS):
        mine |= np.int64(rank_of(view.kept[k]) + 1) << (CARD_BITS * k)
    if role == PONE:
        write_opening(mind.line[0], whole, mine)
    else:
        write_opening(mind.line[0], mine, whole)
    likely = 1.0
    d = 0
    for i in range(view.n_log):
        card = view.log[i] % LOG_SEAT
        if card == GO_CARD:
            continue
        his = view.log[i] >= LOG_SEAT
        s = mind.line[d]
        if (s.turn == role) != his:
            return 0.0
        places, m = choices(s)
        a = choice_of(s, places, m, rank_of(card))
        if a < 0:
            return 0.0
        if his and m > 1 and s.hand[1 - role] != 0:
            chances_at(strategy, s, m, mind.chances)
            likely *= STRAYS / m + (1 - STRAYS) * mind.chances[a]
        step(s, place_at(places, a), mind.line[d + 1])
        d += 1
    return likely if mind.line[d].turn == 1 - role else 0.0


@njit(cache=True)
def choice_of(s, places, m, rank):
    """Which of the choices lays this rank; -1 if none does."""
    for a in range(m):
        if rank_at(s.hand[s.turn], place_at(places, a)) == rank:
            return a
    return -1
