"""`heuristic`: exact expected hand plus or minus the table crib; rules of thumb in the play.

Does not consider: the score, what its four cards are worth in the play, which cards the other may
hold.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from agents.greedy import best_keep
from crib_env.actions import FIRST_PLAY, GO, N_DISCARDS
from crib_env.cards import MAX_PIP, NO_CARD, pip_of, rank_of
from crib_env.rules import FIFTEEN, HAND_CARDS, MAX_COUNT, MAX_DEALT
from crib_env.scoring import peg_points
from crib_env.state import DISCARD, MAX_PILE
from crib_env.values import crib_table, crib_values, expected_hands

# Rules of thumb, in points. Judgement, not measured one by one.
_TEN_CARD_SCORES = 0.6  # never leave 5 or 21: sixteen cards make it 15 or 31
_INVITES_RUN = 0.4  # a neighbour of the last card lets the other make a run
_SAFE_LEAD = 0.3  # a lead below five cannot be made fifteen
_PAIR_BACK = 0.3  # lead from a pair: if it is paired, the third card pegs six
_LOW_CARD = 0.04  # a pip: high cards first, low ones are good at the end of a count


class HeuristicAgent:
    """What a careful player does without looking at the board."""

    name = "heuristic"

    def act(self, views: np.ndarray, masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See `Agent.act`. Ties go to the lowest id, so it draws no chance."""
        return act_heuristic(views, masks, crib_table())


@njit(cache=True)
def act_heuristic(views, masks, table):
    """The heuristic's action for each view: int64[B]."""
    actions = np.empty(len(views), np.int64)
    hands = np.empty(N_DISCARDS, np.float32)
    cribs = np.empty(N_DISCARDS, np.float32)
    pile = np.empty(MAX_PILE + 1, np.int8)
    for i in range(len(views)):
        v = views[i]
        if v.phase == DISCARD:
            actions[i] = best_discard(v, masks[i], table, hands, cribs)
        else:
            actions[i] = best_play(v, masks[i], pile)
    return actions


@njit(cache=True)
def best_discard(v, mask, table, hands, cribs):
    """The discard with most points expected of hand and crib. `hands`, `cribs` are scratch, float32[15]."""
    if v.dealt[MAX_DEALT - 1] == NO_CARD:  # three or four players: the table is for two discards
        return best_keep(v, mask)
    expected_hands(v.dealt, hands)
    crib_values(v.dealt, v.dealer == 0, table, cribs)
    return np.argmax(hands + cribs)


@njit(cache=True)
def best_play(v, mask, pile):
    """The card with most points now; rules of thumb weigh the risks. `pile` is scratch, int8[14]."""
    best, action = -1e9, GO
    pile[: v.n_pile] = v.pile[: v.n_pile]
    for k in range(HAND_CARDS):
        if mask[FIRST_PLAY + k]:
            rank = rank_of(v.kept[k])
            count = v.count + pip_of(rank)
            pile[v.n_pile] = rank
            worth = peg_points(pile, v.n_pile + 1, count) - risk(v, k, rank, count)
            if worth > best:
                best, action = worth, FIRST_PLAY + k
    return action


@njit(cache=True)
def risk(v, k, rank, count):
    """What the rules of thumb hold against laying the k-th card, in points."""
    if v.cards_left[1:].sum() == 0:
        return 0.0  # nobody can answer
    points = -_LOW_CARD * pip_of(rank)
    if count == FIFTEEN - MAX_PIP or count == MAX_COUNT - MAX_PIP:
        points += _TEN_CARD_SCORES
    if v.n_pile > 0 and abs(rank - v.pile[v.n_pile - 1]) in (1, 2):
        points += _INVITES_RUN
    if v.n_pile == 0:
        if count < FIFTEEN - MAX_PIP:
            points -= _SAFE_LEAD
        if holds_pair(v, k, rank):
            points -= _PAIR_BACK
    return points


@njit(cache=True)
def holds_pair(v, k, rank):
    """Whether another card of the rank is still held beside the k-th."""
    held = 0
    for other in range(HAND_CARDS):
        held += other != k and not v.laid >> other & 1 and rank_of(v.kept[other]) == rank
    return held > 0
