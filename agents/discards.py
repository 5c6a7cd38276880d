"""What each discard is worth in points: the hand it keeps, the crib it feeds, the play of what is left.

May import: crib_env, agents.pegging.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from agents.pegging import CARD_BITS, DEALER
from crib_env.actions import KEEP_PLACES, N_DISCARDS
from crib_env.cards import rank_of
from crib_env.rng import draw_unit
from crib_env.rules import HAND_CARDS
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
