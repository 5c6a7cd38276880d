"""The play between two as a small game in ranks: its positions, moves and information sets.

Suits mean nothing in the play, so a hand is a multiset of ranks, packed into one integer, and a
position is a few integers: what the solver walks through millions of times a second and what
search and `expert` think with. Points come from `scoring.peg_points`; who plays next is the
engine's rule for two (a test plays both side by side). The seats here are roles.
May import: crib_env.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from crib_env.cards import N_RANKS, pip_of
from crib_env.rules import GO_POINTS, HAND_CARDS, MAX_COUNT
from crib_env.scoring import peg_points

PONE, DEALER = 0, 1
NOBODY = -1  # to play: all cards are down
MAX_LAID = 2 * HAND_CARDS
N_HANDS = 1820  # multisets of four ranks with at most four of each, 13 multichoose 4

# A packed hand has four bits a card, rank + 1, lowest rank in the lowest bits, zero above.
CARD_BITS = 4
CARD_MASK = 15


class Position(NamedTuple):
    """Where the play stands. Pairs are by role, pone first.

    Attributes:
        turn: PONE or DEALER, who has a card that fits; NOBODY when the play is over.
        last: who laid the last card of this count, NOBODY before its first.
        passed: whether the other said go in this count.
        count: 0..30.
        pile: cards of this count, four bits each, rank + 1, the last in the lowest bits.
        hands: packed ranks still held.
        laid: packed ranks laid in this deal.
        denied: gos proved that no card of this value or less is held.
    """

    turn: int
    last: int
    passed: bool
    count: int
    pile: int
    hands: tuple[int, int]
    laid: tuple[int, int]
    denied: tuple[int, int]


@njit(cache=True)
def opening(pone_hand, dealer_hand):
    """The position before the pone's lead, from two packed hands."""
    zero = np.int64(0)
    hands = (np.int64(pone_hand), np.int64(dealer_hand))
    return Position(np.int64(PONE), np.int64(NOBODY), False, zero, zero, hands, (zero, zero), (zero, zero))


@njit(cache=True)
def pack(ranks, n):
    """Pack the first n ranks of an array that is sorted, lowest first."""
    hand = np.int64(0)
    for k in range(n):
        hand |= np.int64(ranks[k] + 1) << (CARD_BITS * k)
    return hand


@njit(cache=True, inline="always")
def rank_at(hand, k):
    """The k-th lowest rank of a packed hand; -1 where it has no card."""
    return (hand >> (CARD_BITS * k) & CARD_MASK) - 1


@njit(cache=True, inline="always")
def without(hand, k):
    """A packed hand less its k-th card."""
    below = (1 << (CARD_BITS * k)) - 1
    return (hand & below) | (hand >> CARD_BITS & ~below)


@njit(cache=True)
def with_rank(hand, rank):
    """A packed hand and one card more."""
    k = 0
    while 0 <= rank_at(hand, k) <= rank:
        k += 1
    below = (1 << (CARD_BITS * k)) - 1
    return (hand & below) | (rank + 1) << (CARD_BITS * k) | (hand & ~below) << CARD_BITS


@njit(cache=True)
def size_of(hand):
    """How many cards a packed hand has."""
    n = 0
    while hand:
        hand >>= CARD_BITS
        n += 1
    return n


@njit(cache=True)
def choices(s):
    """The different cards the player to move may lay.

    Returns:
        places: four bits each, the place in his hand of the first card of each rank that fits,
            lowest rank in the lowest bits.
        m: how many.
    """
    hand = s.hands[s.turn]
    places = np.int64(0)
    m = np.int64(0)
    before = -1
    for k in range(HAND_CARDS):
        rank = rank_at(hand, k)
        if rank < 0 or pip_of(rank) > MAX_COUNT - s.count:
            break
        if rank != before:
            places |= np.int64(k) << (CARD_BITS * m)
            m += 1
        before = rank
    return places, m


@njit(cache=True, inline="always")
def fits(hand, count):
    """Whether the lowest card of a packed hand can be laid on the count."""
    return hand != 0 and pip_of(rank_at(hand, 0)) <= MAX_COUNT - count


@njit(cache=True, inline="always")
def for_role(role, points):
    """Points of a role as the pone's net."""
    return points if role == PONE else -points


@njit(cache=True, inline="always")
def replaced(pair, role, value):
    """A pair with one role's value changed."""
    return (value, pair[1]) if role == PONE else (pair[0], value)


@njit(cache=True)
def laid_points(s, rank, scratch):
    """What laying a card of this rank pegs by itself. `scratch` is int8[8]."""
    n = size_of(s.pile)
    for i in range(n):
        scratch[n - 1 - i] = rank_at(s.pile, i)
    scratch[n] = rank
    return peg_points(scratch, n + 1, s.count + pip_of(rank))


@njit(cache=True)
def step(s, k, scratch):
    """Lay the k-th card of the player to move and go on to the next card anyone can lay.

    Returns:
        The pone's net points up to there, go and last card among them, and the new position.
    """
    role, other = s.turn, 1 - s.turn
    rank = rank_at(s.hands[role], k)
    count = s.count + pip_of(rank)
    points = laid_points(s, rank, scratch)
    hands = replaced(s.hands, role, without(s.hands[role], k))
    laid = replaced(s.laid, role, with_rank(s.laid[role], rank))
    if hands[PONE] == 0 and hands[DEALER] == 0:
        points += GO_POINTS if count < MAX_COUNT else 0
        over = Position(np.int64(NOBODY), role, False, count, np.int64(0), hands, laid, s.denied)
        return for_role(role, points), over
    if count == MAX_COUNT:
        return for_role(role, points), new_count(role, hands, laid, s.denied)
    pile = s.pile << CARD_BITS | (rank + 1)
    passed = s.passed
    denied = s.denied
    if not passed and hands[other] != 0:
        if fits(hands[other], count):
            return for_role(role, points), Position(other, role, False, count, pile, hands, laid, denied)
        passed = True
        denied = replaced(denied, other, max(denied[other], MAX_COUNT - count))
    if fits(hands[role], count):
        return for_role(role, points), Position(role, role, passed, count, pile, hands, laid, denied)
    denied = replaced(denied, role, max(denied[role], MAX_COUNT - count))
    return for_role(role, points + GO_POINTS), new_count(role, hands, laid, denied)


@njit(cache=True)
def new_count(last, hands, laid, denied):
    """The next count's beginning: the lead goes to the other of who laid last, if he has cards."""
    turn = 1 - last if hands[1 - last] != 0 else last
    return Position(turn, np.int64(NOBODY), False, np.int64(0), np.int64(0), hands, laid, denied)


@njit(cache=True)
def live_tail(pile, count, cards_left):
    """The end of the pile that can still matter to pairs or runs, packed like it.

    A rank met twice kills all runs across it, and so does a gap that the cards left, or the room
    up to 31, cannot fill. What lies before has no bearing on any later point.
    """
    last = pile & CARD_MASK
    alike = 1
    while pile >> (CARD_BITS * alike) & CARD_MASK == last:
        alike += 1
    if alike > 1:
        return pile & ((1 << (CARD_BITS * alike)) - 1)
    room = MAX_COUNT - count
    seen = np.int64(0)
    length = 0
    live = np.int64(1)
    low, high = last, last
    while True:
        card = pile >> (CARD_BITS * length) & CARD_MASK
        if card == 0 or seen >> card & 1:
            break
        seen |= 1 << card
        low, high = min(low, card), max(high, card)
        length += 1
        gaps = high - low + 1 - length
        if gaps <= cards_left and run_room(seen, low, high) <= room:
            live = length
    return pile & ((1 << (CARD_BITS * live)) - 1)


@njit(cache=True)
def run_room(seen, low, high):
    """Least count it takes to make these ranks (each + 1) part of a longer run."""
    needed = 0
    for card in range(low + 1, high):
        if not seen >> card & 1:
            needed += pip_of(card - 1)
    if needed == 0:  # already neighbours: one more at either end, the lower end costing less
        needed = pip_of(low - 2) if low > 1 else pip_of(high)
    return needed


@njit(cache=True)
def key_of(s):
    """The information set of the player to move, as a number of 60 bits, never zero.

    Own ranks held, ranks the other laid, the live end of the pile, the count, what the other's
    gos denied, whether he said go in this count, the role. How many cards he holds follows.
    Only for positions with a choice against hidden cards: at most five cards lie then.
    """
    role, other = s.turn, 1 - s.turn
    left = size_of(s.hands[PONE]) + size_of(s.hands[DEALER])
    tail = live_tail(s.pile, s.count, left) if s.pile else np.int64(0)
    key = s.hands[role] | s.laid[other] << 16 | tail << 28 | s.count << 48
    key |= s.denied[other] << 53 | np.int64(s.passed) << 57 | role << 58 | np.int64(1) << 59
    return np.uint64(key)


def all_hands() -> np.ndarray:
    """Every packed hand of four: int64[1820], in rising order of their sorted ranks."""
    hands = np.empty(N_HANDS, dtype=np.int64)
    _fill_hands(hands)
    return hands


@njit(cache=True)
def _fill_hands(hands):
    i = 0
    ranks = np.empty(HAND_CARDS, np.int64)
    for a in range(N_RANKS):
        for b in range(a, N_RANKS):
            for c in range(b, N_RANKS):
                for d in range(c, N_RANKS):
                    ranks[0], ranks[1], ranks[2], ranks[3] = a, b, c, d
                    hands[i] = pack(ranks, HAND_CARDS)
                    i += 1


def hand_numbers() -> np.ndarray:
    """From packed hand to its place in `all_hands`: int16[65536], -1 where there is none."""
    numbers = np.full(1 << (CARD_BITS * HAND_CARDS), -1, dtype=np.int16)
    numbers[all_hands()] = np.arange(N_HANDS)
    return numbers
