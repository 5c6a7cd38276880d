"""The trainer: it learns, it stops and goes on, it says what is wrong."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from agents.checkpoint import load_policy, load_state
from agents.networks import NetworkConfig, PolicyValueNet
from crib_env.actions import N_DISCARDS
from crib_env.batch import GameBatch
from crib_env.values import expected_hands
from training import ppo
from training.config import Config, PPOConfig

TINY = [
    "--run.threads=1", "--run.checkpoint_updates=1", "--network.width=32", "--ppo.games=32", "--ppo.horizon=16",
    "--ppo.minibatch=128", "--evaluation.every=2048", "--evaluation.pairs=4", "--evaluation.final_pairs=8",
    "--evaluation.opponents=[random, greedy]", "--phases.deal_decisions=4096", "--phases.game_decisions=2048",
]  # fmt: skip


def weights(folder):
    """The last network's weights in one vector."""
    network, _ = load_policy(folder / ppo.LATEST_POLICY)
    return torch.cat([p.flatten() for p in network.parameters()])


def curve(folder, name):
    """A TensorBoard curve as [(step, value)]."""
    events = EventAccumulator(str(folder))
    events.Reload()
    return [(e.step, e.value) for e in events.Scalars(name)]


def test_ppo_learns_the_best_discard():
    """A task whose optimum is known: paid the exact expected hand, it must come to keep the best one."""
    hands, tries = 16, 64
    torch.manual_seed(0)
    batch = GameBatch(hands, seed=5)
    observations, masks = map(torch.from_numpy, batch.observe("raw"))
    worth = np.empty((hands, N_DISCARDS), dtype=np.float32)
    for g, row in zip(batch.games, worth, strict=True):
        expected_hands(g["dealt"][int(g["to_act"])].copy(), row)
    network = PolicyValueNet(NetworkConfig("raw", 128, 1))
    learner = ppo.Learner(
        network, torch.optim.Adam(network.parameters(), 1e-3), torch.Generator().manual_seed(0), torch.device("cpu"),
        ppo.phases_of(Config())[0], batch,
    )  # fmt: skip
    rollout = ppo.Rollout(tries, hands, "raw")
    rollout.observations[:], rollout.masks[:], rollout.dones[:] = observations, masks, True
    settings = PPOConfig(games=hands, horizon=tries, minibatch=256, epochs=4)

    def regret():
        with torch.no_grad():
            best = network(observations, masks)[0].argmax(dim=1).numpy()
        return float((worth.max(axis=1) - worth[np.arange(hands), best]).mean())

    before = regret()
    for _ in range(40):
        with torch.no_grad():
            logits, values = network(observations, masks)
        for t in range(tries):
            actions = ppo.sample_actions(logits, learner.generator)
            rollout.actions[t], rollout.values[t] = actions, values[:, 0]
            rollout.log_probs[t] = ppo.log_prob_of(logits, actions)
            rollout.rewards[t, :, 0] = 0.1 * torch.from_numpy(worth[np.arange(hands), actions.numpy()])
        ppo.estimate_advantages(rollout, settings)
        ppo.learn(learner, rollout, settings, 0.1, warming=False)
    assert before > 1.5  # points: nothing is known at first
    assert regret() < 0.15


def test_sampled_actions_are_legal_and_follow_the_odds():
    """Gumbel sampling against the probabilities it must draw from: 20,000 draws, five sigmas."""
    logits = torch.tensor([0.0, 1.0, -1e9, 2.0]).repeat(20_000, 1)
    counts = torch.bincount(ppo.sample_actions(logits, torch.Generator().manual_seed(1)), minlength=4) / 20_000
    odds = logits[0].softmax(0)
    assert counts[2] == 0
    assert torch.all((counts - odds).abs() < 5 * (odds * (1 - odds) / 20_000).sqrt() + 1e-9)


def test_warming_moves_the_value_head_alone():
    """The start of the game phase must not disturb what the policy has learned."""
    config = Config(ppo=PPOConfig(games=16, horizon=8, minibatch=64))
    config.network = NetworkConfig("raw", 16, 1)
    learner = ppo.new_learner(config, ppo.phases_of(config))
    rollout = ppo.Rollout(8, 16, "raw")
    ppo.collect(learner, rollout, ppo.Stopwatch())
    ppo.estimate_advantages(rollout, config.ppo)
    before = {n: p.clone() for n, p in learner.network.named_parameters()}
    ppo.learn(learner, rollout, config.ppo, 0.01, warming=True)
    moved = {n for n, p in learner.network.named_parameters() if not torch.equal(p, before[n])}
    assert moved == {"points_value.weight", "points_value.bias"}


def test_scores_mean_nothing_to_an_untrained_network():
    """Single deals never show a score; a network must not have made up a meaning for it before games do."""
    network = PolicyValueNet(NetworkConfig("rich", 32, 2))
    start, behind = GameBatch(8, seed=3), GameBatch(8, seed=3, start_scores=(20, 100))
    outputs = [network(*map(torch.from_numpy, b.observe("rich")))[0] for b in (start, behind)]
    # The last gains are shown too, and are zero in both.
    assert torch.equal(*outputs)


def test_a_killed_run_goes_on_with_the_same_curve(tmp_path):
    """SIGKILL in the middle, then --resume: the same weights and curves as a run that was left alone."""
    alone, killed = tmp_path / "alone", tmp_path / "killed"
    assert ppo.main([f"--run.folder={tmp_path}", "--run.name=alone", *TINY]) == 0
    command = [sys.executable, "-m", "training.ppo", f"--run.folder={tmp_path}", "--run.name=killed", *TINY]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=tmp_path)
    deadline = time.time() + 300
    while time.time() < deadline and process.poll() is None:
        if (killed / ppo.STATE_FILE).exists() and load_state(killed / ppo.STATE_FILE)["done"] >= 1024:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert load_state(killed / ppo.STATE_FILE)["done"] < 6144, "the run ended before it could be killed"
    assert ppo.main(["--resume", str(killed)]) == 0
    assert torch.equal(weights(killed), weights(alone))
    for name in ("loss/value", "win_rate/greedy"):
        assert curve(killed, name) == curve(alone, name)


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.parametrize(("players", "share"), [(3, 1 / 3), (4, 1 / 2)])
def test_a_short_run_at_a_table_of_many_beats_random_players(tmp_path, players, share):
    """From cards alone (`raw`), so that what it wins by is what it has learned."""
    argv = [
        f"--run.folder={tmp_path}", "--run.name=r", "--run.threads=1", f"--rules.players={players}",
        "--network.encoding=raw", "--network.width=128", "--ppo.games=256", "--ppo.minibatch=2048", "--ppo.epochs=2",
        "--phases.deal_decisions=400000", "--phases.game_decisions=50000", "--evaluation.every=1000000",
        "--evaluation.pairs=50", "--evaluation.final_pairs=300", "--evaluation.opponents=[random]",
    ]  # fmt: skip
    assert ppo.main(argv) == 0
    rows = json.loads((tmp_path / "r" / ppo.CLOSING_FILE).read_text())
    trained = next(row for row in rows if row["player"] == "last")
    before = curve(tmp_path / "r", "win_rate/random")[0][1]
    assert trained["equal_share"] == pytest.approx(share)
    assert trained["ci95"][0] > share + 0.1
    assert trained["win_rate"] > before + 0.1


def test_a_run_for_three_goes_through_and_on(tmp_path, capfd):
    """Deals, then games, then the closing table; and a finished run can be resumed to print it again."""
    argv = [f"--run.folder={tmp_path}", "--run.name=r", "--rules.players=3", *TINY]
    assert ppo.main(argv) == 0
    assert "equals" in capfd.readouterr().out
    assert load_policy(tmp_path / "r")[0].players == 3
    assert ppo.main(["--resume", str(tmp_path / "r")]) == 0


def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path, capfd):
    """SIGINT ends after the update, leaves a state, and prints the command that resumes it."""
    long = [*TINY[:-2], "--phases.deal_decisions=100000000", "--phases.game_decisions=0"]
    command = [sys.executable, "-m", "training.ppo", f"--run.folder={tmp_path}", "--run.name=r", *long]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    while not (tmp_path / "r" / ppo.STATE_FILE).exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert f"--resume {tmp_path / 'r'}" in " ".join(out.split())
    assert load_state(tmp_path / "r" / ppo.STATE_FILE)["done"] > 0
    assert not [f for f in os.listdir(tmp_path / "r") if f.startswith(".")], "a temporary file was left"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--ppo.entropy_coef", "0.1"], "did you mean 'ppo.entropy"),
        (["--ppo.games", "many"], "ppo.games"),
        (["--ppo.minibatch", "9999999"], "larger than the batch"),
        (["--network.encoding", "poor"], "allowed are raw, rich"),
        (["--rules.players", "5"], "allowed are 2, 3 and 4"),
        (["--rules.players", "3", "--phases.game_reward", "match"], "known for two sides"),
        (["--resume", "nowhere"], "no training state at nowhere"),
        (["--config", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_one_clear_message_for_a_bad_command(argv, said, capsys, tmp_path, monkeypatch):
    """Exit status 2, one line, nothing written."""
    monkeypatch.chdir(tmp_path)
    assert ppo.main(argv) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_broken_key_in_a_file_names_file_and_key(tmp_path, capsys):
    """A typo in YAML is found, with the key that was meant."""
    path = tmp_path / "mine.yaml"
    path.write_text("ppo:\n  entropy_coef: 0.1\n")
    assert ppo.main(["--config", str(path)]) == 2
    error = capsys.readouterr().err
    assert "mine.yaml" in error
    assert "entropy" in error.split("did you mean")[1]


def test_a_run_is_never_written_over(tmp_path, capsys):
    """A second run of the same name is refused, and how to go on is said."""
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / ppo.CONFIG_FILE).write_text("")
    assert ppo.main([f"--run.folder={tmp_path}", "--run.name=r"]) == 2
    assert "--resume" in capsys.readouterr().err


def test_a_foreign_state_is_refused(tmp_path, capsys):
    """A torch file of something else is no run."""
    torch.save({"weights": torch.zeros(3)}, tmp_path / ppo.STATE_FILE)
    assert ppo.main(["--resume", str(tmp_path)]) == 2
    assert "not a training state" in capsys.readouterr().err
