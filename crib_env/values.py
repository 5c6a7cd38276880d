"""What cards are worth on average: a kept hand over its starters, a discard in the crib.

The expected hand is exact. The crib table is data, computed by `python -m agents.tables.crib`
from nothing but these rules, and kept here because the `rich` encoding needs it.
May import: cards, rules, scoring, actions.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import numpy as np
from numba import njit

from crib_env.actions import DISCARD_PLACES, KEEP_PLACES, KEEP_PLACES_OF_FIVE, N_DISCARDS
from crib_env.cards import JACK, N_CARDS, N_RANKS, N_SUITS, pip_of, rank_of, suit_of
from crib_env.rules import FEW_DEALT, HAND_CARDS, MAX_COUNT, MAX_DEALT
from crib_env.scoring import one_suit, peg_points, rank_points

OWN_CRIB, THEIR_CRIB = 0, 1  # first axis of the crib table
CRIB_TABLE_SHAPE = (2, N_RANKS, N_RANKS, 2)


@lru_cache(maxsize=1)
def crib_table() -> np.ndarray:
    """Expected points of the crib that two discards go to.

    Returns:
        float32[2, 13, 13, 2], read-only: [own or their crib, rank, rank, suited]. Symmetric in the
        ranks; a pair is never suited. Source and accuracy: `agents/tables/crib.py`.
    """
    table = np.load(str(files("crib_env").joinpath("crib_table.npy")))
    table.setflags(write=False)
    return table


@njit(cache=True)
def expected_hands(dealt, values):
    """Exact mean show points of each of the fifteen hands that can be kept, over 46 starters.

    Args:
        dealt: int8[6], the six cards, sorted.
        values: float32[15], written: one for each discard action.
    """
    left = np.full(N_RANKS, N_SUITS, np.int64)  # starters still possible, by rank
    suit_left = np.full(N_SUITS, N_RANKS, np.int64)
    for k in range(MAX_DEALT):
        left[rank_of(dealt[k])] -= 1
        suit_left[suit_of(dealt[k])] -= 1
    for action in range(N_DISCARDS):
        a = dealt[KEEP_PLACES[action, 0]]
        b = dealt[KEEP_PLACES[action, 1]]
        c = dealt[KEEP_PLACES[action, 2]]
        d = dealt[KEEP_PLACES[action, 3]]
        total = rank_totals(a, b, c, d, left) + suit_totals(a, b, c, d, suit_left, N_CARDS - MAX_DEALT)
        values[action] = total / (N_CARDS - MAX_DEALT)


@njit(cache=True)
def expected_hands_of_five(dealt, values):
    """`expected_hands` with three and four players: five cards are dealt, one is laid away, 47 starters.

    Args:
        dealt: int8[>= 5], the five cards first, sorted.
        values: float32[5], written: one for each card that can be laid away.
    """
    left = np.full(N_RANKS, N_SUITS, np.int64)
    suit_left = np.full(N_SUITS, N_RANKS, np.int64)
    for k in range(FEW_DEALT):
        left[rank_of(dealt[k])] -= 1
        suit_left[suit_of(dealt[k])] -= 1
    for away in range(FEW_DEALT):
        a = dealt[KEEP_PLACES_OF_FIVE[away, 0]]
        b = dealt[KEEP_PLACES_OF_FIVE[away, 1]]
        c = dealt[KEEP_PLACES_OF_FIVE[away, 2]]
        d = dealt[KEEP_PLACES_OF_FIVE[away, 3]]
        total = rank_totals(a, b, c, d, left) + suit_totals(a, b, c, d, suit_left, N_CARDS - FEW_DEALT)
        values[away] = total / (N_CARDS - FEW_DEALT)


@njit(cache=True, inline="always")
def rank_totals(a, b, c, d, left):
    """Fifteens, pairs and runs of a hand, summed over the starters: `left` counts them by rank."""
    total = 0
    for rank in range(N_RANKS):
        total += left[rank] * rank_points((rank_of(a), rank_of(b), rank_of(c), rank_of(d), rank))
    return total


@njit(cache=True)
def suit_totals(a, b, c, d, suit_left, starters):
    """Flush and nobs of a hand, summed over the starters: `suit_left` counts them by suit."""
    total = 0
    for card in (a, b, c, d):
        if rank_of(card) == JACK:
            total += suit_left[suit_of(card)]
    if one_suit(a, b, c, d):
        total += HAND_CARDS * starters + suit_left[suit_of(a)]
    return total


@njit(cache=True)
def crib_values(dealt, i_deal, table, values):
    """Table value of the crib for each discard, with the looker's sign: plus when he deals.

    Args:
        dealt: int8[6], the six cards, sorted.
        i_deal: whether the crib is his.
        table: `crib_table()`.
        values: float32[15], written.
    """
    whose = OWN_CRIB if i_deal else THEIR_CRIB
    for action in range(N_DISCARDS):
        a = dealt[DISCARD_PLACES[action, 0]]
        b = dealt[DISCARD_PLACES[action, 1]]
        worth = table[whose, rank_of(a), rank_of(b), np.int64(suit_of(a) == suit_of(b))]
        values[action] = worth if i_deal else -worth


@njit(cache=True)
def reply_points(pile, n, count, denied, unseen):
    """Points a next card laid on the pile would peg, summed over the cards it may be.

    Args:
        pile: int8[>= n + 1], ranks since the last reset, oldest first; place n is overwritten.
        n: cards in it.
        count: their counting values added up.
        denied: the next player is known to hold no card of this value or less.
        unseen: float[13], how many cards of each rank he may hold.
    """
    total = 0.0
    for rank in range(N_RANKS):
        if unseen[rank] > 0 and denied < pip_of(rank) <= MAX_COUNT - count:
            pile[n] = rank
            total += unseen[rank] * peg_points(pile, n + 1, count + pip_of(rank))
    return total
