"""What cards score, in the show and in the play. Integers in, integers out; no state.

May import: cards, rules.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from crib_env.cards import JACK, card_id, cards_text, check_distinct, parse_cards, pip_of, rank_of, suit_of
from crib_env.rules import (
    FIFTEEN,
    FIFTEEN_POINTS,
    HAND_CARDS,
    MAX_COUNT,
    MIN_RUN,
    NOBS_POINTS,
    PAIR_POINTS,
    THIRTY_ONE_POINTS,
)

PILE_BITS = 4  # a packed pile has four bits a card
PILE_MASK = 15


def show_points(hand: Sequence[int], starter: int, is_crib: bool) -> int:
    """Points a hand or crib earns at the show.

    Args:
        hand: four card ids 0..51, any order, distinct.
        starter: card id, not in `hand`.
        is_crib: a crib's flush needs all five cards; a hand's needs its four.
    Returns:
        Points, 0..29; 19, 25, 26 and 27 are impossible.
    Raises:
        ValueError: not four cards, no card id, or a card twice.
    Source: ACC rules (fifteens, pairs, runs, flush, nobs); heels is never part of it.
    """
    cards = parse_cards(hand)
    if len(cards) != HAND_CARDS:
        raise ValueError(f"show_points: {len(cards)} cards came ({cards_text(cards)}); a hand has {HAND_CARDS}")
    cards.append(card_id(starter))
    check_distinct(cards, "show_points")
    a, b, c, d, turned = cards
    return int(show_five(a, b, c, d, turned, bool(is_crib)))


@njit(cache=True)
def show_five(a, b, c, d, starter, is_crib):
    """`show_points` for the engine: four ids and the starter, trusted, no checks."""
    points = rank_points((rank_of(a), rank_of(b), rank_of(c), rank_of(d), rank_of(starter)))
    points += flush_points(a, b, c, d, starter, is_crib)
    return points + nobs_points(a, b, c, d, starter)


@njit(cache=True)
def four_points(a, b, c, d):
    """What four cards of a hand count among themselves, before any starter is known."""
    points = rank_points((rank_of(a), rank_of(b), rank_of(c), rank_of(d)))
    return points + (HAND_CARDS if one_suit(a, b, c, d) else 0)


@njit(cache=True)
def rank_points(ranks):
    """Fifteens, pairs and runs among four or five ranks (a tuple): all that suits have no part in."""
    return fifteen_points(ranks) + pair_and_run_points(ranks)


@njit(cache=True)
def fifteen_points(ranks):
    """Two for every subset of the counting values that sums to fifteen.

    Multiplies out (1 + x^v) over the values v: four bits of one word hold the number of subsets
    with each sum 0..15. No sum is reached in more than ten ways, and what passes fifteen falls
    off the top.
    """
    ways = np.uint64(1)
    for rank in ranks:
        ways += ways << np.uint64(4 * pip_of(rank))
    return FIFTEEN_POINTS * np.int64(ways >> np.uint64(4 * FIFTEEN))


@njit(cache=True)
def pair_and_run_points(ranks):
    """Pairs, and the run (its length times the ways to form it), among four or five ranks."""
    # Four bits a rank hold how many cards of it there are; one bit a rank, whether there is any.
    counts = 0
    present = 0
    pairs = 0
    for rank in ranks:
        pairs += counts >> (4 * rank) & 15  # one pair with each card of this rank before it
        counts += 1 << (4 * rank)
        present |= 1 << rank
    starts = present & (present >> 1) & (present >> 2)  # where three neighbours begin
    if starts == 0:
        return PAIR_POINTS * pairs
    low = 0
    while not starts >> low & 1:
        low += 1
    length = 0
    ways = 1
    while present >> (low + length) & 1:
        ways *= counts >> (4 * (low + length)) & 15
        length += 1
    return PAIR_POINTS * pairs + length * ways


@njit(cache=True)
def flush_points(a, b, c, d, starter, is_crib):
    """Four for the hand in one suit, five with the starter; a crib only the five."""
    if not one_suit(a, b, c, d):
        return 0
    if suit_of(starter) == suit_of(a):
        return HAND_CARDS + 1
    return 0 if is_crib else HAND_CARDS


@njit(cache=True, inline="always")
def one_suit(a, b, c, d):
    """Whether four cards share a suit."""
    return suit_of(a) == suit_of(b) == suit_of(c) == suit_of(d)


@njit(cache=True)
def nobs_points(a, b, c, d, starter):
    """One for the jack of the starter's suit in hand or crib."""
    jack = JACK * 4 + suit_of(starter)
    # A jack starter is heels: then the jack of its suit is the starter itself.
    return NOBS_POINTS if jack in (a, b, c, d) else 0


@njit(cache=True)
def peg_points(ranks, n, count):
    """Points the last card of the count earns when laid: fifteen, thirty-one, pairs, run.

    Args:
        ranks: ranks of the cards since the count was last reset, oldest first; the first `n` count.
        n: how many cards lie there, 1..13.
        count: their counting values added up, 1..31.
    Returns:
        Points, 0..14. Go and last card are the engine's: they need to know who can still play.
    Source: ACC rules 7; each item a card completes is paid.
    """
    pile = np.int64(0)
    for i in range(n):
        pile = pile << PILE_BITS | (ranks[i] + 1)
    return pile_points(pile, count)


@njit(cache=True)
def pile_points(pile, count):
    """`peg_points` for a pile packed into one integer: four bits a card, rank + 1, the last lowest."""
    points = 0
    if count == FIFTEEN:
        points = FIFTEEN_POINTS
    elif count == MAX_COUNT:
        points = THIRTY_ONE_POINTS
    if pile & PILE_MASK == pile >> PILE_BITS & PILE_MASK:
        return points + tail_pair_points(pile)  # and no run: a rank twice spoils it
    return points + tail_run_points(pile)


@njit(cache=True)
def tail_pair_points(pile):
    """2, 6 or 12 for two, three or four equal ranks at the end."""
    last = pile & PILE_MASK
    alike = 1
    while pile >> (PILE_BITS * alike) & PILE_MASK == last:
        alike += 1
    return PAIR_POINTS * (alike * (alike - 1) // 2)


@njit(cache=True)
def tail_run_points(pile):
    """The largest k >= 3 such that the last k cards are k different neighbouring ranks."""
    card = pile & PILE_MASK
    seen = np.int64(1) << card
    low, high = card, card
    best = 0
    k = 1
    while True:
        pile >>= PILE_BITS
        card = pile & PILE_MASK
        if card == 0 or seen >> card & 1:
            return best  # the pile is at its end, or a rank twice spoils every longer tail
        seen |= np.int64(1) << card
        low = min(low, card)
        high = max(high, card)
        k += 1
        if high - low == k - 1 and k >= MIN_RUN:
            best = k
