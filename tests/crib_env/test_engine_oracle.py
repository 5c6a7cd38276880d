"""The engine against the oracle on random games: who acts, what is legal, every event, every score.

The oracle is a second writing of the rules in plain Python that imports nothing of ours.
"""

from functools import lru_cache

import numpy as np
import pytest
from numba import njit

from crib_env.actions import FIRST_PLAY, GO, N_ACTIONS, legal_bits
from crib_env.cards import N_CARDS, NO_CARD, card_text
from crib_env.engine import DRAWN, apply, start_game
from crib_env.rules import HAND_CARDS, MAX_DEALT, MAX_PLAYERS, Rules
from crib_env.state import (
    DISCARD,
    EVENT,
    EVENT_KINDS,
    GO_CARD,
    MAX_EVENTS,
    MAX_LOG,
    OVER,
    PLAY,
    check_invariants,
    new_records,
)
from tests.oracle import oracle

MAX_DEALS = 40  # of a game: random play to 121 takes about ten
CHUNK = 500  # games played and checked at a time
TEXTS = [card_text(card) for card in range(N_CARDS)] + ["go"]

# One deal as the engine played it.
DEAL = np.dtype(
    [
        ("game", "i4"),
        ("dealer", "i1"),
        ("start_scores", "i2", (MAX_PLAYERS,)),
        ("dealt", "i1", (MAX_PLAYERS, MAX_DEALT)),
        ("kept", "i1", (MAX_PLAYERS, HAND_CARDS)),
        ("crib", "i1", (HAND_CARDS,)),
        ("starter", "i1"),
        ("n_steps", "i1"),
        ("steps", [("seat", "i1"), ("legal", "i4"), ("card", "i1")], (MAX_LOG,)),
        ("n_events", "i1"),
        ("events", EVENT, (MAX_EVENTS,)),
        ("end_scores", "i2", (MAX_PLAYERS,)),
        ("winner", "i1"),
    ]
)


@njit
def play_games(games, first_game, seed, deals):
    """Play every game to its end by random legal moves, writing down each deal; how many there were."""
    np.random.seed(seed)  # noqa: NPY002 - what Numba has
    n = 0
    for i in range(len(games)):
        g = games[i]
        start_game(g, first_game + i, DRAWN)
        while g.phase != OVER:
            play_deal(g, deals[n])
            deals[n].game = i
            n += 1
    return n


@njit
def play_deal(g, deal):
    """Play one deal, or as much of it as the game lasts."""
    number = g.deal
    deal.dealer = g.dealer
    deal.start_scores[:] = g.score
    deal.dealt[:] = g.dealt
    while g.phase == DISCARD:
        apply(g, random_action(legal_bits(g)))
    deal.kept[:] = g.kept
    deal.crib[:] = g.crib
    deal.starter = g.starter
    n = 0
    while g.phase == PLAY and g.deal == number:
        bits = legal_bits(g)
        action = random_action(bits)
        deal.steps[n].seat = g.to_act
        deal.steps[n].legal = bits
        deal.steps[n].card = GO_CARD if action == GO else g.kept[g.to_act, action - FIRST_PLAY]
        n += 1
        apply(g, action)
    deal.n_steps = n
    deal.n_events = g.n_events
    deal.events[:] = g.events
    deal.end_scores[:] = g.score
    deal.winner = g.winner


@njit
def random_action(bits):
    """One of the actions whose bit is set."""
    while True:
        action = np.random.randint(N_ACTIONS)  # noqa: NPY002
        if bits >> action & 1:
            return action


def check_games(rules, n, seed):
    """Play n games and hold every deal against the oracle; returns how many deals that were."""
    n_deals = 0
    deals = np.zeros(CHUNK * MAX_DEALS, dtype=DEAL)
    for first in range(0, n, CHUNK):
        games = new_records(min(CHUNK, n - first), rules, seed)
        played = play_games(games, first, seed + first, deals)
        assert played < len(deals), "more deals than there is room for"
        check_cards(deals[:played], rules)
        before = None
        for deal in zip(*columns(deals[:played]), strict=True):
            check_start(deal, before, rules)
            check_deal(deal, rules)
            before = deal
        for g in games[:5]:
            check_invariants(g)
        n_deals += played
    return n_deals


def columns(deals):
    """The fields of some deals as lists, without the places of steps and events that none of them fills."""
    filled = {"steps": deals["n_steps"].max(), "events": deals["n_events"].max()}
    return [deals[f][:, : filled[f]].tolist() if f in filled else deals[f].tolist() for f in DEAL.names]


def check_cards(deals, rules):
    """What was kept and laid to the crib is what was dealt, and the pack's card with three players."""
    used = np.sort(np.hstack([deals["kept"][:, : rules.players].reshape(len(deals), -1), deals["crib"]]))
    dealt = deals["dealt"][:, : rules.players].reshape(len(deals), -1)
    for cards_used, cards_dealt in zip(used.tolist(), dealt.tolist(), strict=True):
        from_pack = set(cards_used) - set(cards_dealt)
        assert len(from_pack) == rules.pack_cards_to_crib
        assert set(cards_used) - from_pack == set(cards_dealt) - {NO_CARD}


def check_start(deal, before, rules):
    """A game's first deal starts at zero; the next begins where the last ended, one seat to the left."""
    game, dealer, scores = deal[0], deal[1], deal[2]
    if before is None or before[0] != game:
        assert scores == [0] * MAX_PLAYERS
    else:
        assert (dealer, scores) == ((before[1] + 1) % rules.players, before[-2])
        assert before[-1] == -1, "a deal after the end of the game"


def check_deal(deal, rules):
    """Replay one deal with the oracle."""
    _, dealer, start, _, kept, crib, starter, n_steps, steps, n_events, events, end, winner = deal
    hands = [[TEXTS[card] for card in hand] for hand in kept[: rules.players]]
    crib = [TEXTS[card] for card in crib]
    told = oracle.OracleGame(dealer, hands, crib, TEXTS[starter], start[: rules.sides], rules.players, rules.target)
    for seat, legal, card in steps[:n_steps]:
        texts = [hands[seat][k] for k in range(HAND_CARDS) if legal >> (FIRST_PLAY + k) & 1]
        assert (seat, texts + ["go"] * (legal >> GO & 1)) == (told.to_act, told.legal())
        told.push(TEXTS[card])
    engine_events = [
        {"phase": EVENT_KINDS[kind], "seat": seat, "points": points, "pegged": pegged, "score": score}
        for score, kind, seat, points, pegged in events[:n_events]
    ]
    assert engine_events == told.events
    assert told.deal_over and end[: rules.sides] == told.scores
    assert winner == (-1 if told.winner is None else told.winner)


@pytest.fixture(autouse=True)
def oracle_that_remembers(monkeypatch):
    """The oracle's own functions, but each answer worked out once: more than twice as fast.

    Those of several cards look at ranks alone, the first letters of the cards, in any order.
    """
    for name in ("rank_of", "pips_of"):
        monkeypatch.setattr(oracle, name, lru_cache(getattr(oracle, name)))
    for name in ("fifteens_points", "pairs_points", "runs_points", "is_run"):
        monkeypatch.setattr(oracle, name, remembering_ranks(getattr(oracle, name)))


def remembering_ranks(function):
    """`function` of a list of cards, asked once for every choice of ranks."""
    answers = lru_cache(maxsize=2**16)(function)
    return lambda cards: answers(tuple(sorted([card[0] for card in cards])))


@pytest.mark.parametrize(("players", "target", "n"), [(2, 121, 1000), (2, 61, 200), (3, 121, 150), (4, 121, 150)])
def test_engine_equals_oracle_on_random_games(players, target, n):
    assert check_games(Rules(players, target), n, seed=players) > n


@pytest.mark.slow
@pytest.mark.parametrize(
    ("players", "n"),
    [
        (2, 100_000),  # ten minutes and more
        pytest.param(2, 10_000, marks=pytest.mark.ci),
        pytest.param(3, 2_000, marks=pytest.mark.ci),
        pytest.param(4, 2_000, marks=pytest.mark.ci),
    ],
)
def test_engine_equals_oracle_on_many_random_games(players, n):
    assert check_games(Rules(players), n, seed=1_000_000 + players) > n
