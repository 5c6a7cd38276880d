"""Chance to win by score and dealer, and by what margin, when both play well.

    python -m agents.tables.win             regenerates deal_counts.npz beside this file

An agent plays deals from 0-0 against itself, so that no score bends its play. What matters of them
is kept as counts: for every number of points, what the other side had when it was reached. With
these, going backwards from the end gives the chances at every score exactly, order of counting and
all, in games to any target. Not modelled: players who play to the score.
May import: crib_env, agents (its registry only to make deals).
"""

from __future__ import annotations

import argparse
import sys
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit
from rich.progress import track

from agents.base import Agent
from agents.files import write_atomically
from crib_env.batch import GameBatch
from crib_env.game import check_whole
from crib_env.match import MARGINS, SKUNK, margin_of
from crib_env.rules import TARGET_POINTS

PROGRAM = "python -m agents.tables.win"
DATA_FILE = "deal_counts.npz"
BATCH_DEALS = 4096
DEALER = 0  # the seat that deals in every sampled deal


class DealCounts(NamedTuple):
    """Sampled deals as three tables of counts; x and y are points of the dealer and the pone.

    Attributes:
        ends: int32[X + 1, Y + 1], deals that ended with x and y; X and Y are the most there were.
        dealer_out: int32[X + 1, Y + 1], deals in which the pone had y when the dealer reached x.
        pone_out: int32[Y + 1, X + 1], deals in which the dealer had x when the pone reached y.
    """

    ends: np.ndarray
    dealer_out: np.ndarray
    pone_out: np.ndarray


class Deals(NamedTuple):
    """Scoring events of many deals, one after the other, in the order they fell.

    Attributes:
        by_dealer: bool[E], whose points.
        points: int8[E].
        starts: int64[N + 1], deal i has the events starts[i] .. starts[i + 1] - 1.
    """

    by_dealer: np.ndarray
    points: np.ndarray
    starts: np.ndarray


@lru_cache(maxsize=1)
def win_table() -> np.ndarray:
    """Chance that whoever deals next wins, by the points each still needs.

    Returns:
        float32[122, 122], read-only: [dealer needs, pone needs]. Serves every target up to 121.
        Row 0 is 1, he has won; column 0 below it is 0.
    """
    table = np.zeros((TARGET_POINTS + 1, TARGET_POINTS + 1), dtype=np.float32)
    any_margin = np.zeros(TARGET_POINTS + 1, dtype=np.int64)
    table[1:, 1:] = solve(deal_counts(), any_margin, 1)[1:, 1:, 0]
    table[0] = 1
    table.setflags(write=False)
    return table


@njit(cache=True)
def win_chance(table, my_needs, their_needs, i_deal):
    """My chance to win, by the points that I and they still need: 0 or less has won.

    `table` is `win_table()`, `i_deal` says whether I deal next. Trusted input: needs up to 121.
    """
    if my_needs <= 0:
        return 1.0
    if their_needs <= 0:
        return 0.0
    if i_deal:
        return np.float64(table[my_needs, their_needs])
    return 1.0 - np.float64(table[their_needs, my_needs])


def win_probability(my_score: int, their_score: int, i_deal: bool, target: int = TARGET_POINTS) -> float:
    """My chance to win a game of two good players, before a deal.

    Args:
        my_score: 0..target.
        their_score: 0..target, not both at it.
        i_deal: whether I deal next.
        target: points that win, 1..121.
    Raises:
        ValueError: no such position, or a target above 121.
    """
    check_position(my_score, their_score, target)
    return float(win_chance(win_table(), int(target - my_score), int(target - their_score), bool(i_deal)))


@lru_cache(maxsize=4)
def outcome_table(target: int = TARGET_POINTS) -> np.ndarray:
    """Chances of every outcome of a game, by score, before a deal.

    Args:
        target: points that win, 1..121; at 121 and at 61 skunks are told apart, see `match.margin_of`.
    Returns:
        float32[target, target, 8], read-only: [dealer's score, pone's score, outcome]; outcomes are
        the dealer winning by each of the four `match.MARGINS`, then the pone. They sum to 1.
    Raises:
        ValueError: a target above 121.
    """
    check_target(target)
    by_needs = solve(deal_counts(), margins_by_needs(target), len(MARGINS))
    table = by_needs[:0:-1, :0:-1].astype(np.float32)
    table.setflags(write=False)
    return table


def check_target(target: int) -> None:
    """ValueError unless these tables serve games to so many points."""
    check_whole("target", target, TARGET_POINTS)
    if target == 0:
        raise ValueError(f"target 0: allowed are whole numbers 1..{TARGET_POINTS}")


def check_position(my_score: int, their_score: int, target: int) -> None:
    """ValueError unless a game to `target` can stand there, or have just ended there."""
    check_target(target)
    check_whole("my score", my_score, target)
    check_whole("their score", their_score, target)
    if my_score == their_score == target:
        raise ValueError(f"scores {my_score}-{their_score}: only one side reaches {target}")


@lru_cache(maxsize=1)
def deal_counts() -> DealCounts:
    """The counts that were sampled, from the data file."""
    with np.load(str(files("agents.tables").joinpath(DATA_FILE))) as data:
        return DealCounts(*(data[name] for name in DealCounts._fields))


def margins_by_needs(target: int) -> np.ndarray:
    """Margin of a game when its loser still needs 0, 1, .. `target` points: int64[target + 1]."""
    return np.array([margin_of(target - needs, target) for needs in range(target + 1)], dtype=np.int64)


def solve(counts: DealCounts, margins: np.ndarray, n_margins: int) -> np.ndarray:
    """Chances of each side to win by each margin, by the points both still need.

    Args:
        counts: what deals bring.
        margins: int64[T + 1], the margin, 0..n_margins - 1, when the loser still needs so much.
        n_margins: how many there are.
    Returns:
        float64[T + 1, T + 1, 2 * n_margins]: [dealer needs, pone needs, ...], the dealer winning by
        each margin, then the pone. Where a need is 0 the game is over and zeros stand.
    """
    ends, dealer_out, pone_out = (table / counts.ends.sum() for table in counts)
    return fill_chances(ends, dealer_out, pone_out, margins, n_margins)


@njit(cache=True)
def fill_chances(ends, dealer_out, pone_out, margins, n_margins):
    """`solve`, with shares of the deals (float64) for counts.

    A deal that does not end the game leaves a position in which the needs add up to less, since
    the last card laid always scores; the roles are swapped there.
    """
    target = len(margins) - 1
    chances = np.zeros((target + 1, target + 1, 2 * n_margins))
    for total in range(2, 2 * target + 1):
        for dealer_needs in range(max(1, total - target), min(target, total - 1) + 1):
            pone_needs = total - dealer_needs
            here = chances[dealer_needs, pone_needs]
            add_wins(here[:n_margins], dealer_out, dealer_needs, pone_needs, margins)
            add_wins(here[n_margins:], pone_out, pone_needs, dealer_needs, margins)
            add_later_deals(here, ends, chances, dealer_needs, pone_needs, n_margins)
    return chances


@njit(cache=True)
def add_wins(here, out, needs, other_needs, margins):
    """Add the games a side wins in this deal: it gets there first if the other has less than he needs."""
    if needs < len(out):
        for other_points in range(min(other_needs, out.shape[1])):
            here[margins[other_needs - other_points]] += out[needs, other_points]


@njit(cache=True)
def add_later_deals(here, ends, chances, dealer_needs, pone_needs, n_margins):
    """Add the games that go on after this deal; the pone deals then."""
    for x in range(min(dealer_needs, len(ends))):
        for y in range(min(pone_needs, ends.shape[1])):
            if ends[x, y] > 0:
                then = chances[pone_needs - y, dealer_needs - x]
                for margin in range(n_margins):
                    here[margin] += ends[x, y] * then[n_margins + margin]
                    here[n_margins + margin] += ends[x, y] * then[margin]


def count_deals(deals: Deals) -> DealCounts:
    """Make the counts of some deals.

    Raises:
        ValueError: a deal in which nobody scored, which cannot be: the last card laid pays.
    """
    n_events = np.diff(deals.starts)
    if not len(n_events) or n_events.min() == 0:
        raise ValueError("deals to be counted: at least one is wanted, and somebody scores in each of them")
    most = [most_points(deals, deals.by_dealer), most_points(deals, ~deals.by_dealer)]
    shape = (most[0] + 1, most[1] + 1)
    counts = DealCounts(np.zeros(shape, np.int32), np.zeros(shape, np.int32), np.zeros(shape[::-1], np.int32))
    add_deals(*deals, *counts)
    return counts


def most_points(deals: Deals, chosen: np.ndarray) -> int:
    """Largest sum of the chosen events (bool[E]) in one deal."""
    return int(np.add.reduceat(np.where(chosen, deals.points, 0), deals.starts[:-1], dtype=np.int64).max())


@njit(cache=True)
def add_deals(by_dealer, points, starts, ends, dealer_out, pone_out):
    """Walk each deal hole by hole and count it."""
    for deal in range(len(starts) - 1):
        x = y = 0
        for event in range(starts[deal], starts[deal + 1]):
            for _ in range(points[event]):
                if by_dealer[event]:
                    x += 1
                    dealer_out[x, y] += 1
                else:
                    y += 1
                    pone_out[y, x] += 1
        ends[x, y] += 1


def sample_deals(agent: Agent, deals: int, seed: int = 0) -> Deals:
    """Play deals of the agent against itself, each of them from 0-0 to 121.

    Args:
        agent: plays both seats.
        deals: how many, at least 1.
        seed: decides cards and the agent's own chance.
    """
    if deals < 1:
        raise ValueError(f"{deals} deals: at least 1 is needed")
    firsts = track(range(0, deals, BATCH_DEALS), f"{deals:,} deals of {agent.name}")
    return join_deals([play_deals(agent, first, min(BATCH_DEALS, deals - first), seed) for first in firsts])


def play_deals(agent: Agent, first: int, n: int, seed: int) -> Deals:
    """Deals `first` .. `first + n - 1` of the seed."""
    # Without autoreset the record keeps the events of the deal that ended.
    batch = GameBatch(n, seed, episode="deal", skip_forced=True, dealer=DEALER, autoreset=False, first_game=first)
    rng = np.random.default_rng([seed & 0xFFFFFFFF, first])
    actions = np.zeros(n, dtype=np.int64)
    while not batch.ended.all():
        slots = np.flatnonzero(~batch.ended)
        actions[slots] = agent.act(batch.views(slots), batch.masks(slots), rng)
        batch.step(actions)
    return read_deals(batch.games)


def read_deals(games: np.ndarray) -> Deals:
    """The events that GAME[n] records hold."""
    happened = np.arange(games["events"].shape[1]) < games["n_events"][:, None]
    events = games["events"][happened]
    starts = np.concatenate([[0], np.cumsum(games["n_events"], dtype=np.int64)])
    return Deals(events["seat"] == DEALER, events["points"], starts)


def join_deals(parts: list[Deals]) -> Deals:
    """Deals of several batches as one."""
    n_events = np.concatenate([np.diff(part.starts) for part in parts])
    starts = np.concatenate([[0], np.cumsum(n_events)])
    return Deals(
        np.concatenate([part.by_dealer for part in parts]), np.concatenate([part.points for part in parts]), starts
    )


def save_counts(path: Path, counts: DealCounts, agent: str, seed: int) -> None:
    """Write the data file, with where it comes from, in one rename."""

    def write(temporary: str) -> None:
        with open(temporary, "wb") as file:  # given a name, NumPy would add an ending to it
            np.savez_compressed(file, **counts._asdict(), agent=np.array(agent), seed=np.array(seed))

    write_atomically(path, write)


def main(argv: list[str] | None = None) -> int:
    """Play the deals and replace the data file; the exit status."""
    from agents.registry import make  # noqa: PLC0415  (players may read this table)

    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__.splitlines()[0])
    parser.add_argument("--agent", default="expert", help="who plays: a name or whatever agents.make takes")
    parser.add_argument("--seed", type=int, default=20261201)
    parser.add_argument("--deals", type=int, default=200_000)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name(DATA_FILE))
    args = parser.parse_args(argv)
    try:
        counts = count_deals(sample_deals(make(args.agent), args.deals, args.seed))
        save_counts(args.out, counts, args.agent, args.seed)
    except (ValueError, OSError) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 2
    start = solve(counts, margins_by_needs(TARGET_POINTS), len(MARGINS))[-1, -1].reshape(2, -1)
    print(f"wrote {args.out}: the dealer wins {start[0].sum():.2%} from 0-0, skunks are {start[:, SKUNK:].sum():.2%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
