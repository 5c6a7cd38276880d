"""What a deal brings when both play well: the crib by discard, the play by hand kept, which hands are kept.

    python -m agents.tables.deal            regenerates agents/tables/deal.npz from the solved play (minutes)

Self-consistent: both players discard by exact hand plus (dealer) or minus (pone) the crib plus the
play of what is kept; hands kept that way, played by the solved play, give new tables, and so on
until they settle. Every pair of the 1,820 hands of ranks is played, so the play's figures are free
of the luck of the deal; the crib is counted over random deals, all fifteen discards of each.
"""

from __future__ import annotations

import argparse
import sys
import zipfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit
from rich.console import Console
from rich.progress import track

from agents.discards import count_out, discard_points, kept_odds, removal
from agents.files import write_atomically
from agents.pegging import (
    DEALER,
    N_HANDS,
    PONE,
    all_hands,
    hand_numbers,
    write_opening,
)
from agents.tables.play import PLAYER, UNREACHED, play_out, solved_play
from crib_env.actions import DISCARD_PLACES, KEEP_PLACES, N_DISCARDS
from crib_env.cards import N_CARDS, N_RANKS, rank_of, suit_of
from crib_env.engine import write_sorted
from crib_env.rng import shuffle_into, to_uint64
from crib_env.rules import MAX_DEALT
from crib_env.scoring import show_five
from crib_env.values import CRIB_TABLE_SHAPE, OWN_CRIB, THEIR_CRIB, crib_table

PROGRAM = "python -m agents.tables.deal"
DEAL_FILE = "deal.npz"
MOST_SHOWN = 30  # one more than a hand or crib can count
MOST_PEGGED = 24  # bins; hardly anybody pegs more in one deal, and then counts as the last
STARTERS = 8  # sampled in each deal, from the same shuffle


class DealTables(NamedTuple):
    """What discards and their players go by. Roles are PONE, DEALER; read-only arrays.

    Attributes:
        crib: float32[2, 13, 13, 2], mean crib, as `values.crib_table`.
        crib_odds: float32[2, 13, 13, 2, 30], chance of each count of it.
        peg: float32[2, 1820], net points in the play of each hand kept.
        peg_odds: float32[2, 1820, 2, 24], chance of the points in the play, [.., mine or theirs, points].
        kept: float32[2, 1820], how often each hand is kept.
        hand_odds: float32[2, 30], chance of each count of a hand at the show.
        thrown: float32[2, 13, 13], how often each pair of ranks goes to the crib, lower rank first.
    """

    crib: np.ndarray
    crib_odds: np.ndarray
    peg: np.ndarray
    peg_odds: np.ndarray
    kept: np.ndarray
    hand_odds: np.ndarray
    thrown: np.ndarray


_STORED = ("crib_odds", "peg_odds", "kept", "hand_odds", "thrown")  # means follow


@lru_cache(maxsize=1)
def deal_tables() -> DealTables:
    """The tables that come with the package."""
    return load_tables(Path(__file__).with_name(DEAL_FILE))


def load_tables(path: Path) -> DealTables:
    """Tables that `save_tables` wrote.

    Raises:
        ValueError: no such file, or a damaged one.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            tables = _tables(*(arrays[name] for name in _STORED))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{path} holds no tables of the deal ({error}): make them with python -m agents.tables.deal"
        ) from None
    for array in tables:
        array.setflags(write=False)
    return tables


def _tables(crib_odds, peg_odds, kept, hand_odds, thrown) -> DealTables:
    """Means from distributions."""
    stored = [np.ascontiguousarray(array, dtype=np.float32) for array in (crib_odds, peg_odds, kept, hand_odds, thrown)]
    crib = stored[0] @ np.arange(MOST_SHOWN, dtype=np.float32)
    pegged = stored[1] @ np.arange(MOST_PEGGED, dtype=np.float32)
    return DealTables(crib, stored[0], np.ascontiguousarray(pegged[..., 0] - pegged[..., 1]), *stored[1:])


def play_all_pairs(strategy: np.ndarray, passes: int, seed: int) -> np.ndarray:
    """Play every pair of hands against each other.

    Args:
        strategy: ENTRY[2**k].
        passes: times each pair is played.
        seed: decides the cards that the strategy mixes.
    Returns:
        int8[passes, 1820, 1820, 2], points in the play: [.., pone's hand, dealer's hand, pone or dealer].
        Pairs that would take five of a rank stay zero.
    """
    pegged = np.zeros((passes, N_HANDS, N_HANDS, 2), dtype=np.int8)
    player = np.zeros(1, dtype=PLAYER)
    player["chance"] = seed
    for one_pass in track(pegged, "playing every pair of hands", console=Console(stderr=True), transient=True):
        _play_pairs(strategy, all_hands(), player[0], one_pass)
    return pegged


@njit(cache=True)
def _play_pairs(strategy, hands, p, pegged):
    """One pass of `play_all_pairs` into int8[1820, 1820, 2]."""
    unseen = np.empty(N_RANKS)
    for i in range(len(hands)):
        count_out(hands[i], unseen)
        for j in range(len(hands)):
            if removal(hands[j], unseen) > 0:
                write_opening(p.line[0], hands[i], hands[j])
                pegged[i, j] = play_out(strategy, p, 0, UNREACHED, UNREACHED)


@njit(cache=True)
def weigh_pairs(pegged, hands, kept, odds):
    """Count the points of every pair, `odds` (float64[2, 1820, 2, 24]), zeros before.

    A pair weighs what the other's hand weighs when my four cards are known.
    """
    unseen = np.empty((2, N_RANKS))
    for i in range(len(hands)):
        count_out(hands[i], unseen[PONE])
        for j in range(len(hands)):
            count_out(hands[j], unseen[DEALER])
            for_pone = kept[DEALER, j] * removal(hands[j], unseen[PONE])
            for_dealer = kept[PONE, i] * removal(hands[i], unseen[DEALER])
            for one_pass in range(len(pegged)):
                pone = min(pegged[one_pass, i, j, PONE], MOST_PEGGED - 1)
                dealer = min(pegged[one_pass, i, j, DEALER], MOST_PEGGED - 1)
                odds[PONE, i, 0, pone] += for_pone
                odds[PONE, i, 1, dealer] += for_pone
                odds[DEALER, j, 0, dealer] += for_dealer
                odds[DEALER, j, 1, pone] += for_dealer


@njit(cache=True)
def count_shows(crib, peg, numbers, seed, round_number, deals, cribs, hands, thrown):
    """Play the discards and the show of random deals, and count.

    Each deal serves every discard it could have seen: the other player's two cards are his best,
    and all fifteen of my pairs are scored with them over sampled starters.

    Args:
        crib: what discards go by, with `peg` and `numbers`; see `discards.discard_points`.
        peg: likewise.
        numbers: likewise.
        seed: decides the cards, with `round_number`.
        round_number: 0 or more.
        deals: how many.
        cribs: int64[2, 13, 13, 2, 30], crib counts, added to.
        hands: int64[2, 30], counts of the hands kept, added to.
        thrown: int64[2, 13, 13], pairs of ranks in the best discards, added to.
    """
    pack = np.empty(N_CARDS, np.int8)
    dealt = np.empty((2, MAX_DEALT), np.int8)
    values = np.empty(N_DISCARDS, np.float32)
    best = np.empty(2, np.int64)
    for deal in range(deals):
        shuffle_into(pack, 2 * MAX_DEALT + STARTERS, seed, round_number, deal)
        for role in range(2):
            write_sorted(pack, role * MAX_DEALT, MAX_DEALT, dealt[role])
            discard_points(dealt[role], role, crib, peg, numbers, values)
            best[role] = np.argmax(values)
        for me in range(2):
            theirs = DISCARD_PLACES[best[1 - me]]
            c, d = dealt[1 - me, theirs[0]], dealt[1 - me, theirs[1]]
            thrown[1 - me, rank_of(c), rank_of(d)] += 1
            keeps = KEEP_PLACES[best[me]]
            e, f, g, h = dealt[me, keeps[0]], dealt[me, keeps[1]], dealt[me, keeps[2]], dealt[me, keeps[3]]
            for s in range(STARTERS):
                hands[me, show_five(e, f, g, h, pack[2 * MAX_DEALT + s], False)] += 1
            whose = OWN_CRIB if me == DEALER else THEIR_CRIB
            for action in range(N_DISCARDS):
                a, b = dealt[me, DISCARD_PLACES[action, 0]], dealt[me, DISCARD_PLACES[action, 1]]
                row = cribs[whose, rank_of(a), rank_of(b), np.int64(suit_of(a) == suit_of(b))]
                for s in range(STARTERS):
                    row[show_five(a, b, c, d, pack[2 * MAX_DEALT + s], True)] += 1


def next_tables(
    played: np.ndarray, crib: np.ndarray, peg: np.ndarray, seed: int, number: int, deals: int
) -> DealTables:
    """One round: what comes of discarding by `crib` and `peg`; `played` is what `play_all_pairs` gave."""
    kept = kept_odds(crib, peg, deals, seed + number)
    pegged = np.zeros((2, N_HANDS, 2, MOST_PEGGED))
    weigh_pairs(played, all_hands(), kept, pegged)
    cribs = np.zeros((*CRIB_TABLE_SHAPE, MOST_SHOWN), dtype=np.int64)
    hands = np.zeros((2, MOST_SHOWN), dtype=np.int64)
    thrown = np.zeros((2, N_RANKS, N_RANKS), dtype=np.int64)
    count_shows(crib, peg, hand_numbers(), to_uint64(seed), number, deals, cribs, hands, thrown)
    cribs += cribs.transpose(0, 2, 1, 3, 4)  # sorted hands fill one triangle; the other is the same pair
    return _tables(_odds(cribs), _odds(pegged), kept, _odds(hands), thrown / deals)


def _odds(counts: np.ndarray) -> np.ndarray:
    """Counts along the last axis as chances; zeros where nothing was counted."""
    totals = counts.sum(axis=-1, keepdims=True)
    return counts / np.where(totals > 0, totals, 1)


def settle(
    strategy: np.ndarray, seed: int, rounds: int = 6, deals: int = 300_000, last_deals: int = 3_000_000, passes: int = 8
) -> DealTables:
    """Rounds from the plain crib table and no pegging values on; the last one counts `last_deals`."""
    played = play_all_pairs(strategy, passes, seed)
    crib, peg = crib_table(), np.zeros((2, N_HANDS), dtype=np.float32)
    for number in range(rounds):
        tables = next_tables(played, crib, peg, seed, number, last_deals if number == rounds - 1 else deals)
        moved = change(tables, crib, peg)
        print(f"round {number + 1}: cribs moved by {moved[0]:.4f} points, the play by {moved[1]:.4f}", flush=True)
        crib, peg = tables.crib, tables.peg
    return tables


def change(tables: DealTables, crib: np.ndarray, peg: np.ndarray) -> tuple[float, float]:
    """Root mean square distance of crib and pegging values from earlier ones, as often as each is used."""
    cribs = (tables.crib - crib)[..., 0]  # unsuited; by whose crib
    thrown = tables.thrown[[DEALER, PONE]]  # the dealer throws to his own
    of_crib = float(np.sqrt((thrown * cribs**2).sum() / 2))
    return of_crib, float(np.sqrt((tables.kept * (tables.peg - peg) ** 2).sum() / 2))


def save_tables(tables: DealTables, path: Path) -> None:
    """Write the distributions; the large ones as 16-bit floats, which is finer than their sampling."""
    arrays = {name: getattr(tables, name) for name in _STORED}
    arrays |= {name: arrays[name].astype(np.float16) for name in ("crib_odds", "peg_odds")}

    def write(file: str) -> None:
        with Path(file).open("wb") as out:
            np.savez_compressed(out, **arrays)

    write_atomically(path, write)


def main(argv: Sequence[str] | None = None) -> int:
    """Compute the tables and replace the data file in one rename; the exit status."""
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=20261201)
    parser.add_argument("--rounds", type=int, default=6, help="until they settle")
    parser.add_argument("--deals", type=int, default=300_000, help="deals in each round but the last")
    parser.add_argument("--last-deals", type=int, default=3_000_000)
    parser.add_argument("--passes", type=int, default=8, help="times each pair of hands is played")
    parser.add_argument("--play", type=Path, help="the solved play (default: the package's)")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name(DEAL_FILE))
    args = parser.parse_args(argv)
    try:
        if min(args.rounds, args.deals, args.last_deals, args.passes) < 1:
            raise ValueError("rounds, deals, last-deals and passes: allowed are whole numbers from 1")
        strategy = solved_play(args.play)
        save_tables(settle(strategy, args.seed, args.rounds, args.deals, args.last_deals, args.passes), args.out)
    except (ValueError, OSError) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 2
    print(f"wrote {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
