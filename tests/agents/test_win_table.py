"""The win table: against plain enumeration, against games the engine played, against what others published."""

from functools import cache

import numpy as np
import pytest

import agents
from agents.tables.win import (
    DATA_FILE,
    DEALER,
    Deals,
    count_deals,
    deal_counts,
    main,
    margins_by_needs,
    outcome_table,
    sample_deals,
    solve,
    win_chance,
    win_probability,
    win_table,
)
from crib_env.batch import GameBatch
from crib_env.match import DOUBLE_SKUNK, SKUNK

D, P = True, False  # whose points
TOY = (  # deals of a small game, all alike in chance; the fourth is there twice
    ((D, 2), (P, 1), (D, 1), (P, 4), (D, 3)),
    ((P, 2), (D, 1), (P, 3)),
    ((D, 1),),
    ((P, 1), (D, 1)),
    ((P, 1), (D, 1)),
)
TOY_MARGINS = (0, 0, 0, 1, 1, 1, 2, 2, 2)  # by what the loser still needs, 0..8


def as_deals(toy):
    """Deals from tuples of (by dealer, points)."""
    events = [event for deal in toy for event in deal]
    starts = np.cumsum([0] + [len(deal) for deal in toy])
    return Deals(np.array([who for who, _ in events]), np.array([n for _, n in events], dtype=np.int8), starts)


@cache
def plain(dealer_needs, pone_needs):
    """Chances of the toy game's outcomes, by walking every deal: dealer wins by margin 0, 1, 2, then the pone."""
    chances = [0.0] * 6
    for deal in TOY:
        needs = {D: dealer_needs, P: pone_needs}
        for who, points in deal:
            needs[who] -= points
            if needs[who] <= 0:
                chances[(0 if who == D else 3) + TOY_MARGINS[needs[not who]]] += 1 / len(TOY)
                break
        else:
            then = plain(needs[P], needs[D])
            for k in range(6):
                chances[k] += then[(k + 3) % 6] / len(TOY)
    return chances


def test_every_small_position_equals_plain_enumeration():
    solved = solve(count_deals(as_deals(TOY)), np.array(TOY_MARGINS), 3)
    assert solved.shape == (9, 9, 6)
    for dealer_needs in range(1, 9):
        for pone_needs in range(1, 9):
            assert solved[dealer_needs, pone_needs] == pytest.approx(plain(dealer_needs, pone_needs), abs=1e-12)


def test_who_counts_first_decides_when_both_need_one():
    """On paper: the dealer pegs first in two of the toy's five deals."""
    solved = solve(count_deals(as_deals(TOY)), np.zeros(2, dtype=np.int64), 1)
    assert solved[1, 1] == pytest.approx([2 / 5, 3 / 5])


def test_pone_counts_first_in_the_show():
    """Both could go out in the show: the pone's two points come before the dealer's twelve."""
    show = as_deals((((D, 1), (P, 2), (D, 8), (D, 4)),))
    solved = solve(count_deals(show), np.zeros(14, dtype=np.int64), 1)
    assert solved[13, 2] == pytest.approx([0, 1])
    assert solved[1, 2] == pytest.approx([1, 0])
    assert solved[13, 3] == pytest.approx([1, 0])


def played_wins(agent, n, scores, seed):
    """Share of n games from these scores that seat 0, the dealer, wins."""
    batch = GameBatch(n, seed, skip_forced=True, autoreset=False, dealer=0, start_scores=scores)
    rng = np.random.default_rng(seed)
    actions = np.zeros(n, dtype=np.int64)
    while not batch.ended.all():
        slots = np.flatnonzero(~batch.ended)
        actions[slots] = agent.act(batch.views(slots), batch.masks(slots), rng)
        batch.step(actions)
    return (batch.games["winner"] == 0).mean()


def test_chances_are_those_of_games_the_engine_plays():
    """Greedy, which does not look at the score. 20,000 games and as many deals: sd 0.5 points, tolerance 4 sd."""
    greedy = agents.make("greedy")
    chances = solve(count_deals(sample_deals(greedy, 20_000, seed=1)), np.zeros(122, dtype=np.int64), 1)
    for seed, scores in enumerate([(120, 120), (118, 118), (110, 114), (117, 100), (90, 95)], start=2):
        expected = chances[121 - scores[0], 121 - scores[1], 0]
        assert played_wins(greedy, 20_000, scores, seed) == pytest.approx(expected, abs=0.02), scores


def test_a_point_less_to_get_never_hurts():
    table = win_table().astype(np.float64)
    assert (np.diff(table, axis=0) <= 0).all() and (np.diff(table[1:], axis=1) >= 0).all()
    assert (table[0] == 1).all() and (table[1:, 0] == 0).all()


def test_published_chances():
    """First dealer 55.2-56 % in millions of games on line; 51 % at dealer 35, pone 37 in a published table."""
    assert 0.55 < win_probability(0, 0, True) < 0.57
    assert win_probability(35, 37, True) == pytest.approx(0.51, abs=0.02)


def test_mean_points_are_those_of_good_play():
    """Published: dealer 16.2, pone 10.1 or 10.2 a deal (Chambers, Colvert); bots up to 16.65 and 10.79."""
    ends = deal_counts().ends / deal_counts().ends.sum()
    assert 15.8 < ends.sum(axis=1) @ np.arange(ends.shape[0]) < 16.8
    assert 9.8 < ends.sum(axis=0) @ np.arange(ends.shape[1]) < 10.9


def test_every_sampled_deal_is_counted():
    """A hole reached is counted once a deal; a completed play always brings the dealer a point."""
    counts = deal_counts()
    deals = counts.ends.sum()
    assert deals >= 100_000
    assert counts.dealer_out[1].sum() == deals
    for points in range(1, len(counts.pone_out)):
        assert counts.pone_out[points].sum() == counts.ends[:, points:].sum()


def test_a_short_game_is_the_end_of_a_long_one():
    for mine, theirs, i_deal in ((0, 0, True), (55, 60, False), (31, 20, True)):
        assert win_probability(mine, theirs, i_deal, 61) == win_probability(mine + 60, theirs + 60, i_deal)


def test_both_sides_chances_add_to_one():
    for mine, theirs in ((0, 0), (120, 120), (100, 119), (121, 5)):
        assert win_probability(mine, theirs, True) + win_probability(theirs, mine, False) == pytest.approx(1)


def test_a_game_that_is_over_is_won_or_lost():
    for i_deal in (True, False):
        assert win_probability(121, 120, i_deal) == 1 and win_probability(120, 121, i_deal) == 0
        assert win_chance(win_table(), -3, 5, i_deal) == 1 and win_chance(win_table(), 5, -3, i_deal) == 0


@pytest.mark.parametrize("target", [121, 61, 31])
def test_outcomes_are_wins_by_margin(target):
    table = outcome_table(target)
    assert table.shape == (target, target, 8) and table.dtype == np.float32
    assert table.sum(axis=2) == pytest.approx(1, abs=1e-5)
    assert table[..., :4].sum(axis=2) == pytest.approx(win_table()[target:0:-1, target:0:-1], abs=1e-5)


def test_a_loser_past_the_line_cannot_be_skunked():
    table = outcome_table(121)
    assert table[:, 91:, SKUNK:4].max() == 0 and table[91:, :, 4 + SKUNK :].max() == 0
    assert table[:, 61:, DOUBLE_SKUNK:4].max() == 0
    assert table[120, 80, SKUNK] > 0.3
    assert outcome_table(61)[:, 31:, SKUNK:4].max() == 0 and outcome_table(61)[:, 30, SKUNK:4].max() > 0


def test_skunks_are_an_eighth_of_games():
    """20,000 games of the heuristic against itself: 12.8 % skunks, 0.09 % double skunks."""
    start = outcome_table(121)[0, 0].reshape(2, 4)
    assert 0.10 < start[:, SKUNK:].sum() < 0.16
    assert 0.0003 < start[:, DOUBLE_SKUNK:].sum() < 0.002


def test_deals_do_not_depend_on_how_many_are_played():
    few, many = (sample_deals(agents.make("greedy"), n, seed=3) for n in (5, 50))
    assert list(few.starts) == list(many.starts[:6])
    assert list(few.points) == list(many.points[: few.starts[-1]])
    assert list(few.by_dealer) == list(many.by_dealer[: few.starts[-1]])


def test_deals_hold_every_point_pegged():
    batch = GameBatch(300, 3, episode="deal", dealer=DEALER, autoreset=False)
    greedy = agents.make("greedy")
    while not batch.ended.all():
        actions = greedy.act(batch.views(), batch.masks(), np.random.default_rng(0))
        batch.step(np.where(batch.ended, 0, actions))
    counts = count_deals(sample_deals(greedy, 300, seed=3))
    dealer, pone = batch.games["score"][:, :2].T
    assert (np.bincount(dealer, minlength=len(counts.ends)) == counts.ends.sum(axis=1)).all()
    assert (np.bincount(pone, minlength=counts.ends.shape[1]) == counts.ends.sum(axis=0)).all()


def test_the_command_writes_what_the_loader_reads(tmp_path, capsys):
    path = tmp_path / DATA_FILE
    main(["--agent", "greedy", "--deals", "200", "--seed", "4", "--out", str(path)])
    assert "the dealer wins" in capsys.readouterr().out
    with np.load(path) as data:
        expected = count_deals(sample_deals(agents.make("greedy"), 200, seed=4))
        assert all(np.array_equal(data[name], table) for name, table in expected._asdict().items())
        assert data["agent"] == "greedy" and data["seed"] == 4
    assert [file.name for file in tmp_path.iterdir()] == [DATA_FILE]


def test_tables_cannot_be_changed():
    for table in (win_table(), outcome_table(61)):
        with pytest.raises(ValueError, match="read-only"):
            table[1, 1] = 0


@pytest.mark.parametrize(
    ("position", "complaint"),
    [
        ((122, 0, True), "my score 122: allowed are whole numbers 0..121"),
        ((0, -1, True), "their score -1: allowed are whole numbers 0..121"),
        ((61, 61, True, 61), "scores 61-61: only one side reaches 61"),
        ((0, 0, True, 200), "target 200: allowed are whole numbers 0..121"),
        ((0, 0, True, 0), "target 0: allowed are whole numbers 1..121"),
        ((1.5, 0, True), "my score 1.5"),
    ],
)
def test_positions_that_cannot_be_are_refused(position, complaint):
    with pytest.raises(ValueError, match=complaint):
        win_probability(*position)


def test_deals_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="target 999"):
        outcome_table(999)
    with pytest.raises(ValueError, match="somebody scores in each"):
        count_deals(as_deals((((D, 1),), ())))
    with pytest.raises(ValueError, match="0 deals: at least 1"):
        sample_deals(agents.make("greedy"), 0)


def test_margins_follow_the_score_of_the_loser():
    assert list(margins_by_needs(121)[[1, 30, 31, 60, 61, 90, 91, 121]]) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert list(margins_by_needs(61)[[1, 30, 31, 61]]) == [0, 0, 1, 1]
