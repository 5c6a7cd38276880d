"""How many games a minute the arena plays with all cores.

    python -m training.arena_bench [--json FILE] [--processes N] [--pairs N]

`greedy`, `expert` and an untrained network of 256 x 2, each against itself, chunk by chunk as a
tournament does; starting processes and compiling are not counted. May import: agents, workers.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.table import Table

from agents.files import write_text
from crib_env.rules import Rules
from training.arena import CHUNK_PAIRS, MatchResult
from training.runlog import console
from training.workers import Chunk, Played, Workers, cores

PROGRAM = "python -m training.arena_bench"
WIDTH, DEPTH = 256, 2


def measure(processes: int, chunks: int) -> dict[str, float]:
    """Games a minute: "greedy_games_per_min", likewise "expert" and "network", and "processes".

    Args:
        processes: how many play side by side.
        chunks: how many each of them plays while the clock runs.
    """
    report: dict[str, float] = {"processes": processes}
    with tempfile.TemporaryDirectory() as folder:
        network = Path(folder) / "network.safetensors"
        write_network(network)
        for name, player in (("greedy", "greedy"), ("expert", "expert"), ("network", str(network))):
            report[f"{name}_games_per_min"] = games_per_minute(player, processes, chunks)
    return report


def write_network(path: Path) -> None:
    """A policy file with an untrained network."""
    from agents.checkpoint import save_policy  # noqa: PLC0415  (torch: the workers pass here too)
    from agents.networks import NetworkConfig, PolicyValueNet  # noqa: PLC0415

    save_policy(path, PolicyValueNet(NetworkConfig(width=WIDTH, depth=DEPTH)), {})


def games_per_minute(player: str, processes: int, chunks: int) -> float:
    """A player against itself."""
    with Workers(processes) as workers:
        play(workers, player, processes)  # processes are up, the game is compiled
        began = time.perf_counter()
        games = play(workers, player, processes * chunks)
        return 60 * games / (time.perf_counter() - began)


def play(workers: Workers, player: str, chunks: int) -> int:
    """Play so many chunks; how many games those were."""
    tasks = [
        Chunk((0, 1), (player, player), ("a", "b"), k * CHUNK_PAIRS, CHUNK_PAIRS, 0, Rules()) for k in range(chunks)
    ]
    return sum(_result(outcome).won.size for _, outcome in workers.run(tasks))


def _result(outcome: object) -> MatchResult:
    if not isinstance(outcome, Played):
        raise RuntimeError(f"a chunk came to nothing: {outcome}")
    return outcome.result


def main(argv: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog=PROGRAM, description="Speed of the arena.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--processes", type=int, default=cores(), help="how many play (default: one a core)")
    parser.add_argument("--pairs", type=int, default=4000, help="in all, for each of the three (default 4000)")
    args = parser.parse_args(argv)
    report = measure(args.processes, max(1, int(np.ceil(args.pairs / CHUNK_PAIRS / args.processes))))
    table = Table(title=f"training.arena_bench: {args.processes} processes", title_justify="left")
    table.add_column("what")
    table.add_column("games a minute", justify="right")
    table.add_row("greedy v greedy", f"{report['greedy_games_per_min']:,.0f}")
    table.add_row("expert v expert", f"{report['expert_games_per_min']:,.0f}")
    table.add_row(f"network {WIDTH} x {DEPTH} v itself", f"{report['network_games_per_min']:,.0f}")
    console.print(table)
    if args.json:
        write_text(args.json, json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
