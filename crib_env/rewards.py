"""Rewards by name, for two sides, zero-sum: what side 0 gains, side 1 loses. Never clipped.

    win     +1 to the winner, -1 to the loser, at the end of the game
    points  points pegged, mine less theirs, as they fall; a deal's net points run to about +-50
    match   match points to the winner at the end: 1, 2 for a skunk, 4 for a double skunk
            (free play, format `free_4`; at 61 a lurch counts 2)

Shaping, for `win` and `match`: `shaping * (mine - theirs) / target` is added as a potential
(Ng, Harada, Russell 1999), with potential zero at the end, so the best policy stays the same.
May import: rules, state.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from crib_env.rules import (
    DOUBLE_SKUNK_SCORE,
    LURCH_SCORE,
    SHORT_TARGET_POINTS,
    SKUNK_SCORE,
    TARGET_POINTS,
)
from crib_env.state import OVER

REWARDS = ("win", "points", "match")
WIN, POINTS, MATCH = range(3)
MATCH_POINTS = np.array([1, 2, 4], dtype=np.int64)  # plain win, skunk, double skunk


def reward_id(name: str) -> int:
    """Number of a reward by name; ValueError lists the names."""
    if name not in REWARDS:
        raise ValueError(f"unknown reward {name!r}: allowed are {', '.join(REWARDS)}")
    return REWARDS.index(name)


@njit(cache=True)
def skunk_level(loser_score, target):
    """0 plain win, 1 skunk (a lurch at 61), 2 double skunk, from the loser's final score.

    At 121: 90 is a skunk and 91 is not, 60 a double skunk and 61 not [ACC 1.6]. At 61 a lurch
    when the loser has not reached 31. Other targets know no skunk.
    """
    if target == SHORT_TARGET_POINTS:
        return int(loser_score <= LURCH_SCORE)
    if target == TARGET_POINTS:
        return int(loser_score <= SKUNK_SCORE) + int(loser_score <= DOUBLE_SKUNK_SCORE)
    return 0


@njit(cache=True)
def outcome(g, kind):
    """What side 0 is paid for the end of the game `g`: 0 while it goes on."""
    if g.phase != OVER or kind == POINTS:
        return 0.0
    worth = 1.0
    if kind == MATCH:
        worth = float(MATCH_POINTS[skunk_level(g.score[1 - g.winner], g.target)])
    return worth if g.winner == 0 else -worth


@njit(cache=True)
def potential(g, kind, shaping):
    """What side 0's lead is worth before the end: its differences are paid as they arise."""
    lead = float(g.score[0] - g.score[1])
    if kind == POINTS:
        return lead
    return 0.0 if g.phase == OVER else shaping * lead / g.target
