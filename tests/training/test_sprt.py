"""The sequential test: its errors stay under 5 %, and it is about as quick as one with known variance."""

import numpy as np
import pytest

from training.sprt import ABOVE, BELOW, OPEN, Bounds, decide


def simulate(mean, split, bounds, matches, pairs, seed):
    """Shares of matches decided above and below, and how many pairs they took."""
    rng = np.random.default_rng(seed)
    odds = [1 - mean - split / 2, split, mean - split / 2]
    verdicts = [decide(rng.choice([0.0, 0.5, 1.0], size=pairs, p=odds), bounds) for _ in range(matches)]
    shares = {what: np.mean([v.decision == what for v in verdicts]) for what in (ABOVE, BELOW, OPEN)}
    return shares, np.mean([v.pairs for v in verdicts])


@pytest.mark.parametrize(
    ("low", "high", "split"), [(0.50, 0.55, 0.7), (0.50, 0.60, 0.5), (0.50, 0.55, 0.0), (0.90, 0.95, 0.1)]
)
def test_false_decisions_stay_under_five_in_a_hundred(low, high, split):
    """500 matches at each bound; 5 % nominal, and at most 3.1 standard errors (1 %) of it above."""
    bounds = Bounds(low, high)
    at_low, _ = simulate(low, split, bounds, 500, 4000, seed=1)
    at_high, _ = simulate(high, split, bounds, 500, 4000, seed=2)
    assert at_low[ABOVE] <= 0.08 and at_high[BELOW] <= 0.08
    assert at_low[OPEN] == at_high[OPEN] == 0


@pytest.mark.slow
@pytest.mark.parametrize("split", [0.0, 0.4, 0.7])
def test_false_decisions_at_the_bounds_the_project_uses(split):
    """4,000 matches of bounds 50 and 52: standard error 0.34 %, so at most 6.1 % may be false."""
    bounds = Bounds(0.50, 0.52)
    at_low, _ = simulate(0.50, split, bounds, 4000, 30_000, seed=3)
    at_high, _ = simulate(0.52, split, bounds, 4000, 30_000, seed=4)
    assert at_low[ABOVE] <= 0.061 and at_high[BELOW] <= 0.061


def test_it_stops_about_as_soon_as_walds_test_with_known_variance():
    """Bounds 50 and 55, 70 % split: Wald's mean sample size at a bound is 0.9 ln 19 * 2 var / d^2 = 159 pairs."""
    _, pairs = simulate(0.55, 0.7, Bounds(0.50, 0.55), 500, 4000, seed=5)
    variance = 0.3 / 4 - 0.05**2
    wald = 0.9 * np.log(19) * 2 * variance / 0.05**2
    assert 0.8 * wald < pairs < 1.3 * wald


def test_a_verdict_does_not_depend_on_what_follows():
    rng = np.random.default_rng(6)
    outcomes = rng.choice([0.0, 0.5, 1.0], size=3000, p=[0.1, 0.5, 0.4])
    verdict = decide(outcomes, Bounds(0.5, 0.55))
    assert verdict.decision == ABOVE and verdict.pairs < 3000
    assert decide(outcomes[: verdict.pairs], Bounds(0.5, 0.55)) == verdict
    assert decide(outcomes[: verdict.pairs - 1], Bounds(0.5, 0.55)).decision == OPEN


def test_both_sides_are_alike():
    """A's bounds 45 and 50 are B's 50 and 55."""
    rng = np.random.default_rng(7)
    outcomes = rng.choice([0.0, 0.5, 1.0], size=2000, p=[0.3, 0.5, 0.2])
    one, other = decide(outcomes, Bounds(0.45, 0.50)), decide(1 - outcomes, Bounds(0.50, 0.55))
    assert (one.decision, other.decision) == (BELOW, ABOVE)
    assert one.pairs == other.pairs and one.wealth == pytest.approx(other.wealth[::-1])


@pytest.mark.parametrize(
    ("low", "high"), [(0.5, 0.5), (0.6, 0.5), (0.0, 0.5), (0.5, 1.0), (50, 55), (float("nan"), 0.5)]
)
def test_bounds_that_cannot_be_told_apart_are_refused(low, high):
    with pytest.raises(ValueError, match="LOW < HIGH"):
        Bounds(low, high)
