"""The engine's play against OpenSpiel's cribbage: a second opinion that shares nothing with the oracle.

OpenSpiel's play is right: pairs, runs, fifteens, 31, go, last card, and who leads. Its show is not
(it pays a four-card flush in the crib, counts seat 0 first and does not stop at 121), so only the
play is compared, deal by deal, and the show is taken off what a deal's last move pays.
"""

import random
import re

import pytest

from crib_env.actions import GO
from crib_env.cards import RANKS, SUITS, card_id
from crib_env.game import Game
from crib_env.scoring import show_points

pyspiel = pytest.importorskip("pyspiel", reason="open-spiel is not installed")

# OpenSpiel numbers cards by suit, then rank; 2756 is its pass.
TEXTS = dict(enumerate(rank + suit for suit in SUITS for rank in RANKS))
PASS = 2756


def check_deals(n, seed):
    """Play n deals of OpenSpiel's cribbage at random, each beside a Game that begins with the same cards."""
    rng = random.Random(seed)
    # No bonus for winning: then what a move pays is what it pegs.
    openspiel = pyspiel.load_game("cribbage", {"winner_bonus_reward": 0.0})
    state = openspiel.new_initial_state()
    checked = 0
    while checked < n:
        game = Game.from_deal(**deal_to_starter(state, rng), scores=[0, 0])
        pegged = play_beside(state, game, rng)
        if state.is_terminal():
            state = openspiel.new_initial_state()  # its last deal may stop short: left out
            continue
        assert pegged == play_points(game), game
        checked += 1


def deal_to_starter(state, rng):
    """Go on in `state` until the starter is turned; the deal as `Game.from_deal` wants it."""
    for _ in range(12 + 2 + 1):  # cards dealt, discards, starter
        state.apply_action(rng.choice(state.legal_actions()))
    table = dict(re.findall(r"^(.+?): *(.*)$", str(state), flags=re.MULTILINE))
    return {
        "dealer": int(table["Dealer"]),
        "hands": [table["P0 Hand"], table["P1 Hand"]],
        "crib": table["Crib"],
        "starter": table["Starter"],
    }


def play_beside(state, game, rng):
    """Play the deal out in both, card for card; what each seat pegged in OpenSpiel's play."""
    pegged = [-points for points in openspiel_show(game)]  # paid with the last move, whatever that is
    while not state.is_chance_node() and not state.is_terminal():
        action = rng.choice(state.legal_actions())
        if action != PASS:
            say_gos(game)
            assert game.to_act == state.current_player()
            assert set(map(game.action_text, game.legal_actions())) == {TEXTS[a] for a in state.legal_actions()}
            game.push(TEXTS[action])
        state.apply_action(action)
        pegged = [points + int(reward) for points, reward in zip(pegged, state.rewards(), strict=True)]
    return pegged


def say_gos(game):
    """Say every go that is due: OpenSpiel passes more often than we do, and says so less clearly."""
    while game.legal_actions() == [GO]:
        game.push("go")


def openspiel_show(game):
    """What OpenSpiel pays each seat at the show: it scores the crib as if it were a hand."""
    starter = card_id(game.starter)
    points = [show_points([card_id(card) for card in game.kept(seat)], starter, is_crib=False) for seat in range(2)]
    points[game.dealer] += show_points([card_id(card) for card in game.crib], starter, is_crib=False)
    return points


def play_points(game):
    """What each seat earned in the play of the game's first deal."""
    earned = [0, 0]
    for event in game.events:
        if event["phase"] in ("play", "go", "last"):
            earned[event["seat"]] += event["points"]
    return earned


def test_the_play_agrees_with_openspiel():
    check_deals(500, seed=1)


@pytest.mark.slow
@pytest.mark.ci
def test_the_play_agrees_with_openspiel_over_many_deals():
    check_deals(20_000, seed=2)
