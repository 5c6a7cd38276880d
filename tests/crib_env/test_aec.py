"""Every seat an agent: what PettingZoo asks for, whose turn it is, who is paid what, and what nobody may see."""

import subprocess
import sys
import warnings
from importlib import import_module

import numpy as np
import pettingzoo
import pytest
from gymnasium.error import ResetNeeded
from hidden import shuffle_unseen
from pettingzoo.test import api_test, seed_test

from crib_env import Game, Rules, aec_env
from crib_env.actions import GO
from crib_env.aec_env import ENV_ID, raw_env, state_features
from crib_env.cards import N_CARDS, card_id, card_text
from crib_env.encoding import n_features
from crib_env.state import starter_in_deck

PLAYERS = [2, 3, 4]
ILLEGAL_ON_DISCARD = GO


def made(players=2, seed=1, **settings):
    """The raw environment after a reset."""
    env = raw_env(players=players, **settings)
    env.reset(seed=seed)
    return env


def placed(env, game):
    """The environment at the position of a Game."""
    env._games[0] = game.record
    env._standings = env._standings_of(env._games)
    env._turn_to_act()
    return env


def lay(env, text):
    """The agent that acted, having laid a card by its text, or said go."""
    agent = env.agent_selection
    kept = env._games["kept"][0, int(agent[-1])].tolist()
    env.step(GO if text == "go" else 15 + kept.index(card_id(text)))
    return agent


def random_steps(env, rng):
    """Random legal play until all is over: yields who is to act and what it will do, before it does."""
    while not env.terminations[env.agent_selection]:
        agent = env.agent_selection
        action = int(rng.choice(env.observe(agent)["action_mask"].nonzero()[0]))
        yield agent, action
        env.step(action)


# ---- what PettingZoo asks for


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("settings", [{}, {"encoding": "raw", "reward": "points", "skip_forced": True}])
def test_pettingzoo_finds_nothing_to_warn_of(players, settings):
    """But that an observation is a dictionary: it says so of all but its own environments with a mask."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Observation is not a NumPy array")
        warnings.filterwarnings("ignore", "Observation space for each agent probably should be")
        api_test(aec_env.env(players=players, **settings), num_cycles=300)
        seed_test(lambda: aec_env.env(players=players, **settings), num_cycles=300)
        import_module("pettingzoo.test.state_test").test_state_space(aec_env.env(players=players))


def test_pettingzoo_makes_it_by_name():
    env = pettingzoo.make("aec", ENV_ID, players=3)
    assert env.possible_agents == ["seat_0", "seat_1", "seat_2"] and not env.metadata["is_parallelizable"]
    assert str(env) == "cribbage_v0"


def test_without_pettingzoo_one_line_says_what_to_install():
    code = "import sys; sys.modules['pettingzoo'] = None; import crib_env; import crib_env.aec_env"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "crib_env.aec_env needs PettingZoo: python -m pip install" in done.stderr.splitlines()[-1]


def test_import_of_the_package_does_not_bring_pettingzoo():
    code = "import sys, crib_env; from crib_env import Game; Game(); assert 'pettingzoo' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- the game that is really played


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("game", [0, 1])
def test_cards_turns_and_scores_are_those_of_game(players, game):
    env = made(players, seed=7)
    if game:
        env.reset()
    twin = Game(seed=7, rules=Rules(players=players), game=game)
    for agent, action in random_steps(env, np.random.default_rng(1)):
        assert agent == f"seat_{twin.to_act}"
        assert env.observe(agent)["action_mask"].tolist() == twin.mask().tolist()
        for seat in range(players):
            info = env.infos[f"seat_{seat}"]
            assert info["scores"][0] == twin.scores[seat % env.rules.sides]
            assert (seat + info["dealer"]) % players == twin.dealer and info["deal"] == twin.deal
        twin.push(action)
    assert twin.over and env._games["score"][0, : env.rules.sides].tolist() == twin.scores


@pytest.mark.parametrize("players", PLAYERS)
def test_the_same_seed_is_the_same_game_and_another_is_not(players):
    def story(seed):
        env = made(players, seed=seed)
        return [(*turn, env.state().tobytes()) for turn in random_steps(env, np.random.default_rng(0))]

    assert story(3) == story(3)
    assert story(3) != story(4)


def test_options_place_a_game_and_unknown_ones_are_let_pass():
    env = raw_env(players=4)
    env.reset(seed=1, options={"scores": [10, 20], "dealer": 2, "options": 1})
    assert env.infos["seat_3"] == {"scores": [20, 10], "dealer": 3, "deal": 0}
    assert env.agent_selection == "seat_3"
    with pytest.raises(ValueError, match="score of side 1"):
        env.reset(options={"scores": [10, 121]})
    with pytest.raises(ValueError, match="dealer 4"):
        env.reset(options={"dealer": 4})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"players": 5}, "allowed are 2, 3 and 4"),
        ({"players": 3, "reward": "match"}, "known for two"),
        ({"illegal_action": "replace"}, "'lose', 'raise'"),
        ({"encoding": "richer"}, "allowed are raw, rich"),
        ({"dealer": 2}, "allowed are None, 0, 1"),
    ],
)
def test_settings_that_fit_no_game_are_named(settings, said):
    with pytest.raises(ValueError, match=said):
        raw_env(**settings)


# ---- turns and rewards, worked by hand

HANDS = [["TC", "KC", "9H", "2S"], ["5H", "4C", "JH", "5S"], ["AC", "6D", "8D", "QD"]]
CRIB = ["7C", "KH", "QH", "3H"]


def test_turns_and_rewards_of_a_deal_with_gos():
    """Seat 0 deals. J Q 9 makes 29; seat 1 cannot go on, seat 2 lays the ace (30), seat 0 cannot go on either:
    one point to seat 2, and seat 0, at its left, leads. Its ten and seat 1's five make fifteen."""
    game = Game.from_deal(dealer=0, hands=HANDS, crib=CRIB, starter="AH", scores=[0, 0, 0], rules=Rules(players=3))
    env = placed(made(3, reward="points"), game)
    acted = [lay(env, text) for text in ("JH", "QD", "9H", "go", "AC")]
    assert acted == ["seat_1", "seat_2", "seat_0", "seat_1", "seat_2"]
    assert not any(env.rewards.values())
    assert lay(env, "go") == "seat_0"
    assert env.rewards == {"seat_0": -0.5, "seat_1": -0.5, "seat_2": 1.0}
    assert env.events() == [{"phase": "go", "seat": 2, "points": 1, "pegged": 1, "score": 1}]
    assert env.agent_selection == "seat_0"  # twice in a row
    assert env.last()[1] == -0.5
    lay(env, "TC")
    assert not any(env.rewards.values())
    assert env.last()[1] == -0.5 and env.agent_selection == "seat_1"
    lay(env, "5H")
    assert env.rewards == {"seat_0": -1.0, "seat_1": 2.0, "seat_2": -1.0}
    assert env.agent_selection == "seat_2" and env.last()[1] == 1.0 - 1.0
    lay(env, "8D")
    # What was seat 0's at its last turn was told then; since it led, seat 1 pegged two.
    assert env.agent_selection == "seat_0" and env.last()[1] == -1.0


@pytest.mark.parametrize("players", PLAYERS)
def test_the_winner_is_paid_and_the_others_share_the_loss(players):
    env = made(players, seed=5)
    told = dict.fromkeys(env.possible_agents, 0.0)
    rng = np.random.default_rng(2)
    while env.agents:
        agent = env.agent_selection
        observation, reward, done, truncated, info = env.last()
        assert not truncated
        told[agent] += reward
        if done:
            # The mask of a finished game has go alone, for everybody.
            assert observation["action_mask"].nonzero()[0].tolist() == [GO]
            assert (told[agent] > 0) == (info["winner"] == 0)
        env.step(None if done else int(rng.choice(observation["action_mask"].nonzero()[0])))
    sides = env.rules.sides
    winner = int(env._games["winner"][0])
    assert told == {f"seat_{s}": 1.0 if s % sides == winner else -1 / (sides - 1) for s in range(players)}


@pytest.mark.parametrize(
    ("players", "settings"),
    [(n, s) for n in PLAYERS for s in ({"reward": "points"}, {"shaping": 0.5})]
    + [(n, {"reward": "match"}) for n in (2, 4)],
)
def test_rewards_sum_to_zero_and_partners_share_them(players, settings):
    env = made(players, seed=3, **settings)
    rng, totals = np.random.default_rng(3), np.zeros(players)
    while not all(env.terminations.values()):
        env.step(int(rng.choice(env.last()[0]["action_mask"].nonzero()[0])))
        rewards = np.array(list(env.rewards.values()))
        totals += rewards
        assert abs(rewards[: env.rules.sides].sum()) < 1e-9
        assert (rewards == np.resize(rewards[: env.rules.sides], players)).all()
    assert totals.any()


def test_one_deal_ends_with_its_show():
    env = made(3, episode="deal", reward="points")
    assert sum(1 for _ in random_steps(env, np.random.default_rng(0))) >= 3 + 12
    assert env._games["deal"][0] == 1 and all(env.terminations.values())


# ---- what nobody may see


@pytest.mark.parametrize("players", PLAYERS)
def test_only_the_seat_to_act_has_a_mask(players):
    env = made(players)
    for agent, _ in random_steps(env, np.random.default_rng(1)):
        for other in env.agents:
            assert env.observe(other)["action_mask"].any() == (other == agent)


@pytest.mark.parametrize("players", PLAYERS)
def test_hidden_cards_never_change_what_an_agent_is_told(players):
    """Everything but `state()`: observation, mask, info, rewards, board."""
    env, rng = made(players, render_mode="ansi"), np.random.default_rng(4)
    changed = 0
    for step, (agent, _) in enumerate(random_steps(env, rng)):
        seat = step % players
        told, everything, real = env.observe(f"seat_{seat}"), env.state(), env._games.copy()
        board = env.render()
        env._games = shuffle_unseen(real, seat, rng)
        again = env.observe(f"seat_{seat}")
        assert all((told[key] == again[key]).all() for key in told)
        assert seat != int(agent[-1]) or env.render() == board
        changed += (env.state() != everything).any()
        env._games = real
    assert changed > 0.5 * step


def test_nobody_is_told_who_has_laid_away_already():
    """All seats discard at once: those who wait, asked already or not, see nothing of it."""
    env = made(4)
    for _ in range(3):
        others = set(env.agents) - {env.agent_selection}
        before = {agent: (env.observe(agent)["observation"].tobytes(), str(env.infos[agent])) for agent in others}
        env.step(0)
        assert before == {a: (env.observe(a)["observation"].tobytes(), str(env.infos[a])) for a in others}


@pytest.mark.parametrize("players", PLAYERS)
def test_the_state_has_every_card_where_it_is(players):
    env = made(players, seed=6)
    where = {f.name: f.slice for f in state_features(players)}
    for agent, _ in random_steps(env, np.random.default_rng(5)):
        state, g = env.state(), env._games[0]
        assert env.state_space.contains(state)
        held, laid = (state[where[name]].reshape(players, N_CARDS) for name in ("held", "laid"))
        twin = Game(rules=env.rules)
        twin._games[0] = g
        for seat in range(players):
            assert [card_text(c) for c in held[seat].nonzero()[0]] == twin.hand(seat)
            assert laid[seat].sum() == (0 if g["phase"] == 0 else 4 - g["cards_left"][seat])
        assert sorted(card_text(c) for c in state[where["crib"]].nonzero()[0]) == sorted(twin.crib)
        assert state[where["starter"]].nonzero()[0].tolist() == [starter_in_deck(g)]
        assert state[where["to_act"]].argmax() == int(agent[-1]) and state[where["dealer"]].argmax() == g["dealer"]
        assert state[where["scores"]] == pytest.approx(np.array(twin.scores) / 121)


# ---- illegal actions


@pytest.mark.parametrize("players", PLAYERS)
def test_an_illegal_action_forfeits_and_sums_to_zero(players):
    env = made(players)
    agent = env.agent_selection
    with pytest.warns(UserWarning, match="illegal action 19"):
        env.step(ILLEGAL_ON_DISCARD)
    sides, side = env.rules.sides, int(agent[-1]) % env.rules.sides
    lost, gained = -1 / (sides - 1), 1 / (sides - 1) ** 2
    assert env.rewards == {f"seat_{s}": lost if s % sides == side else gained for s in range(players)}
    assert all(env.terminations.values()) and env.infos[agent]["illegal_action"] == ILLEGAL_ON_DISCARD
    assert env.infos[agent]["winner"] == (-1 if sides == 3 else 1)
    for _ in range(players):
        env.step(None)
    assert not env.agents


@pytest.mark.parametrize("players", PLAYERS)
def test_forfeiting_for_points_costs_all_that_the_others_lacked(players):
    env = raw_env(players=players, reward="points")
    env.reset(seed=1, options={"scores": [100] * env.rules.sides})
    agent = env.agent_selection
    with pytest.warns(UserWarning, match="forfeited"):
        env.step(-1)
    assert env.rewards[agent] == -21


def test_an_illegal_action_can_raise_and_leaves_all_as_it_was():
    env = made(3, illegal_action="raise")
    before = env.state().tobytes(), env.agent_selection
    with pytest.raises(ValueError, match=r"illegal action 7 .* legal are 0 \("):
        env.step(7)
    assert (env.state().tobytes(), env.agent_selection) == before
    env.step(np.int32(0))


def test_steps_out_of_order_are_named():
    env = raw_env()
    with pytest.raises(ResetNeeded):
        env.step(0)
    env.reset(seed=1)
    with pytest.raises(ValueError, match="gave None"):
        env.step(None)
    with pytest.raises(ResetNeeded):
        raw_env(render_mode="ansi").render()


def test_the_board_is_that_of_the_seat_to_act(capsys):
    env = made(4, render_mode="human")
    assert env.render() is None
    shown = capsys.readouterr().out
    assert "Your turn" in shown and "partner" in shown
    assert made(2).render() is None


def test_the_observation_has_the_length_of_its_encoding():
    for players in PLAYERS:
        for encoding in ("raw", "rich"):
            env = made(players, encoding=encoding)
            assert env.observe("seat_0")["observation"].shape == (n_features(encoding, players),)
