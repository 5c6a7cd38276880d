"""Luck of the cards, in games won: what a control variate takes out of a match's result.

Two chance events have known odds. Six cards are dealt to each seat out of all that could have
been, and the starter is one of the forty that nobody holds, whatever was discarded. For each the
match notes what the cards that came were worth less what they are worth on average, so the luck of
a match has mean zero whoever plays and however badly the worth is judged: taking any fixed multiple
of it away leaves the mean of the result alone. In the spirit of AIVAT (Burch et al. 2018). How well
the worth is judged decides only how much narrower the interval becomes.
May import: crib_env, agents.tables.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import njit

from agents.tables.win import win_table
from crib_env.actions import N_DISCARDS
from crib_env.cards import JACK, N_CARDS, rank_of
from crib_env.rewards import show_of
from crib_env.rules import HEELS_POINTS, MAX_DEALT, TARGET_POINTS
from crib_env.values import crib_table, crib_values, expected_hands

LUCK_OF = ("hands", "starter")

# Mean over all 20,358,520 six-card deals of the best discard's exact hand plus (dealer) or minus
# (pone) its table crib. `python -m training.luck` counts them again.
MEAN_DEALT = np.array([12.691330455841653, 3.407227757975219])  # dealer, pone

# Points of one deal in good play, by role (Chambers, Colvert).
DEALER_MEAN, PONE_MEAN = 16.2, 10.2
# What the play brings each, on average, and how it is spread: (dealer, pone, weight).
PLAYS = np.array([(1, 0, 0.25), (3, 1, 0.3), (4, 3, 0.3), (7, 5, 0.15)])
_SLOPE_POINTS = 4


@lru_cache(maxsize=4)
def win_odds(target: int) -> np.ndarray:
    """Chance that whoever deals next wins: float64[target, target], [his score, the other's].

    From the table of win probability; to more than 121 points, as if the rest were 121.
    """
    needs = np.minimum(target - np.arange(target), TARGET_POINTS)
    return win_table()[np.ix_(needs, needs)].astype(np.float64)


@njit(cache=True)
def odds_after(odds, dealer_score, pone_score, pone_hand, dealer_hand):
    """Dealer's chance once both have pegged so much and hands (and crib) count; pone's counts first."""
    target = len(odds)
    if dealer_score >= target:
        return 1.0
    if pone_score + pone_hand >= target:
        return 0.0
    if dealer_score + dealer_hand >= target:
        return 1.0
    return 1 - odds[pone_score + pone_hand, dealer_score + dealer_hand]


@njit(cache=True)
def starter_worth(odds, plays, kept, crib, dealer, scores, starter):
    """Dealer's chance of winning with this starter, the play at its usual spread.

    `kept` is int8[2, 4] by seat, `crib` int8[4], `dealer` a seat, `scores` by seat, before heels.
    """
    pone = 1 - dealer
    mine = scores[dealer] + (HEELS_POINTS if rank_of(starter) == JACK else 0)
    pone_hand = show_of(kept[pone], starter, False)
    dealer_hand = show_of(kept[dealer], starter, False) + show_of(crib, starter, True)
    worth = 0.0
    for k in range(len(plays)):
        worth += plays[k, 2] * odds_after(
            odds, mine + np.int64(plays[k, 0]), scores[pone] + np.int64(plays[k, 1]), pone_hand, dealer_hand
        )
    return worth


@njit(cache=True)
def starter_luck(odds, plays, held, kept, crib, dealer, scores, turned):
    """Worth of the starter turned less the mean over all that could have been: dealer's, in games.

    `held` has bit c for each of the twelve cards dealt.
    """
    total = 0.0
    n = 0
    for starter in range(N_CARDS):
        if not held >> starter & 1:
            total += starter_worth(odds, plays, kept, crib, dealer, scores, starter)
            n += 1
    return starter_worth(odds, plays, kept, crib, dealer, scores, turned) - total / n


@njit(cache=True)
def hands_luck(odds, dealer, scores, dealer_best, pone_best, means):
    """What better hands than usual are worth to the dealer, in games.

    Linear in both, with slopes that depend on the scores alone, so that its mean is exactly zero.
    """
    mine = scores[dealer] + np.int64(DEALER_MEAN)
    theirs = scores[1 - dealer] + np.int64(PONE_MEAN)
    step = _SLOPE_POINTS
    for_dealer = odds_after(odds, mine + step, theirs, 0, 0) - odds_after(odds, mine - step, theirs, 0, 0)
    for_pone = odds_after(odds, mine, theirs + step, 0, 0) - odds_after(odds, mine, theirs - step, 0, 0)
    return (for_dealer * (dealer_best - means[0]) + for_pone * (pone_best - means[1])) / (2 * step)


@njit(cache=True)
def mean_dealt(table):
    """`MEAN_DEALT`, from every six-card deal: float64[2], minutes."""
    dealt = np.arange(MAX_DEALT).astype(np.int8)
    hands = np.empty(N_DISCARDS, np.float32)
    cribs = np.empty(N_DISCARDS, np.float32)
    total = np.zeros(2)
    n = 0
    while True:
        expected_hands(dealt, hands)
        for role in range(2):
            crib_values(dealt, role == 0, table, cribs)
            total[role] += (hands + cribs).max()
        n += 1
        place = MAX_DEALT - 1
        while place >= 0 and dealt[place] == N_CARDS - MAX_DEALT + place:
            place -= 1
        if place < 0:
            return total / n
        dealt[place] += 1
        for later in range(place + 1, MAX_DEALT):
            dealt[later] = dealt[later - 1] + 1


if __name__ == "__main__":
    print("MEAN_DEALT, dealer and pone:", *mean_dealt(crib_table()))
