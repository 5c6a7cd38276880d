"""What each discard is worth in points, and which hands are kept when the best discards are made.

A discard's worth: the hand it keeps, the crib it feeds, the play of what is left.
May import: crib_env, agents.pegging.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from agents.pegging import CARD_BITS, CARD_MASK, DEALER, N_HANDS, PONE, hand_numbers
from crib_env.actions import KEEP_PLACES, N_DISCARDS
from crib_env.cards import N_CARDS, N_RANKS, N_SUITS, rank_of
from crib_env.engine import write_sorted
from crib_env.rng import draw_unit, shuffle_into, to_uint64
from crib_env.rules import HAND_CARDS, MAX_DEALT
from crib_env.values import crib_values, expected_hands


@njit(cache=True)
def discard_points(dealt, role, crib, peg, numbers, values):
    """Expected net points of each discard in this deal, as far as the discard decides them.

    Args:
        dealt: int8[6], sorted.
        role: PONE or DEALER.
        crib: `crib_table()`.
        peg: float32[2, 1820], [role, number of the hand kept], net points in the play.
        numbers: `pegging.hand_numbers()`.
        values: float32[15], written.
    """
    cribs = np.empty(N_DISCARDS, np.float32)
    expected_hands(dealt, values)
    crib_values(dealt, role == DEALER, crib, cribs)
    for action in range(N_DISCARDS):
        values[action] += cribs[action] + peg[role, numbers[kept_hand(dealt, action)]]


@njit(cache=True)
def kept_hand(dealt, action):
    """The packed hand a discard keeps."""
    hand = np.int64(0)
    for k in range(HAND_CARDS):
        hand |= np.int64(rank_of(dealt[KEEP_PLACES[action, k]]) + 1) << (CARD_BITS * k)
    return hand


@njit(cache=True)
def choose_kept(dealt, role, crib, peg, numbers, values, spread, w):
    """The packed hand kept by the best discard, each judged with up to `spread` points of noise.

    `w` is a record whose field `chance` is the generator's state; `values` float32[15] is scratch.
    """
    discard_points(dealt, role, crib, peg, numbers, values)
    if spread > 0:
        for action in range(N_DISCARDS):
            values[action] += spread * draw_unit(w)
    return kept_hand(dealt, np.argmax(values))


def kept_prior(crib: np.ndarray, peg: np.ndarray, deals: int, seed: int) -> np.ndarray:
    """How often each hand is kept by the best discard, over random deals.

    Args:
        crib: `crib_table()`.
        peg: float32[2, 1820], see `discard_points`.
        deals: how many; each gives a hand of either role.
        seed: decides the cards.
    Returns:
        float64[2, 1820], [role, number of the hand], rows summing to one.
    """
    counts = np.zeros((2, N_HANDS))
    _count_kept(crib, peg, hand_numbers(), deals, to_uint64(seed), counts)
    return counts / deals


@njit(cache=True)
def _count_kept(crib, peg, numbers, deals, seed, counts):
    cards = np.empty(N_CARDS, np.int8)
    dealt = np.empty(MAX_DEALT, np.int8)
    values = np.empty(N_DISCARDS, np.float32)
    for deal in range(deals):
        shuffle_into(cards, 2 * MAX_DEALT, seed, 0, deal)
        for role in (PONE, DEALER):
            write_sorted(cards, role * MAX_DEALT, MAX_DEALT, dealt)
            discard_points(dealt, role, crib, peg, numbers, values)
            counts[role, numbers[kept_hand(dealt, np.argmax(values))]] += 1


@njit(cache=True)
def removal(theirs, mine):
    """Ways to hold one packed hand beside another, over the ways to hold it alone: card removal.

    The product over ranks of C(4 - mine, theirs) / C(4, theirs); 0 where five cards of a rank would be needed.
    """
    held = np.zeros(N_RANKS + 1, np.int64)  # by rank + 1
    while mine:
        held[mine & CARD_MASK] += 1
        mine >>= CARD_BITS
    ratio = 1.0
    before, alike = 0, 0
    while theirs:
        card = theirs & CARD_MASK
        alike = alike + 1 if card == before else 0
        ratio *= max(0, N_SUITS - held[card] - alike) / (N_SUITS - alike)
        before = card
        theirs >>= CARD_BITS
    return ratio
