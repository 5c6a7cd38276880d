"""Policy files: what is saved plays the same; what is foreign or damaged is refused in words."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import agents
from agents.checkpoint import load_policy, load_state, save_policy, save_state, write_atomically
from agents.networks import NetworkConfig, PolicyValueNet
from agents.neural import NeuralAgent
from crib_env.batch import GameBatch


@pytest.fixture
def policy(tmp_path):
    """A saved untrained network: (path, network)."""
    torch.manual_seed(1)
    network = PolicyValueNet(NetworkConfig("rich", 16, 1))
    path = tmp_path / "run" / "best.safetensors"
    save_policy(path, network, {"decisions": 7})
    return path, network


def test_a_loaded_policy_plays_as_the_saved_one(policy):
    """Same actions in 500 positions, by file and by folder."""
    path, network = policy
    batch = GameBatch(500, seed=3)
    play = [
        agent.act(batch.views(), batch.masks(), np.random.default_rng(0))
        for agent in (NeuralAgent(network), agents.make(str(path)), agents.make(path.parent))
    ]
    assert (play[0] == play[1]).all()
    assert (play[0] == play[2]).all()
    assert agents.make(path).name == "run"
    assert load_policy(path)[1] == {"decisions": 7}


def test_a_network_for_three_says_so_in_its_file(tmp_path):
    """Saved and loaded, it still knows its table."""
    network = PolicyValueNet(NetworkConfig("rich", 16, 1), players=3)
    save_policy(tmp_path / "best.safetensors", network, {})
    assert load_policy(tmp_path / "best.safetensors")[0].players == 3


def test_a_file_from_before_there_was_a_choice_is_for_two(policy):
    """Older releases wrote no number of players."""
    damage(policy[0], lambda header, tensors: header.pop("players"))
    assert load_policy(policy[0])[0].players == 2


def test_temperature_draws_and_zero_does_not(policy):
    """Argmax needs no chance; above zero the same position is not always answered alike."""
    batch = GameBatch(300, seed=3)
    views, masks = batch.views(), batch.masks()
    soft = NeuralAgent(policy[1], temperature=1.0)
    a, b = (soft.act(views, masks, np.random.default_rng(s)) for s in (1, 2))
    assert (a != b).any()
    assert masks[np.arange(300), a].all()
    with pytest.raises(ValueError, match="temperature"):
        NeuralAgent(policy[1], temperature=-1)


def damage(path, change):
    """Rewrite a policy file's header entry."""
    from safetensors import safe_open

    with safe_open(path, "pt") as opened:
        header = json.loads(opened.metadata()["crib_env"])
        tensors = {k: opened.get_tensor(k) for k in opened.keys()}  # noqa: SIM118
    change(header, tensors)
    save_file(tensors, path, metadata={"crib_env": json.dumps(header)})


def test_a_policy_of_another_encoding_says_both_versions(policy):
    """The message names what the file expects and what this code writes."""
    path, _ = policy
    damage(path, lambda header, tensors: header.update(encoding_version=99, features=214))
    with pytest.raises(ValueError, match=r"version 99 \(F=214\).*this code writes"):
        load_policy(path)


def test_a_policy_that_does_not_fit_its_own_header_is_refused(policy):
    """A tensor of the wrong shape."""
    path, _ = policy
    damage(path, lambda header, tensors: tensors.update({"policy.bias": torch.zeros(3)}))
    with pytest.raises(ValueError, match="does not fit"):
        load_policy(path)


def test_foreign_and_damaged_files_are_refused(policy, tmp_path):
    """Empty, text, truncated, another project's safetensors."""
    path, _ = policy
    whole = path.read_bytes()
    for content in (b"", b"hello", whole[: len(whole) // 2], whole[:9]):
        (tmp_path / "x.safetensors").write_bytes(content)
        with pytest.raises(ValueError, match="no policy file"):
            load_policy(tmp_path / "x.safetensors")
    save_file({"a": torch.zeros(2)}, tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match="written by something else"):
        load_policy(tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match="no checkpoint at"):
        load_policy(tmp_path / "none")


def test_loading_a_state_never_runs_code(tmp_path):
    """A pickle that would make a file when loaded is refused, and the file is not made."""

    class Hostile:
        def __reduce__(self):
            return open, (str(tmp_path / "made"), "w")

    torch.save({"format": "crib-env training", "x": Hostile()}, tmp_path / "s.pt")
    with pytest.raises(ValueError, match="damaged"):
        load_state(tmp_path / "s.pt")
    assert not (tmp_path / "made").exists()


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    """Interrupted in the middle: the file before is whole, the temporary one gone."""
    path = tmp_path / "s.pt"
    save_state(path, {"format": "crib-env training", "done": 1})

    def fail(file):
        with open(file, "w") as half:
            half.write("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, fail)
    assert load_state(path)["done"] == 1
    assert [f.name for f in tmp_path.iterdir()] == ["s.pt"]


def test_files_are_as_readable_as_any_other(policy, tmp_path):
    """A policy is there to be shared: its mode is what the user's umask makes of a new file."""
    (tmp_path / "plain").write_text("")
    assert policy[0].stat().st_mode == (tmp_path / "plain").stat().st_mode
