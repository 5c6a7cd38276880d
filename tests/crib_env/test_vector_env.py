"""CribbageVectorEnv: equal to single environments, step by step, in gymnasium's own forms."""

import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from crib_env.bench import draw_legal
from crib_env.vector_env import CribbageVectorEnv

N = 5
MODES = list(AutoresetMode)


def native(n=N, mode=AutoresetMode.SAME_STEP, **settings):
    return gym.make_vec("Cribbage-v0", num_envs=n, autoreset_mode=mode, **settings)


def serial(n=N, mode=AutoresetMode.SAME_STEP, **settings):
    """Gymnasium's own vector of single environments."""
    kwargs = {"autoreset_mode": mode}
    return gym.make_vec("Cribbage-v0", num_envs=n, vectorization_mode="sync", vector_kwargs=kwargs, **settings)


def plain(infos):
    """Infos with object arrays as lists, so that they can be compared."""
    return {k: plain(v) if isinstance(v, dict) else v.tolist() if v.dtype.hasobject else v for k, v in infos.items()}


def same_step(ours, theirs):
    for a, b in zip(ours[:-1], theirs[:-1], strict=True):
        assert data_equivalence(a, b, exact=True)
    a, b = plain(ours[-1]), plain(theirs[-1])
    assert sorted(a) == sorted(b)
    for key in a:
        if key == "final_obs":
            for x, y in zip(a[key], b[key], strict=True):
                assert data_equivalence(x, y, exact=True)
        else:
            assert data_equivalence(a[key], b[key], exact=True), key


def step_beside(ours, theirs, actions):
    one, other = ours.step(actions), theirs.step(actions)
    same_step(one, other)
    return one


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "settings",
    [
        {"reward": "points"},
        {"episode": "deal", "reward": "points", "encoding": "raw"},
        {"target": 31, "reward": "match", "skip_forced": True, "shaping": 0.5, "dealer": 0, "seat": 1},
    ],
)
def test_slots_equal_single_environments_step_by_step(mode, settings):
    ours, theirs = native(mode=mode, **settings), serial(mode=mode, **settings)
    assert ours.observation_space == theirs.observation_space and ours.action_space == theirs.action_space
    assert ours.metadata == theirs.metadata
    one, other = ours.reset(seed=40), theirs.reset(seed=40)
    same_step(one, other)
    masks, ended = one[0]["action_mask"], 0
    for step in range(250):
        obs, _, over, _, _ = step_beside(ours, theirs, draw_legal(masks, step))
        ended += over.sum()
        if mode is AutoresetMode.DISABLED and over.any():
            one, other = (env.reset(options={"reset_mask": over.copy()}) for env in (ours, theirs))
            same_step(one, other)
            obs = one[0]
        masks = obs["action_mask"]
    assert ended > N


@pytest.mark.parametrize("mode", MODES)
def test_forfeits_equal_those_of_single_environments(mode):
    ours, theirs = native(mode=mode), serial(mode=mode)
    ours.reset(seed=3), theirs.reset(seed=3)
    theirs.action_space.seed(1)
    forfeits = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(120):
            _, _, over, _, _ = step_beside(ours, theirs, theirs.action_space.sample())
            forfeits += over.sum()
            if mode is AutoresetMode.DISABLED and over.any():
                same_step(*(env.reset(options={"reset_mask": over.copy()}) for env in (ours, theirs)))
    assert forfeits > 50


@pytest.mark.parametrize("settings", [{"opponent": "random"}, {"opponent": "random", "illegal_action": "replace"}])
def test_one_slot_equals_one_environment_chance_included(settings):
    single = gym.make("Cribbage-v0", target=61, **settings)
    vector = native(1, AutoresetMode.DISABLED, target=61, **settings)
    obs, _ = single.reset(seed=12)
    obs_v, _ = vector.reset(seed=12)
    for _ in range(300):
        assert (obs["observation"] == obs_v["observation"][0]).all()
        action = 0 if "illegal_action" in settings else int(obs["action_mask"].argmax())
        obs, reward, over, _, info = single.step(action)
        obs_v, rewards, overs, _, infos = vector.step(np.array([action]))
        assert reward == rewards[0] and over == overs[0] and (info["scores"] == infos["scores"][0]).all()
        assert info.get("illegal_action") == (infos["illegal_action"][0] if "illegal_action" in infos else None)
        if over:
            obs, _ = single.reset()
            obs_v, _ = vector.reset(options={"reset_mask": np.array([True])})


def test_a_slot_does_not_depend_on_how_many_there_are():
    few, many = native(2, reward="points"), native(64, reward="points")
    masks_f, masks_m = (env.reset(seed=9)[0]["action_mask"] for env in (few, many))
    for _ in range(300):
        obs_f, reward_f, *_ = few.step(masks_f.argmax(axis=1))
        obs_m, reward_m, *_ = many.step(masks_m.argmax(axis=1))
        assert (obs_f["observation"] == obs_m["observation"][:2]).all() and (reward_f == reward_m[:2]).all()
        masks_f, masks_m = obs_f["action_mask"], obs_m["action_mask"]


def test_the_same_seed_gives_the_same_steps_and_seed_lists_are_taken():
    def run(seed):
        env = native(8, opponent="random", illegal_action="replace")
        env.reset(seed=seed)
        return [env.step(np.full(8, 3))[0]["observation"] for _ in range(50)]

    assert data_equivalence(run(5), run(5), exact=True)
    assert data_equivalence(run(5), run(list(range(5, 13))), exact=True)
    assert not data_equivalence(run(5), run(6), exact=True)
    env = native(3)
    first = env.reset(seed=[1, 2, 3])[0]["observation"]
    again = env.reset(seed=[1, None, 3])[0]["observation"]
    assert (first == again).all(axis=1).tolist() == [True, False, True]
    with pytest.raises(ValueError, match="2 seeds came for 3 slots"):
        env.reset(seed=[1, 2])


def test_everything_told_lies_in_its_space_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = native(16, opponent="random")
        obs, infos = env.reset(seed=1)
        for step in range(200):
            assert obs in env.observation_space
            assert (env.action_masks() == obs["action_mask"]).all() and env.action_masks().dtype == np.bool_
            assert (infos["action_mask"] == obs["action_mask"]).all()
            actions = draw_legal(obs["action_mask"], step)
            assert actions in env.action_space
            obs, rewards, terminated, truncated, infos = env.step(actions)
            assert rewards.dtype == np.float64 and terminated.dtype == truncated.dtype == np.bool_
            assert not truncated.any()


def test_arrays_are_fresh_unless_asked_otherwise():
    for copy in (True, False):
        env = native(4, copy=copy)
        obs, infos = env.reset(seed=1)
        held = [obs["observation"], obs["action_mask"], infos["scores"], infos["action_mask"]]
        before = [array.copy() for array in held]
        first = env.step(obs["action_mask"].argmax(axis=1))
        second = env.step(first[0]["action_mask"].argmax(axis=1))
        shared = np.shares_memory(first[0]["observation"], second[0]["observation"])
        assert shared is not copy
        assert not any(np.shares_memory(a, b) for a, b in zip(first[1:4], second[1:4], strict=True))
        if copy:
            assert data_equivalence(held, before, exact=True)


@pytest.mark.parametrize("mode", MODES)
def test_episode_statistics_are_recorded(mode):
    env = RecordEpisodeStatistics(native(4, mode, episode="deal", reward="points"))
    obs, _ = env.reset(seed=1)
    returns = np.zeros(4)
    resting = np.zeros(4, dtype=bool)
    checked = 0
    for _ in range(80):
        returns[resting] = 0
        obs, rewards, over, _, infos = env.step(obs["action_mask"].argmax(axis=1))
        returns += rewards
        if over.any():
            assert (infos["episode"]["r"][over] == returns[over]).all()
            final = infos["final_info"] if mode is AutoresetMode.SAME_STEP else infos
            net = final["scores"][:, 0] - final["scores"][:, 1]
            assert (net[over] == returns[over]).all()
            checked += over.sum()
            if mode is AutoresetMode.DISABLED:
                obs, _ = env.reset(options={"reset_mask": over})
        if mode is AutoresetMode.NEXT_STEP:
            resting = over
        else:
            returns[over] = 0
    assert checked >= 12


def test_options_are_for_all_slots_or_one_each():
    env = native(3)
    _, infos = env.reset(seed=1, options={"scores": (95, 102), "dealer": 0})
    assert (infos["scores"] == (95, 102)).all() and (infos["dealer"] == 0).all()
    scores, mask = np.array([[1, 2], [3, 4], [5, 6]]), np.array([True, False, True])
    options = {"scores": scores, "dealer": [1, 0, 0], "reset_mask": mask}
    _, infos = env.reset(options=options)
    assert infos["scores"].tolist() == [[1, 2], [0, 0], [5, 6]] and infos["dealer"].tolist() == [1, 0, 0]
    assert infos["_scores"].tolist() == mask.tolist()
    assert set(options) == {"scores", "dealer", "reset_mask"}  # wrappers read the mask after us


def test_events_and_boards_are_those_of_a_slot():
    env = native(3, reward="points", render_mode="ansi")
    obs, _ = env.reset(seed=1)
    pegged = 0
    for _ in range(60):
        obs, rewards, *_ = env.step(obs["action_mask"].argmax(axis=1))
        for slot in range(3):
            events = env.events(slot)
            assert sum(-e["pegged"] if e["seat"] else e["pegged"] for e in events) == rewards[slot]
            pegged += len(events)
    assert pegged > 100
    boards = env.render()
    assert len(boards) == 3 and len(set(boards)) == 3
    assert native(2).render() is None


def test_errors_say_what_came_and_touch_nothing():
    env = native(3, AutoresetMode.DISABLED, illegal_action="raise", target=31)
    with pytest.raises(ResetNeeded, match="before calling"):
        env.step(np.zeros(3, dtype=int))
    with pytest.raises(ValueError, match="first reset must be one of all slots"):
        env.reset(options={"reset_mask": np.array([True, False, False])})
    obs, _ = env.reset(seed=1)
    before = env._duel.games.tobytes()
    for actions, said in (
        (np.array([0, 19, 0]), "illegal action 19 .go. in slot 1"),
        (np.zeros(2, dtype=int), r"int64\[2\] came; step wants whole numbers \[3\]"),
        (np.zeros(3), "float64"),
    ):
        with pytest.raises(ValueError, match=said):
            env.step(actions)
    for mask in (np.ones(3), np.ones(2, dtype=bool), np.zeros(3, dtype=bool)):
        with pytest.raises(ValueError, match="at least one True"):
            env.reset(options={"reset_mask": mask})
    with pytest.raises(ValueError, match="unknown reset options"):
        env.reset(options={"score": (1, 2)})
    assert env._duel.games.tobytes() == before
    over = np.zeros(3, dtype=bool)
    while not over.any():
        obs, _, over, _, _ = env.step(obs["action_mask"].argmax(axis=1))
    with pytest.raises(ResetNeeded, match="reset_mask"):
        env.step(obs["action_mask"].argmax(axis=1))


def test_settings_are_checked_as_in_the_single_environment():
    with pytest.raises(ValueError, match="not there yet"):
        CribbageVectorEnv(2, episode="match")
    with pytest.raises(ValueError, match="at least one"):
        CribbageVectorEnv(0)
    with pytest.raises(ValueError, match="AutoresetMode"):
        CribbageVectorEnv(2, autoreset_mode="sometimes")
    with pytest.raises(TypeError, match="oponent"):
        CribbageVectorEnv(2, oponent="greedy")


def test_one_warning_tells_of_forfeits():
    env = native(4)
    env.reset(seed=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(5):
            _, rewards, over, _, infos = env.step(np.array([19, 19, 0, 19]))
    assert len(caught) == 1 and "slot 0" in str(caught[0].message)
    final = infos["final_info"]
    assert over[[0, 1, 3]].all() and (rewards[[0, 1, 3]] == -1).all()
    assert final["winner"][[0, 1, 3]].tolist() == [1, 1, 1] and final["illegal_action"][0] == 19
    assert "illegal_action" not in infos  # the slots have begun anew
