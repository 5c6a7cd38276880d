"""A tournament for people and programs: terminal tables, JSON, CSV, a plot.

May import: stats, sprt, runlog.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from agents.files import write_atomically
from training.sprt import ABOVE, BELOW, Bounds, Verdict
from training.stats import ROLES, Figure, Interval, Summary

RATES = ("skunk_rate", "double_skunk_rate", "skunked_rate", "double_skunked_rate")


@dataclass(frozen=True)
class MatchReport:
    """One match. `summary` is None where nothing was played; `stopped` says why it ended early."""

    a: str
    b: str
    summary: Summary | None
    verdict: Verdict | None = None
    stopped: str | None = None


@dataclass(frozen=True)
class Report:
    """A tournament's figures.

    Attributes:
        agents: names, as they were given.
        matches: every two players' match.
        ratings: strongest first, as `stats.rate_agents` gives them.
        skipped: who did not play, and why.
    """

    agents: tuple[str, ...]
    matches: tuple[MatchReport, ...]
    ratings: list[dict[str, Any]]
    skipped: dict[str, str]
    pairs: int
    seed: int
    target: int
    bounds: Bounds | None = None

    def played(self) -> Iterator[tuple[MatchReport, Summary]]:
        """Matches of which something was played, with their figures."""
        for match in self.matches:
            if match.summary is not None:
                yield match, match.summary


# For programs


def to_json(report: Report) -> dict[str, Any]:
    """The tournament as plain values, as the public contract lays it down."""
    return {
        "pairs": report.pairs,
        "seed": report.seed,
        "target": report.target,
        "matches": [_match_json(match, s, report.bounds) for match, s in report.played()],
        "ratings": report.ratings,
        "stopped": [{"a": m.a, "b": m.b, "reason": m.stopped} for m in report.matches if m.stopped],
        "skipped": [{"agent": name, "reason": reason} for name, reason in report.skipped.items()],
    }


def _match_json(match: MatchReport, s: Summary, bounds: Bounds | None) -> dict[str, Any]:
    return (
        {"a": match.a, "b": match.b, "games": s.games, "win_rate": s.win_rate, "ci95": list(s.ci95)}
        | {name: getattr(s, name) for name in RATES}
        | {"points_per_deal": s.points_per_deal, "first_dealer_wins": s.first_dealer_wins}
        | {"rates_ci95": {name: list(interval) for name, interval in s.rates_ci95.items()}}
        | {"mirrored": s.mirrored, "pairs": s.pairs, "pair_outcomes": list(s.pair_outcomes)}
        | {"complete_deals": s.role_points and {who: _figures_json(f) for who, f in s.role_points.items()}}
        | {"discard_loss": s.discard_loss and _figures_json(s.discard_loss)}
        | {"less_luck": _adjusted_json(s), "sprt": _verdict_json(match.verdict, bounds)}
        | {"seconds_per_decision": s.seconds_per_decision and dict(zip("ab", s.seconds_per_decision, strict=True))}
        | {"forfeits": dict(zip("ab", s.forfeits, strict=True)), "dropped": s.dropped}
    )


def _figures_json(figures: dict[str, Figure]) -> dict[str, Any]:
    return {name: {"mean": f.value, "ci95": list(f.ci95)} for name, f in figures.items()}


def _adjusted_json(s: Summary) -> dict[str, Any] | None:
    if s.adjusted is None:
        return None
    return {"win_rate": s.adjusted.win_rate, "ci95": list(s.adjusted.ci95), "narrowed": s.adjusted.narrowed}


def _verdict_json(verdict: Verdict | None, bounds: Bounds | None) -> dict[str, Any] | None:
    if verdict is None or bounds is None:
        return None
    return {"low": bounds.low, "high": bounds.high, "decision": verdict.decision, "pairs": verdict.pairs}


def to_csv(report: Report) -> str:
    """One line a match, the figures of `to_json` in columns: "ci95.low", "points_per_deal.a.hand", ..."""
    rows = [dict(_flat("", row)) for row in to_json(report)["matches"]]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Nested values as (dotted name, value); the two ends of an interval are low and high."""
    if isinstance(value, list):
        ends = ("low", "high") if len(value) == 2 else ("lost", "split", "won")
        value = dict(zip(ends, value, strict=True))
    if not isinstance(value, dict):
        yield name, value
        return
    for key, part in value.items():
        yield from _flat(f"{name}.{key}" if name else key, part)


# For people


def tables(report: Report) -> list[Table]:
    """What the terminal shows: who beats whom, each match, points by role. None is wider than 100 columns."""
    if not any(report.played()):
        return []
    return [_cross_table(report), _match_table(report), _points_table(report), _care_table(report)]


def _cross_table(report: Report) -> Table:
    rates: dict[tuple[str, str], tuple[float, Interval]] = {}
    for match, s in report.played():
        rates[match.a, match.b] = s.win_rate, s.ci95
        rates[match.b, match.a] = 1 - s.win_rate, (1 - s.ci95[1], 1 - s.ci95[0])
    order = [rating["agent"] for rating in report.ratings]
    table = _table("Who beats whom: wins of the row against the column, %", ("",), ("Elo", *order))
    for rating in report.ratings:
        row = rating["agent"]
        cells = [_percent(*rates[row, other]) if (row, other) in rates else "-" for other in order]
        table.add_row(row, _elo(rating), *cells)
    return table


def _match_table(report: Report) -> Table:
    table = _table(
        "Matches: rates in % of all games, from the first player's side, +- 95 %",
        ("player", "against"),
        ("games", "wins", "less luck", "skunks", "skunked", "first dealer"),
    )
    for match, s in report.played():
        table.add_row(
            match.a,
            match.b,
            f"{s.games:,}" + ("" if s.mirrored else "*"),
            _percent(s.win_rate, s.ci95),
            _percent(s.adjusted.win_rate, s.adjusted.ci95) if s.adjusted else "-",
            *(f"{getattr(s, n):.1%} {getattr(s, 'double_' + n):.1%}".replace("%", "") for n in RATES[::2]),
            _percent(s.first_dealer_wins, s.rates_ci95["first_dealer_wins"]),
        )
    table.caption = "\n".join(_notes(report))
    return table


def _notes(report: Report) -> Iterator[str]:
    yield "skunks, skunked: single or better, then double"
    factors = [s.adjusted.narrowed for _, s in report.played() if s.adjusted]
    if factors:
        spread = f"{min(factors):.2f}" if len(factors) == 1 else f"{min(factors):.2f} to {max(factors):.2f}"
        yield f"less luck: hands and starters at their means; worth {spread} times as many pairs"
    if not all(s.mirrored for _, s in report.played()):
        yield "* not mirrored: that program deals its own cards; intervals are those of single games"
    for match, s in report.played():
        for name, games in zip((match.a, match.b), s.forfeits, strict=True):
            if games:
                other = match.b if name == match.a else match.a
                yield f"{name} forfeited {games:,} games to {other}; they count as lost"
        if s.dropped:
            yield f"{match.a} v {match.b}: {s.dropped:,} games broke off and do not count"


def _points_table(report: Report) -> Table:
    table = _table(
        "Points a complete deal by role, both players; +- is the widest interval of the row",
        ("player", "against"),
        ("hand\ndealer", "hand\npone", "crib", "play\ndealer", "play\npone", "+- 95 %"),
    )
    shown = [name for name, _, _ in ROLES if name != "heels"]
    for match, s in report.played():
        if s.role_points is not None:
            widest = max(s.role_points[who][name].half_width for who in "ab" for name in shown)
            cells = [_versus([s.role_points[who][name].value for who in "ab"], ".2f") for name in shown]
            table.add_row(match.a, match.b, *cells, f"{widest:.2f}")
    table.caption = "the last deal of each game is cut short and left out"
    return table


def _care_table(report: Report) -> Table:
    table = _table(
        "Discards and time",
        ("player", "against"),
        ("points given away a discard", "of the other", "ms a decision", "of the other"),
    )
    for match, s in report.played():
        if s.discard_loss and s.seconds_per_decision:
            loss = [f"{s.discard_loss[who].value:.3f} +-{s.discard_loss[who].half_width:.3f}" for who in "ab"]
            table.add_row(match.a, match.b, *loss, *(f"{1000 * t:.3f}" for t in s.seconds_per_decision))
    table.caption = "given away: against the best of the fifteen in exact expected hand +- table crib"
    return table


def verdict_lines(report: Report) -> Iterator[str]:
    """What the sequential test says of each match."""
    for match in report.matches:
        if match.verdict is not None and report.bounds is not None:
            low, high = 100 * report.bounds.low, 100 * report.bounds.high
            said = {
                ABOVE: f"{match.a} wins more than {low:g} % against {match.b}",
                BELOW: f"{match.a} wins less than {high:g} % against {match.b}",
            }.get(match.verdict.decision, f"{match.a} v {match.b} is open between {low:g} and {high:g} %")
            yield f"{said}: {match.verdict.pairs:,} pairs looked at, each error at most 5 %"


def _table(title: str, texts: Sequence[str], numbers: Sequence[str]) -> Table:
    """An empty table with these columns."""
    table = Table(title=title, title_justify="left", caption_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.title_style = table.caption_style = ""
    for heading in texts:
        table.add_column(heading, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right")
    return table


def _percent(rate: float, interval: Interval) -> str:
    return f"{100 * rate:.1f} +-{50 * (interval[1] - interval[0]):.1f}"


def _versus(values: Sequence[float], how: str) -> str:
    return " : ".join(format(value, how) for value in values)


def _elo(rating: dict[str, Any]) -> str:
    low, high = rating["ci95"]
    return f"{rating['elo']:+.0f} +-{(high - low) / 2:.0f}"


def draw(report: Report, path: Path) -> None:
    """A picture of ratings and win rates with their intervals, in the format that the file's ending names.

    Raises:
        ValueError: matplotlib is missing, or does not know the ending.
    """
    try:
        from matplotlib.figure import Figure as Picture  # noqa: PLC0415  (an extra)
    except ImportError:
        raise ValueError("--plot needs matplotlib: install the extra plot (pip install 'crib-env[plot]')") from None
    matches = list(report.played())
    picture = Picture(figsize=(10, 1.6 + 0.35 * max(len(matches), len(report.ratings))), layout="constrained")
    left, right = picture.subplots(1, 2)
    ratings = report.ratings[::-1]
    _draw_bars(left, [r["agent"] for r in ratings], [r["elo"] for r in ratings], [r["ci95"] for r in ratings])
    left.set_xlabel("Elo, 95 %")
    rows = [(f"{m.a} v {m.b}" + ("" if s.mirrored else " *"), 100 * s.win_rate, s.ci95) for m, s in matches[::-1]]
    _draw_bars(right, [r[0] for r in rows], [r[1] for r in rows], [[100 * end for end in r[2]] for r in rows])
    right.axvline(50, color="grey", linewidth=0.8)
    right.set_xlabel("wins, %, 95 %" + ("" if all(s.mirrored for _, s in matches) else "   * not mirrored"))
    picture.suptitle(f"{report.pairs:,} mirrored pairs a match, seed {report.seed}, to {report.target}")
    kind = path.suffix.removeprefix(".") or "png"
    write_atomically(path, lambda file: picture.savefig(file, format=kind, dpi=150))


def _draw_bars(axes: Any, names: list[str], values: list[float], intervals: list[Any]) -> None:
    below = [value - low for value, (low, _) in zip(values, intervals, strict=True)]
    above = [high - value for value, (_, high) in zip(values, intervals, strict=True)]
    axes.errorbar(values, range(len(names)), xerr=[below, above], fmt="o", capsize=3)
    axes.set_yticks(range(len(names)), names)
    axes.grid(axis="x", alpha=0.3)
    axes.margins(y=0.2)
