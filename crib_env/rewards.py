"""Rewards by name, for a side, zero-sum over the sides: partners share theirs. Never clipped.

    win     +1 to the winner at the end of the game, -1 to the loser; each of two losers -1/2
    points  points pegged, mine less theirs, as they fall; a deal's net points run to about +-50
    match   match points to the winner at the end: 1, 2 for a skunk, 4 for a double skunk
            (free play, format `free_4`; at 61 a lurch counts 2). Two sides: none are known for three

`theirs` is the mean of the other sides'. Shaping, for `win` and `match`: `shaping * (mine - theirs)
/ target` is added as a potential
(Ng, Harada, Russell 1999), with potential zero at the end, so the best policy stays the same.
For learning there is also a steadier form of `points` (`play_lead`, `mean_show`): the show and
heels are paid when the last discard is made, at their mean over every starter that could be
turned. What it pays for any way of playing has the same mean; the luck of the cut is gone, and the
show no longer drowns what was won in the play.
May import: cards, rules, scoring, state.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from crib_env.cards import JACK, N_CARDS, rank_of
from crib_env.rules import (
    DOUBLE_SKUNK_SCORE,
    HEELS_POINTS,
    LURCH_SCORE,
    SHORT_TARGET_POINTS,
    SKUNK_SCORE,
    TARGET_POINTS,
)
from crib_env.scoring import show_five
from crib_env.state import OVER, TALLY_PLAY

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
def outcome(g, kind, side):
    """What `side` is paid for the end of the game `g`: 0 while it goes on."""
    if g.phase != OVER or kind == POINTS:
        return 0.0
    worth = 1.0
    if kind == MATCH:
        worth = float(MATCH_POINTS[skunk_level(g.score[1 - g.winner], g.target)])
    return worth if g.winner == side else -worth / (g.sides - 1)


@njit(cache=True)
def potential(g, kind, shaping, side):
    """What the lead of `side` is worth before the end: its differences are paid as they arise."""
    if kind == POINTS:
        return lead_of(g, side)
    return 0.0 if g.phase == OVER else shaping * lead_of(g, side) / g.target


@njit(cache=True, inline="always")
def lead_of(g, side):
    """Score of `side` less the mean of the others'."""
    total = 0
    for other in range(g.sides):
        total += g.score[other]
    return g.score[side] - (total - g.score[side]) / (g.sides - 1)


@njit(cache=True)
def standings_one(games, i, kind, shaping, standings):
    """What each side of games[i] has been paid or stands to be: its differences are the rewards.

    Args:
        games: GAME[B].
        i: which of them.
        kind: `reward_id`.
        shaping: weight of the score potential.
        standings: float64[sides], written.
    """
    for side in range(len(standings)):
        standings[side] = outcome(games[i], kind, side) + potential(games[i], kind, shaping, side)


def check_reward(name: str, sides: int) -> int:
    """Number of a reward that `sides` sides can be paid by.

    Raises:
        ValueError: no such reward, or match points for three.
    """
    kind = reward_id(name)
    if kind == MATCH and sides != 2:
        raise ValueError(f'reward "match" with {sides} sides: match points are known for two; take "win" or "points"')
    return kind


@njit(cache=True)
def play_lead(g):
    """Points side 0 pegged in the play of this game less side 1's; two players."""
    lead = g.tally[0, TALLY_PLAY] + g.tally[0, TALLY_PLAY + 1]
    return float(lead - g.tally[1, TALLY_PLAY] - g.tally[1, TALLY_PLAY + 1])


@njit(cache=True)
def mean_show(g):
    """Heels, hands and crib of this deal for side 0 less side 1, averaged over the starters.

    Two players, discards made. Knows every card, as a reward may and a view may not. The starter
    turned is one of the 40 that could have been, all alike.
    """
    held = 0
    for seat in range(2):
        for k in range(g.dealt_cards):
            held |= 1 << g.dealt[seat, k]
    total = 0
    starters = 0
    dealer_sign = 1 if g.dealer == 0 else -1
    for starter in range(N_CARDS):
        if held >> starter & 1:
            continue
        starters += 1
        total += show_of(g.kept[0], starter, False) - show_of(g.kept[1], starter, False)
        total += dealer_sign * show_of(g.crib, starter, True)
        if rank_of(starter) == JACK:
            total += dealer_sign * HEELS_POINTS
    return total / starters


@njit(cache=True, inline="always")
def show_of(cards, starter, is_crib):
    """`show_five` of four cards in an array."""
    return show_five(cards[0], cards[1], cards[2], cards[3], starter, is_crib)
