"""What one seat may know: the `VIEW` record, and `look`, the only door out of a GAME record.

Perfect recall: own cards as dealt, own discards, the starter, every card laid and every go in
order, scores, dealer. Never another seat's cards or discards, nor the deck. Seats are told from
the looker's place: 0 is me, 1 the next to my left, and so on; `mine` and `theirs` follow from it.
May import: cards, rules, actions, state, engine.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from crib_env.cards import N_SUITS, NO_CARD, rank_of
from crib_env.engine import side_of
from crib_env.rules import HAND_CARDS, MAX_DEALT, MAX_PLAYERS
from crib_env.state import DISCARD, GO_CARD, LOG_SEAT, MAX_LOG, MAX_PILE

VIEW = np.dtype(
    [
        ("scores", "i2", (MAX_PLAYERS,)),  # by side, mine first
        ("backs", "i2", (MAX_PLAYERS,)),  # back pegs, mine first
        ("target", "i2"),
        ("deal", "i2"),
        ("players", "i1"),
        ("phase", "i1"),
        ("dealer", "i1"),  # 0 when I deal
        ("to_act", "i1"),  # 0 when it is my turn; in the discard phase 0 while I have not discarded
        ("starter", "i1"),
        ("count", "i1"),
        ("dealt", "i1", (MAX_DEALT,)),  # my cards as dealt, sorted
        ("kept", "i1", (HAND_CARDS,)),  # my four, sorted; -1 before my discard
        ("discards", "i1", (2,)),  # what I laid to the crib
        ("laid", "u1"),  # bit k: I have laid kept[k]
        ("cards_left", "i1", (MAX_PLAYERS,)),  # to lay, by place
        ("said_go", "u1"),  # bit p: place p said go in this count
        ("denied", "i1", (MAX_PLAYERS,)),  # by place: gos proved that no card of this value or less is held
        ("n_pile", "i1"),
        ("pile", "i1", (MAX_PILE,)),  # ranks since the last reset, oldest first
        ("n_log", "i1"),
        ("log", "u1", (MAX_LOG,)),  # cards laid and gos said: place * 64 + card, card 52 = go
    ]
)


@njit(cache=True)
def look(g, seat, view):
    """Write what `seat` may know of game `g` into `view` (a VIEW record)."""
    write_public(g, seat, view)
    write_own(g, seat, view)
    write_log_of(g, seat, view)


@njit(cache=True)
def write_public(g, seat, view):
    """Scores, roles, starter, pile: what lies on the table."""
    view.target = g.target
    view.deal = g.deal
    view.players = g.players
    view.phase = g.phase
    view.dealer = place_of(g, g.dealer, seat)
    view.starter = g.starter
    view.count = g.count
    view.n_pile = g.n_pile
    for k in range(MAX_PILE):
        view.pile[k] = g.pile[k] if k < g.n_pile else NO_CARD
    view.scores[:] = 0
    view.backs[:] = 0
    for p in range(g.sides):
        side = side_of(g, seat) + p
        side -= g.sides if side >= g.sides else 0
        view.scores[p] = g.score[side]
        view.backs[p] = g.back[side]
    view.cards_left[:] = 0
    view.denied[:] = 0
    view.said_go = 0
    for s in range(g.players):
        place = place_of(g, s, seat)
        view.cards_left[place] = g.cards_left[s]
        view.denied[place] = g.denied[s]
        view.said_go |= (g.said_go >> s & 1) << place


@njit(cache=True)
def write_own(g, seat, view):
    """My cards, and whether I am to act.

    In the discard phase the order of asking is hidden: only whether my own discard is made.
    """
    if g.phase == DISCARD:
        view.to_act = 0 if g.kept[seat, 0] == NO_CARD else 1
    else:
        view.to_act = place_of(g, g.to_act, seat)
    view.dealt[:] = g.dealt[seat]
    view.kept[:] = g.kept[seat]
    view.laid = g.laid[seat]
    view.discards[:] = NO_CARD
    if g.kept[seat, 0] != NO_CARD:
        n = 0
        k = 0
        for i in range(g.dealt_cards):
            if k < HAND_CARDS and g.dealt[seat, i] == g.kept[seat, k]:
                k += 1
            else:
                view.discards[n] = g.dealt[seat, i]
                n += 1


@njit(cache=True)
def write_log_of(g, seat, view):
    """Every card laid and every go, with seats as places."""
    view.n_log = g.n_log
    for i in range(MAX_LOG):
        view.log[i] = 0
    for i in range(g.n_log):
        view.log[i] = place_of(g, g.log[i] // LOG_SEAT, seat) * LOG_SEAT + g.log[i] % LOG_SEAT


@njit(cache=True, inline="always")
def place_of(g, other, seat):
    """Where `other` sits, seen from `seat`: 0 is the looker, 1 his left."""
    place = other - seat
    return place + g.players if place < 0 else place


def new_views(n: int) -> np.ndarray:
    """VIEW[n], zeroed."""
    return np.zeros(n, dtype=VIEW)


@njit(cache=True)
def look_many(games, seats, views):
    """views[i] = what seats[i] may know of games[i]. All arrays [B]."""
    for i in range(len(games)):
        look(games[i], seats[i], views[i])


@njit(cache=True)
def count_unseen(view, unseen):
    """How many cards of each rank the looker has not seen, into `unseen` (float[13])."""
    count_not_mine(view, unseen)
    for i in range(view.n_log):
        card = view.log[i] % LOG_SEAT
        if view.log[i] >= LOG_SEAT and card != GO_CARD:
            unseen[rank_of(card)] -= 1


@njit(cache=True)
def count_not_mine(view, counts):
    """How many cards of each rank are neither the looker's nor the starter, laid or not, into `counts` (float[13])."""
    counts[:] = N_SUITS
    for k in range(MAX_DEALT):
        if view.dealt[k] != NO_CARD:
            counts[rank_of(view.dealt[k])] -= 1
    if view.starter != NO_CARD:
        counts[rank_of(view.starter)] -= 1
