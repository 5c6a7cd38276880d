"""Self-play PPO, whole, read straight down.

    python -m training.ppo                                  the laptop default
    python -m training.ppo --config FILE --ppo.clip 0.1     settings from a file, and on top of it
    python -m training.ppo --resume runs/NAME               go on after a stop

One network plays every seat of every game: of two or, with `--rules.players`, three or four. An
update collects `games x horizon` decisions, turns them into per-seat advantages (`returns`) and
takes a few epochs of clipped policy gradient steps. Single deals for points come first: the
learner sees no score and is paid its net points. Whole games for wins follow, from the same
weights. May import everything above it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import agents
from agents.base import Agent
from agents.checkpoint import load_policy, load_state, save_policy, save_state
from agents.files import write_text
from agents.networks import VALUE_HEADS, PolicyValueNet, sample_actions
from agents.neural import NeuralAgent
from crib_env.actions import N_ACTIONS
from crib_env.batch import GameBatch
from crib_env.encoding import n_features
from crib_env.rules import Rules
from crib_env.state import TALLIES
from training.arena import play_match
from training.config import Config, PPOConfig, dump_config, parse_config
from training.returns import seat_advantages
from training.runlog import RunLog, Stopwatch, console, match_table, stop_signal
from training.stats import Summary, summarise
from training.tables import TableSummary, play_tables

PROGRAM = "python -m training.ppo"
STATE_FILE, CONFIG_FILE, CLOSING_FILE = "latest.pt", "config.yaml", "closing.json"
LATEST_POLICY, BEST_POLICY = "latest.safetensors", "best.safetensors"
EVALUATION_SEED = 20_000_000  # far from any training seed: strength is watched on cards of its own
CLOSING_SEED = 30_000_000  # and the closing table is played on cards that chose nothing


@dataclass(frozen=True)
class Phase:
    """A stretch of the run with one kind of episode and reward.

    Attributes:
        name: "deal" or "game", the kind of episode.
        first, last: decisions of the run at which it begins and ends.
        head: which value head it trains.
        reward: what the batch pays, and `scale`, what one unit of it is worth to the learner.
        learning_rate: at its start; it falls linearly to zero at its end.
        entropy: weight of the entropy bonus at its start and at its end.
        warmup: updates at its start that fit the value head alone.
    """

    name: str
    first: int
    last: int
    head: int
    reward: str
    scale: float
    learning_rate: float
    entropy: tuple[float, float]
    warmup: int

    def left(self, done: int) -> float:
        """Share of the phase still to come: 1 at its start, 0 at its end."""
        return 1.0 - (done - self.first) / (self.last - self.first)


def phases_of(config: Config) -> list[Phase]:
    """The run's phases in order, an empty one left out."""
    p, ppo = config.phases, config.ppo
    end = p.deal_decisions + p.game_decisions
    low = ppo.entropy * ppo.entropy_end
    phases = [
        Phase("deal", 0, p.deal_decisions, 0, "points", p.reward_per_point, ppo.learning_rate, (ppo.entropy, low), 0),
        Phase("game", p.deal_decisions, end, 1, p.game_reward, 1.0, p.game_learning_rate, (low, low), p.warmup_updates),
    ]
    return [phase for phase in phases if phase.last > phase.first]


class Rollout:
    """One update's decisions, time first: [T, B, ...]. NumPy and torch share the memory."""

    def __init__(self, horizon: int, games: int, encoding: str, rules: Rules | None = None) -> None:
        rules = rules or Rules()
        self.observations = torch.zeros(horizon, games, n_features(encoding, rules.players))
        self.masks = torch.zeros(horizon, games, N_ACTIONS, dtype=torch.int8)
        self.actions = torch.zeros(horizon, games, dtype=torch.int64)
        self.log_probs = torch.zeros(horizon, games)
        self.values = torch.zeros(horizon, games)
        self.rewards = torch.zeros(horizon, games, rules.sides)
        self.dones = torch.zeros(horizon, games, dtype=torch.bool)
        self.seats = torch.zeros(horizon, games, dtype=torch.int64)
        self.advantages = torch.zeros(horizon, games)
        self.last_values = torch.zeros(games)  # of the decision after the last row
        self.last_seats = torch.zeros(games, dtype=torch.int64)


@dataclass
class Learner:
    """All that a stopped run needs to go on as if it had not stopped."""

    network: PolicyValueNet
    optimizer: torch.optim.Adam
    generator: torch.Generator
    device: torch.device
    phase: Phase
    batch: GameBatch
    done: int = 0  # decisions made
    updates: int = 0
    phase_updates: int = 0
    best: float = -1.0  # highest score at an evaluation so far


# The algorithm


@torch.inference_mode()
def collect(learner: Learner, rollout: Rollout, watch: Stopwatch) -> None:
    """Play `horizon` decisions in every game, the network in every seat; fill the rollout."""
    batch, network, phase = learner.batch, learner.network, learner.phase
    for t in range(len(rollout.actions)):
        with watch.part("environment"):
            batch.observe(network.config.encoding, rollout.observations[t].numpy(), rollout.masks[t].numpy())
            rollout.seats[t] = torch.from_numpy(batch.to_act)
        with watch.part("forward"):
            logits, values = network(rollout.observations[t].to(learner.device), rollout.masks[t].to(learner.device))
            actions = sample_actions(logits, learner.generator)
            rollout.actions[t] = actions
            rollout.log_probs[t] = log_prob_of(logits, actions)
            rollout.values[t] = values[:, phase.head]
        with watch.part("environment"):
            _, dones = batch.step(rollout.actions[t].numpy())
            rollout.rewards[t] = torch.from_numpy(batch.side_rewards) * phase.scale
            rollout.dones[t] = torch.from_numpy(dones)
    observations, masks = batch.observe(network.config.encoding)
    _, values = network(torch.from_numpy(observations).to(learner.device), torch.from_numpy(masks).to(learner.device))
    rollout.last_values[:] = values[:, phase.head]
    rollout.last_seats[:] = torch.from_numpy(batch.to_act)
    learner.done += rollout.actions.numel()


def estimate_advantages(rollout: Rollout, ppo: PPOConfig) -> None:
    """Fill the rollout's advantages, each seat along its own decisions."""
    seat_advantages(
        rollout.rewards.numpy(), rollout.dones.numpy(), rollout.values.numpy(), rollout.seats.numpy(),
        rollout.last_values.numpy(), rollout.last_seats.numpy(), ppo.discount, ppo.trace, rollout.advantages.numpy(),
    )  # fmt: skip


def learn(learner: Learner, rollout: Rollout, ppo: PPOConfig, entropy_weight: float, warming: bool) -> dict[str, float]:
    """A few epochs of minibatch steps on the rollout; the curves' diagnostics, averaged.

    While `warming`, only the value heads are fitted: a new reward would otherwise send the trunk
    the errors of a head that knows nothing yet.
    """
    network, optimizer, device = learner.network, learner.optimizer, learner.device
    for name, parameter in network.named_parameters():
        parameter.requires_grad_(not warming or name.startswith(VALUE_HEADS))
    observations, masks = rollout.observations.flatten(0, 1), rollout.masks.flatten(0, 1)
    actions, old_log_probs = rollout.actions.flatten(), rollout.log_probs.flatten()
    advantages = rollout.advantages.flatten()
    returns = advantages + rollout.values.flatten()
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    sums: dict[str, Tensor] = {}
    steps = 0
    for _ in range(ppo.epochs):
        order = torch.randperm(len(actions), generator=learner.generator)
        for rows in order.split(ppo.minibatch):
            if len(rows) < ppo.minibatch and len(order) > ppo.minibatch:
                continue  # a short rest would weigh its rows more than the others
            logits, values = network(observations[rows].to(device), masks[rows].to(device))
            log_probs = logits.log_softmax(dim=1)
            chosen = log_probs.gather(1, actions[rows, None].to(device)).squeeze(1)
            log_ratio = chosen - old_log_probs[rows].to(device)
            ratio = log_ratio.exp()
            advantage = advantages[rows].to(device)
            clipped = ratio.clamp(1 - ppo.clip, 1 + ppo.clip)
            policy_loss = -torch.minimum(ratio * advantage, clipped * advantage).mean()
            value_loss = (values[:, learner.phase.head] - returns[rows].to(device)).square().mean()
            entropy = -(log_probs.exp() * log_probs).sum(dim=1).mean()
            loss = ppo.value_weight * value_loss
            if not warming:
                loss = loss + policy_loss - entropy_weight * entropy
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(network.parameters(), ppo.max_grad_norm)
            optimizer.step()
            with torch.no_grad():
                diagnostics = {
                    "loss/policy": policy_loss,
                    "loss/value": value_loss,
                    "policy/entropy": entropy,
                    "policy/kl": ((ratio - 1) - log_ratio).mean(),  # Schulman, "Approximating KL divergence", 2020
                    "policy/clip_fraction": ((ratio - 1).abs() > ppo.clip).float().mean(),
                    "policy/gradient_norm": norm,
                }
                for name, value in diagnostics.items():
                    sums[name] = sums.get(name, torch.zeros((), device=device)) + value.detach()
            steps += 1
    means = {name: float(total) / steps for name, total in sums.items()}
    means["value/explained_variance"] = explained_variance(rollout.values.flatten(), returns)
    return means


def log_prob_of(logits: Tensor, actions: Tensor) -> Tensor:
    """Log probability of each row's action: float32[B]."""
    return logits.gather(1, actions[:, None]).squeeze(1) - logits.logsumexp(dim=1)


def explained_variance(values: Tensor, returns: Tensor) -> float:
    """1 - Var(returns - values) / Var(returns): 1 is perfect, 0 no better than a constant."""
    return 1.0 - float((returns - values).var() / (returns.var() + 1e-8))


# The run around it


class Diverged(RuntimeError):
    """The loss is no number any more."""


def train(config: Config, folder: Path, state: dict[str, Any] | None = None) -> None:
    """Run, or go on with, the training `config` describes, in `folder`."""
    if config.run.threads:
        torch.set_num_threads(config.run.threads)
    phases = phases_of(config)
    total = phases[-1].last
    learner = new_learner(config, phases)
    if state:
        restore(learner, phases, config, state)
    rollout = Rollout(config.ppo.horizon, config.ppo.games, config.network.encoding, config.rules)
    opponents = [agents.make(name) for name in config.evaluation.opponents]
    watch = Stopwatch()
    with stop_signal() as stop, RunLog(folder, total, learner.done) as log:
        note = ""
        if learner.done == 0:
            note = watch_strength(learner, config, opponents, folder, log)
        while learner.done < total and not stop:
            enter_phase(learner, phases, config)
            before = learner.done
            left = learner.phase.left(before)
            warming = learner.phase_updates < learner.phase.warmup
            for group in learner.optimizer.param_groups:
                group["lr"] = config.ppo.learning_rate if warming else learner.phase.learning_rate * left
            high, low = learner.phase.entropy
            collect(learner, rollout, watch)
            estimate_advantages(rollout, config.ppo)
            with watch.part("learn"):
                values = learn(learner, rollout, config.ppo, low + (high - low) * left, warming)
            if not np.isfinite(list(values.values())).all():
                raise Diverged(
                    f"the loss became {values['loss/policy']} / {values['loss/value']} at {learner.done:,} decisions; "
                    f"{folder / STATE_FILE} holds the last good state: resume it with a lower --ppo.learning_rate"
                )
            learner.updates += 1
            learner.phase_updates += 1
            log.scalars(values | deal_curves(learner.batch) | time_curves(watch, learner.done - before), learner.done)
            every = config.evaluation.every
            if before // every != learner.done // every and learner.done < total:
                note = watch_strength(learner, config, opponents, folder, log)
            log.update(learner.phase.name, learner.done, note)
            if learner.updates % config.run.checkpoint_updates == 0:
                save(learner, config, folder, log)
        save(learner, config, folder, log)
        if learner.done >= total:
            watch_strength(learner, config, opponents, folder, log)
    if learner.done < total:
        console.print(f"stopped at {learner.done:,} of {total:,} decisions; go on with\n  {PROGRAM} --resume {folder}")
        return
    close(learner, config, opponents, folder)


def new_learner(config: Config, phases: list[Phase]) -> Learner:
    """Fresh weights, optimiser and games."""
    torch.manual_seed(config.run.seed)
    wanted = config.run.device
    device = torch.device(("cuda" if torch.cuda.is_available() else "cpu") if wanted == "auto" else wanted)
    network = PolicyValueNet(config.network, config.rules.players).to(device)
    optimizer = torch.optim.Adam(network.parameters(), lr=config.ppo.learning_rate, eps=1e-5, fused=True)
    generator = torch.Generator().manual_seed(config.run.seed)
    return Learner(network, optimizer, generator, device, phases[0], make_batch(config, phases[0]))


def make_batch(config: Config, phase: Phase) -> GameBatch:
    """The games of a phase. Forced moves are the engine's: they teach nothing."""
    return GameBatch(
        config.ppo.games,
        seed=2 * config.run.seed + phase.head,  # each phase has cards of its own
        rules=config.rules,
        episode=phase.name,
        reward=phase.reward,
        mean_show=phase.reward == "points" and config.rules.players == 2,
        skip_forced=True,
    )


def enter_phase(learner: Learner, phases: list[Phase], config: Config) -> None:
    """Change over to the phase the run has come to, if it is a new one."""
    phase = next(p for p in phases if learner.done < p.last)
    if phase != learner.phase:
        learner.phase, learner.phase_updates = phase, 0
        learner.batch = make_batch(config, phase)


def deal_curves(batch: GameBatch) -> dict[str, float]:
    """Points a deal by phase, all seats together, since the last call."""
    deals = max(int(batch.deals_ended[0]), 1)
    curves = {
        f"points_per_deal/{name}": float(points) / deals for name, points in zip(TALLIES, batch.tally, strict=True)
    }
    batch.tally[:] = 0
    batch.deals_ended[:] = 0
    return curves


def time_curves(watch: Stopwatch, decisions: int) -> dict[str, float]:
    """Decisions a second, and the share of time each part took."""
    seconds = watch.take()
    whole = sum(seconds.values())
    return {"time/decisions_per_s": decisions / whole} | {f"time/{k}_share": s / whole for k, s in seconds.items()}


def watch_strength(learner: Learner, config: Config, opponents: list[Agent], folder: Path, log: RunLog) -> str:
    """Play the opponents, draw the curves, keep the network if it is the best so far; a note."""
    rows = play_all(NeuralAgent(learner.network), opponents, config, config.evaluation.pairs, EVALUATION_SEED)
    for bot, s in rows:
        curves = {"win_rate": s.win_rate}
        if isinstance(s, Summary):
            curves |= {"skunk_rate": s.skunk_rate, "skunked_rate": s.skunked_rate}
        log.scalars({f"{name}/{bot.name}": value for name, value in curves.items()}, learner.done)
    rates = {bot.name: s.win_rate for bot, s in rows}
    score = float(np.mean([rate for name, rate in rates.items() if name != "random"] or list(rates.values())))
    if score >= learner.best:
        learner.best = score
        save_policy(folder / BEST_POLICY, learner.network, policy_info(learner, config, folder) | {"win_rates": rates})
    return "  ".join(f"{name} {rate:.1%}" for name, rate in rates.items())


def policy_info(learner: Learner, config: Config, folder: Path) -> dict[str, Any]:
    """Where a policy file comes from."""
    return {"run": folder.name, "decisions": learner.done, "seed": config.run.seed}


def play_all(
    player: Agent, opponents: list[Agent], config: Config, pairs: int, seed: int
) -> list[tuple[Agent, Summary | TableSummary]]:
    """The player's match with each opponent; with three and four players each other side is that opponent's."""
    if config.rules.players != 2:
        return [(bot, play_tables(player, bot, pairs, seed, config.rules)) for bot in opponents]
    return [(bot, summarise(play_match(player, bot, pairs, seed, config.rules))) for bot in opponents]


def close(learner: Learner, config: Config, opponents: list[Agent], folder: Path) -> None:
    """The closing table: best and last network on fresh cards, printed and kept."""
    players = {"last": learner.network}
    best, info = load_policy(folder / BEST_POLICY)
    if info["decisions"] != learner.done:
        players = {"best": best.to(learner.device)} | players
    rows: list[tuple[str, str, Summary | TableSummary]] = []
    with console.status("playing for the closing table"):
        for name, network in players.items():
            matches = play_all(
                NeuralAgent(network, name), opponents, config, config.evaluation.final_pairs, CLOSING_SEED
            )
            rows += [(name, bot.name, summary) for bot, summary in matches]
    console.print(match_table(f"{folder.name} after {learner.done:,} decisions", rows))
    record = [{"player": player, "opponent": opponent} | asdict(s) for player, opponent, s in rows]
    write_text(folder / CLOSING_FILE, json.dumps(record, indent=1))
    console.print(
        f"kept in {folder}: {BEST_POLICY}, {LATEST_POLICY}, {CLOSING_FILE}, event files\n"
        f"  curves   tensorboard --logdir {folder.parent}"
        + (f"\n  matches  python -m training.tournament {folder} heuristic" if config.rules.players == 2 else ""),
        highlight=False,
    )


# Stopping and going on


def save(learner: Learner, config: Config, folder: Path, log: RunLog) -> None:
    """Write the whole state, so that `--resume` goes on from here."""
    log.flush()
    state = {
        "format": "crib-env training",
        "version": 1,
        "network": learner.network.state_dict(),
        "optimizer": learner.optimizer.state_dict(),
        "generator": learner.generator.get_state(),
        "phase": learner.phase.name,
        "batch": {name: torch.from_numpy(array) for name, array in learner.batch.snapshot().items()},
        "done": learner.done,
        "updates": learner.updates,
        "phase_updates": learner.phase_updates,
        "best": learner.best,
    }
    save_policy(folder / LATEST_POLICY, learner.network, policy_info(learner, config, folder))
    save_state(folder / STATE_FILE, state)


def restore(learner: Learner, phases: list[Phase], config: Config, state: dict[str, Any]) -> None:
    """Put a saved state into a fresh learner.

    Raises:
        ValueError: the state does not fit the settings.
    """
    try:
        learner.network.load_state_dict(state["network"])
        learner.optimizer.load_state_dict(state["optimizer"])
        learner.generator.set_state(state["generator"])
        learner.phase = next(p for p in phases if p.name == state["phase"])
        learner.batch = make_batch(config, learner.phase)
        learner.batch.restore({name: tensor.numpy() for name, tensor in state["batch"].items()})
        for name in ("done", "updates", "phase_updates", "best"):
            setattr(learner, name, state[name])
    except (RuntimeError, KeyError, StopIteration, ValueError) as error:
        raise ValueError(
            f"the saved state does not fit these settings ({' '.join(str(error).split())[:300]}): resume without "
            "settings that change the network, the number of games or the phases"
        ) from None


def prepare(argv: Sequence[str]) -> tuple[Config, Path, dict[str, Any] | None]:
    """Settings, folder and, for a resumed run, its state.

    Raises:
        ValueError: settings that fit no run, or a run that is not there or already is.
        OSError: the folder cannot be written.
    """
    config, resume = parse_config(argv, PROGRAM)
    if resume:
        folder = Path(resume)
        state = load_state(folder / STATE_FILE)
        saved, _ = parse_config(["--config", str(folder / CONFIG_FILE)], PROGRAM)
        config, _ = parse_config(argv, PROGRAM, saved)
        return config, folder, state
    folder = Path(config.run.folder) / (config.run.name or time.strftime("%Y%m%d-%H%M%S"))
    if (folder / CONFIG_FILE).exists():
        raise ValueError(f"run {folder} is there already: go on with --resume {folder}, or choose another --run.name")
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / CONFIG_FILE, dump_config(config))
    return config, folder, None


def compile_game(config: Config) -> None:
    """Let Numba compile now what the run needs; only the first run on a machine waits for it."""
    began = time.perf_counter()
    with console.status("compiling the game (the first run only, about a minute)"):
        bots = [agents.make(name) for name in agents.SCRIPTED if name in config.evaluation.opponents]
        for bot in bots:
            play_all(bot, bots[:1], config, 1, EVALUATION_SEED)
        batch = GameBatch(2, rules=config.rules, episode="deal", reward="points", skip_forced=True)
        batch.observe(config.network.encoding)
        estimate_advantages(Rollout(1, 1, config.network.encoding, config.rules), config.ppo)
    seconds = time.perf_counter() - began
    if seconds > 5:
        console.print(f"compiled the game in {seconds:.0f} s; it is cached from now on", highlight=False)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; the exit status."""
    try:
        config, folder, state = prepare(sys.argv[1:] if argv is None else argv)
        compile_game(config)
        console.print(f"run {folder}" + (f", resumed at {state['done']:,} decisions" if state else ""), highlight=False)
        train(config, folder, state)
    except (ValueError, OSError, Diverged) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\n{PROGRAM}: stopped at once; the last checkpoint is kept", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
