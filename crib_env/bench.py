"""Speed of the engine and its environments, and the signature of a fixed workload.

    python -m crib_env.bench [--json FILE] [--quick]

One thread; medians of several repeats, all measurements taken in turn so that a busy machine
slows each alike. A step is one decision, a single-choice one (a go, a last card) included; what
the engine does by itself is not counted. May import: everything of crib_env; `agents` only
inside functions, for the bots of the signature and the environments.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from statistics import median
from typing import Any

import gymnasium
import numpy as np
from numba import njit

from crib_env.actions import N_ACTIONS, legal_bits, write_mask
from crib_env.batch import GameBatch
from crib_env.encoding import ENCODINGS
from crib_env.engine import DRAWN, apply, start_game
from crib_env.rng import mix64
from crib_env.rules import Rules
from crib_env.state import OVER, new_records

SIGNATURE_SEED = 121
SIGNATURE_RANDOM_GAMES = 2_000
SIGNATURE_BOT_GAMES = 200  # with each bot in each seat
SIGNATURE_VIEWS = 512  # slots whose observations are summed up
SIGNATURE_VIEW_STEPS = 60
_ROUNDING = 1_000.0  # observations count to three decimals
ENGINE_GAMES = 500  # in one measurement
BATCH = 1_024
OPPONENT = "random"  # cheap: what is measured is the environment
_KEY_STEP = np.uint64(0x9E3779B97F4A7C15)
_S32 = np.uint64(32)

# What a fresh process has to do before it is ready, timed from the inside.
_IMPORT = "import time; t = time.perf_counter(); import crib_env; print(time.perf_counter() - t)"
_COMPILE = """
import time; t = time.perf_counter()
import gymnasium, numpy, crib_env
env = gymnasium.make("Cribbage-v0", illegal_action="replace")
env.reset(seed=1)
while not env.step(0)[2]:
    pass
from crib_env.batch import GameBatch
batch = GameBatch(2, 1)
observations, masks = batch.observe("rich")
batch.step(masks.argmax(axis=1))
print(time.perf_counter() - t)
"""


def main(argv: list[str] | None = None) -> None:
    """Measure, print a table for people, and write the JSON of the contract."""
    parser = argparse.ArgumentParser(prog="python -m crib_env.bench", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", metavar="FILE", help="also write the figures as JSON")
    parser.add_argument("--quick", action="store_true", help="short repeats; no compilation from nothing")
    args = parser.parse_args(argv)
    report = measure(quick=args.quick, note=lambda text: print(text, file=sys.stderr, flush=True))
    print_table(report)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=2)
            file.write("\n")


def measure(quick: bool = False, note: Callable[[str], None] = lambda text: None) -> dict[str, Any]:
    """Every figure of the report, by name.

    Args:
        quick: a tenth of the time; leaves `compile_cold_s` None.
        note: is told what goes on.
    """
    note("compiling: seconds when it was done before, about a minute the first time ...")
    report: dict[str, Any] = {"signature": signature()}
    note("measuring ...")
    speeds = run_in_turn(workloads(), seconds=0.1 if quick else 0.6, repeats=3 if quick else 7)
    for name in ("engine_steps", "engine_games", "observe_steps", "observe_raw_steps", "gym_steps", "vector_steps"):
        report[f"{name}_per_s"] = speeds[name]
    report["openspiel_games_per_s"] = speeds.get("openspiel_games")
    report["engine_to_openspiel"] = _ratio(speeds["engine_games"], speeds.get("openspiel_games"))
    if "openspiel_games" not in speeds:
        report["openspiel_games_per_s_reason"] = "open-spiel is not installed: pip install 'crib-env[openspiel]'"
    note("starting fresh processes ...")
    report.update(start_times(cold=not quick))
    return report | machine()


def run_in_turn(loads: dict[str, Callable[[], dict[str, float]]], seconds: float, repeats: int) -> dict[str, float]:
    """Median speed of each workload; every repeat runs all of them, one after the other.

    Args:
        loads: functions that do a piece of work and say how many of what they did.
        seconds: how long each goes on in one repeat, at least once.
        repeats: how often.
    """
    rates: dict[str, list[float]] = {}
    for load in loads.values():
        load()  # compiled, and in the caches
    for _ in range(repeats):
        for load in loads.values():
            for name, rate in _rates(load, seconds).items():
                rates.setdefault(name, []).append(rate)
    return {name: median(found) for name, found in rates.items()}


def _rates(load: Callable[[], dict[str, float]], seconds: float) -> dict[str, float]:
    done: dict[str, float] = {}
    begun = time.perf_counter()
    while (passed := time.perf_counter() - begun) < seconds or not done:
        for name, count in load().items():
            done[name] = done.get(name, 0) + count
    return {name: count / passed for name, count in done.items()}


def _ratio(a: float, b: float | None) -> float | None:
    return None if b is None else a / b


def workloads() -> dict[str, Callable[[], dict[str, float]]]:
    """What is measured. The engine and OpenSpiel stand side by side."""
    loads: dict[str, Callable[[], dict[str, float]]] = {"engine": engine_load()}
    spiel = openspiel_load()
    if spiel is not None:
        loads["openspiel"] = spiel
    for encoding in ENCODINGS:
        loads[f"observe_{encoding}"] = observe_load(encoding)
    return loads | {"gym": gym_load(), "vector": vector_load()}


def engine_load() -> Callable[[], dict[str, float]]:
    """Random games to 121, compiled, a mask written for every decision."""
    record = new_records(1, Rules(), SIGNATURE_SEED)
    first = 0

    def load() -> dict[str, float]:
        nonlocal first
        _, steps = random_games(record, first, ENGINE_GAMES)
        first += ENGINE_GAMES
        return {"engine_steps": steps, "engine_games": ENGINE_GAMES}

    return load


def observe_load(encoding: str) -> Callable[[], dict[str, float]]:
    """A GameBatch, an observation and a mask written for every decision."""
    batch = GameBatch(BATCH, SIGNATURE_SEED)
    out, masks = batch.observe(encoding)
    name = "observe_steps" if encoding == "rich" else f"observe_{encoding}_steps"
    draw = _Drawer()

    def load() -> dict[str, float]:
        batch.step(draw(masks))
        batch.observe(encoding, out, masks)
        return {name: BATCH}

    return load


def gym_load() -> Callable[[], dict[str, float]]:
    """The learner's decisions through gymnasium.make, one call each; the opponent's come on top."""
    env = gymnasium.make("Cribbage-v0", opponent=OPPONENT)
    observation, _ = env.reset(seed=SIGNATURE_SEED)
    chance = random.Random(SIGNATURE_SEED)

    def load() -> dict[str, float]:
        nonlocal observation
        for _ in range(100):
            legal = observation["action_mask"].nonzero()[0]
            observation, _, over, _, _ = env.step(legal[int(chance.random() * len(legal))])
            if over:
                observation, _ = env.reset()
        return {"gym_steps": 100}

    return load


def vector_load() -> Callable[[], dict[str, float]]:
    """The learner's decisions through gymnasium.make_vec; the opponent's come on top."""
    env = gymnasium.make_vec("Cribbage-v0", num_envs=BATCH, opponent=OPPONENT)
    observations, _ = env.reset(seed=SIGNATURE_SEED)
    draw = _Drawer()

    def load() -> dict[str, float]:
        nonlocal observations
        observations = env.step(draw(observations["action_mask"]))[0]
        return {"vector_steps": BATCH}

    return load


def openspiel_load() -> Callable[[], dict[str, float]] | None:
    """OpenSpiel's two-player cribbage played at random from Python; None where it is not installed."""
    try:
        import pyspiel  # noqa: PLC0415  (optional)
    except ImportError:
        return None
    game = pyspiel.load_game("cribbage", {"players": 2})
    return partial(_play_openspiel, game, random.Random(SIGNATURE_SEED))


def _play_openspiel(game: Any, chance: random.Random) -> dict[str, float]:
    state = game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            outcomes = state.chance_outcomes()  # cards left in the pack, all alike
            state.apply_action(outcomes[int(chance.random() * len(outcomes))][0])
        else:
            legal = state.legal_actions()
            state.apply_action(legal[int(chance.random() * len(legal))])
    return {"openspiel_games": 1}


class _Drawer:
    """Legal actions for a batch of masks, from integers alone: the same on every machine."""

    def __init__(self) -> None:
        self._calls = 0

    def __call__(self, masks: np.ndarray) -> np.ndarray:
        self._calls += 1
        return draw_legal(masks, self._calls)


@njit(cache=True)
def draw_legal(masks, call):
    """A legal action for each row, drawn by (call, row): int64[B]."""
    actions = np.empty(len(masks), np.int64)
    for i in range(len(masks)):
        bits = np.int64(0)
        for a in range(N_ACTIONS):
            bits |= np.int64(masks[i, a] != 0) << a
        actions[i] = draw_bit(bits, mix64(np.uint64(call) * _KEY_STEP + np.uint64(i)))
    return actions


@njit(cache=True)
def draw_bit(bits, key):
    """One of the set bits, all alike, drawn by 64 random bits."""
    n = 0
    for a in range(N_ACTIONS):
        n += bits >> a & 1
    left = np.int64(((key >> _S32) * np.uint64(n)) >> _S32)
    for a in range(N_ACTIONS):
        if bits >> a & 1:
            if left == 0:
                return a
            left -= 1
    return -1


@njit(cache=True)
def random_games(record, first, n):
    """Play games first .. first + n - 1 at random in record[0].

    Returns:
        The events, scores and actions of all folded into 64 bits, and how many decisions there were.
    """
    g = record[0]
    mask = np.empty(N_ACTIONS, np.int8)
    folded = np.uint64(0)
    steps = 0
    for game in range(first, first + n):
        start_game(g, game, DRAWN)
        key = mix64(np.uint64(game) * _KEY_STEP)
        while g.phase != OVER:
            key += _KEY_STEP
            bits = legal_bits(g)
            write_mask(bits, mask)
            already = g.n_events
            action = draw_bit(bits, mix64(key))
            apply(g, action)
            folded = fold(folded, action)
            for e in range(already, g.n_events):
                folded = fold_event(folded, g.events[e])
            steps += 1
        folded = fold(fold(fold(folded, g.score[0]), g.score[1]), g.deal)
    return folded, steps


@njit(cache=True)
def fold(folded, value):
    """Stir one integer into 64 bits."""
    return mix64(folded ^ np.uint64(np.int64(value))) + _KEY_STEP


@njit(cache=True)
def fold_event(folded, event):
    """Stir in a scoring event, whole."""
    folded = fold(fold(folded, event.kind), event.seat)
    return fold(fold(fold(folded, event.points), event.pegged), event.score)


@njit(cache=True)
def fold_all(folded, values):
    """Stir in an array of integers (int64) into 64 bits (uint64: a signed shift would be another one)."""
    for i in range(len(values)):
        folded = fold(folded, values[i])
    return folded


def signature() -> str:
    """Sixteen hex digits that change when play does: rules, deals, bots or observations.

    2,000 random games with every event, 200 games of greedy and heuristic in each seating with
    every point by its source, and observations to three decimals. Integers from `rng` draw all
    chance, so it is the same on every machine.
    """
    folded, _ = random_games(new_records(1, Rules(), SIGNATURE_SEED), 0, SIGNATURE_RANDOM_GAMES)
    for seating in (("greedy", "heuristic"), ("heuristic", "greedy")):
        folded = fold_all(np.uint64(folded), play_bots(*seating))
    return f"{fold_all(np.uint64(folded), sum_observations()):016x}"


def play_bots(first: str, second: str) -> np.ndarray:
    """Games of two bots, seat 0 and seat 1: int64, tallies and scores of all games at their end."""
    import agents  # noqa: PLC0415  (upwards, for bots by name, as the environments do)

    batch = GameBatch(SIGNATURE_BOT_GAMES, SIGNATURE_SEED, autoreset=False)
    players = (agents.make(first), agents.make(second))
    chance = np.random.default_rng(SIGNATURE_SEED)  # an argument of `act`: these two draw nothing
    actions = np.zeros(batch.n, dtype=np.int64)
    while not batch.ended.all():
        for seat, player in enumerate(players):
            slots = np.flatnonzero(~batch.ended & (batch.to_act == seat))
            if len(slots):
                actions[slots] = player.act(batch.views(slots), batch.masks(slots), chance)
        batch.step(actions)
    return np.concatenate([batch.games["tally"].ravel(), batch.games["score"].ravel()]).astype(np.int64)


def sum_observations() -> np.ndarray:
    """Rich observations of random play, to three decimals, summed over slots at each step: int64."""
    batch = GameBatch(SIGNATURE_VIEWS, SIGNATURE_SEED)
    draw = _Drawer()
    sums = []
    for _ in range(SIGNATURE_VIEW_STEPS):
        observations, masks = batch.observe("rich")
        # Rounded one by one, then added as integers: no order of adding can matter.
        sums.append(np.rint(observations.astype(np.float64) * _ROUNDING).astype(np.int64).sum(axis=0))
        batch.step(draw(masks))
    return np.concatenate(sums)


def start_times(cold: bool) -> dict[str, float | None]:
    """Seconds a fresh process takes: compiling all from nothing, with filled caches, and importing."""
    with tempfile.TemporaryDirectory() as empty:
        compile_cold = run_fresh(_COMPILE, {"NUMBA_CACHE_DIR": empty}) if cold else None
        compile_warm = run_fresh(_COMPILE, {"NUMBA_CACHE_DIR": empty} if cold else {})
    return {
        "compile_cold_s": compile_cold,
        "compile_warm_s": compile_warm,
        "import_s": median(run_fresh(_IMPORT, {}) for _ in range(3)),
    }


def run_fresh(code: str, environment: dict[str, str]) -> float:
    """The number that `code` prints in a Python process of its own."""
    path = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"a fresh process failed:\n{done.stderr}")
    return float(done.stdout.split()[-1])


def machine() -> dict[str, Any]:
    """Where the figures were taken."""
    return {
        "threads": 1,
        "cpus": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "numba": version("numba"),
        "numpy": np.__version__,
        "gymnasium": gymnasium.__version__,
    }


_ROWS = (
    ("signature", "signature of the fixed workload", ""),
    ("engine_steps_per_s", "engine, random play, a mask each", "steps/s"),
    ("engine_games_per_s", "the same, whole games to 121", "games/s"),
    ("openspiel_games_per_s", "OpenSpiel from Python, random play", "games/s"),
    ("engine_to_openspiel", "engine to OpenSpiel", "times"),
    ("observe_steps_per_s", f"GameBatch of {BATCH}, rich observations", "steps/s"),
    ("observe_raw_steps_per_s", f"GameBatch of {BATCH}, raw observations", "steps/s"),
    ("gym_steps_per_s", "gymnasium.make, learner's steps", "steps/s"),
    ("vector_steps_per_s", f"gymnasium.make_vec of {BATCH}, learner's steps", "steps/s"),
    ("compile_cold_s", "fresh process, everything compiled", "s"),
    ("compile_warm_s", "fresh process, caches filled", "s"),
    ("import_s", "import crib_env", "s"),
)


def print_table(report: dict[str, Any]) -> None:
    """The report for people."""
    from rich.console import Console  # noqa: PLC0415  (only who prints pays for it)
    from rich.table import Table  # noqa: PLC0415

    table = Table(title="crib_env.bench: one thread, medians", title_justify="left")
    table.add_column("what")
    table.add_column("figure", justify="right")
    table.add_column("unit")
    for key, what, unit in _ROWS:
        table.add_row(what, _figure(report[key]), unit)
    Console().print(table)
    if reason := report.get("openspiel_games_per_s_reason"):
        Console().print(reason)


def _figure(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


if __name__ == "__main__":
    main()
