"""Deals as a pure function of (seed, game, deal): nothing that was played can change them.

Counter-based: each game and deal has its own stream, so game 7 is the same in a batch of one
and of 4,096, and two players can meet the same cards twice with seats swapped.
May import: cards.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from crib_env.cards import N_CARDS

# SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_GAME_STEP = np.uint64(0xD1B54A32D192ED03)  # odd, so distinct games and deals get distinct keys
_DEAL_STEP = np.uint64(0x8CB92BA72F3D8DD7)
_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_TO_UNIT = 2.0**-32
_FIRST_DEALER = -1  # the stream, among a game's deals, that the first dealer is drawn from


def deal_cards(seed: int, game: int, deal: int) -> np.ndarray:
    """The shuffled pack of one deal.

    Args:
        seed: any integer; its low 64 bits count.
        game: number of the game under that seed, from 0.
        deal: number of the deal in that game, from 0.
    Returns:
        int8[52], a permutation of the card ids. Cards are taken from the front: the first
        seat's hand, the next seat's, ..., the crib's card from the pack (three players), the starter.
    """
    pack = np.empty(N_CARDS, dtype=np.int8)
    shuffle_into(pack, N_CARDS, to_uint64(seed), int(game), int(deal))
    return pack


def to_uint64(seed: int) -> np.uint64:
    """The low 64 bits of any integer, negative ones too."""
    return np.uint64(int(seed) & 0xFFFFFFFFFFFFFFFF)


@njit(cache=True)
def mix64(x):
    """SplitMix64's finaliser: a bijection on 64 bits that looks random."""
    x = (x ^ (x >> _S30)) * _MIX_A
    x = (x ^ (x >> _S27)) * _MIX_B
    return x ^ (x >> _S31)


@njit(cache=True)
def stream_key(seed, game, deal):
    """Where the stream of one deal begins."""
    key = mix64(np.uint64(seed) + _GAMMA)
    key = mix64(key + np.uint64(game + 1) * _GAME_STEP)
    return mix64(key + np.uint64(deal + 2) * _DEAL_STEP)


@njit(cache=True)
def shuffle_into(pack, n, seed, game, deal):
    """Write the first `n` cards of the deal into `pack` (int8[52]); the rest is left unshuffled.

    A forward Fisher-Yates shuffle, so the first n cards do not depend on n. A draw below m takes
    the high half of a 32 x 32 bit product; its bias is under m / 2**32, one part in 80 million.
    """
    for i in range(N_CARDS):
        pack[i] = i
    key = stream_key(seed, game, deal)
    for i in range(n):
        key += _GAMMA
        draw = mix64(key) >> _S32
        j = i + np.int64((draw * np.uint64(N_CARDS - i)) >> _S32)
        pack[i], pack[j] = pack[j], pack[i]


@njit(cache=True)
def first_dealer(seed, game, players):
    """Seat that deals first: even chances, from a stream of its own."""
    draw = stream_key(seed, game, _FIRST_DEALER) >> _S32
    return np.int64((draw * np.uint64(players)) >> _S32)


@njit(cache=True)
def draw_unit(w):
    """A number in [0, 1), 32 bits of it; `w` is a record whose field `chance` is the state and moves on."""
    w.chance += _GAMMA
    return np.float64(mix64(w.chance) >> _S32) * _TO_UNIT
