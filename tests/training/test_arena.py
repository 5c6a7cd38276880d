"""Mirrored pairs: the same cards twice, whoever plays beside."""

import dataclasses
import json

import numpy as np
import pytest

import agents
from crib_env.rules import Rules
from training import tournament
from training.arena import IllegalPlay, play_match
from training.stats import mean_interval, rate_agents, ratio_figure, summarise


def test_a_player_splits_every_pair_with_itself():
    """Deterministic, same cards, seats swapped: one game each, or the pairs are not mirrored."""
    result = play_match(agents.make("heuristic"), agents.make("heuristic"), 200, seed=4)
    assert (result.won.sum(axis=1) == 1).all()
    assert (result.first_dealer.sum(axis=1) == 1).all()


def test_swapping_the_players_swaps_the_result():
    """A v B and B v A over the same pairs are one match seen from both sides."""
    greedy, heuristic = agents.make("greedy"), agents.make("heuristic")
    there, back = play_match(greedy, heuristic, 100, seed=1), play_match(heuristic, greedy, 100, seed=1)
    assert (there.won == ~back.won[:, ::-1]).all()
    assert (there.points == back.points[::-1]).all()


def test_the_first_pairs_do_not_depend_on_how_many_follow():
    """Chunks and batch sizes change nothing; more pairs only add."""
    few = play_match(agents.make("greedy"), agents.make("heuristic"), 40, seed=9)
    many = play_match(agents.make("greedy"), agents.make("heuristic"), 600, seed=9)
    assert (few.won == many.won[:40]).all()
    assert (few.loser_scores == many.loser_scores[:40]).all()


def test_points_add_up_to_the_scores():
    """Hand, crib, play and heels are all there is."""
    result = play_match(agents.make("greedy"), agents.make("heuristic"), 50, seed=2)
    winners = 121 * 2 * result.pairs
    assert result.points.sum() == winners + result.loser_scores.sum()


def test_skunks_at_61_are_lurches():
    """The short game knows 31 only."""
    s = summarise(play_match(agents.make("heuristic"), agents.make("random"), 100, rules=Rules(target=61)))
    assert s.skunk_rate > 0.1
    assert s.double_skunk_rate == 0


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda v, m, r: np.full(len(v), 3.5), "whole numbers wanted"),
        (lambda v, m, r: np.full(len(v), np.nan), "whole numbers wanted"),
        (lambda v, m, r: np.full(len(v), 77), "chose action 77"),
        (lambda v, m, r: np.full(len(v) + 1, 1), "whole numbers wanted"),
    ],
)
def test_an_agent_that_breaks_the_rules_is_named(answer, said):
    """Wrong dtype, NaN, out of range, wrong length."""

    class Bad:
        name = "bad"

        def act(self, views, masks, rng):
            return answer(views, masks, rng)

    with pytest.raises(IllegalPlay, match="'bad'") as caught:
        play_match(Bad(), agents.make("greedy"), 2)
    assert said in str(caught.value)


def test_intervals_cover_the_truth():
    """2,000 simulated matches of 400 pairs at 0.55: the interval holds it in 93-97 %."""
    rng = np.random.default_rng(0)
    pairs = rng.choice([0.0, 0.5, 1.0], p=[0.2, 0.5, 0.3], size=(2000, 400))
    covered = np.mean([low <= 0.55 <= high for low, high in map(mean_interval, pairs)])
    assert 0.93 <= covered <= 0.97


def test_an_interval_is_honest_when_every_game_was_won():
    """The sample variance is zero; the interval must not be."""
    low, high = mean_interval(np.ones(100))
    assert high == 1.0
    assert 0.9 < low < 1.0


def test_tournament_json_is_the_contract(tmp_path, capsys):
    """The keys outside programs read, and rates that fit together."""
    out = tmp_path / "t.json"
    assert tournament.main(["random", "greedy", "heuristic", "--pairs", "60", "--json", str(out)]) == 0
    figures = json.loads(out.read_text())
    assert figures["pairs"] == 60
    assert len(figures["matches"]) == 3
    for m in figures["matches"]:
        assert {"a", "b", "games", "win_rate", "ci95", "skunk_rate", "double_skunk_rate", "skunked_rate"} <= set(m)
        assert m["games"] == 120
        assert m["ci95"][0] <= m["win_rate"] <= m["ci95"][1]
        assert m["double_skunk_rate"] <= m["skunk_rate"] <= m["win_rate"]
        assert {"hand", "crib", "peg"} <= set(m["points_per_deal"]["a"])
    assert [r["agent"] for r in figures["ratings"]] == ["heuristic", "greedy", "random"]
    assert figures["ratings"][1]["elo"] == 0


def test_ratings_follow_known_odds():
    """75 % of games is 191 Elo."""
    played = summarise(play_match(agents.make("greedy"), agents.make("random"), 4))
    match = dataclasses.replace(played, pairs=4000, pair_outcomes=(2250, 1500, 250))  # A wins 25 %
    best, anchor = rate_agents(["greedy", "better"], {(0, 1): match})
    assert (best["agent"], anchor["elo"]) == ("better", 0)
    assert best["elo"] == pytest.approx(191, abs=2)
    assert best["ci95"][0] < 191 < best["ci95"][1]


# Of 1,200,000 independent games of uniformly random legal play by the engine alone the first dealer
# won 55.38 % (95 %: 55.29 .. 55.47). The figure we were given, 55.7-57 %, is above that.
RANDOM_FIRST_DEALER_WINS = 0.5538


def test_first_dealer_of_random_games():
    """3,000 pairs, within 3 standard errors, which are 0.9 % at most."""
    check_first_dealer(play_match(agents.make("random"), agents.make("random"), 3000, seed=6), 0.009)


@pytest.mark.slow
def test_first_dealer_of_many_random_games():
    """100,000 pairs, within 3 standard errors, which are 0.16 % at most."""
    check_first_dealer(play_match(agents.make("random"), agents.make("random"), 100_000, seed=7), 0.0016)


def check_first_dealer(result, error):
    s = summarise(result)
    assert s.first_dealer_wins == pytest.approx(RANDOM_FIRST_DEALER_WINS, abs=3 * error)
    low, high = s.rates_ci95["first_dealer_wins"]
    assert high - low < 2 * 1.96 * error


def test_points_by_role_are_those_of_complete_deals():
    """Dealer and pone keep much the same hands; the crib and the heels are the dealer's; intervals hold the means."""
    s = summarise(play_match(agents.make("heuristic"), agents.make("heuristic"), 500, seed=8))
    roles = s.role_points["a"]
    assert roles["hand_dealer"].value == pytest.approx(8.0, abs=0.2)
    assert roles["hand_pone"].value == pytest.approx(8.1, abs=0.2)
    assert roles["heels"].value == pytest.approx(2 / 13, abs=0.05)
    assert roles["peg_dealer"].value > roles["peg_pone"].value
    for figure in roles.values():
        assert figure.ci95[0] < figure.value < figure.ci95[1]


def test_points_by_role_add_up_over_complete_deals():
    """Complete deals and the last one are all there is."""
    result = play_match(agents.make("greedy"), agents.make("heuristic"), 50, seed=2)
    assert result.notes.deals.sum() == result.deals - 100
    assert 0.85 * result.points.sum() < result.notes.points.sum() < result.points.sum()


def test_intervals_of_points_cover_the_truth():
    """2,000 simulated matches of 200 pairs with 14 to 22 deals each of mean 8: 93-97 %."""
    rng = np.random.default_rng(3)
    covered = []
    for _ in range(2000):
        deals = rng.integers(14, 23, 200)
        points = rng.normal(8 * deals, 3 * np.sqrt(deals))
        low, high = ratio_figure(points, deals).ci95
        covered.append(low <= 8 <= high)
    assert 0.93 <= np.mean(covered) <= 0.97


def test_discards_are_judged_against_the_best():
    """The heuristic makes the best discard by definition; random ones give points away."""
    s = summarise(play_match(agents.make("heuristic"), agents.make("random"), 50, seed=1))
    assert s.discard_loss["a"].value == 0
    assert 3 < s.discard_loss["b"].value < 5


def test_ratings_leave_out_whom_no_match_joins():
    """Two islands: only the anchor's is rated."""
    played = summarise(play_match(agents.make("greedy"), agents.make("random"), 4))
    ratings = rate_agents(["a", "b", "c", "d"], {(0, 1): played, (2, 3): played}, anchor="c")
    assert {r["agent"] for r in ratings} == {"c", "d"}
