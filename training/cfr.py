"""Counterfactual regret minimisation for the play: external sampling, regrets floored at zero.

Owns the table of information sets and the walk that learns; `solve_play` owns the command, the
deals' discards and the files. One deal is two hands kept by given discards; each role in turn tries
every card it has while the other's are drawn from its present strategy. The average strategy, in
which later deals weigh more, is what nears an equilibrium (Lanctot et al. 2009, "Monte Carlo
sampling for regret minimization in extensive games"; Tammelin 2014, CFR+, for floor and weights).
May import: crib_env, agents.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from agents.discards import choose_kept
from agents.pegging import (
    DEALER,
    LEVEL,
    MAX_CHOICES,
    MAX_LINE,
    PONE,
    POSITION,
    choices,
    key_of,
    open_points,
    place_at,
    step,
    write_opening,
)
from agents.tables.play import draw_choice, place_of_key
from crib_env.actions import N_DISCARDS
from crib_env.engine import write_sorted
from crib_env.rng import shuffle_into
from crib_env.rules import MAX_DEALT

# One information set; an open-addressed hash table is an array of them, its length a power of two.
ROW = np.dtype(
    [
        ("key", "u8"),  # `pegging.key_of`; 0 where the row is free
        ("regret", "f4", (MAX_CHOICES,)),  # floored at zero, in the order of `pegging.choices`
        ("total", "f4", (MAX_CHOICES,)),  # weighted sum of the strategies played
    ]
)
MIX, EXPLORE, ONLY = range(3)  # what a walk does at a position

# What a walk keeps of each position on its way.
FRAME = np.dtype(
    [
        ("kind", "i8"),
        ("row", "i8"),
        ("places", "i8"),
        ("m", "i8"),
        ("a", "i8"),  # the choice being tried
        ("net", "f8"),  # what it pegged at once, for the pone
        ("sigma", "f8", (MAX_CHOICES,)),
        ("worth", "f8", (MAX_CHOICES,)),  # of each choice, for the player to move
    ]
)
WALK = np.dtype(
    [
        ("line", POSITION, (MAX_LINE,)),
        ("levels", LEVEL, (MAX_LINE,)),  # scratch of `pegging.open_points`
        ("frames", FRAME, (MAX_LINE,)),
        ("chance", "u8"),  # state of the generator
        ("filled", "i8"),  # rows in use
        ("explorer", "i8"),  # the role whose cards are all tried
        ("weight", "f8"),  # of this deal in the average
    ]
)


@njit(cache=True)
def learn(rows, w, first, n, seed, crib, peg, numbers, spread, averaging):
    """Walk deals `first` to `first + n - 1`, each twice for both roles; stops early when rows run out.

    Args:
        rows: ROW[2**k].
        w: WALK record.
        first: number of the first deal.
        n: how many.
        seed: decides the cards, uint64.
        crib: what discards go by, see `discards.choose_kept`.
        peg: likewise.
        numbers: likewise.
        spread: points of noise on each discard, so that every hand comes up.
        averaging: deal d weighs (1 + d / averaging) squared in the average.
    Returns:
        How many deals were walked.
    """
    pack = np.empty(52, np.int8)
    dealt = np.empty(MAX_DEALT, np.int8)
    values = np.empty(N_DISCARDS, np.float32)
    for deal in range(first, first + n):
        if w.filled > 0.7 * len(rows):
            return deal - first
        shuffle_into(pack, 2 * MAX_DEALT, seed, 0, deal)
        write_sorted(pack, 0, MAX_DEALT, dealt)
        pone_hand = choose_kept(dealt, PONE, crib, peg, numbers, values, spread, w)
        write_sorted(pack, MAX_DEALT, MAX_DEALT, dealt)
        dealer_hand = choose_kept(dealt, DEALER, crib, peg, numbers, values, spread, w)
        w.weight = (1 + deal / averaging) ** 2
        for turn in range(4):
            w.explorer = turn & 1
            write_opening(w.line[0], pone_hand, dealer_hand)
            walk(rows, w)
    return n


@njit(cache=True)
def walk(rows, w):
    """One walk from w.line[0], learning on the way; returns the pone's net points it came to.

    Goes down a position at a time and, once one hand is empty, up again to the last position
    with a choice left to try: a recursion with its own stack, which compiles once and can be cached.
    """
    d = 0
    while True:
        while w.line[d].hand[PONE] != 0 and w.line[d].hand[DEALER] != 0:
            enter(rows, w, d)
            try_choice(w, d)
            d += 1
        # Nothing is hidden and nobody answers any more: the best order is all there is to find.
        value = float(open_points(w.line, w.levels, d))
        while True:
            d -= 1
            if d < 0:
                return value
            f = w.frames[d]
            sign = 1.0 if w.line[d].turn == PONE else -1.0
            value += f.net
            if f.kind == EXPLORE:
                f.worth[f.a] = sign * value
                if f.a + 1 < f.m:
                    f.a += 1
                    try_choice(w, d)
                    d += 1
                    break
                value = sign * leave(rows, f)


@njit(cache=True, inline="always")
def try_choice(w, d):
    """Lay the card of the frame's present choice."""
    f = w.frames[d]
    f.net = step(w.line[d], place_at(f.places, f.a), w.line[d + 1])


@njit(cache=True)
def enter(rows, w, d):
    """Decide what to do at w.line[d]: try every card, or draw one from the strategy."""
    s = w.line[d]
    f = w.frames[d]
    f.places, f.m = choices(s)
    f.a = 0
    if f.m == 1:
        f.kind = ONLY
    else:
        f.row = find(rows, key_of(s), w)
        row = rows[f.row]
        write_strategy(row.regret, f.m, f.sigma)
        if s.turn == w.explorer:
            f.kind = EXPLORE
        else:
            f.kind = MIX
            f.a = draw_choice(f.sigma, f.m, w)
            for a in range(f.m):
                row.total[a] += w.weight * f.sigma[a]


@njit(cache=True)
def leave(rows, f):
    """The value of a position all of whose choices were tried, for its player; regrets follow."""
    mean = 0.0
    for a in range(f.m):
        mean += f.sigma[a] * f.worth[a]
    row = rows[f.row]
    for a in range(f.m):
        row.regret[a] = max(0.0, row.regret[a] + f.worth[a] - mean)
    return mean


@njit(cache=True)
def write_strategy(weights, m, sigma):
    """The first m weights as chances; even ones where all are zero."""
    total = 0.0
    for a in range(m):
        total += weights[a]
    for a in range(m):
        sigma[a] = weights[a] / total if total > 0 else 1.0 / m


@njit(cache=True)
def find(rows, key, w):
    """The row of an information set, taken into use if it is new."""
    i = place_of_key(rows, key)
    if rows[i].key == 0:
        rows[i].key = key
        w.filled += 1
    return i


@njit(cache=True)
def move_rows(rows, larger):
    """Copy every row in use to where it belongs in a larger table."""
    for i in range(len(rows)):
        if rows[i].key != 0:
            larger[place_of_key(larger, rows[i].key)] = rows[i]


def average_strategy(rows: np.ndarray, least_weight: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """The average strategy of every information set that was played with some weight.

    Args:
        rows: ROW[...], any of them free.
        least_weight: information sets whose strategies weigh less in sum are left out.
    Returns:
        keys uint64[N], rising, and chances float32[N, 4].
    """
    weight = rows["total"].sum(axis=1)
    known = rows[(rows["key"] != 0) & (weight > least_weight)]
    known = known[np.argsort(known["key"])]
    return known["key"].copy(), known["total"] / known["total"].sum(axis=1, keepdims=True)


def new_walk(seed: int) -> np.ndarray:
    """WALK[1], zeroed, its generator at the seed."""
    walks = np.zeros(1, dtype=WALK)
    walks["chance"] = seed & 0xFFFFFFFFFFFFFFFF
    return walks
