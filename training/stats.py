"""Rates, ratings and their intervals from mirrored pairs. May import: crib_env.rewards, arena.

The two games of a pair share their cards and are not independent: intervals come from the pair's
mean, one number a pair (lost both, split, won both), as fishtest does with its pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import choix
import numpy as np
from scipy.stats import norm

from crib_env.rewards import skunk_level
from training.arena import SCORED_BY, MatchResult

CONFIDENCE = 0.95
ANCHOR = "greedy"  # rated 0 where it plays, otherwise the first player is
ELO_PER_NAT = 400 / np.log(10)
BOOTSTRAPS = 500


@dataclass(frozen=True)
class Summary:
    """A match in figures; rates are of all games, from A's side.

    Attributes:
        pairs, games: how many were played.
        pair_outcomes: pairs A lost both of, split, won both of.
        win_rate: share of games A won, 0..1.
        ci95: low and high end of its 95 % interval, from pair outcomes.
        skunk_rate: share of all games A won by a skunk or better; double_skunk_rate by a double.
        skunked_rate: share of all games A lost so; double_skunked_rate likewise.
        points_per_deal: for "a" and "b", by hand, crib, peg and heels.
        first_dealer_wins: share of games won by whoever dealt first.
    """

    pairs: int
    games: int
    pair_outcomes: tuple[int, int, int]
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
        pair_outcomes=tuple(np.bincount(result.won.sum(axis=1), minlength=3).tolist()),
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


def rate_agents(names: list[str], matches: dict[tuple[int, int], Summary]) -> list[dict[str, Any]]:
    """Bradley-Terry ratings on the Elo scale, strongest first.

    Args:
        names: the players.
        matches: every match by the places i < j of its players.
    Returns:
        [{"agent", "elo", "ci95"}]; the anchor's rating is 0, and so is its interval. Intervals are
        95 % bootstrap percentiles over pairs.
    Source: `choix` (Maystre), iterative Luce spectral ranking.
    """
    anchor = names.index(ANCHOR) if ANCHOR in names else 0
    elo = _elo(len(names), {key: np.array(s.pair_outcomes) for key, s in matches.items()}, anchor)
    rng = np.random.default_rng(0)
    samples = np.array(
        [
            _elo(
                len(names),
                {key: rng.multinomial(s.pairs, np.array(s.pair_outcomes) / s.pairs) for key, s in matches.items()},
                anchor,
            )
            for _ in range(BOOTSTRAPS)
        ]
    )
    low, high = np.quantile(samples, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    order = np.argsort(-elo)
    return [{"agent": names[i], "elo": float(elo[i]), "ci95": [float(low[i]), float(high[i])]} for i in order]


def _elo(n: int, outcomes: dict[tuple[int, int], np.ndarray], anchor: int) -> np.ndarray:
    """Ratings from pair outcomes (lost both, split, won both) of A against B."""
    wins = np.zeros((n, n))
    for (i, j), (lost, split, won) in outcomes.items():
        # Half a win each way keeps the rating of a player that won every game finite.
        wins[i, j] += 2 * won + split + 0.5
        wins[j, i] += 2 * lost + split + 0.5
    strength = choix.ilsr_pairwise_dense(wins)
    return (strength - strength[anchor]) * ELO_PER_NAT
