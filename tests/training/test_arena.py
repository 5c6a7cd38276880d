"""Mirrored pairs: the same cards twice, whoever plays beside."""

import dataclasses
import json

import numpy as np
import pytest

import agents
from crib_env.rules import Rules
from training import tournament
from training.arena import IllegalPlay, play_match
from training.stats import mean_interval, rate_agents, summarise


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


@pytest.mark.parametrize(
    "argv", [["greedy"], ["greedy", "greedy"], ["greedy", "gredy"], ["greedy", "random", "--pairs", "0"]]
)
def test_a_tournament_that_cannot_be_is_refused(argv, capsys):
    """Exit status 2 and one line."""
    assert tournament.main(argv) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_ratings_follow_known_odds():
    """75 % of games is 191 Elo."""
    played = summarise(play_match(agents.make("greedy"), agents.make("random"), 4))
    match = dataclasses.replace(played, pairs=4000, pair_outcomes=(2250, 1500, 250))  # A wins 25 %
    best, anchor = rate_agents(["greedy", "better"], {(0, 1): match})
    assert (best["agent"], anchor["elo"]) == ("better", 0)
    assert best["elo"] == pytest.approx(191, abs=2)
    assert best["ci95"][0] < 191 < best["ci95"][1]
