"""Players in processes of their own: the same results, and nobody can do harm."""

import numpy as np
import pytest
from hostile import EditsMasks, FearsJacks

import agents
from crib_env.rules import Rules
from training.arena import BY_A, AgentFault, IllegalPlay, play_chunk, play_match
from training.workers import Chunk, Fault, Meet, Met, Played, Workers


def chunk(a, b, first=0, n=20, forfeit=False):
    return Chunk((0, 1), (a, b), (a.split(":")[-1], b.split(":")[-1]), first, n, 5, Rules(), forfeit)


def same(one, other):
    """Everything but the time it took."""
    arrays = ("won", "loser_scores", "first_dealer", "points", "forfeits", "decisions")
    notes = ("deals", "points", "discards", "loss", "luck")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays) and all(
        np.array_equal(getattr(one.notes, name), getattr(other.notes, name)) for name in notes
    )


@pytest.mark.parametrize("processes", [1, 2])
def test_processes_change_nothing_for_random_either(processes):
    tasks = [chunk("random", "greedy", first) for first in (0, 20, 40)]
    with Workers(processes) as workers:
        played = {task.first: outcome.result for task, outcome in workers.run(tasks)}
    for first, result in played.items():
        here = play_chunk(agents.make("random"), agents.make("greedy"), first, 20, 5, Rules())
        assert same(result, here)


def test_every_fault_is_named_and_nothing_else_is_lost():
    """One process, replaced when it must be; the last chunk is played as if nothing had happened."""
    said = {
        "Raises": "ZeroDivisionError: on purpose",
        "Quits": "SystemExit: enough",
        "Interrupts": "KeyboardInterrupt",
        "NotANumber": "whole numbers wanted",
        "WrongShape": "whole numbers wanted",
        "EditsMasks": "chose action 19",
        "Sleeps": "did not answer in time",
        "Exits": "ended the process (status 3)",
        "ExitsAtOnce": "ended the process (status 3)",
    }
    tasks = [chunk(f"hostile:{name}", "greedy") for name in said]
    with Workers(1, time_limit=2.0) as workers:
        outcomes = list(workers.run([*tasks, chunk("greedy", "heuristic")]))
    for task, outcome in outcomes[:-1]:
        name = task.names[0]
        assert isinstance(outcome, Fault), name
        assert f"agent {name!r}" in outcome.said and said[name] in outcome.said
        assert "\n" not in outcome.said
    assert isinstance(outcomes[-1][1], Played)
    assert same(outcomes[-1][1].result, play_chunk(agents.make("greedy"), agents.make("heuristic"), 0, 20, 5, Rules()))


def test_who_hangs_or_exits_is_told_by_its_place():
    with Workers(2, time_limit=2.0) as workers:
        outcomes = dict(workers.run([chunk("greedy", "hostile:Sleeps"), chunk("hostile:Exits", "greedy")]))
    assert sorted(outcome.who for outcome in outcomes.values()) == [0, 1]


def test_meeting_a_player_that_exits_or_is_not_there():
    with Workers(1) as workers:
        found = [
            outcome for _, outcome in workers.run([Meet("hostile:ExitsAtOnce"), Meet("gredy"), Meet("hostile:Coins")])
        ]
    assert isinstance(found[0], Fault) and "ended the process" in found[0].said
    assert isinstance(found[1], Fault) and "no agent 'gredy'" in found[1].said
    assert found[2] == Met("coins", "hostile:Coins", True)


def test_a_player_at_fault_forfeits_that_game_alone():
    """It raises on jacks as starters: games in which none came while it played are untouched."""
    with pytest.raises(AgentFault, match="fears-jacks"):
        play_match(FearsJacks(), agents.make("greedy"), 40, seed=2)
    result = play_match(FearsJacks(), agents.make("greedy"), 40, seed=2, forfeit=True)
    fair = play_match(agents.make("greedy"), agents.make("greedy"), 40, seed=2)
    lost = result.forfeits == BY_A
    assert 0 < lost.sum() < lost.size
    assert not result.won[lost].any()
    assert (result.won[~lost] == fair.won[~lost]).all()
    assert (result.loser_scores[~lost] == fair.loser_scores[~lost]).all()


def test_an_agent_cannot_make_its_own_actions_legal():
    with pytest.raises(IllegalPlay, match="'edits' chose action 19"):
        play_match(EditsMasks(), agents.make("greedy"), 4)
