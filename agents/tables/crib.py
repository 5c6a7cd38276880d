"""The crib table: what two discards are worth in a crib, own or the other's.

    python -m agents.tables.crib            regenerates crib_env/crib_table.npy (minutes)

Self-consistent: both players keep the four cards with the best exact hand plus (dealer) or minus
(pone) the table's crib value; playing that way gives a new table, and so on until it settles.
Each deal serves every discard it could have seen: the other player's two cards are fixed by the
table, and all fifteen of my pairs are scored with them over sampled starters.
Check: within 0.15 points RMS of Schell's published table (tests/agents/test_crib_table.py).
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from numba import njit

import crib_env.values
from crib_env.actions import DISCARD_PLACES, N_DISCARDS
from crib_env.cards import rank_of, suit_of
from crib_env.engine import write_sorted
from crib_env.rng import shuffle_into
from crib_env.rules import MAX_DEALT
from crib_env.scoring import show_five
from crib_env.values import CRIB_TABLE_SHAPE, OWN_CRIB, THEIR_CRIB, crib_values, expected_hands

TABLE_FILE = Path(crib_env.values.__file__).with_name("crib_table.npy")
STARTERS = 8  # sampled in each deal, from the same shuffle


@njit(cache=True)
def best_discard(dealt, i_deal, table):
    """The action with the best expected hand plus or minus crib."""
    hands = np.empty(N_DISCARDS, np.float32)
    cribs = np.empty(N_DISCARDS, np.float32)
    expected_hands(dealt, hands)
    crib_values(dealt, i_deal, table, cribs)
    return np.argmax(hands + cribs)


@njit(cache=True)
def add_deals(table, seed, round_number, first, n, totals, counts):
    """Score every discard of both players of `n` deals into `totals` and `counts` (float64, int64)."""
    pack = np.empty(52, np.int8)
    hands = np.empty((2, MAX_DEALT), np.int8)
    for deal in range(first, first + n):
        shuffle_into(pack, 2 * MAX_DEALT + STARTERS, seed, round_number, deal)
        for seat in range(2):
            write_sorted(pack, seat * MAX_DEALT, MAX_DEALT, hands[seat])
        for me in range(2):  # seat 0 deals
            other = 1 - me
            whose = OWN_CRIB if me == 0 else THEIR_CRIB
            theirs = DISCARD_PLACES[best_discard(hands[other], other == 0, table)]
            c, d = hands[other, theirs[0]], hands[other, theirs[1]]
            for action in range(N_DISCARDS):
                a, b = hands[me, DISCARD_PLACES[action, 0]], hands[me, DISCARD_PLACES[action, 1]]
                points = 0
                for s in range(STARTERS):
                    points += show_five(a, b, c, d, pack[2 * MAX_DEALT + s], True)
                suited = np.int64(suit_of(a) == suit_of(b))
                totals[whose, rank_of(a), rank_of(b), suited] += points
                counts[whose, rank_of(a), rank_of(b), suited] += STARTERS


def next_table(table: np.ndarray, seed: int, round_number: int, deals: int) -> np.ndarray:
    """Mean crib by discard when both players discard by `table`: float32, shaped like it."""
    totals = np.zeros(CRIB_TABLE_SHAPE)
    counts = np.zeros(CRIB_TABLE_SHAPE, dtype=np.int64)
    add_deals(table, np.uint64(seed), round_number, 0, deals, totals, counts)
    totals += totals.transpose(0, 2, 1, 3)  # sorted hands fill one triangle; the other is the same pair
    counts += counts.transpose(0, 2, 1, 3)
    return (totals / np.maximum(counts, 1)).astype(np.float32)


def settle(seed: int, rounds: int, deals: int, last_deals: int) -> np.ndarray:
    """Iterate from a table of zeros; the last round uses `last_deals` for accuracy."""
    table = np.zeros(CRIB_TABLE_SHAPE, dtype=np.float32)
    for number in range(rounds):
        new = next_table(table, seed, number, last_deals if number == rounds - 1 else deals)
        print(f"round {number}: RMS change {float(np.sqrt(np.mean((new - table) ** 2))):.4f} points", flush=True)
        table = new
    return table


def main() -> None:
    """Compute the table and replace the data file in one rename."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--deals", type=int, default=1_000_000, help="deals in each round but the last")
    parser.add_argument("--last-deals", type=int, default=10_000_000)
    parser.add_argument("--out", type=Path, default=TABLE_FILE)
    args = parser.parse_args()
    table = settle(args.seed, args.rounds, args.deals, args.last_deals)
    temporary = args.out.with_suffix(".tmp.npy")
    np.save(temporary, table)
    os.replace(temporary, args.out)
    print(f"wrote {args.out}")


if __name__ == "__main__":
    main()
