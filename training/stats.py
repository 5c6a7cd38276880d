"""Rates, ratings and their intervals from mirrored pairs. May import: crib_env, arena, luck.

The two games of a pair share their cards and are not independent: intervals come from the pair's
mean, one number a pair (lost both, split, won both), as fishtest does with its pairs. Where games
could not be mirrored, a row is one game and the same formulas hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from crib_env.rewards import skunk_level
from crib_env.state import TALLIES
from training.arena import BY_A, BY_B, NOBODY, SCORED_BY, MatchResult

CONFIDENCE = 0.95
Z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
ANCHOR = "greedy"  # rated 0 where it plays and no other is asked for; otherwise the first player is
ELO_PER_NAT = 400 / np.log(10)
BOOTSTRAPS = 500
FEWEST_FOR_FIT = 200  # pairs: below, the coefficients of luck would be guesses
# Points by role: name, column of the tally, who dealt (0: the player himself, 1: the other).
ROLES = (
    ("hand_dealer", TALLIES.index("hand_dealer"), 0),
    ("hand_pone", TALLIES.index("hand_pone"), 1),
    ("crib", TALLIES.index("crib"), 0),
    ("peg_dealer", TALLIES.index("play_dealer"), 0),
    ("peg_pone", TALLIES.index("play_pone"), 1),
    ("heels", TALLIES.index("heels"), 0),
)

Interval = tuple[float, float]


@dataclass(frozen=True)
class Figure:
    """A mean and its 95 % interval."""

    value: float
    ci95: Interval

    @property
    def half_width(self) -> float:
        """Half the interval's length: what stands after +-."""
        return (self.ci95[1] - self.ci95[0]) / 2


@dataclass(frozen=True)
class Adjusted:
    """A win rate with the luck of the cards taken out.

    Attributes:
        win_rate, ci95: as in `Summary`; its mean is the plain win rate's.
        coefficients: how much of each kind of luck was taken away; means of the two halves'.
        narrowed: variance of the plain win rate over that of this one: as if so many times the
            pairs had been played.
    """

    win_rate: float
    ci95: Interval
    coefficients: tuple[float, ...]
    narrowed: float


@dataclass(frozen=True)
class Summary:
    """A match in figures; rates are of all games, from A's side.

    Attributes:
        pairs, games: how many were played; pairs are single games where `mirrored` is false.
        mirrored: whether every deal was played twice, with seats swapped.
        pair_outcomes: pairs A lost both of, split, won both of.
        win_rate: share of games A won, 0..1.
        ci95: low and high end of its 95 % interval, from pair outcomes.
        skunk_rate: share of all games A won by a skunk or better; double_skunk_rate by a double.
        skunked_rate: share of all games A lost so; double_skunked_rate likewise.
        points_per_deal: for "a" and "b", by hand, crib, peg and heels, over all deals begun: the
            last deal of a game is cut short, so these are lower than a full deal's.
        first_dealer_wins: share of games won by whoever dealt first.
        rates_ci95: intervals of the rates above, by name.
        role_points: for "a" and "b", points per complete deal by `ROLES`; None where not noted.
        discard_loss: for "a" and "b", expected points a discard gives away; None where not noted.
        adjusted: the win rate less luck; None where luck was not noted, or games were forfeited.
        seconds_per_decision: thinking time of A and of B; None where nothing was timed.
        forfeits: games A forfeited, and B.
        dropped: games an outside program broke off, which do not count.
    """

    pairs: int
    games: int
    mirrored: bool
    pair_outcomes: tuple[int, int, int]
    win_rate: float
    ci95: Interval
    skunk_rate: float
    double_skunk_rate: float
    skunked_rate: float
    double_skunked_rate: float
    points_per_deal: dict[str, dict[str, float]]
    first_dealer_wins: float
    rates_ci95: dict[str, Interval]
    role_points: dict[str, dict[str, Figure]] | None
    discard_loss: dict[str, Figure] | None
    adjusted: Adjusted | None
    seconds_per_decision: tuple[float, float] | None
    forfeits: tuple[int, int]
    dropped: int


def summarise(result: MatchResult) -> Summary:
    """The figures of a match."""
    won = result.won
    per_deal = result.points / max(1, result.deals)
    rates = _rates(result)
    return Summary(
        pairs=result.pairs,
        games=won.size,
        mirrored=result.mirrored,
        pair_outcomes=_outcomes(won),
        win_rate=float(won.mean()),
        ci95=mean_interval(won.mean(axis=1)),
        points_per_deal={who: dict(zip(SCORED_BY, map(float, per_deal[i]), strict=True)) for i, who in enumerate("ab")},
        rates_ci95={name: figure.ci95 for name, figure in rates.items()},
        role_points=_role_points(result),
        discard_loss=_discard_loss(result),
        adjusted=adjust(result),
        seconds_per_decision=_seconds(result),
        forfeits=(int((result.forfeits == BY_A).sum()), int((result.forfeits == BY_B).sum())),
        dropped=result.dropped,
        **{name: figure.value for name, figure in rates.items()},
    )


def _outcomes(won: np.ndarray) -> tuple[int, int, int]:
    lost, split, both = np.bincount(won.sum(axis=1) * (2 // won.shape[1]), minlength=3).tolist()
    return lost, split, both


def _rates(result: MatchResult) -> dict[str, Figure]:
    """Skunks both ways and the first dealer's wins. A forfeited game is no skunk, and nobody's deal won it."""
    finished = result.forfeits == NOBODY
    skunk = np.vectorize(skunk_level, otypes=[np.int64])(result.loser_scores, result.target) * finished
    rates = {
        "skunk_rate": result.won & (skunk >= 1),
        "double_skunk_rate": result.won & (skunk >= 2),
        "skunked_rate": ~result.won & (skunk >= 1),
        "double_skunked_rate": ~result.won & (skunk >= 2),
        "first_dealer_wins": (result.won == result.first_dealer)[finished.all(axis=1)],
    }
    return {name: _rate(games) for name, games in rates.items()}


def _rate(games: np.ndarray) -> Figure:
    if len(games) == 0:
        return Figure(0.0, (0.0, 1.0))
    return Figure(float(games.mean()), mean_interval(games.mean(axis=1)))


def mean_interval(pair_means: np.ndarray) -> Interval:
    """95 % interval for the mean of pair outcomes in {0, 1/2, 1}, within 0..1.

    A Wilson interval with as many games as would have the variance the pairs show: it is the
    usual normal one in the middle, and stays honest near 0 and 1 where the sample variance
    vanishes (99 % against `random`).
    """
    n = len(pair_means)
    p = float(np.mean(pair_means))
    # One outcome of each kind added keeps the variance of an all-won match from being zero.
    smoothed = np.append(pair_means, (0.0, 0.5, 1.0))
    q = float(smoothed.mean())
    size = n * q * (1 - q) / float(smoothed.var())
    centre = (p + Z * Z / (2 * size)) / (1 + Z * Z / size)
    half = Z / (1 + Z * Z / size) * np.sqrt(p * (1 - p) / size + Z * Z / (4 * size * size))
    # At 0 and at 1 the interval ends there but for rounding.
    return (float(centre - half) if p > 0 else 0.0), (float(centre + half) if p < 1 else 1.0)


def ratio_figure(totals: np.ndarray, counts: np.ndarray) -> Figure | None:
    """Total over count, with a 95 % interval from pairs (linearised); None where nothing was counted.

    Args:
        totals: [P], e.g. points of each pair.
        counts: [P], e.g. deals of each pair.
    """
    n = int(counts.sum())
    if n == 0:
        return None
    value = float(totals.sum() / n)
    half = float(Z * np.sqrt(((totals - value * counts) ** 2).sum()) / n)
    return Figure(value, (value - half, value + half))


def _role_points(result: MatchResult) -> dict[str, dict[str, Figure]] | None:
    if result.notes is None:
        return None
    found = {
        who: {
            name: ratio_figure(result.notes.points[:, i, column], result.notes.deals[:, i ^ other])
            for name, column, other in ROLES
        }
        for i, who in enumerate("ab")
    }
    known = {who: {name: f for name, f in by_role.items() if f} for who, by_role in found.items()}
    return known if all(len(by_role) == len(ROLES) for by_role in known.values()) else None


def _discard_loss(result: MatchResult) -> dict[str, Figure] | None:
    if result.notes is None:
        return None
    found = [ratio_figure(result.notes.loss[:, i], result.notes.discards[:, i]) for i in range(2)]
    return {who: f for who, f in zip("ab", found, strict=True) if f} if all(found) else None


def _seconds(result: MatchResult) -> tuple[float, float] | None:
    if not result.decisions.all():
        return None
    mine, theirs = result.seconds / result.decisions
    return float(mine), float(theirs)


def adjust(result: MatchResult) -> Adjusted | None:
    """The win rate with the luck of the cards taken out.

    Luck has mean zero, so taking away any multiple of it that was not chosen from the same pairs
    leaves the mean alone. The multiples are fitted by least squares, for the even pairs on the odd
    ones and the other way round. None where luck was not noted, where games were forfeited (a
    player that resigns bad hands would bias it), and for fewer pairs than a fit can be trusted on.
    """
    if result.notes is None or result.forfeits.any() or result.pairs < FEWEST_FOR_FIT:
        return None
    means, luck = result.won.mean(axis=1), result.notes.luck
    fits = [_fit(means[half::2], luck[half::2]) for half in range(2)]
    less = means.astype(np.float64)
    for half in range(2):
        less[half::2] -= luck[half::2] @ fits[1 - half]
    spread = float(less.std(ddof=1))
    centre, half_width = float(less.mean()), Z * spread / np.sqrt(len(less))
    return Adjusted(
        win_rate=centre,
        ci95=(max(0.0, float(centre - half_width)), min(1.0, float(centre + half_width))),
        coefficients=tuple(map(float, np.mean(fits, axis=0))),
        narrowed=float(means.var(ddof=1) / spread**2) if spread else 1.0,
    )


def _fit(means: np.ndarray, luck: np.ndarray) -> np.ndarray:
    """Least-squares multiples of the kinds of luck; the smallest ones where luck does not vary."""
    return np.linalg.lstsq(luck - luck.mean(axis=0), means - means.mean(), rcond=None)[0]


def rate_agents(
    names: Sequence[str], matches: dict[tuple[int, int], Summary], anchor: str | None = None
) -> list[dict[str, Any]]:
    """Bradley-Terry ratings on the Elo scale, strongest first.

    Args:
        names: the players.
        matches: every match by the places i < j of its players.
        anchor: who is rated 0; None is `greedy` where it plays, otherwise the first player of a match.
    Returns:
        [{"agent", "elo", "ci95"}]; the anchor's rating is 0, and so is its interval. Intervals are
        95 % bootstrap percentiles over pairs. A player whom no chain of matches joins to the
        anchor is left out.
    Source: `choix` (Maystre), iterative Luce spectral ranking.
    """
    if not matches:
        return []
    playing = [names[i] for i in sorted({i for couple in matches for i in couple})]
    zero = names.index(anchor or (ANCHOR if ANCHOR in playing else playing[0]))
    rated = _joined_to(zero, list(matches))
    played = {(rated.index(i), rated.index(j)): s for (i, j), s in matches.items() if i in rated}
    if not played:
        return []
    place = rated.index(zero)
    elo = _elo(len(rated), {key: np.array(s.pair_outcomes) for key, s in played.items()}, played, place)
    rng = np.random.default_rng(0)
    samples = np.array(
        [
            _elo(len(rated), {key: _resample(rng, s) for key, s in played.items()}, played, place)
            for _ in range(BOOTSTRAPS)
        ]
    )
    low, high = np.quantile(samples, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    order = np.argsort(-elo)
    return [{"agent": names[rated[i]], "elo": float(elo[i]), "ci95": [float(low[i]), float(high[i])]} for i in order]


def _joined_to(start: int, couples: list[tuple[int, int]]) -> list[int]:
    """Players that a chain of matches joins to `start`, itself among them, in order."""
    joined = {start}
    while more := {k for couple in couples for k in couple if joined & set(couple)} - joined:
        joined |= more
    return sorted(joined)


def _resample(rng: np.random.Generator, s: Summary) -> np.ndarray:
    return rng.multinomial(s.pairs, np.array(s.pair_outcomes) / s.pairs)


def _elo(
    n: int, outcomes: dict[tuple[int, int], np.ndarray], matches: dict[tuple[int, int], Summary], anchor: int
) -> np.ndarray:
    """Ratings from pair outcomes (lost both, split, won both) of A against B."""
    import choix  # noqa: PLC0415  (brings SciPy, two seconds: only who rates waits)

    wins = np.zeros((n, n))
    for (i, j), (lost, split, won) in outcomes.items():
        games = 1 + matches[i, j].mirrored
        # Half a win each way keeps the rating of a player that won every game finite.
        wins[i, j] += games * won + split + 0.5
        wins[j, i] += games * lost + split + 0.5
    strength = choix.ilsr_pairwise_dense(wins)
    return (strength - strength[anchor]) * ELO_PER_NAT
