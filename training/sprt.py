"""Deciding early: a sequential test of a win rate, on pair outcomes.

Two bets are kept up, each starting with one unit. One is against "the win rate is LOW or less",
the other against "it is HIGH or more". Before each pair a stake is set from the pairs before it; a
fair game pays nothing on average, so where the claim is true the bettor's wealth is a
supermartingale and reaches 1 / 0.05 = 20 with probability at most 0.05, ever (Ville's inequality).
The first bet to reach it decides. The error rates hold for any number of looks and whatever the
share of split pairs; nothing is approximated. Stakes are those of a likelihood ratio between LOW
and HIGH, so that about as many pairs are needed as by a sequential probability ratio test.
Source: Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", 2024;
Wald, "Sequential tests of statistical hypotheses", 1945. May import: nothing of ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ERROR_RATE = 0.05  # of either false decision
_PRIOR_PAIRS = 20  # weight of the variance assumed before any pair is seen
_PRIOR_VARIANCE = 0.125  # of a pair's mean: half of the pairs split
_MOST_STAKED = 0.5  # of the wealth that one pair could lose
ABOVE, BELOW, OPEN = "above", "below", "open"


@dataclass(frozen=True)
class Bounds:
    """Win rates the test tells apart, 0..1.

    Args:
        low: "not stronger"; high: "stronger by as much as matters".
    Raises:
        ValueError: not 0 < low < high < 1.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0 < self.low < self.high < 1:
            came = f"--sprt {100 * self.low:g} {100 * self.high:g}"
            raise ValueError(f"{came}: wanted is 0 < LOW < HIGH < 100, in percent")


@dataclass(frozen=True)
class Verdict:
    """What the test says.

    Attributes:
        decision: "above" (the win rate is above LOW), "below" (it is below HIGH), or "open".
        pairs: after how many pairs it was decided, or how many were looked at.
        wealth: of the bet against "LOW or less" and of that against "HIGH or more", at that point.
    """

    decision: str
    pairs: int
    wealth: tuple[float, float]


def decide(outcomes: np.ndarray, bounds: Bounds) -> Verdict:
    """Look at pairs one after the other until one bet has won.

    Args:
        outcomes: float[P], each pair's mean (0, 1/2 or 1), or single games (0 or 1), in order.
        bounds: the two win rates.
    """
    low, high = bounds.low, bounds.high
    logs = np.stack([log_wealth(outcomes, low, high), log_wealth(1 - outcomes, 1 - high, 1 - low)])
    won = logs >= -np.log(ERROR_RATE)
    n = len(outcomes)
    first = [int(np.argmax(w)) if w.any() else n for w in won]
    at = min(*first, n - 1)
    decision = OPEN if min(first) == n else ABOVE if first[0] <= first[1] else BELOW
    wealth = np.exp(logs[:, at])
    return Verdict(decision, at + 1, (float(wealth[0]), float(wealth[1])))


def log_wealth(outcomes: np.ndarray, claimed: float, hoped: float) -> np.ndarray:
    """Logarithm of the wealth of a bet against "the mean is `claimed` or less", after each outcome.

    The stake is nearly that of most growth if the mean is `hoped`: the distance between the two
    over the second moment about the claim, its variance estimated from the outcomes before.
    """
    n = len(outcomes)
    before = np.arange(n)
    squares = _PRIOR_PAIRS * _PRIOR_VARIANCE + np.concatenate([[0.0], np.cumsum((outcomes - claimed) ** 2)[:-1]])
    seen = squares / (_PRIOR_PAIRS + before)
    stakes = (hoped - claimed) / np.maximum(seen, (hoped - claimed) ** 2)
    stakes = np.minimum(stakes, _MOST_STAKED / claimed)
    return np.cumsum(np.log1p(stakes * (outcomes - claimed)))
