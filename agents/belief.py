"""What the other may hold in the play between two: every hand that fits what was seen, and how likely.

A hand weighs as often as it is kept, as what the cards I have seen leave of it, and, for those who
know a strategy, as well as the cards he laid agree with it.
May import: crib_env, agents.pegging, agents.discards, agents.tables.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from agents.discards import removal
from agents.pegging import (
    DEALER,
    HAND_CARDS,
    N_HANDS,
    PONE,
    choices,
    laid_by,
    pack,
    pack_kept,
    place_at,
    rank_at,
    size_of,
    step,
    with_rank,
    write_opening,
)
from agents.tables.play import PLAYER, chances_at
from crib_env.cards import N_RANKS, pip_of, rank_of
from crib_env.state import GO_CARD, LOG_SEAT
from crib_env.view import count_not_mine

STRAYS = 0.05  # of hands are kept, and of cards laid, for reasons of the other's own

# What a thinker writes on.
MIND = np.dtype(
    [
        ("player", PLAYER),  # plays the other's hands out
        ("n", "i8"),
        ("hands", "i8", (N_HANDS,)),  # packed ranks the other may still hold
        ("weights", "f8", (N_HANDS,)),  # how likely each is, up to a factor
    ]
)


@njit(cache=True)
def list_hands(v, kept, numbers, hands, weights):
    """Every hand the other may hold, and how likely each is, up to a factor.

    Args:
        v: VIEW of one of two players, in the play.
        kept: float[1820], how often each hand is kept, up to a factor.
        numbers: `pegging.hand_numbers()`.
        hands: int64[1820], written: packed ranks.
        weights: float64[1820], written.
    Returns:
        How many there are.
    """
    unseen = np.empty(N_RANKS, np.float64)
    count_not_mine(v, unseen)
    laid = laid_by(v, 1)
    size = np.int64(v.cards_left[1])
    ranks = np.full(HAND_CARDS, first_rank(v.denied[1]), np.int64)
    n = 0
    going = True
    while going:
        hand = pack(ranks, size)
        whole = whole_hand(laid, hand)
        left = removal(whole, unseen)
        if left > 0:
            hands[n], weights[n] = hand, left * kept[numbers[whole]]
            n += 1
        going = next_multiset(ranks, size)
    return n


@njit(cache=True)
def draw_hands(n, samples, draw, hands, weights):
    """Draw from n weighted hands, in place.

    Systematic: marks stand at equal steps along the weights laid end to end, the first by chance. A
    hand is drawn as often as its weight says, give or take one, and played out once.

    Args:
        n: how many there are.
        samples: how many are drawn, one more or less by rounding.
        draw: in [0, 1).
        hands: int64[>= n], packed.
        weights: float64[>= n]; becomes how often each was drawn.
    Returns:
        How many different ones there are now.
    """
    step_length = weights[:n].sum() / samples
    mark = draw * step_length
    passed = 0.0
    found = 0
    for i in range(n):
        passed += weights[i]
        times = 0
        while mark < passed:
            mark += step_length
            times += 1
        if times:
            hands[found], weights[found] = hands[i], times
            found += 1
    return found


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
def weigh_by_play(view, strategy, mind):
    """Multiply the weight of each hand of the mind by how well it agrees with what the other laid and passed.

    Args:
        view: VIEW of one of two players, in the play.
        strategy: ENTRY[2**k], what the other is thought to play by.
        mind: MIND record, its hands listed; those that cannot be are taken out.
    """
    role = PONE if view.dealer == 0 else DEALER
    laid = laid_by(view, 1)
    n = 0
    for i in range(mind.n):
        weight = mind.weights[i] * agreement(view, whole_hand(laid, mind.hands[i]), role, strategy, mind.player)
        if weight > 0:
            mind.hands[n], mind.weights[n] = mind.hands[i], weight
            n += 1
    mind.n = n


@njit(cache=True)
def whole_hand(laid, held):
    """Two packed hands as one."""
    for k in range(size_of(held)):
        laid = with_rank(laid, rank_at(held, k))
    return laid


@njit(cache=True)
def agreement(view, whole, role, strategy, p):
    """How likely a player with the hand `whole` would have laid what was laid; 0 if his gos deny it. `p`: PLAYER."""
    mine = pack_kept(view, 0)
    if role == PONE:
        write_opening(p.line[0], whole, mine)
    else:
        write_opening(p.line[0], mine, whole)
    likely = 1.0
    d = 0
    for i in range(view.n_log):
        card = view.log[i] % LOG_SEAT
        if card == GO_CARD:
            continue
        his = view.log[i] >= LOG_SEAT
        s = p.line[d]
        if (s.turn == role) != his:
            return 0.0
        places, m = choices(s)
        a = choice_of(s, places, m, rank_of(card))
        if a < 0:
            return 0.0
        if his and m > 1 and s.hand[1 - role] != 0:
            chances_at(strategy, s, m, p.chances)
            likely *= STRAYS / m + (1 - STRAYS) * p.chances[a]
        step(s, place_at(places, a), p.line[d + 1])
        d += 1
    return likely if p.line[d].turn == 1 - role else 0.0


@njit(cache=True)
def choice_of(s, places, m, rank):
    """Which of the choices lays this rank; -1 if none does."""
    for a in range(m):
        if rank_at(s.hand[s.turn], place_at(places, a)) == rank:
            return a
    return -1
