"""What the games of a match leave in the books besides who won: points by role, discards, luck.

A `Ledger` watches a batch of games while they are played; it sees all the cards, as a referee may.
May import: crib_env, luck.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numba import njit

from crib_env.actions import DISCARD_PLACES, N_DISCARDS
from crib_env.cards import NO_CARD
from crib_env.rules import MAX_DEALT
from crib_env.state import DISCARD, HEELS, TALLIES
from crib_env.values import crib_table, crib_values, expected_hands
from training.luck import LUCK_OF, MEAN_DEALT, PLAYS, hands_luck, starter_luck, win_odds


@dataclass(frozen=True)
class Notes:
    """The books of a match, one row a pair, both games of it together; A's side first.

    Attributes:
        deals: int32[P, 2], complete deals that A dealt, that B dealt. A deal is complete when its
            crib was counted and the game went on.
        points: int32[P, 2, 6], what A and B pegged in complete deals, by `state.TALLIES`.
        discards: int32[P, 2], discards of A and of B, in all deals.
        loss: float64[P, 2], points their discards gave away: the best of the fifteen in exact
            expected hand plus or minus table crib, less the one chosen.
        luck: float64[P, 2], A's luck by `luck.LUCK_OF`, in games won, mean of the pair's games.
    """

    deals: np.ndarray
    points: np.ndarray
    discards: np.ndarray
    loss: np.ndarray
    luck: np.ndarray


def join_notes(parts: list[Notes]) -> Notes:
    """The books of several stretches of a match as one."""
    return Notes(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Notes)))


def empty_notes(pairs: int) -> Notes:
    """The books of pairs of which nothing was played."""
    return Notes(
        deals=np.zeros((pairs, 2), dtype=np.int32),
        points=np.zeros((pairs, 2, len(TALLIES)), dtype=np.int32),
        discards=np.zeros((pairs, 2), dtype=np.int32),
        loss=np.zeros((pairs, 2)),
        luck=np.zeros((pairs, len(LUCK_OF))),
    )


class Ledger:
    """Keeps the books of one batch of games, by seat. Call `note` after every step.

    Args:
        games: GAME[n], two players, each at its start.
    """

    def __init__(self, games: np.ndarray) -> None:
        n = len(games)
        self._games = games
        self._odds = win_odds(int(games[0]["target"]))
        self._deal = np.zeros(n, dtype=np.int64)  # the deal being played, as far as it was noted
        self._open = np.ones(n, dtype=np.bool_)  # its discards are not noted yet
        self._before = np.zeros((n, 2, len(TALLIES)), dtype=np.int32)  # tallies when it began
        self.deals = np.zeros((n, 2), dtype=np.int32)
        self.points = np.zeros((n, 2, len(TALLIES)), dtype=np.int32)
        self.discards = np.zeros((n, 2), dtype=np.int32)
        self.loss = np.zeros((n, 2))
        self.luck = np.zeros((n, len(LUCK_OF)))

    def note(self) -> None:
        """Enter the discards made and the deals completed since the last call."""
        note_games(
            self._games, self._deal, self._open, self._before, self.deals, self.points,
            self.discards, self.loss, self.luck, self._odds, crib_table(), MEAN_DEALT, PLAYS,
        )  # fmt: skip


def merge_ledgers(ledgers: tuple[Ledger, Ledger]) -> Notes:
    """The notes of mirrored games: in ledger k the first player, A, sits in seat k."""
    first, second = ledgers
    swapped = [1, 0]
    return Notes(
        deals=first.deals + second.deals[:, swapped],
        points=first.points + second.points[:, swapped],
        discards=first.discards + second.discards[:, swapped],
        loss=first.loss + second.loss[:, swapped],
        luck=(first.luck - second.luck) / 2,  # luck is seat 0's
    )


@njit(cache=True)
def note_games(games, deal, is_open, before, deals, points, discards, loss, luck, odds, table, means, plays):
    """`Ledger.note`, for all games."""
    hands = np.empty(N_DISCARDS, np.float32)
    cribs = np.empty(N_DISCARDS, np.float32)
    best = np.empty(2)
    for i in range(len(games)):
        g = games[i]
        if is_open[i] and g.phase != DISCARD:
            is_open[i] = False
            for seat in range(2):
                best[seat], given = judge_discard(g, seat, table, hands, cribs)
                discards[i, seat] += 1
                loss[i, seat] += given
            note_luck(g, best, odds, means, plays, luck[i])
        if g.deal > deal[i]:
            deals[i, 1 - g.dealer] += 1
            points[i] += g.tally[:2] - before[i]
            before[i] = g.tally[:2]
            deal[i] = g.deal
            is_open[i] = True


@njit(cache=True)
def judge_discard(g, seat, table, hands, cribs):
    """The best discard of a seat, in expected points, and what the one made falls short of it."""
    expected_hands(g.dealt[seat], hands)
    crib_values(g.dealt[seat], seat == g.dealer, table, cribs)
    hands += cribs
    best = hands.max()
    return best, best - hands[discard_made(g, seat)]


@njit(cache=True)
def discard_made(g, seat):
    """Which of the fifteen discards a seat made in this deal."""
    away = np.int64(0)
    k = 0
    for place in range(MAX_DEALT):
        if k < len(g.kept[seat]) and g.dealt[seat, place] == g.kept[seat, k]:
            k += 1
        else:
            away |= 1 << place
    for action in range(N_DISCARDS):
        if away == (1 << DISCARD_PLACES[action, 0] | 1 << DISCARD_PLACES[action, 1]):
            return action
    return NO_CARD


@njit(cache=True)
def note_luck(g, best, odds, means, plays, luck):
    """Add seat 0's luck in the hands dealt and the starter turned; the discards have just been made."""
    held = np.int64(0)
    for seat in range(2):
        for card in g.dealt[seat]:
            held |= 1 << card
    scores = g.score[:2].astype(np.int64)
    if g.n_events > 0 and g.events[0].kind == HEELS:
        scores[g.dealer] -= g.events[0].pegged
    sign = 1 if g.dealer == 0 else -1
    luck[0] += sign * hands_luck(odds, g.dealer, scores, best[g.dealer], best[1 - g.dealer], means)
    luck[1] += sign * starter_luck(odds, plays, held, g.kept, g.crib, g.dealer, scores, g.starter)
