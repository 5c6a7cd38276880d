"""Margins, match points and the next dealer, against every vector of match play."""

import json
from pathlib import Path

import pytest

from crib_env.match import (
    FORMATS,
    MARGINS,
    WIN_MATCH,
    MatchRules,
    margin_of,
    next_first_dealer,
    points_after,
)

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "vectors.json").read_text(encoding="utf-8"))
ENDED = [
    vector
    for section in ("game_end", "multi_end", "deals_random")
    for vector in VECTORS[section]
    if "margin" in vector["expected"]
]


def check_margin(loser, expected):
    """Margin and points of every format at 121."""
    assert MARGINS[margin_of(loser)] == expected["margin"]
    assert {name: f.gains(121)[margin_of(loser)] for name, f in FORMATS.items()} == expected["match_points"]


@pytest.mark.parametrize("vector", VECTORS["margins"], ids=lambda v: f"loser-{v['loser']}")
def test_margin_vector(vector):
    check_margin(vector["loser"], vector)


@pytest.mark.parametrize("vector", ENDED, ids=lambda v: v["id"])
def test_margin_of_a_played_out_vector(vector):
    check_margin(min(vector["expected"]["final_scores"]), vector["expected"])


@pytest.mark.parametrize("vector", VECTORS["lurch_61"], ids=lambda v: f"loser-{v['loser']}")
@pytest.mark.parametrize("name", ["free_3", "free_4", "free_triple", "lurch_half"])
def test_lurch_vector(name, vector):
    """At 61 there is no line but the half; a game counts one, so points are games."""
    assert FORMATS[name].gains(61)[margin_of(vector["loser"], 61)] == vector["games"]


@pytest.mark.parametrize("vector", [v for v in VECTORS["game_end"] if v["target"] == 61], ids=lambda v: v["id"])
def test_lurch_of_a_played_out_vector(vector):
    loser = min(vector["expected"]["final_scores"])
    assert FORMATS["free_4"].gains(61)[margin_of(loser, 61)] == vector["expected"]["games_won_lurch"]


@pytest.mark.parametrize("vector", VECTORS["matches"], ids=lambda v: v["id"])
def test_match_vector(vector):
    """Points, dealers and the winner, game by game; the loser deals."""
    rules = MatchRules(vector["format"], vector["target_points"])
    dealer, points, rows, match_winner = vector["first_dealer"], [0, 0], [], None
    for scores in vector["games"]:
        assert match_winner is None
        winner = scores.index(max(scores))
        gain = rules.gains[margin_of(min(scores))]
        if points_after(points[winner], gain, rules.length) == rules.length:
            match_winner = winner
        points[winner] += 0 if gain == WIN_MATCH else gain
        rows.append({"first_dealer": dealer, "winner": winner, "gain": gain, "points": list(points)})
        dealer = next_first_dealer(rules.next_dealer, dealer, winner)
    expected = vector["expected"]
    assert (rows, match_winner, len(rows)) == (expected["rows"], expected["match_winner"], expected["games_used"])


def test_other_targets_know_no_skunk():
    assert [margin_of(loser, 41) for loser in (0, 20, 40)] == [0, 0, 0]


@pytest.mark.parametrize(
    ("rule", "after_dealer_wins", "after_pone_wins"),
    [("loser", 1, 0), ("winner", 0, 1), ("alternate", 1, 1), ("cut", None, None)],
)
def test_who_deals_the_next_game(rule, after_dealer_wins, after_pone_wins):
    assert next_first_dealer(rule, 0, 0) == after_dealer_wins
    assert next_first_dealer(rule, 0, 1) == after_pone_wins


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"format": "ac"}, "unknown match format 'ac': allowed are acc, long"),
        ({"next_dealer": "me"}, "unknown next dealer 'me': allowed are loser, winner"),
        ({"length": 0}, "match length 0: allowed are 1..999"),
        ({"length": 2.5}, "match length"),
        ({"target": 0}, "target"),
    ],
)
def test_a_match_nobody_could_play_is_refused(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        MatchRules(**arguments)
