"""What each discard is worth in points: the hand it keeps, the crib it feeds, the play of what is left.

May import: crib_env, agents.pegging.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from agents.pegging import CARD_BITS, DEALER, N_HANDS, all_hands, hand_numbers, rank_at
from crib_env.actions import KEEP_PLACES, N_DISCARDS
from crib_env.cards import N_CARDS, N_SUITS, rank_of
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


def kept_odds(crib: np.ndarray, peg: np.ndarray, deals: int, seed: int) -> np.ndarray:
    """How often each hand is kept, by role, over random deals and the best discards by `discard_points`.

    Args:
        crib: float32[2, 13, 13, 2], see `values.crib_table`.
        peg: float32[2, 1820], see `discard_points`.
        deals: how many deals, each seen by both roles.
        seed: decides the cards.
    Returns:
        float64[2, 1820], rows summing to one: [role, number of the hand].
    """
    counts = np.zeros((2, N_HANDS))
    _count_kept(crib, peg, hand_numbers(), deals, to_uint64(seed), counts)
    return counts / deals


@njit(cache=True)
def _count_kept(crib, peg, numbers, deals, seed, counts):
    pack = np.empty(N_CARDS, np.int8)
    dealt = np.empty(MAX_DEALT, np.int8)
    values = np.empty(N_DISCARDS, np.float32)
    for deal in range(deals):
        shuffle_into(pack, 2 * MAX_DEALT, seed, 0, deal)
        for role in range(2):
            write_sorted(pack, role * MAX_DEALT, MAX_DEALT, dealt)
            discard_points(dealt, role, crib, peg, numbers, values)
            counts[role, numbers[kept_hand(dealt, np.argmax(values))]] += 1


def dealt_odds() -> np.ndarray:
    """How often four cards from a full pack have these ranks: float64[1820]."""
    ways = np.ones(len(all_hands()))
    for i, hand in enumerate(all_hands().tolist()):
        ranks = [rank_at(hand, k) for k in range(HAND_CARDS)]
        for rank in set(ranks):
            ways[i] *= (1, 4, 6, 4, 1)[ranks.count(rank)]
    return ways / ways.sum()


@njit(cache=True)
def removal(hand, unseen):
    """How much likelier or rarer a packed hand is than before cards were seen; 0 if it cannot be.

    Args:
        hand: packed ranks.
        unseen: float[13], how many cards of each rank have not been seen.
    Returns:
        Ways to draw its ranks from the unseen cards over ways to draw them from a full pack.
    """
    ratio = 1.0
    left = 0.0
    full = 0.0
    before = -1
    for k in range(HAND_CARDS):
        rank = rank_at(hand, k)
        if rank < 0:
            break
        if rank != before:
            left, full = unseen[rank], N_SUITS
        if left <= 0:
            return 0.0
        ratio *= left / full
        left -= 1
        full -= 1
        before = rank
    return ratio


@njit(cache=True)
def count_out(hand, unseen):
    """A full pack's ranks less those of a packed hand, into `unseen` (float[13])."""
    unseen[:] = N_SUITS
    for k in range(HAND_CARDS):
        if rank_at(hand, k) >= 0:
            unseen[rank_at(hand, k)] -= 1
