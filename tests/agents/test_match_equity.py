"""Match equity: against plain recursion, and where the answer is known without it."""

from functools import cache

import numpy as np
import pytest

from agents.tables.equity import equity_in_game, match_equity, outcome_values
from agents.tables.win import outcome_table, win_probability
from crib_env.match import FORMATS, NEXT_DEALERS, WIN_MATCH, MatchRules


def plain_equity(match):
    """Chance that A wins a match from given points and first dealer, by recursion over whole games."""
    outcomes = [float(chance) for chance in outcome_table(match.target)[0, 0]]

    @cache
    def chance(a, b, dealer):
        if dealer == "cut":
            return (chance(a, b, "A") + chance(a, b, "B")) / 2
        total = 0.0
        for k, p in enumerate(outcomes):
            winner = dealer if k < 4 else other(dealer)
            total += p * after(a, b, dealer, winner, match.gains[k % 4])
        return total

    def after(a, b, dealer, winner, gain):
        won = (a if winner == "A" else b) + (match.length if gain == WIN_MATCH else gain)
        if won >= match.length:
            return float(winner == "A")
        deals = {"loser": other(winner), "winner": winner, "alternate": other(dealer), "cut": "cut"}
        return chance(*((won, b) if winner == "A" else (a, won)), deals[match.next_dealer])

    return chance


def other(side):
    return "B" if side == "A" else "A"


@pytest.mark.parametrize("target", [121, 61])
@pytest.mark.parametrize("next_dealer", NEXT_DEALERS)
@pytest.mark.parametrize("name", FORMATS)
def test_equity_equals_plain_recursion(name, next_dealer, target):
    match = MatchRules(name, 7, next_dealer, target)
    equity, plain = match_equity(match), plain_equity(match)
    for mine in range(7):
        for theirs in range(7):
            assert equity[mine, theirs] == pytest.approx([plain(mine, theirs, "B"), plain(mine, theirs, "A")], abs=1e-6)
    assert (equity[7] == 1).all() and (equity[:7, 7] == 0).all()


@pytest.mark.parametrize("name", FORMATS)
def test_a_race_to_one_is_a_game(name):
    match = MatchRules(name, 1)
    assert match_equity(match)[0, 0] == pytest.approx([win_probability(0, 0, False), win_probability(0, 0, True)])
    for mine, theirs, i_deal in ((100, 110, True), (119, 90, False), (0, 30, True)):
        expected = win_probability(mine, theirs, i_deal)
        assert equity_in_game(mine, theirs, i_deal, match, 0, 0) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("next_dealer", NEXT_DEALERS)
def test_level_matches_are_even_before_the_cut(next_dealer):
    equity = match_equity(MatchRules("free_triple", 9, next_dealer))
    assert np.diagonal(equity).mean(axis=0)[:9] == pytest.approx(0.5, abs=1e-6)


def test_a_game_at_its_start_is_worth_what_the_match_table_says():
    match = MatchRules("long", 12, "winner", 61)
    for i_deal in (True, False):
        expected = match_equity(match)[3, 4, int(i_deal)]
        assert equity_in_game(0, 0, i_deal, match, 3, 4) == pytest.approx(expected)


def test_what_a_win_at_five_all_is_worth():
    """On paper, first to 7 in `free_4`: a plain win makes it 6-5 and they deal; a skunk wins the match.

    At 6-5 I win at once, or lose by no skunk and deal at 6-6.
    """
    dealer_wins, by_no_skunk = outcome_table(121)[0, 0, :4].sum(), outcome_table(121)[0, 0, 0]
    at_six_five = (1 - dealer_wins) + by_no_skunk * dealer_wins
    at_five_six = 1 - at_six_five
    expected = [at_six_five, 1, 1, 1, at_five_six, 0, 0, 0]
    assert outcome_values(MatchRules("free_4", 7), 5, 5) == pytest.approx(expected, abs=1e-6)


def test_a_skunk_is_feared_where_it_ends_the_match():
    """I stand at 6 of 7, far behind in the game; for them a skunk is enough at 5 and is not at 4."""
    match = MatchRules("free_4", 7)
    plain, feared = (equity_in_game(40, 100, True, match, 6, theirs) for theirs in (4, 5))
    assert win_probability(40, 100, True) < feared < plain


def test_who_dealt_first_matters_where_the_deal_alternates():
    match = MatchRules("acc", 7, "alternate")
    as_dealer, as_pone = (equity_in_game(60, 60, True, match, 4, 4, first) for first in (True, False))
    assert as_dealer < as_pone  # I shall not deal first next time
    with pytest.raises(ValueError, match="i_dealt_first: with next_dealer 'alternate' say"):
        equity_in_game(60, 60, True, match, 4, 4)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((0, 0, True, MatchRules(), 7, 0), "my match points 7: allowed are whole numbers 0..6"),
        ((0, 0, True, MatchRules(), 0, -1), "their match points -1"),
        ((0, 121, True, MatchRules(), 0, 0), "the game to 121 is over"),
        ((0, 0, True, MatchRules(target=200), 0, 0), "target 200: allowed are whole numbers 0..121"),
    ],
)
def test_positions_that_cannot_be_are_refused(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        equity_in_game(*arguments)


def test_the_table_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        match_equity(MatchRules())[0, 0] = 1
