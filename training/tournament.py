"""Round robin over mirrored pairs.

    python -m training.tournament greedy heuristic runs/NAME --pairs 2000 --json out.json

Players are names, checkpoints, run folders, module:function, "name=any of these", or "bsd". Every
two of them meet over the same cards with seats swapped; intervals come from pair outcomes. Programs
from outside deal their own cards: those games are single, and said to be.
May import everything above it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from agents.files import write_text
from crib_env.rules import Rules
from training.arena import MatchResult, chunks, forfeited_chunk, join_results
from training.report import MatchReport, Report, draw, tables, to_csv, to_json, verdict_lines
from training.runlog import console, progress_bar
from training.sprt import OPEN, Bounds, Verdict, decide
from training.stats import rate_agents, summarise
from training.store import Store, slug
from training.workers import Chunk, Fault, Meet, Met, Played, WorkerLost, Workers, cores

PROGRAM = "python -m training.tournament"
OUTSIDE_SECONDS = 600.0


@dataclass(frozen=True)
class Settings:
    """How a tournament is played.

    Args:
        pairs: mirrored pairs in each match; against a program from outside, twice as many games.
        seed: decides cards, dealers and the players' own chance.
        rules: two-player rules.
        processes: how many play at the most. It changes no result.
        time_limit: seconds a player may take for one batch of decisions.
        forfeit: a player at fault loses the game; else its match stops.
        bounds: play each match until the sequential test decides.
        resume: folder that keeps what is finished, and is looked into first.
        records: folder for text records of games of the first `recorded` pairs of each match.
        outside_seconds: a program from outside begins no game after so long.
    """

    pairs: int = 2000
    seed: int = 0
    rules: Rules = field(default_factory=Rules)
    processes: int = 1
    time_limit: float | None = None
    forfeit: bool = False
    bounds: Bounds | None = None
    resume: Path | None = None
    records: Path | None = None
    recorded: int = 1
    outside_seconds: float = OUTSIDE_SECONDS

    def __post_init__(self) -> None:
        chunks(self.pairs)
        if self.processes < 1:
            raise ValueError(f"--processes {self.processes}: at least 1")
        if self.recorded < 0:
            raise ValueError(f"--record-games {self.recorded}: at least 0")
        for name, value in (("--time-limit", self.time_limit), ("--outside-seconds", self.outside_seconds)):
            if value is not None and not value > 0:
                raise ValueError(f"{name} {value:g}: more than 0 seconds")


@dataclass
class Match:
    """A match in progress: chunks as they come, in any order."""

    chunks: list[Chunk]
    mirrored: bool
    bounds: Bounds | None
    parts: dict[int, MatchResult] = field(default_factory=dict)
    faults: dict[int, str] = field(default_factory=dict)

    @property
    def closed(self) -> bool:
        """Whether no more need be played: stopped, or decided."""
        return bool(self.faults) or self.so_far()[1].decision != OPEN

    def so_far(self) -> tuple[list[MatchResult], Verdict]:
        """Parts in order, up to a gap or the one that decided, and what the sequential test says.

        What comes after does not count, so that the result does not depend on who was faster.
        """
        firsts = [chunk.first for chunk in self.chunks]
        parts = [self.parts[first] for first in itertools.takewhile(self.parts.__contains__, firsts)]
        verdict = Verdict(OPEN, sum(part.pairs for part in parts), (1.0, 1.0))
        if self.bounds is None or not parts:
            return parts, verdict
        verdict = decide(np.concatenate([part.won.mean(axis=1) for part in parts]), self.bounds)
        ends = np.cumsum([part.pairs for part in parts])
        return parts[: int(np.searchsorted(ends, verdict.pairs)) + 1], verdict

    def report(self) -> MatchReport:
        """Its figures."""
        parts, verdict = self.so_far()
        a, b = self.chunks[0].names
        return MatchReport(
            a,
            b,
            summarise(join_results(parts)) if parts else None,
            verdict if self.bounds is not None and parts else None,
            self.faults[min(self.faults)] if self.faults and verdict.decision == OPEN else None,
        )


def round_robin(players: Sequence[str], settings: Settings, anchor: str | None = None) -> Report:
    """Every two players' match.

    Args:
        players: texts, as in the module's head.
        settings: how it is played.
        anchor: name of the player rated 0.
    Raises:
        ValueError: fewer than two players, a name twice, no player of that name, or a folder to
            resume from that holds another tournament.
    """
    with Workers(settings.processes, settings.time_limit) as workers:
        met = _meet(workers, players)
        skipped = {who.name: who.missing for who in met.values() if who.missing}
        present = {text: who for text, who in met.items() if not who.missing}
        names = [who.name for who in present.values()]
        _check_names(names, len(players), skipped, anchor)
        matches = _pair_off(present, settings)
        store = Store(settings.resume, [who.fingerprint for who in present.values()]) if settings.resume else None
        with progress_bar() as progress:
            bar = progress.add_task("", total=sum(len(match.chunks) for match in matches.values()))
            for chunk, outcome in workers.run(_to_play(matches, store, settings)):
                assert isinstance(chunk, Chunk)
                _take(matches[chunk.match], chunk, outcome, store, settings)
                progress.update(bar, advance=1, description=" v ".join(chunk.names))
    reports = {couple: match.report() for couple, match in matches.items()}
    figures = {couple: report.summary for couple, report in reports.items() if report.summary}
    return Report(
        agents=tuple(names),
        matches=tuple(reports.values()),
        ratings=rate_agents(names, figures, anchor),
        skipped=skipped,
        pairs=settings.pairs,
        seed=settings.seed,
        target=settings.rules.target,
        bounds=settings.bounds,
    )


def _meet(workers: Workers, players: Sequence[str]) -> dict[str, Met]:
    """Who is called what, in the order given."""
    met: dict[str, Met] = {}
    for task, outcome in workers.run(Meet(player) for player in dict.fromkeys(players)):
        if not isinstance(outcome, Met):
            raise ValueError(outcome.said if isinstance(outcome, Fault) else f"{task}: {outcome}")
        assert isinstance(task, Meet)
        met[task.player] = outcome
    return {player: met[player] for player in dict.fromkeys(players)}


def _check_names(names: list[str], given: int, skipped: dict[str, str], anchor: str | None) -> None:
    if len(names) < 2 or len(set(names)) < len(names) or len(names) + len(skipped) < given:
        left_out = "".join(f"; left out is {name}: {reason}" for name, reason in skipped.items())
        raise ValueError(
            f"a tournament wants two or more players of different names; these came: {', '.join(names)}{left_out}"
        )
    if anchor is not None and anchor not in names:
        raise ValueError(f"--anchor {anchor}: nobody of that name plays; these do: {', '.join(names)}")


def _pair_off(present: dict[str, Met], settings: Settings) -> dict[tuple[int, int], Match]:
    """The matches to play; two programs from outside cannot meet."""
    matches = {}
    for (i, (text, one)), (j, (other_text, other)) in itertools.combinations(enumerate(present.items()), 2):
        if one.outside and other.outside:
            continue
        mirrored = not (one.outside or other.outside)
        stretches = chunks(settings.pairs) if mirrored else [(0, 2 * settings.pairs)]
        matches[i, j] = Match(
            [
                Chunk(
                    (i, j), (text, other_text), (one.name, other.name), first, n, settings.seed, settings.rules,
                    settings.forfeit, settings.recorded if settings.records and mirrored else 0,
                    None if mirrored else settings.outside_seconds,
                )
                for first, n in stretches
            ],
            mirrored,
            settings.bounds,
        )  # fmt: skip
    return matches


def _to_play(matches: dict[tuple[int, int], Match], store: Store | None, settings: Settings) -> Iterator[Chunk]:
    """Chunks that are not in the store, as long as their match goes on."""
    for match in matches.values():
        for chunk in match.chunks:
            if match.closed:
                break
            kept = store.find(chunk) if store else None
            if kept is not None and all(path.exists() for path in _record_paths(chunk, settings)):
                match.parts[chunk.first] = kept
            else:
                yield chunk


def _take(match: Match, chunk: Chunk, outcome: Met | Played | Fault, store: Store | None, settings: Settings) -> None:
    """Put a chunk's outcome in the books, its records and its result on the disk."""
    if isinstance(outcome, Fault):
        if outcome.who is None or not settings.forfeit or not match.mirrored:
            match.faults[chunk.first] = outcome.said
            return
        outcome = Played(forfeited_chunk(outcome.who, chunk.n, chunk.rules))
    assert isinstance(outcome, Played)
    for (pair, k), text in outcome.records.items():
        assert settings.records is not None
        write_text(settings.records / _record_name(chunk, pair, k), text)
    if store:
        store.keep(chunk, outcome.result)
    match.parts[chunk.first] = outcome.result


def _record_paths(chunk: Chunk, settings: Settings) -> list[Path]:
    """Where the records of a chunk's games go."""
    if settings.records is None:
        return []
    pairs = range(chunk.first, min(chunk.first + chunk.n, chunk.recorded))
    return [settings.records / _record_name(chunk, pair, k) for pair in pairs for k in range(2)]


def _record_name(chunk: Chunk, pair: int, k: int) -> str:
    """Seat 0 stands first in the name."""
    seats = chunk.names[k], chunk.names[1 - k]
    return f"{slug(seats[0])}-v-{slug(seats[1])}-game-{pair}.txt"


def show(report: Report) -> None:
    """The report on the terminal."""
    console.print(f"{report.pairs:,} mirrored pairs a match, seed {report.seed}, to {report.target}", highlight=False)
    for table in tables(report):
        console.print(table)
    for line in verdict_lines(report):
        console.print(line, highlight=False)
    for name, reason in report.skipped.items():
        console.print(f"{name} is left out: {reason}", highlight=False, soft_wrap=True)


def read_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog=PROGRAM, description="Round robin over mirrored pairs.")
    add = parser.add_argument
    add("agents", nargs="+", help='names, checkpoints, run folders, module:function, "name=one of these", or bsd')
    add("--pairs", type=int, default=2000, help="mirrored pairs in each match (default 2000)")
    add("--seed", type=int, default=0, help="decides the cards (default 0)")
    add("--target", type=int, default=121, help="points a game goes to: 121 or 61 (default 121)")
    add("--processes", type=int, default=cores(), help="how many play side by side (default: one a core)")
    add("--sprt", type=float, nargs=2, metavar=("LOW", "HIGH"), help="stop a match once it is clear that A's win "
        "rate is above LOW or below HIGH percent")  # fmt: skip
    add("--anchor", metavar="NAME", help="who is rated 0 (default: greedy, or the first)")
    add("--on-error", choices=("stop", "forfeit"), default="stop", help="what a player's fault costs: its match "
        "(default), or the game")  # fmt: skip
    add("--time-limit", type=float, metavar="SECONDS", help="for one batch of decisions (default: none)")
    add("--outside-seconds", type=float, default=OUTSIDE_SECONDS, metavar="SECONDS", help="after so long a program "
        "from outside begins no game (default 600)")  # fmt: skip
    add("--resume", type=Path, metavar="FOLDER", help="keep finished parts there, and go on from those it holds")
    add("--json", type=Path, metavar="FILE", help="write the figures there too")
    add("--csv", type=Path, metavar="FILE", help="one line a match")
    add("--plot", type=Path, metavar="FILE", help="a picture of win rates and ratings: .png, .svg or .pdf")
    add("--records", type=Path, metavar="FOLDER", help="write games there, as text")
    add("--record-games", type=int, default=1, metavar="K", help="of the first K pairs of each match (default 1)")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; the exit status: 1 if a match was stopped by a player's fault, 2 if nothing could be played."""
    args = read_arguments(argv)
    try:
        settings = Settings(
            args.pairs, args.seed, Rules(target=args.target), args.processes, args.time_limit,
            args.on_error == "forfeit", Bounds(*(bound / 100 for bound in args.sprt)) if args.sprt else None,
            args.resume, args.records, args.record_games, args.outside_seconds,
        )  # fmt: skip
        report = round_robin(args.agents, settings, args.anchor)
        show(report)
        write_files(report, args)
    except (ValueError, OSError, WorkerLost) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        kept = f"go on with --resume {args.resume}" if args.resume else "nothing was kept: --resume FOLDER does that"
        print(f"\n{PROGRAM}: stopped; {kept}", file=sys.stderr)
        return 130
    stopped = [match for match in report.matches if match.stopped]
    for match in stopped:
        print(f"{PROGRAM}: {match.a} v {match.b} stopped: {match.stopped}", file=sys.stderr)
    return 1 if stopped else 0


def write_files(report: Report, args: argparse.Namespace) -> None:
    """The files that were asked for."""
    if args.json:
        write_text(args.json, json.dumps(to_json(report), indent=1))
    if args.csv:
        write_text(args.csv, to_csv(report))
    if args.plot:
        draw(report, args.plot)


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    sys.exit(main())
