"""`greedy`: the most points it can see now, in the hand kept and in the play.

Does not consider: the starter, the crib, the other's reply, the score.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from crib_env.actions import FIRST_PLAY, GO, KEEP_PLACES, N_DISCARDS
from crib_env.cards import pip_of, rank_of
from crib_env.rules import HAND_CARDS, MAX_DEALT
from crib_env.scoring import four_points, peg_points
from crib_env.state import DISCARD, MAX_PILE


class GreedyAgent:
    """Keeps the four cards that count most now, lays the card that pegs most now."""

    name = "greedy"

    def act(self, views: np.ndarray, masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See `Agent.act`. Equal discards go to the lowest id, equal cards to the highest: no chance is drawn."""
        return act_greedy(views, masks)


@njit(cache=True)
def act_greedy(views, masks):
    """Greedy's action for each view: int64[B]."""
    actions = np.empty(len(views), np.int64)
    pile = np.empty(MAX_PILE + 1, np.int8)
    for i in range(len(views)):
        if views[i].phase == DISCARD:
            actions[i] = best_keep(views[i], masks[i])
        else:
            actions[i] = best_lay(views[i], masks[i], pile)
    return actions


@njit(cache=True)
def best_keep(v, mask):
    """The discard that leaves the four cards with most points, no starter counted."""
    best, action = -1, 0
    for a in range(N_DISCARDS):
        if mask[a]:
            points = kept_points(v.dealt, a)
            if points > best:
                best, action = points, a
    return action


@njit(cache=True)
def kept_points(dealt, action):
    """Points of the four cards a discard keeps, as they lie: fifteens, pairs, runs, flush."""
    if dealt[MAX_DEALT - 1] >= 0:
        places = KEEP_PLACES[action]
        a, b, c, d = dealt[places[0]], dealt[places[1]], dealt[places[2]], dealt[places[3]]
    else:  # five cards were dealt, one is laid away
        a, b = dealt[0 + (action <= 0)], dealt[1 + (action <= 1)]
        c, d = dealt[2 + (action <= 2)], dealt[3 + (action <= 3)]
    return four_points(a, b, c, d)


@njit(cache=True)
def best_lay(v, mask, pile):
    """The card that pegs most now, the highest among equals, or go. `pile` is scratch, int8[14]."""
    best, action = -1, GO
    pile[: v.n_pile] = v.pile[: v.n_pile]
    for k in range(HAND_CARDS):
        if mask[FIRST_PLAY + k]:
            rank = rank_of(v.kept[k])
            pile[v.n_pile] = rank
            points = peg_points(pile, v.n_pile + 1, v.count + pip_of(rank))
            if points >= best:
                best, action = points, FIRST_PLAY + k
    return action
