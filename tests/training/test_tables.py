"""Matches round a table of three or four: the same cards with A on each side."""

import numpy as np
import pytest

import agents
from agents.networks import NetworkConfig, PolicyValueNet
from agents.neural import NeuralAgent
from crib_env.batch import GameBatch
from crib_env.rules import Rules
from training.arena import IllegalPlay
from training.tables import play_tables


@pytest.mark.parametrize(("players", "share"), [(3, 1 / 3), (4, 1 / 2)])
def test_a_player_against_itself_wins_the_share_of_an_equal(players, share):
    """Greedy draws no chance, so each game of cards is won once, whichever side is called A."""
    summary = play_tables(agents.make("greedy"), agents.make("greedy"), 60, 1, Rules(players=players))
    assert summary.win_rate == pytest.approx(share) and summary.equal_share == pytest.approx(share)
    assert summary.games == 60 * (3 if players == 3 else 2)
    assert summary.points_per_deal[0] == pytest.approx(summary.points_per_deal[1])


@pytest.mark.parametrize("players", [3, 4])
def test_greedy_beats_random_players(players):
    summary = play_tables(agents.make("greedy"), agents.make("random"), 100, 1, Rules(players=players))
    assert summary.ci95[0] > summary.equal_share + 0.2
    assert summary.points_per_deal[0] > summary.points_per_deal[1] + 2


def test_the_same_seed_is_the_same_match_and_another_is_not():
    """More rounds than one chunk, chance drawn by one of the players."""
    rules = Rules(players=3)
    one, same, other = (play_tables(agents.make("greedy"), agents.make("random"), 260, s, rules) for s in (1, 1, 2))
    assert one == same and one != other and one.rounds == 260


def test_an_illegal_action_stops_the_match_and_names_the_player():
    wrong = agents.make(lambda views, masks, rng: np.full(len(views), 77))
    with pytest.raises(IllegalPlay, match="chose action 77"):
        play_tables(wrong, agents.make("random"), 1, 0, Rules(players=4))


@pytest.mark.parametrize("players", [3, 4])
def test_an_untrained_network_plays_as_the_tables_say(players):
    """It starts from exact hand values and points pegged now: better than greedy, which sees no starter."""
    network = NeuralAgent(PolicyValueNet(NetworkConfig("rich", 16, 1), players))
    summary = play_tables(network, agents.make("random"), 100, 1, Rules(players=players))
    assert summary.ci95[0] > summary.equal_share + 0.2


def test_a_network_for_another_table_is_refused():
    network = NeuralAgent(PolicyValueNet(NetworkConfig("rich", 16, 1), 3), "three")
    batch = GameBatch(2)
    with pytest.raises(ValueError, match="three was trained for 3 players, not 2"):
        network.act(batch.views(), batch.masks(), np.random.default_rng(0))
