"""Solve the play: `python -m training.solve_play`.

Counterfactual regret minimisation over random deals (`training.cfr`), in rounds. In the first one
both sides discard by hand and crib alone; after each the pegging value of every hand is taken from
the strategy found so far, cribs and hands settle with it (`agents.tables.deal`), and the next
round's hands are kept that way: an approximate equilibrium of the whole deal in points.

Goes on from where it was stopped, in the same folder. May import: crib_env, agents, cfr, best_response, runlog.
"""

from __future__ import annotations

import argparse
import sys
import time
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from platformdirs import user_cache_path
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from agents.discards import kept_odds
from agents.files import write_atomically, write_text
from agents.pegging import N_HANDS, hand_numbers
from agents.tables.deal import DEAL_FILE, MOST_PEGGED, MOST_SHOWN, DealTables, save_tables, settle
from agents.tables.play import PLAY_FILE, in_eighths, save_play, strategy_of
from crib_env.game import check_whole
from crib_env.rng import to_uint64
from crib_env.values import crib_table
from training.best_response import exploitability
from training.cfr import ROW, average_strategy, learn, move_rows, new_walk
from training.runlog import stop_signal

PROGRAM = "python -m training.solve_play"
STATE_FILE = "state.npz"
REPORT_FILE = "convergence.csv"
STRETCH = 20_000  # deals between looks at the clock and the keyboard
PRIOR_DEALS = 200_000  # to know how often hands are kept
LEAST_WEIGHT = 5.0  # of an information set in the average; what was met less often is left to search
LEAST_CHANCE = 0.15  # smaller ones are what is left of early errors, see METHODS
console = Console(stderr=True)


@dataclass(frozen=True)
class Settings:
    """What a solution depends on.

    Args:
        rounds: how often discards and play take turns.
        deals: deals walked in each round, 1 or more.
        seed: decides the cards and every draw.
        spread: points of noise on each discard, so that every hand comes up.
        averaging: deal d weighs (1 + d / averaging) squared in the average strategy.
    """

    rounds: int = 5
    deals: int = 12_500_000
    seed: int = 20261201
    spread: float = 0.6
    averaging: float = 1e6

    def __post_init__(self) -> None:
        if self.rounds < 1 or self.deals < 1 or self.spread < 0 or self.averaging <= 0:
            raise ValueError(f"{self}: allowed are rounds and deals from 1, spread from 0, averaging above 0")

    @property
    def identity(self) -> str:
        """What may not change when a run goes on; there may be more rounds than before."""
        return ", ".join(f"{name} {value}" for name, value in asdict(self).items() if name != "rounds")


class Solver:
    """The table of information sets and how far it is.

    Args:
        settings: what to solve.
        folder: where state and results lie; an earlier state of the same settings there is gone on from.
    Raises:
        ValueError: the state there is damaged or of other settings.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings = settings
        self.folder = folder
        self.deals = 0
        self.rows = np.zeros(1 << 20, dtype=ROW)
        self.walk = new_walk(settings.seed)
        self.crib = crib_table()
        self.peg = np.zeros((2, N_HANDS), dtype=np.float32)
        self._numbers = hand_numbers()
        if (folder / STATE_FILE).exists():
            self._load()

    def learn(self, n: int) -> None:
        """Walk the next n deals."""
        end = self.deals + n
        while self.deals < end:
            self.deals += learn(
                self.rows, self.walk[0], self.deals, end - self.deals, to_uint64(self.settings.seed), self.crib,
                self.peg, self._numbers, self.settings.spread, self.settings.averaging,
            )  # fmt: skip
            if self.deals < end:
                larger = np.zeros(2 * len(self.rows), dtype=ROW)
                move_rows(self.rows, larger)
                self.rows = larger

    def strategy(self) -> tuple[np.ndarray, np.ndarray]:
        """The average strategy as it is stored: keys uint64[N] and codes uint8[N], see `tables.play`."""
        keys, chances = average_strategy(self.rows, LEAST_WEIGHT)
        return keys, in_eighths(chances, LEAST_CHANCE)

    def close_round(self) -> DealTables:
        """Write the strategy, settle the deal's tables with it, and take the next round's discards from them."""
        keys, codes = self.strategy()
        save_play(self.folder / PLAY_FILE, keys, codes)
        tables = settle(strategy_of(keys, codes), self.settings.seed)
        save_tables(tables, self.folder / DEAL_FILE)
        self.crib, self.peg = tables.crib, tables.peg
        return tables

    def save(self) -> None:
        """Write the state, whole or not at all."""
        used = self.rows[self.rows["key"] != 0]
        header = np.array([self.settings.identity])

        def write(file: str) -> None:
            with Path(file).open("wb") as out:
                np.savez(
                    out, header=header, deals=self.deals, rows=used, size=len(self.rows), walk=self.walk,
                    crib=self.crib, peg=self.peg,
                )  # fmt: skip

        write_atomically(self.folder / STATE_FILE, write)

    def _load(self) -> None:
        path = self.folder / STATE_FILE
        try:
            with np.load(path, allow_pickle=False) as state:
                header = str(state["header"][0])
                self.deals = int(state["deals"])
                used = state["rows"]
                self.rows = np.zeros(int(state["size"]), dtype=ROW)
                self.walk, self.crib, self.peg = state["walk"], state["crib"], state["peg"]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} is damaged ({error}): remove it to begin anew, or choose another --out") from None
        if header != self.settings.identity:
            raise ValueError(
                f"{path} was begun with {header}, now it is {self.settings.identity}: "
                "give the same settings to go on, or choose another --out"
            )
        move_rows(used, self.rows)


def solve(settings: Settings, folder: Path, hands: int, report_every: int, save_every: float = 180.0) -> None:
    """Run all rounds, saving on the way; stopped by Ctrl-C it saves and raises KeyboardInterrupt.

    Args:
        settings: what to solve.
        folder: where state and results go.
        hands: drawn in each role to measure convergence; 0 leaves it out.
        report_every: deals between measurements.
        save_every: seconds between saves.
    """
    folder.mkdir(parents=True, exist_ok=True)
    solver = Solver(settings, folder)
    total = settings.rounds * settings.deals
    console.print(
        f"{folder}: " + (f"goes on after {solver.deals:,} deals" if solver.deals else "begins anew"), soft_wrap=True
    )
    saved_at = time.monotonic()
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console
    )
    with stop_signal() as stop, bar:
        task = bar.add_task("compiling", total=total, completed=solver.deals)
        while solver.deals < total and not stop:
            left = settings.deals - solver.deals % settings.deals
            n = min(STRETCH, left, report_every - solver.deals % report_every)
            solver.learn(n)
            bar.update(task, completed=solver.deals, description=describe(solver))
            measured = solver.deals % report_every == 0 or n == left
            if hands and measured:
                report(solver, hands)
            if n == left:
                report_round(solver, solver.close_round())
            if measured or stop or time.monotonic() - saved_at > save_every:
                solver.save()
                saved_at = time.monotonic()
    if solver.deals < total:
        raise KeyboardInterrupt
    console.print(f"solved: {folder / PLAY_FILE} and {DEAL_FILE} beside it", soft_wrap=True)


def report(solver: Solver, hands: int) -> None:
    """Measure what a perfect opponent would gain, tell it and add it to the folder's table."""
    kept = kept_odds(solver.crib, solver.peg, PRIOR_DEALS, solver.settings.seed)
    found = exploitability(strategy_of(*solver.strategy()), kept, hands, solver.settings.seed)
    sets = int(solver.walk["filled"][0])
    console.print(
        f"{solver.deals:,} deals, {sets:,} information sets: a perfect opponent gains {found.gain:.3f} +- "
        f"{1.96 * found.error:.3f} points in two deals",
        highlight=False, soft_wrap=True,
    )  # fmt: skip
    path = solver.folder / REPORT_FILE
    told = path.read_text(encoding="utf-8") if path.exists() else "deals,information_sets,gain,standard_error\n"
    write_text(path, f"{told}{solver.deals},{sets},{found.gain:.5f},{found.error:.5f}\n")


def describe(solver: Solver) -> str:
    """Where the solver is, in a few words."""
    round_number = (solver.deals - 1) // solver.settings.deals + 1
    return f"round {round_number}, {int(solver.walk['filled'][0]):,} sets"


def report_round(solver: Solver, tables: DealTables) -> None:
    """What good play brings, as far as it is known after a round."""
    means = [tables.peg_odds[:, :, side] @ np.arange(MOST_PEGGED) for side in range(2)]
    pegged = [float((tables.kept[role] * means[0][role]).sum()) for role in range(2)]
    shown = tables.hand_odds @ np.arange(MOST_SHOWN)
    console.print(
        f"{describe(solver)}: "
        f"a deal pegs pone {pegged[0]:.2f}, dealer {pegged[1]:.2f}, hands {shown[0]:.2f}, {shown[1]:.2f}",
        highlight=False,
    )


def read_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog=PROGRAM, description="Solve the play; a second run goes on.")
    default = Settings()
    parser.add_argument("--rounds", type=int, default=default.rounds, help="how often discards and play take turns")
    parser.add_argument("--deals", type=int, default=default.deals, help="deals walked in each round")
    parser.add_argument("--seed", type=int, default=default.seed, help="decides the cards and every draw")
    parser.add_argument("--out", type=Path, default=user_cache_path("crib-env") / "solved_play", metavar="FOLDER",
                        help="where state and results go (default: the user's cache)")  # fmt: skip
    parser.add_argument(
        "--hands", type=int, default=60, help="hands in each role that convergence is measured on, 0 for none"
    )
    parser.add_argument("--report-every", type=int, default=2_000_000, metavar="DEALS", help="how often it is measured")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; its exit status."""
    args = read_arguments(argv)
    try:
        check_whole("--hands", args.hands, 10_000)
        if args.report_every < 1:
            raise ValueError(f"--report-every {args.report_every}: allowed are whole numbers from 1")
        solve(Settings(args.rounds, args.deals, args.seed), args.out, args.hands, args.report_every)
    except (ValueError, OSError) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\n{PROGRAM}: stopped; the same command goes on from there", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
