"""CribbageEnv: what gymnasium asks for, the game that is really played, rewards, illegal actions."""

import subprocess
import sys
import warnings
from inspect import signature

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import agents
import crib_env
from crib_env import Game
from crib_env.duel import Duel
from crib_env.encoding import features, n_features
from crib_env.env import CribbageEnv

ILLEGAL_ON_DISCARD = 19


def make(**settings):
    return gym.make("Cribbage-v0", **settings)


def first_legal(mask):
    return int(mask.argmax())


def play_episode(env, choose=first_legal, **reset):
    """Rewards, the last info and the number of steps of one episode."""
    _, info = env.reset(**reset)
    rewards, over = [], False
    while not over:
        _, reward, over, truncated, info = env.step(choose(info["action_mask"]))
        assert not truncated
        rewards.append(reward)
    return rewards, info


def strict_warnings():
    """Every warning is an error but the one about a forfeit: checkers sample unmasked actions."""
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", message=".*illegal action")


def fresh(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


# ---- what gymnasium asks for


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"opponent": "random", "encoding": "raw", "reward": "match"},
        {"episode": "deal", "reward": "points", "illegal_action": "replace", "skip_forced": True},
        {"target": 61, "seat": 1, "dealer": 0, "shaping": 0.5, "render_mode": "ansi"},
    ],
)
def test_check_env_has_nothing_to_say(settings):
    with warnings.catch_warnings():
        strict_warnings()
        check_env(make(**settings).unwrapped)


def test_a_thousand_masked_episodes_stay_in_their_spaces():
    env = make(opponent="random", episode="deal", reward="points")
    env.action_space.seed(0)
    space = env.observation_space
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for episode in range(1000):
            obs, info = env.reset(seed=0 if episode == 0 else None)
            over = False
            while not over:
                assert (obs["action_mask"] == info["action_mask"]).all() and obs["action_mask"].any()
                obs, reward, over, _, info = env.step(env.action_space.sample(mask=obs["action_mask"]))
                assert isinstance(reward, float)
            assert episode % 20 or obs in space
            assert obs["action_mask"].tolist() == [0] * 19 + [1]


def test_a_thousand_unmasked_episodes_warn_once_and_end():
    env = make(opponent="random")
    env.action_space.seed(0)
    ended_by = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(1000):
            env.reset()
            over = False
            while not over:
                _, reward, over, _, info = env.step(env.action_space.sample())
            ended_by.append("illegal_action" in info)
            assert reward == -1 or not ended_by[-1]
    assert sum(ended_by) > 950
    assert len(caught) == 1 and "illegal action" in str(caught[0].message)


def test_the_same_seed_gives_the_same_episodes():
    def run(env):
        env.action_space.seed(3)
        return [play_episode(env, lambda m: env.action_space.sample(mask=m), seed=s) for s in (11, None, None)]

    one, other = run(make(opponent="random")), run(make(opponent="random"))
    assert [r for r, _ in one] == [r for r, _ in other]
    assert all((a["scores"] == b["scores"]).all() for (_, a), (_, b) in zip(one, other, strict=True))
    assert len({tuple(i["scores"]) for _, i in one}) == 3


def test_without_a_seed_games_differ():
    hands = {make().reset()[0]["observation"].tobytes() for _ in range(5)}
    assert len(hands) == 5


def test_nothing_handed_out_is_ever_reused():
    env = make()
    obs, info = env.reset(seed=1)
    kept = obs["observation"].copy(), obs["action_mask"].copy(), info["scores"].copy(), info["action_mask"].copy()
    for _ in range(20):
        mask = env.unwrapped.action_masks()
        env.step(first_legal(mask))
        mask[:] = False  # ours to spoil
    held = obs["observation"], obs["action_mask"], info["scores"], info["action_mask"]
    assert all((a == b).all() for a, b in zip(kept, held, strict=True))
    assert obs["action_mask"] is not info["action_mask"]


def test_masks_before_the_first_reset_are_those_after_it():
    env = make()
    before = env.get_wrapper_attr("action_masks")()
    assert before.dtype == np.bool_ and before.sum() == 15
    env.reset()
    assert (env.get_wrapper_attr("action_masks")() == before).all()


def test_stepping_is_refused_before_a_reset_and_after_the_end():
    env = make().unwrapped
    with pytest.raises(ResetNeeded, match="reset"):
        env.step(0)
    play_episode(env)
    with pytest.raises(ResetNeeded, match="it is over"):
        env.step(0)
    env.reset()
    env.step(0)
    with pytest.raises(TypeError):
        env.step(0.5)


def test_registering_again_changes_nothing():
    spec = gym.spec("Cribbage-v0")
    crib_env.register_envs()
    assert gym.spec("Cribbage-v0") is spec
    assert isinstance(crib_env.__version__, str) and "Game" in dir(crib_env)
    with pytest.raises(AttributeError, match="no attribute 'Gamee'"):
        crib_env.Gamee  # noqa: B018


def test_import_is_light():
    code = (
        "import sys, crib_env, gymnasium; heavy = {'torch', 'numba', 'agents'} & set(sys.modules); "
        "assert not heavy, heavy; "
        "gymnasium.make('Cribbage-v0', opponent='heuristic').reset(); assert 'torch' not in sys.modules"
    )
    done = fresh(code)
    assert done.returncode == 0, done.stderr


def test_compiled_functions_have_one_signature_after_use():
    # Contiguous and strided arrays, or int32 and int64, compile twice: seconds for each user, and twice the cache.
    code = """
import gymnasium, numpy as np, crib_env
from crib_env import duel, batch
for opponent in ("random", "greedy", "heuristic"):
    env = gymnasium.make("Cribbage-v0", opponent=opponent, illegal_action="replace").unwrapped
    env.reset(seed=1, options={"scores": (100, 100), "dealer": 0, "seat": 1})
    while not env.step(np.int32(3))[2]: pass
    for n, mode in ((1, "SameStep"), (5, "NextStep"), (4, "Disabled")):
        settings = dict(opponent=opponent, autoreset_mode=mode, illegal_action="replace")
        venv = gymnasium.make_vec("Cribbage-v0", num_envs=n, **settings)
        scores, dealers = np.array((110, 100), dtype=np.int16), np.zeros(n, dtype=np.int8)
        venv.reset(seed=1, options={"scores": scores, "dealer": dealers})
        actions = np.zeros(2 * n, dtype=np.int64)[::2]
        for _ in range(60):
            over = venv.step(actions)[2]
            if mode == "Disabled" and over.any():
                venv.reset(options={"reset_mask": over})
games = batch.GameBatch(4, 1, start_scores=(110, 110))
for _ in range(90):
    observations, masks = games.observe("raw")
    games.views(np.arange(2))
    games.step(masks.argmax(axis=1))
many = {f"{m.__name__}.{n}": len(f.signatures) for m in (duel, batch) for n, f in vars(m).items()
        if hasattr(f, "signatures") and f.py_func.__module__ == m.__name__}
used = {name for name, n in many.items() if n}
assert {"crib_env.duel.play", "crib_env.duel.tell_slots", "crib_env.batch.step_many"} <= used, many
assert max(many.values()) == 1, many
"""
    done = fresh(code)
    assert done.returncode == 0, done.stderr


# ---- the game that is played


def answer(game, learner, opponent):
    """Play the opponent's side of a Game until the learner is to act; the events of it."""
    events = []
    while not game.over and game.to_act != learner:
        views = np.array([game.view(1 - learner)])
        events += game.push(int(opponent.act(views, game.mask()[None], None)[0]))
    return events


def game_of(env):
    """The game that an env plays, as a Game with all cards in sight."""
    game = Game.__new__(Game)
    game._games, game.rules = env._duel.games, env._duel.rules
    return game


@pytest.mark.parametrize("seed", range(4))
def test_the_env_plays_the_game_that_game_plays(seed):
    """Step by step beside a Game of the same seed: cards, turns, scores, events, views."""
    env = make(opponent="greedy", reward="points").unwrapped
    greedy = agents.make("greedy")
    chance = np.random.default_rng(seed)
    for number in range(3):
        obs, info = env.reset(seed=seed if number == 0 else None)
        game = Game(seed=seed, game=number)
        learner = next(s for s in (0, 1) if game.dealer == (s if info["dealer"] == 0 else 1 - s))
        over = False
        # Before the learner's first decision at most one discard is made: nothing can have been pegged.
        assert env.events() == answer(game, learner, greedy) == []
        while not over:
            assert obs["action_mask"].tolist() == game.mask().tolist()
            assert info["scores"].tolist() == [game.scores[learner], game.scores[1 - learner]]
            action = int(chance.choice(game.legal_actions()))
            obs, reward, over, _, info = env.step(action)
            events = game.push(action) + answer(game, learner, greedy)
            assert over == game.over
            assert env.events() == [{**e, "seat": int(e["seat"] != learner)} for e in events]
            assert reward == sum(e["pegged"] if e["seat"] == learner else -e["pegged"] for e in events)
        assert info["winner"] == int(game.winner != learner)


def test_seats_and_dealers_are_as_asked():
    for seat in (0, 1):
        for dealer in (0, 1):
            env = make(seat=seat, dealer=dealer).unwrapped
            for _ in range(3):
                _, info = env.reset()
                assert info["dealer"] == dealer and env._duel.seats[0] == seat
    env = make().unwrapped
    env.reset(seed=0)
    drawn = set()
    for _ in range(60):
        _, info = env.reset()
        drawn.add((info["dealer"], int(env._duel.seats[0])))
    assert drawn == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_options_start_one_episode_anywhere():
    env = make().unwrapped
    _, info = env.reset(seed=1, options={"scores": (95, 102), "dealer": 0})
    assert info["scores"].tolist() == [95, 102] and info["dealer"] == 0
    _, info = env.reset(options={"scores": [7, 9], "dealer": 1, "seat": 1})
    assert info["scores"].tolist() == [7, 9] and info["dealer"] == 1
    assert env._duel.games["score"][0, :2].tolist() == [9, 7]
    _, info = env.reset()
    assert info["scores"].tolist() == [0, 0]


@pytest.mark.parametrize(
    "options, said",
    [
        ({"scores": (121, 0)}, "0..120"),
        ({"scores": (-1, 0)}, "0..120"),
        ({"scores": 3}, "mine and theirs"),
        ({"scores": (1.5, 2)}, "whole numbers"),
        ({"dealer": 2}, "allowed are 0 and 1"),
        ({"seat": "left"}, "allowed are 0 and 1"),
        ({"score": (1, 2)}, "unknown reset options .'score'.: allowed are scores, dealer, seat"),
    ],
)
def test_options_outside_the_allowed_are_named_and_change_nothing(options, said):
    env = make().unwrapped
    env.reset(seed=1)
    before = env._duel.games.tobytes()
    with pytest.raises(ValueError, match=said):
        env.reset(seed=2, options=options)
    assert env._duel.games.tobytes() == before


@pytest.mark.parametrize(
    "settings, said",
    [
        ({"episode": "match"}, "not there yet"),
        ({"episode": "hand"}, "allowed are 'game', 'deal'"),
        ({"reward": "money"}, "allowed are win, points, match"),
        ({"encoding": "richer"}, "allowed are raw, rich"),
        ({"illegal_action": "ignore"}, "'lose', 'raise', 'replace'"),
        ({"target": 0}, "1..999"),
        ({"seat": 2}, "allowed are None, 0, 1"),
        ({"dealer": True}, "allowed are None, 0, 1"),
        ({"opponent": "nobody"}, "no agent 'nobody'"),
    ],
)
def test_settings_outside_the_allowed_are_named(settings, said):
    with pytest.raises(ValueError, match=said):
        CribbageEnv(**settings)


def test_a_deal_that_would_pay_nothing_is_warned_of():
    with pytest.warns(UserWarning, match='use reward="points"'):
        CribbageEnv(episode="deal")


def test_skipping_forced_moves_leaves_only_choices():
    env = make(skip_forced=True, opponent="random")
    _, info = env.reset(seed=2)
    over = False
    while not over:
        assert info["action_mask"].sum() > 1
        _, _, over, _, info = env.step(first_legal(info["action_mask"]))


def test_opponents_may_be_functions_and_get_views_masks_and_chance():
    asked = []

    def last_legal(views, masks, rng):
        assert isinstance(rng, np.random.Generator) and views.dtype.names and masks.dtype == np.int8
        assert (views["to_act"] == 0).all() and masks.any(axis=1).all()
        asked.append(len(views))
        return 19 - masks[:, ::-1].argmax(axis=1)

    play_episode(make(opponent=last_legal))
    assert len(asked) > 30 and set(asked) == {1}


@pytest.mark.parametrize("answer, said", [([17], "chose action 17"), ([0.0], "whole numbers"), ([0, 0], "one a view")])
def test_an_opponent_that_breaks_the_rules_is_named(answer, said):
    def cheat(views, masks, rng):
        return answer

    env = CribbageEnv(opponent=_agent_of(cheat), dealer=0)
    with pytest.raises(RuntimeError, match=f"opponent 'cheat'.*{said}"):
        env.reset()


def _agent_of(function):
    class Cheat:
        name = "cheat"

        def act(self, views, masks, rng):
            return function(views, masks, rng)

    return Cheat()


# ---- rewards


def test_rewards_by_hand():
    """A win, a loss, a skunk, a double skunk: start scores near the end, whoever gets there."""
    seen = set()
    for mine, theirs in ((118, 118), (118, 80), (80, 118), (118, 20), (20, 118), (118, 100)):
        for name in ("win", "match", "points"):
            env = make(reward=name, opponent="random")
            for seed in range(6):
                rewards, info = play_episode(env, seed=seed, options={"scores": (mine, theirs)})
                final = info["scores"].tolist()
                assert max(final) == 121 and info["winner"] == final.index(121)
                sign = 1 if final[0] == 121 else -1
                worth = 4 if min(final) <= 60 else 2 if min(final) <= 90 else 1
                expected = {"win": sign, "match": sign * worth, "points": final[0] - final[1] - (mine - theirs)}
                assert sum(rewards) == expected[name]
                if name != "points":
                    assert not any(rewards[:-1])
                seen.add((name, sign, worth))
    assert {("match", 1, 4), ("match", -1, 4), ("match", 1, 2), ("match", -1, 2), ("match", -1, 1)} <= seen


@pytest.mark.parametrize("reward", ["win", "points", "match"])
def test_rewards_are_zero_sum_between_the_two_sides(reward):
    """Greedy against greedy, seen from either seat: one game, opposite pay."""
    greedy = agents.make("greedy")

    def total(seat, seed):
        env = make(seat=seat, reward=reward).unwrapped
        env.reset(seed=seed)
        paid, over = 0.0, False
        while not over:
            views = np.array([game_of(env).view(seat)])
            action = greedy.act(views, env.action_masks()[None].astype(np.int8), None)
            _, gain, over, _, _ = env.step(int(action[0]))
            paid += gain
        return paid

    for seed in range(5):
        assert total(0, seed) == -total(1, seed) != 0


def test_shaping_pays_on_the_way_and_nothing_in_all():
    rewards, info = play_episode(make(shaping=1.0, opponent="random"), seed=4)
    assert sum(rewards) == pytest.approx(1 if info["winner"] == 0 else -1)
    assert any(rewards[:-1])


def test_a_deal_pays_its_net_points():
    env = make(episode="deal", reward="points", opponent="random").unwrapped
    for _ in range(20):
        rewards, info = play_episode(env)
        mine, theirs = info["scores"].tolist()
        assert sum(rewards) == mine - theirs and info["winner"] == -1
        assert {e["phase"] for e in env.events()} & {"show_hand", "show_crib", "last", "play"}


# ---- illegal actions


@pytest.mark.parametrize(
    "reward, scores, cost",
    [
        ("win", (0, 0), -1),
        ("win", (120, 5), -1),
        ("match", (0, 0), -4),
        ("match", (60, 0), -4),
        ("match", (61, 0), -2),
        ("match", (90, 0), -2),
        ("match", (91, 0), -1),
        ("points", (0, 0), -121),
        ("points", (100, 119), -2),
    ],
)
def test_a_forfeit_costs_what_the_opponent_pegging_out_would(reward, scores, cost):
    env = make(reward=reward)
    env.reset(seed=1, options={"scores": scores})
    with pytest.warns(UserWarning, match="illegal action 19 .go. in slot 0, deal 1, count 0: legal are 0 .*forfeited"):
        obs, paid, over, truncated, info = env.step(ILLEGAL_ON_DISCARD)
    assert (paid, over, truncated) == (cost, True, False)
    assert info["illegal_action"] == 19 and info["winner"] == 1
    assert info["scores"].tolist() == list(scores)  # as they stood
    assert obs["action_mask"].tolist() == [0] * 19 + [1]
    _, info = env.reset()
    assert "illegal_action" not in info and "winner" not in info


def test_a_forfeit_takes_back_what_shaping_lent():
    env = make(shaping=1.0)
    env.reset(seed=1, options={"scores": (60, 0)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        paid = env.step(ILLEGAL_ON_DISCARD)[1]
    assert paid == pytest.approx(-1 - 60 / 121)


@pytest.mark.parametrize("action", [19, 15, -1, 20, 10**6])
def test_raise_names_the_action_and_touches_nothing(action):
    env = make(illegal_action="raise").unwrapped
    env.reset(seed=1)
    duel = env._duel
    before = duel.games.tobytes(), duel.masks.tobytes(), duel.ended.tobytes(), duel.illegal.tobytes()
    with pytest.raises(ValueError, match=rf"illegal action {action} .*legal are 0 \(.. ..\)"):
        env.step(action)
    assert before == (duel.games.tobytes(), duel.masks.tobytes(), duel.ended.tobytes(), duel.illegal.tobytes())
    _, _, over, _, info = env.step(0)
    assert not over and "illegal_action" not in info


def test_replace_draws_every_legal_action_and_says_so():
    env = make(illegal_action="replace", dealer=1).unwrapped
    drawn = set()
    for seed in range(150):
        env.reset(seed=seed)
        _, _, over, _, info = env.step(ILLEGAL_ON_DISCARD)
        assert not over and info["illegal_action"] == ILLEGAL_ON_DISCARD
        seat = env._duel.seats[0]
        cards = game_of(env).dealt(seat)
        drawn.add(tuple(cards.index(c) for c in game_of(env).discards(seat)))
    assert len(drawn) == 15
    env.reset(seed=0)
    rewards, info = play_episode(env, lambda mask: ILLEGAL_ON_DISCARD, seed=0)
    assert rewards[-1] in (1, -1) and info["winner"] == int(rewards[-1] < 0)


# ---- documents


def test_the_docstring_lists_every_feature_as_the_code_has_it():
    doc = CribbageEnv.__doc__
    headings = [line.strip("# ") for line in doc.splitlines() if line.strip().startswith("## ")]
    assert headings == [
        "Description",
        "Action Space",
        "Observation Space",
        "Starting State",
        "Rewards",
        "Episode End",
        "Information",
        "Arguments",
        "References",
        "Version History",
    ]
    for f in features("rich"):
        last = f.start + f.size - 1
        places = str(f.start) if f.size == 1 else f"{f.start}-{last}"
        assert f"| {places} | `{f.name}` | {f.meaning} |" in doc
    assert f"F = {n_features('raw')}" in doc and f"F = {n_features('rich')}" in doc and "<features>" not in doc


def test_the_docstring_lists_every_argument_with_its_default():
    rows = [line.split("|") for line in CribbageEnv.__doc__.split("## Arguments")[1].splitlines() if "| `" in line]
    listed = {row[1].strip(" `"): row[2].strip(" `") for row in rows}
    given = {name: p.default for name, p in signature(CribbageEnv).parameters.items()}
    assert listed == {name: f'"{d}"' if isinstance(d, str) else repr(d) for name, d in given.items()}
    inner = {name: p.default for name, p in signature(Duel).parameters.items() if name != "n"}
    assert {**inner, "render_mode": None} == given


def test_rendering_shows_the_learners_board():
    env = make(render_mode="ansi")
    _, info = env.reset(seed=1, options={"scores": (95, 102), "dealer": 1})
    board = env.render()
    assert "95" in board and "102" in board
    env.step(first_legal(info["action_mask"]))
    assert env.render() != board
    assert make().unwrapped.render() is None
    with pytest.raises(ResetNeeded):
        make(render_mode="ansi").unwrapped.render()
    with pytest.raises(ValueError, match="allowed are None, 'ansi'"):
        CribbageEnv(render_mode="human")
