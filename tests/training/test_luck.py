"""Luck has mean zero, whoever plays; without it the interval is narrower and the mean the same."""

import numpy as np
import pytest

import agents
from crib_env.cards import N_CARDS
from crib_env.values import crib_table, crib_values, expected_hands
from training.arena import play_match
from training.luck import MEAN_DEALT, PLAYS, hands_luck, mean_dealt, starter_luck, win_odds
from training.stats import adjust, summarise


def random_deal(rng):
    pack = rng.permutation(N_CARDS).astype(np.int8)
    kept, crib, left = pack[:8].reshape(2, 4), pack[8:12], pack[12:]
    return kept, crib, left, sum(1 << int(card) for card in pack[:12])


def test_the_starters_luck_adds_up_to_nothing():
    """Over the forty starters of a deal, at any score, near the end of the game too."""
    rng = np.random.default_rng(0)
    for scores in ((0, 0), (100, 60), (119, 120), (110, 118)):
        kept, crib, left, held = random_deal(rng)
        lucks = [starter_luck(win_odds(121), PLAYS, held, kept, crib, 0, np.array(scores), starter) for starter in left]
        assert np.sum(lucks) == pytest.approx(0, abs=1e-9)
        assert np.std(lucks) > 0 or scores == (119, 120)


def test_the_hands_luck_is_linear_in_both_hands():
    """At the means it is nothing; slopes are the scores' alone, so its mean is nothing."""
    scores = np.array([60, 70])
    odds = win_odds(121)

    def luck(more_dealer, more_pone):
        return hands_luck(odds, 0, scores, MEAN_DEALT[0] + more_dealer, MEAN_DEALT[1] + more_pone, MEAN_DEALT)

    assert luck(0, 0) == 0
    assert luck(3, 0) > 0 > luck(0, 3)
    assert luck(2, 5) == pytest.approx(2 * luck(1, 0) + 5 * luck(0, 1))


def test_the_mean_hand_is_what_deals_give():
    """30,000 random deals; the spread of the best discard is about 3.5, so 4 standard errors are 0.08."""
    rng = np.random.default_rng(1)
    hands, cribs = np.empty(15, np.float32), np.empty(15, np.float32)
    best = []
    for _ in range(30_000):
        dealt = np.sort(rng.choice(N_CARDS, 6, replace=False)).astype(np.int8)
        expected_hands(dealt, hands)
        row = []
        for deals in (True, False):
            crib_values(dealt, deals, crib_table(), cribs)
            row.append((hands + cribs).max())
        best.append(row)
    assert np.mean(best, axis=0) == pytest.approx(MEAN_DEALT, abs=0.08)


@pytest.mark.slow
def test_the_mean_hand_is_exact():
    """All 20,358,520 deals."""
    assert mean_dealt(crib_table()) == pytest.approx(MEAN_DEALT, abs=1e-6)


def test_the_odds_are_sane():
    odds = win_odds(121)
    assert 0.54 < odds[0, 0] < 0.58  # first dealer
    assert odds[120, 0] > 0.99 and odds[0, 120] < 0.02
    assert (np.diff(odds, axis=0) > -1e-9).all() and (np.diff(odds, axis=1) < 1e-9).all()


def test_luck_has_no_mean_and_taking_it_out_narrows_the_interval():
    """2,000 pairs; each kind of luck within 4 standard errors of nothing."""
    result = play_match(agents.make("greedy"), agents.make("heuristic"), 2000, seed=3)
    luck = result.notes.luck
    assert (np.abs(luck.mean(axis=0)) < 4 * luck.std(axis=0) / np.sqrt(len(luck))).all()
    summary = summarise(result)
    assert summary.adjusted.narrowed > 1.2
    assert summary.adjusted.win_rate == pytest.approx(summary.win_rate, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("names", [("greedy", "heuristic"), ("random", "greedy")])
def test_the_mean_without_luck_is_the_plain_mean(names):
    """50,000 pairs: the two differ by luck alone, within 4 of its standard errors."""
    result = play_match(*map(agents.make, names), 50_000, seed=11)
    summary = summarise(result)
    taken = result.notes.luck @ np.array(summary.adjusted.coefficients)
    assert abs(summary.adjusted.win_rate - summary.win_rate) < 4 * taken.std() / np.sqrt(len(taken))
    assert (np.abs(result.notes.luck.mean(axis=0)) < 4 * result.notes.luck.std(axis=0) / np.sqrt(50_000)).all()
    assert summary.adjusted.narrowed > 1


def test_intervals_without_luck_cover_the_truth():
    """2,000 simulated matches of 300 pairs, one kind of luck useful and one not: 93-97 % hold 0.55."""
    played = play_match(agents.make("greedy"), agents.make("heuristic"), 300, seed=1)
    rng = np.random.default_rng(2)
    covered, errors = [], []
    for _ in range(2000):
        luck = rng.normal(0, 0.1, (300, 2))
        won = rng.random((300, 2)) < 0.55 + luck[:, :1]
        object.__setattr__(played, "won", won)
        object.__setattr__(played.notes, "luck", luck)
        found = adjust(played)
        covered.append(found.ci95[0] <= 0.55 <= found.ci95[1])
        errors.append(found.win_rate - 0.55)
    assert 0.93 <= np.mean(covered) <= 0.97
    assert abs(np.mean(errors)) < 4 * np.std(errors) / np.sqrt(2000)
