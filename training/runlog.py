"""What a run shows and leaves behind: progress on the terminal, curves for TensorBoard, a closing table.

May import: agents, training.arena, training.stats, training.tables.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from training.stats import Summary
from training.tables import TableSummary

# Without a terminal rich assumes 80 columns and cuts tables short.
console = Console(width=None if sys.stdout.isatty() else 132)


class RunLog:
    """Progress bar (a plain line an update where there is no terminal) and event files.

    Args:
        folder: the run's folder; event files go there.
        total: decisions the run will make.
        done: decisions made before, by the part of the run that is resumed. Curves beyond them are
            dropped, so that a resumed curve has no second branch.
    """

    def __init__(self, folder: Path, total: int, done: int = 0) -> None:
        from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415  (brings torch: only who trains waits)

        self.writer = SummaryWriter(str(folder), purge_step=done + 1 if done else None)
        self._began = time.perf_counter()
        self._done_before = done
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]:,.0f}/s"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("start", total=total, completed=done, rate=0.0, note="")
        self._total = total

    def __enter__(self) -> RunLog:
        """Start the bar."""
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop the bar and write what the curves still hold."""
        self._progress.stop()
        self.writer.close()

    def update(self, phase: str, done: int, note: str) -> None:
        """Show how far the run is, its rate over the whole run, the time left, and a note."""
        elapsed = time.perf_counter() - self._began
        rate = (done - self._done_before) / elapsed
        self._progress.update(self._task, description=phase, completed=done, rate=rate, note=note)
        if not console.is_terminal:
            left = (self._total - done) / rate / 60
            console.print(
                f"{phase:5} {done:>11,} of {self._total:,} decisions  {rate:>7,.0f}/s  {left:5.1f} min left  {note}",
                highlight=False, soft_wrap=True,
            )  # fmt: skip

    def scalars(self, values: dict[str, float], step: int) -> None:
        """Add one point to each curve."""
        for name, value in values.items():
            self.writer.add_scalar(name, value, step)

    def flush(self) -> None:
        """Write the curves out, as a checkpoint is about to count on them."""
        self.writer.flush()


def progress_bar() -> Progress:
    """A plain bar with time left, shown only on a terminal."""
    return Progress(
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(),
        console=console, disable=not console.is_terminal, transient=True,
    )  # fmt: skip


class Stopwatch:
    """Seconds spent in named parts of an update."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Time what runs inside."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began

    def take(self) -> dict[str, float]:
        """The seconds so far, and start again."""
        seconds, self.seconds = self.seconds, {}
        return seconds


def match_table(title: str, rows: Sequence[tuple[str, str, Summary | TableSummary]]) -> Table:
    """A table of matches: (player, opponent, figures) a row."""
    table = Table(title=title, title_justify="left")
    for heading in ("player", "against"):
        table.add_column(heading)
    tables = [(player, opponent, s) for player, opponent, s in rows if isinstance(s, TableSummary)]
    if tables:
        return _fill_with_tables(table, tables)
    for heading in ("pairs", "wins", "95 %", "skunks", "double", "skunked", "hand", "crib", "play"):
        table.add_column(heading, justify="right")
    for player, opponent, s in rows:
        assert isinstance(s, Summary)
        mine, theirs = s.points_per_deal["a"], s.points_per_deal["b"]
        table.add_row(
            player, opponent, f"{s.pairs:,}", f"{s.win_rate:.1%}", f"{s.ci95[0]:.1%} - {s.ci95[1]:.1%}",
            f"{s.skunk_rate:.1%}", f"{s.double_skunk_rate:.1%}", f"{s.skunked_rate:.1%}",
            *(f"{mine[k]:.2f}:{theirs[k]:.2f}" for k in ("hand", "crib", "peg")),
        )  # fmt: skip
    table.caption = "rates are of all games; hand, crib and play are points per deal, player : opponent"
    table.caption_justify = "left"
    return table


def _fill_with_tables(table: Table, rows: list[tuple[str, str, TableSummary]]) -> Table:
    """The same for three and four players: wins and the share that equals would have."""
    for heading in ("games", "wins", "95 %", "equals", "points a deal"):
        table.add_column(heading, justify="right")
    for player, opponent, s in rows:
        table.add_row(
            player, opponent, f"{s.games:,}", f"{s.win_rate:.1%}", f"{s.ci95[0]:.1%} - {s.ci95[1]:.1%}",
            f"{s.equal_share:.1%}", f"{s.points_per_deal[0]:.2f}:{s.points_per_deal[1]:.2f}",
        )  # fmt: skip
    table.caption = "the player's side against the opponent on each other side; points a side, player : opponent"
    table.caption_justify = "left"
    return table


@contextmanager
def stop_signal() -> Iterator[list[str]]:
    """A list that stays empty until Ctrl-C or SIGTERM; a second Ctrl-C stops at once."""
    stop: list[str] = []

    def note(number: int, frame: object) -> None:
        if stop and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.append(signal.Signals(number).name)
        console.print("stopping after this step; press Ctrl-C again to stop at once", highlight=False)

    before = {s: signal.signal(s, note) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
