"""What a training run can be told: dataclasses, a YAML file, and `--any.key value` on top.

May import: crib_env.rules, agents.networks (their settings are part of a run's).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path

import jsonargparse

from agents.networks import NetworkConfig
from crib_env.rules import Rules


@dataclass
class RunConfig:
    """Where a run lives and what it uses.

    Args:
        folder: where runs are kept, made if missing.
        name: the run's own folder in it; empty: date and time.
        seed: decides deals, weights and sampling.
        threads: CPU threads for the network; 0: as torch chooses, one a core.
        device: "cpu", "cuda", or "auto" for a GPU when there is one.
        checkpoint_updates: updates between checkpoints of the whole state.
    """

    folder: str = "runs"
    name: str = ""
    seed: int = 1
    threads: int = 0
    device: str = "auto"
    checkpoint_updates: int = 10


@dataclass
class PhaseConfig:
    """Single deals for points first, whole games for wins after.

    Args:
        deal_decisions: decisions on single deals from 0-0, rewarded by net points.
        game_decisions: decisions after that on whole games, rewarded by the result.
        warmup_updates: updates at the start of the game phase that fit the value head alone.
        reward_per_point: scale of the points reward.
        game_reward: "win", or "match" where skunks count.
        game_learning_rate: the learning rate at the start of the game phase; it falls to zero.
    """

    deal_decisions: int = 9_500_000
    game_decisions: int = 1_500_000
    warmup_updates: int = 8
    reward_per_point: float = 0.1
    game_reward: str = "win"
    game_learning_rate: float = 3e-4


@dataclass
class PPOConfig:
    """Proximal policy optimisation (Schulman et al. 2017).

    Args:
        games: games played side by side.
        horizon: decisions of each game in one update; games * horizon is the batch.
        epochs: passes over the batch.
        minibatch: decisions in one gradient step.
        learning_rate: Adam's, at the start; it falls linearly over each phase.
        clip: how far a probability ratio may move before its gradient stops.
        entropy: weight of the entropy bonus at the start; self-play wants more than one agent alone.
        entropy_end: the share of it left at the end of the deal phase.
        value_weight: weight of the value loss.
        discount: per decision of a seat; a game is finite, so 1.
        trace: lambda of generalised advantage estimation.
        max_grad_norm: gradients are scaled down to this norm.
    """

    games: int = 1024
    horizon: int = 32
    epochs: int = 1
    minibatch: int = 4096
    learning_rate: float = 1.5e-3
    clip: float = 0.2
    entropy: float = 0.02
    entropy_end: float = 0.1
    value_weight: float = 0.5
    discount: float = 1.0
    trace: float = 0.8
    max_grad_norm: float = 0.5


@dataclass
class EvaluationConfig:
    """How strength is watched.

    Args:
        every: decisions between evaluations.
        pairs: mirrored pairs against each opponent, each time; with three and four players, deals
            of cards that are played with the learner on each side in turn.
        final_pairs: likewise for the closing table.
        opponents: who they are: names, checkpoints or module:function.
    """

    every: int = 1_000_000
    pairs: int = 300
    final_pairs: int = 2000
    opponents: list[str] = field(default_factory=lambda: ["random", "greedy", "heuristic"])


@dataclass
class Config:
    """A training run.

    Args:
        run: where it lives and what it uses.
        rules: the game.
        network: what learns.
        phases: what it is taught, in order.
        ppo: how it learns.
        evaluation: how strength is watched.
    """

    run: RunConfig = field(default_factory=RunConfig)
    rules: Rules = field(default_factory=Rules)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    phases: PhaseConfig = field(default_factory=PhaseConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def check(self) -> None:
        """Raise ValueError at the first setting no run could have."""
        ppo, phases = self.ppo, self.phases
        for key, value in (
            ("ppo.games", ppo.games), ("ppo.horizon", ppo.horizon), ("ppo.epochs", ppo.epochs),
            ("ppo.minibatch", ppo.minibatch), ("evaluation.every", self.evaluation.every),
            ("evaluation.pairs", self.evaluation.pairs), ("run.checkpoint_updates", self.run.checkpoint_updates),
        ):  # fmt: skip
            if value < 1:
                raise ValueError(f"{key} {value}: at least 1 is needed")
        if ppo.minibatch > ppo.games * ppo.horizon:
            raise ValueError(
                f"ppo.minibatch {ppo.minibatch} is larger than the batch, ppo.games {ppo.games} x ppo.horizon "
                f"{ppo.horizon} = {ppo.games * ppo.horizon}"
            )
        if min(phases.deal_decisions, phases.game_decisions) < 0 or not phases.deal_decisions + phases.game_decisions:
            raise ValueError("phases.deal_decisions and phases.game_decisions: neither below 0, and not both 0")
        if phases.game_reward not in ("win", "match"):
            raise ValueError(f"phases.game_reward {phases.game_reward!r}: allowed are win, match")
        if phases.game_reward == "match" and self.rules.sides != 2:
            raise ValueError("phases.game_reward 'match': match points are known for two sides, three players want win")
        if not (0 < ppo.learning_rate < 1 and 0 < ppo.clip < 1 and 0 <= ppo.trace <= 1 and 0 < ppo.discount <= 1):
            raise ValueError("ppo: learning_rate and clip lie in (0, 1), trace in [0, 1], discount in (0, 1]")
        if self.run.device not in ("auto", "cpu") and not re.fullmatch(r"cuda(:\d+)?", self.run.device):
            raise ValueError(f"run.device {self.run.device!r}: allowed are auto, cpu, cuda, cuda:N")


def config_parser(program: str, base: Config | None = None) -> jsonargparse.ArgumentParser:
    """Parser for --config FILE and --any.key VALUE, with `base` (or the defaults) below them."""
    parser = jsonargparse.ArgumentParser(prog=program, exit_on_error=False, description="Train a policy by self-play.")
    parser.add_argument("--config", action="config", help="YAML file of settings; later options override it")
    parser.add_argument("--resume", metavar="RUN", type=str, help="go on with the run in this folder")
    parser.add_class_arguments(Config, None)
    if base is not None:
        parser.set_defaults(dict(flat(base)))
    return parser


def parse_config(argv: Sequence[str], program: str, base: Config | None = None) -> tuple[Config, str | None]:
    """The settings of a run from its command line, and the run to resume, if any.

    Raises:
        ValueError: an unknown key, a value that does not fit, a missing or broken file; one message.
    """
    parser = config_parser(program, base)
    try:
        values = parser.parse_args(list(argv))
        made = parser.instantiate(values)
    except (jsonargparse.ArgumentError, ValueError, TypeError) as error:
        raise ValueError(_explain(str(error), argv)) from None
    config = Config(**{f.name: made[f.name] for f in fields(Config)})
    config.check()
    return config, values["resume"]


def dump_config(config: Config) -> str:
    """YAML text that gives this config back through --config."""
    parser = config_parser("", config)
    return parser.dump(parser.get_defaults())


def flat(config: object, prefix: str = "") -> list[tuple[str, object]]:
    """("ppo.clip", 0.2) and so on for every setting."""
    found: list[tuple[str, object]] = []
    for f in fields(config):  # type: ignore[arg-type]
        value = getattr(config, f.name)
        key = f"{prefix}{f.name}"
        found += flat(value, f"{key}.") if is_dataclass(value) else [(key, value)]
    return found


def _explain(message: str, argv: Sequence[str]) -> str:
    """The parser's message on one line, with the file it is about and the likeliest key."""
    text = " ".join(message.split())
    files = [a for a in argv if a.endswith((".yaml", ".yml"))] + [a.split("=", 1)[1] for a in argv if "--config=" in a]
    known = [key for key, _ in flat(Config())]
    names = re.findall(r"--([\w.]+)", text) + [
        a + "." + b for a, b in re.findall(r"Group '([\w.]+)'.*option '(\w+)'", text)
    ]
    names += re.findall(r"[Kk]ey '?\"?([\w.]+)", text) + re.findall(r"option '(\w+)'", text)
    for name in names:
        close = difflib.get_close_matches(name, known, 1)
        if name not in known and close:
            text += f"; did you mean {close[0]!r}?"
            break
    existing = [f for f in files if Path(f).exists()]
    return f"{', '.join(existing)}: {text}" if existing and "unrecognized" not in text else text
