"""Rates and their intervals from mirrored pairs. May import: crib_env.rewards, arena.

The two games of a pair share their cards and are not independent: intervals come from the pair's
mean, one number a pair (lost both, split, won both), as fishtest does with its pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from crib_env.rewards import skunk_level
from training.arena import SCORED_BY, MatchResult

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Summary:
    """A match in figures; rates are of all games, from A's side.

    Attributes:
        pairs, games: how many were played.
        win_rate: share of games A won, 0..1.
        ci95: low and high end of its 95 % interval, from pair outcomes.
        skunk_rate: share of all games A won by a skunk or better; double_skunk_rate by a double.
        skunked_rate: share of all games A lost so; double_skunked_rate likewise.
        points_per_deal: for "a" and "b", by hand, crib, peg and heels.
        first_dealer_wins: share of games won by whoever dealt first.
    """

    pairs: int
    games: int
    win_rate: float
    ci95: tuple[float, float]
    skunk_rate: float
    double_skunk_rate: float
    skunked_rate: float
    double_skunked_rate: float
    points_per_deal: dict[str, dict[str, float]]
    first_dealer_wins: float


def summarise(result: MatchResult) -> Summary:
    """The figures of a match."""
    skunk = np.vectorize(skunk_level, otypes=[np.int64])(result.loser_scores, result.target)
    per_deal = result.points / result.deals
    return Summary(
        pairs=result.pairs,
        games=2 * result.pairs,
        win_rate=float(result.won.mean()),
        ci95=mean_interval(result.won.mean(axis=1)),
        skunk_rate=float((result.won & (skunk >= 1)).mean()),
        double_skunk_rate=float((result.won & (skunk >= 2)).mean()),
        skunked_rate=float((~result.won & (skunk >= 1)).mean()),
        double_skunked_rate=float((~result.won & (skunk >= 2)).mean()),
        points_per_deal={who: dict(zip(SCORED_BY, map(float, per_deal[i]), strict=True)) for i, who in enumerate("ab")},
        first_dealer_wins=float((result.won == result.first_dealer).mean()),
    )


def mean_interval(pair_means: np.ndarray) -> tuple[float, float]:
    """95 % interval for the mean of pair outcomes in {0, 1/2, 1}, within 0..1.

    A Wilson interval with as many games as would have the variance the pairs show: it is the
    usual normal one in the middle, and stays honest near 0 and 1 where the sample variance
    vanishes (99 % against `random`).
    """
    n = len(pair_means)
    p = float(np.mean(pair_means))
    z = float(norm.ppf(0.5 + CONFIDENCE / 2))
    # One outcome of each kind added keeps the variance of an all-won match from being zero.
    smoothed = np.append(pair_means, (0.0, 0.5, 1.0))
    q = float(smoothed.mean())
    size = n * q * (1 - q) / float(smoothed.var())
    centre = (p + z * z / (2 * size)) / (1 + z * z / size)
    half = z / (1 + z * z / size) * np.sqrt(p * (1 - p) / size + z * z / (4 * size * size))
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))
