"""`search`: the heuristic's discards; in the play, hands the other may hold, each played out open.

For a card to lay it draws hands of the other: none of the cards seen, none that his gos deny, and
hands worth keeping more often than others. In each of them both play on as if all cards lay open,
for the points of the play alone; the card with the best mean is laid. All it knows of the play is
the rules: no table.
Does not consider: the score, what the cards the other laid say of those he holds, and that cards
are hidden. In its thoughts he sees my cards, and after this card I see his, so nobody bluffs and
nothing is kept from him. Between three or four it plays by the heuristic's rules of thumb.
May import: crib_env, agents.belief, agents.discards, agents.heuristic, agents.pegging.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import njit

from agents.belief import draw_hands, list_hands
from agents.discards import dealt_odds
from agents.heuristic import best_discard, best_play
from agents.pegging import (
    LEVEL,
    MAX_CHOICES,
    MAX_LINE,
    N_HANDS,
    PONE,
    POSITION,
    all_hands,
    choices,
    hand_numbers,
    kept_place,
    open_points,
    place_at,
    rank_at,
    step,
    write_position,
)
from crib_env.actions import FIRST_PLAY, GO, N_DISCARDS
from crib_env.rules import HAND_CARDS
from crib_env.scoring import rank_points
from crib_env.state import DISCARD, MAX_PILE
from crib_env.values import crib_table

SAMPLES = 100
ALL_HANDS_OF_TWO = 91  # multisets of two ranks: of no more than these none is left out
# A hand is e times as likely to be kept for so many points more: of steps of a half, what fits the
# hands that `heuristic` keeps of 100,000 deals best, as dealer and as pone. See METHODS.md.
_KEPT_FOR_POINTS = 2.5


class SearchAgent:
    """Thinks of hands the other may hold and plays each of them out.

    Args:
        samples: hands drawn for each card to lay; where no more than 91 are possible, all are taken.
    Raises:
        ValueError: fewer than one sample.
    """

    name = "search"

    def __init__(self, samples: int = SAMPLES) -> None:
        if samples < 1:
            raise ValueError(f"SearchAgent(samples={samples}): at least 1")
        self.samples = samples
        self._numbers = hand_numbers()

    def act(self, views: np.ndarray, masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See `Agent.act`. Draws one number a view, in order: a batch plays as its views one by one."""
        return act_search(
            views, masks, rng.random(len(views)), self.samples, crib_table(), worth_keeping(), self._numbers
        )


@lru_cache(maxsize=1)
def worth_keeping() -> np.ndarray:
    """A guess at how often each hand is kept, up to a factor: as it is dealt, and for its points.

    Returns:
        float64[1820], [number of the hand], read-only.
    """
    points = [rank_points(tuple(rank_at(hand, k) for k in range(HAND_CARDS))) for hand in all_hands().tolist()]
    odds = dealt_odds() * np.exp(np.array(points) / _KEPT_FOR_POINTS)
    odds.setflags(write=False)
    return odds


@njit(cache=True)
def act_search(views, masks, draws, samples, table, kept, numbers):
    """The action for each view: int64[B].

    Args:
        views: VIEW[B].
        masks: int8[B, 20].
        draws: float64[B], in [0, 1): all the chance there is.
        samples: hands drawn for a card.
        table: `crib_table()`.
        kept: `worth_keeping()`.
        numbers: `pegging.hand_numbers()`.
    """
    actions = np.empty(len(views), np.int64)
    values = np.empty((2, N_DISCARDS), np.float32)
    pile = np.empty(MAX_PILE + 1, np.int8)
    line = np.zeros(MAX_LINE, POSITION)
    levels = np.zeros(MAX_LINE, LEVEL)
    hands = np.empty(N_HANDS, np.int64)
    weights = np.empty(N_HANDS, np.float64)
    for i in range(len(views)):
        v = views[i]
        if v.phase == DISCARD:
            actions[i] = best_discard(v, masks[i], table, values[0], values[1])
        elif v.players > 2:
            actions[i] = best_play(v, masks[i], pile)
        elif masks[i, GO]:
            actions[i] = GO
        else:
            n = list_hands(v, kept, numbers, hands, weights)
            if n > ALL_HANDS_OF_TWO:
                n = draw_hands(n, samples, draws[i], hands, weights)
            write_position(v, hands[0], line[0])
            actions[i] = FIRST_PLAY + kept_place(v, best_card(line, levels, hands, weights, n))
    return actions


@njit(cache=True)
def best_card(line, levels, hands, weights, n):
    """The place in hand of the card with most net points over the hands; the lowest among equals.

    Args:
        line: POSITION[9], the play as it stands in line[0]; the rest and the other's hand are written.
        levels: LEVEL[9], scratch.
        hands: int64[>= n], packed: what the other may hold.
        weights: float64[>= n].
        n: how many of them.
    """
    s = line[0]
    totals = np.zeros(MAX_CHOICES)
    places, m = choices(s)
    for i in range(n if m > 1 else 0):
        s.hand[1 - s.turn] = hands[i]
        for a in range(m):
            net = step(s, place_at(places, a), line[1]) + open_points(line, levels, 1)
            totals[a] += weights[i] * (net if s.turn == PONE else -net)
    return place_at(places, np.argmax(totals[:m]))
