"""`expert`: discards by win probability; the solved play, and near the end search for win probability.

Every discard is judged by the chance to win it leaves: the distribution of its hand over the
starters, of its crib, of both sides' pegging with what it keeps, of the other's hand, and then the
table of win probability by score. In the play it follows the solved play while points are what
counts. When somebody is near the end it lists every hand the other may hold, plays each card
against them to the end of the deal, and lays the one that wins most often.

Does not consider: skunks and match scores; how this very opponent plays; in its discards, that
hands, crib and play depend on the same starter; in its search, that either side may play to the
score later in the deal.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit

from agents.belief import (
    MIND,
    STRAYS,
    draw_hands,
    list_hands,
    weigh_by_play,
    whole_hand,
)
from agents.discards import dealt_odds, discard_points, kept_hand
from agents.heuristic import act_heuristic
from agents.pegging import (
    DEALER,
    PONE,
    choices,
    hand_numbers,
    kept_place,
    laid_by,
    lone_choice,
    place_at,
    rank_at,
    step,
    write_position,
)
from agents.tables.deal import DEAL_FILE, MOST_PEGGED, MOST_SHOWN, DealTables, deal_tables, load_tables
from agents.tables.play import PLAY_FILE, chances_at, draw_choice, play_out, solved_play
from agents.tables.win import win_table
from crib_env.actions import DISCARD_PLACES, FIRST_PLAY, GO, KEEP_PLACES, N_DISCARDS
from crib_env.cards import JACK, N_CARDS, N_RANKS, N_SUITS, rank_of, suit_of
from crib_env.rng import draw_unit
from crib_env.rules import HEELS_POINTS, MAX_DEALT, TARGET_POINTS
from crib_env.scoring import rank_points, show_five
from crib_env.state import DISCARD
from crib_env.values import OWN_CRIB, THEIR_CRIB, crib_table
from crib_env.view import count_not_mine

NEAR = 45  # points from home at which a side's play is for the win
MOST_HANDS = 150  # of the other's are played against; more are drawn by their weight
MOST_CRIB = 2 * MOST_SHOWN  # a hand and a crib together stay below


class Knowledge(NamedTuple):
    """Everything `expert` goes by, as arrays. Shapes as where they come from."""

    strategy: np.ndarray
    crib: np.ndarray
    crib_odds: np.ndarray
    peg: np.ndarray
    peg_odds: np.ndarray
    prior: np.ndarray
    hand_odds: np.ndarray
    thrown: np.ndarray
    win: np.ndarray
    numbers: np.ndarray


def knowledge_of(strategy: np.ndarray, tables: DealTables, win: np.ndarray) -> Knowledge:
    """Put the tables together; every hand that can be is given some chance to be kept."""
    prior = ((1 - STRAYS) * tables.kept + STRAYS * dealt_odds()).astype(np.float32)
    return Knowledge(
        strategy, tables.crib, tables.crib_odds, tables.peg, tables.peg_odds, prior, tables.hand_odds, tables.thrown,
        win, hand_numbers(),
    )  # fmt: skip


def load_knowledge(folder: Path | None = None) -> Knowledge:
    """What comes with the package, or a solution of your own.

    Args:
        folder: where `python -m training.solve_play` wrote to.
    Raises:
        ValueError: no solution there, or a damaged one.
    """
    if folder is None:
        return _shipped_knowledge()
    return knowledge_of(solved_play(folder / PLAY_FILE), load_tables(folder / DEAL_FILE), win_table())


@lru_cache(maxsize=1)
def _shipped_knowledge() -> Knowledge:
    return knowledge_of(solved_play(), deal_tables(), win_table())


class ExpertAgent:
    """The strongest player here that is computed rather than trained.

    Args:
        near: a side so many points from home plays for the win; 0 never, 121 always.
        by_score: whether discards go by win probability, or by points.
        name: how tables call it.
        knowledge: what it goes by, see `load_knowledge`; None is what comes with the package.
    """

    def __init__(
        self, near: int = NEAR, by_score: bool = True, name: str = "expert", knowledge: Knowledge | None = None
    ) -> None:
        self.name = name
        self._near = near
        self._by_score = by_score
        self._know = knowledge or load_knowledge()
        self._mind = np.zeros(1, dtype=MIND)

    def act(self, views: np.ndarray, masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See `Agent.act`. One number is drawn for each view."""
        seeds = rng.integers(0, 2**63, len(views), dtype=np.uint64)
        actions = act_expert(views, masks, seeds, self._know, self._near, self._by_score, self._mind)
        others = np.flatnonzero(views["players"] != 2)
        if len(others):
            actions[others] = act_heuristic(views[others], masks[others], crib_table())
        return actions


class SolvedAgent(ExpertAgent):
    """`solved`: hand, crib and solved play for points alone: the deal's approximate equilibrium.

    Does not consider: the score. What `expert` is worth beyond it is what playing to the score is worth.
    """

    def __init__(self) -> None:
        super().__init__(near=0, by_score=False, name="solved")


@njit(cache=True)
def act_expert(views, masks, seeds, know, near, by_score, minds):
    """The expert's action for each view of two players: int64[B]."""
    actions = np.zeros(len(views), np.int64)
    mind = minds[0]
    for i in range(len(views)):
        mind.player.chance = seeds[i]
        if views[i].players != 2:
            continue
        if views[i].phase == DISCARD:
            actions[i] = best_discard(views[i], know, by_score)
        elif masks[i, GO]:
            actions[i] = GO
        else:
            actions[i] = best_play(views[i], know, near, mind)
    return actions


@njit(cache=True)
def best_discard(view, know, by_score):
    """The discard after which winning is likeliest, or points most."""
    values = np.empty(N_DISCARDS, np.float32)
    role = DEALER if view.dealer == 0 else PONE
    discard_points(view.dealt, role, know.crib, know.peg, know.numbers, values)
    if by_score:
        for action in range(N_DISCARDS):
            values[action] = chance_after_discard(view.dealt, action, role, needs_of(view, 0), needs_of(view, 1), know)
    return np.argmax(values)


@njit(cache=True)
def needs_of(view, place):
    """Points that a place (0 is me) still needs; in games to more than 121, as if the rest were 121."""
    return min(np.int64(view.target) - view.scores[place], TARGET_POINTS)


@njit(cache=True)
def chance_after_discard(dealt, action, role, my_needs, their_needs, know):
    """Chance to win after a discard, taking hands, crib and play for independent.

    Args:
        dealt: int8[6].
        action: 0..14.
        role: PONE or DEALER.
        my_needs: points to the target, at least 1.
        their_needs: likewise.
        know: Knowledge.
    """
    mine = np.zeros(MOST_SHOWN)
    jacks = hand_odds_of(dealt, action, mine)
    a, b = dealt[DISCARD_PLACES[action, 0]], dealt[DISCARD_PLACES[action, 1]]
    whose = OWN_CRIB if role == DEALER else THEIR_CRIB
    crib = know.crib_odds[whose, rank_of(a), rank_of(b), np.int64(suit_of(a) == suit_of(b))]
    number = know.numbers[kept_hand(dealt, action)]
    my_play = know.peg_odds[role, number, 0]
    their_play = know.peg_odds[role, number, 1]
    theirs = know.hand_odds[1 - role]
    if role == DEALER:
        chance = dealers_chance(my_needs, their_needs, jacks, my_play, their_play, mine, theirs, crib, know.win)
    else:
        chance = 1 - dealers_chance(their_needs, my_needs, jacks, their_play, my_play, theirs, mine, crib, know.win)
    return chance


@njit(cache=True)
def hand_odds_of(dealt, action, odds):
    """Chance of each count of the hand kept, over the 46 starters, into `odds`; returns the jacks' share."""
    places = KEEP_PLACES[action]
    a, b, c, d = dealt[places[0]], dealt[places[1]], dealt[places[2]], dealt[places[3]]
    held = np.int64(0)
    for k in range(MAX_DEALT):
        held |= np.int64(1) << dealt[k]
    each = 1.0 / (N_CARDS - MAX_DEALT)
    jacks = 0.0
    for starter in range(N_CARDS):
        if not held >> starter & 1:
            odds[show_five(a, b, c, d, starter, False)] += each
            if rank_of(starter) == JACK:
                jacks += each
    return jacks


@njit(cache=True)
def dealers_chance(needs, pone_needs, jacks, play, pone_play, hand, pone_hand, crib, win):
    """The dealer's chance to win from independent distributions of all that scores in a deal.

    In order: heels and the play, in which who gets home first is not known if both may; the pone's
    hand; the dealer's hand and crib; then the next deal, which the pone deals.

    Args:
        needs: points the dealer needs.
        pone_needs: points the pone needs.
        jacks: chance of heels.
        play: float[24], chance of the dealer's points in the play.
        pone_play: likewise.
        hand: float[30], chance of the count of his hand.
        pone_hand: likewise.
        crib: float[30].
        win: `win_table()`.
    """
    shown = np.zeros(MOST_CRIB)
    convolve(hand, crib, shown)
    pegged = np.zeros(MOST_PEGGED + HEELS_POINTS)
    for j in range(MOST_PEGGED):
        pegged[j] += (1 - jacks) * play[j]
        pegged[j + HEELS_POINTS] += jacks * play[j]
    out = 0.0  # the dealer is home in the play
    for j in range(needs, len(pegged)):
        out += pegged[j]
    pone_out = 0.0
    for i in range(pone_needs, MOST_PEGGED):
        pone_out += pone_play[i]
    chance = out * (1 - pone_out) + 0.5 * out * pone_out
    pone_total = np.zeros(MOST_PEGGED + MOST_SHOWN)
    convolve(pone_play[:pone_needs], pone_hand, pone_total)
    total = np.zeros(len(pegged) + MOST_CRIB)
    convolve(pegged[:needs], shown, total)
    for i in range(min(pone_needs, len(pone_total))):
        if pone_total[i] > 0:
            left = 0.0
            for j in range(min(needs, len(total))):
                left += total[j] * (1 - win[pone_needs - i, needs - j])
            for j in range(needs, len(total)):
                left += total[j]
            chance += pone_total[i] * left
    return chance


@njit(cache=True)
def convolve(x, y, total):
    """Add the distribution of a sum of two independent numbers to `total`."""
    for i in range(len(x)):
        if x[i] > 0:
            for j in range(len(y)):
                total[i + j] += x[i] * y[j]


@njit(cache=True)
def best_play(view, know, near, mind):
    """The card to lay."""
    p = mind.player
    s = p.line[0]
    write_position(view, np.int64(1), s)
    if view.cards_left[1] == 0:
        s.hand[1 - s.turn] = 0
    places, m = choices(s)
    a = 0
    if m > 1:
        close = min(needs_of(view, 0), needs_of(view, 1)) <= near
        if close:
            a = searched(view, know, True, mind, places, m)
        elif view.cards_left[1] == 0:
            a = lone_choice(p.line, p.levels, 0)
        elif chances_at(know.strategy, s, m, p.chances):
            a = draw_choice(p.chances, m, p)
        else:
            a = searched(view, know, False, mind, places, m)
    return FIRST_PLAY + kept_place(view, place_at(places, a))


@njit(cache=True)
def searched(view, know, for_win, mind, places, m):
    """The choice that does best against the hands the other may hold, both going on by the solved play."""
    role = DEALER if view.dealer == 0 else PONE
    think_of_hands(view, know, 1 - role, mind, MOST_HANDS)
    laid = laid_by(view, 1)
    p = mind.player
    s = p.line[0]
    write_position(view, np.int64(0), s)  # thinking of hands has written over it
    needs = np.empty(2, np.int64)
    needs[role] = needs_of(view, 0)
    needs[1 - role] = needs_of(view, 1)
    kept = view.kept
    mine = show_five(kept[0], kept[1], kept[2], kept[3], view.starter, False)
    crib = np.zeros(MOST_SHOWN)
    if for_win:
        write_crib_odds(view, know.thrown[1 - role], crib)
    worth = np.zeros(m)
    start = p.chance
    repeats = 1 + MOST_HANDS // (2 * mind.n)
    for i in range(mind.n):
        s.hand[1 - role] = mind.hands[i]
        theirs = count_of(whole_hand(laid, mind.hands[i]), view.starter)
        pone_hand, dealer_hand = (mine, theirs) if role == PONE else (theirs, mine)
        for repeat in range(repeats):
            for a in range(m):
                p.chance = start + np.uint64(i * repeats + repeat)  # the same chance for every card
                net = step(s, place_at(places, a), p.line[1])
                pone, dealer = max(net, 0), max(-net, 0)
                if pone < needs[PONE] and dealer < needs[DEALER]:
                    more = play_out(know.strategy, p, 1, needs[PONE] - pone, needs[DEALER] - dealer)
                    pone += more[0]
                    dealer += more[1]
                if for_win:
                    value = chance_after_play(needs, pone, dealer, pone_hand, dealer_hand, crib, know.win)
                else:
                    value = np.float64(dealer - pone)
                worth[a] += mind.weights[i] * (value if role == DEALER else -value)
    return np.argmax(worth)


@njit(cache=True)
def think_of_hands(view, know, their_role, mind, most):
    """List the hands the other may hold into the mind, weighed by all that is known of them; many are thinned out."""
    mind.n = list_hands(view, know.prior[their_role], know.numbers, mind.hands, mind.weights)
    weigh_by_play(view, know.strategy, mind)
    if mind.n > most:
        mind.n = draw_hands(mind.n, most, draw_unit(mind.player), mind.hands, mind.weights)


@njit(cache=True)
def count_of(hand, starter):
    """What a packed hand of four counts at the show, by its ranks alone."""
    return rank_points(
        (rank_at(hand, 0), rank_at(hand, 1), rank_at(hand, 2), rank_at(hand, 3), np.int64(rank_of(starter)))
    )


@njit(cache=True)
def write_crib_odds(view, thrown, odds):
    """Chance of each count of the crib, the starter and my two cards in it known, into `odds`."""
    unseen = np.empty(N_RANKS)
    count_not_mine(view, unseen)
    a, b = np.int64(rank_of(view.discards[0])), np.int64(rank_of(view.discards[1]))
    turned = np.int64(rank_of(view.starter))
    total = 0.0
    for c in range(N_RANKS):
        for d in range(c, N_RANKS):
            ways = unseen[c] * (unseen[d] - 1) if c == d else unseen[c] * unseen[d]
            full = N_SUITS * (N_SUITS - 1) if c == d else N_SUITS * N_SUITS
            weight = thrown[c, d] * ways / full
            if weight > 0:
                odds[rank_points((a, b, c, d, turned))] += weight
                total += weight
    odds /= total


@njit(cache=True)
def chance_after_play(needs, pone, dealer, pone_hand, dealer_hand, crib, win):
    """The dealer's chance to win after the play: what both pegged in it, their hands, the crib's odds.

    `needs` is int64[2] by role, before the play's points; whoever got home in it has won.
    """
    if dealer >= needs[DEALER]:
        return 1.0
    if pone + pone_hand >= needs[PONE]:
        return 0.0
    if dealer + dealer_hand >= needs[DEALER]:
        return 1.0
    left, dealer_left = needs[PONE] - pone - pone_hand, needs[DEALER] - dealer - dealer_hand
    chance = 0.0
    for points in range(len(crib)):
        if crib[points] > 0:
            chance += crib[points] * (1.0 if points >= dealer_left else 1 - win[left, dealer_left - points])
    return chance
