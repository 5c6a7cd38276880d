"""Round robin over mirrored pairs.

    python -m training.tournament greedy heuristic runs/NAME --pairs 2000 --json out.json

Agents are names, checkpoints, run folders or module:function. Every two of them meet over the
same cards with seats swapped; intervals come from pair outcomes. May import everything above it.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.progress import Progress, TaskID

import agents
from agents.base import Agent
from agents.checkpoint import write_atomically
from crib_env.rules import Rules
from training.arena import IllegalPlay, play_match
from training.runlog import console, match_table, progress_bar
from training.stats import Summary, rate_agents, summarise

PROGRAM = "python -m training.tournament"


def round_robin(
    players: Sequence[Agent], pairs: int, seed: int = 0, rules: Rules | None = None
) -> dict[tuple[int, int], Summary]:
    """Every two players' match, by their places i < j; A is player i.

    Args:
        players: at least two, with different names.
        pairs: mirrored pairs in each match.
        seed: decides cards, dealers and the players' own chance.
        rules: two-player rules.
    Raises:
        ValueError: fewer than two players, a name twice, or no pairs.
    """
    names = [p.name for p in players]
    if len(players) < 2 or len(set(names)) < len(names):
        raise ValueError(f"a tournament wants two or more players of different names; these came: {', '.join(names)}")
    matches = {}
    couples = list(itertools.combinations(range(len(players)), 2))
    with progress_bar() as progress:
        task = progress.add_task("", total=pairs * len(couples))
        for number, (i, j) in enumerate(couples):
            progress.update(task, description=f"{names[i]} v {names[j]}")
            advance = functools.partial(_advance, progress, task, number * pairs)
            result = play_match(players[i], players[j], pairs, seed, rules, on_progress=advance)
            matches[i, j] = summarise(result)
    return matches


def _advance(progress: Progress, task: TaskID, before: int, done: int) -> None:
    progress.update(task, completed=before + done)


def to_json(players: Sequence[Agent], matches: dict[tuple[int, int], Summary], pairs: int, seed: int) -> dict[str, Any]:
    """The tournament as plain values, as the public contract lays it down."""
    rows = []
    for (i, j), s in matches.items():
        rows.append(
            {"a": players[i].name, "b": players[j].name, "games": s.games, "win_rate": s.win_rate, "ci95": list(s.ci95)}
            | {name: getattr(s, name) for name in ("skunk_rate", "double_skunk_rate")}
            | {name: getattr(s, name) for name in ("skunked_rate", "double_skunked_rate")}
            | {"points_per_deal": s.points_per_deal, "first_dealer_wins": s.first_dealer_wins}
        )
    ratings = rate_agents([p.name for p in players], matches)
    return {"pairs": pairs, "seed": seed, "matches": rows, "ratings": ratings}


def main(argv: Sequence[str] | None = None) -> int:
    """The command; the exit status."""
    parser = argparse.ArgumentParser(prog=PROGRAM, description="Round robin over mirrored pairs.")
    parser.add_argument("agents", nargs="+", help="names, checkpoints, run folders or module:function")
    parser.add_argument("--pairs", type=int, default=2000, help="mirrored pairs in each match (default 2000)")
    parser.add_argument("--seed", type=int, default=0, help="decides the cards (default 0)")
    parser.add_argument("--target", type=int, default=121, help="points a game goes to: 121 or 61 (default 121)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    args = parser.parse_args(argv)
    try:
        players = [agents.make(name) for name in args.agents]
        matches = round_robin(players, args.pairs, args.seed, Rules(target=args.target))
        figures = to_json(players, matches, args.pairs, args.seed)
        rows = [(players[i].name, players[j].name, s) for (i, j), s in matches.items()]
        console.print(match_table(f"{args.pairs:,} mirrored pairs a match, seed {args.seed}", rows))
        for rating in figures["ratings"]:
            low, high = rating["ci95"]
            line = f"{rating['agent']:>20}  Elo {rating['elo']:+6.0f}  95 % {low:+.0f} .. {high:+.0f}"
            console.print(line, highlight=False)
        if args.json:
            write_atomically(args.json, lambda file: _write_json(file, figures))
    except (ValueError, OSError, IllegalPlay) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 2
    return 0


def _write_json(file: str, figures: dict[str, Any]) -> None:
    Path(file).write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
