"""The drawn board: how it looks, that it fits a terminal, and that no hidden card is on it."""

import random
import re

import pytest

from crib_env.cards import card_text
from crib_env.game import Game
from crib_env.render import board_text
from crib_env.rules import Rules
from crib_env.state import GO_CARD, LOG_SEAT

IN_PLAY = """\
Cribbage to 121, deal 1: they deal

you    23 .......... .......... ..O....... .......... .......... ..........
          .......... .......... .......... .......... .......... .......... (.)
they  117 .......... .......... .......... .......... .......... ..........
          .......... .......... .......... .......... .......... ....o.O... (.)

starter   JD
they      ## ##
played    you 9C, they 6H, you 9D, they 4D
pile      9C 6H 9D 4D   count 28
you hold  9H 9S
to crib   QC QS

Your turn to play."""

AT_THE_END = """\
Cribbage to 61, deal 1: you deal

you    61 .......... .......... .......... .......... .......... .........o (O)
they    0 .......... .......... .......... .......... .......... .......... (.)

starter   JD
they      ## ## ## ##
played    -
pile      -   count 0
you hold  2C 4D 6H 8S
to crib   KC KD

The game is over: you won."""


def given(scores, target=121):
    """Just after the discard, seat 0 dealing, a jack turned."""
    return Game.from_deal(0, ["2C 4D 6H 8S", "9C 9D 9H 9S"], "KC KD QC QS", "JD", scores, rules=Rules(target=target))


def test_the_board_in_play_looks_like_this():
    game = given([113, 23])
    for card in ("9C", "6H", "9D", "4D"):
        game.push(card)
    assert board_text(game.view(1)) == IN_PLAY


def test_the_board_at_the_end_looks_like_this():
    assert board_text(given([60, 0], target=61).view(0)) == AT_THE_END


def shown_cards(text):
    return set(re.findall(r"\b[A2-9TJQK][CDHS]\b", text))


def known_cards(game, seat):
    """What may be seen from a seat: its own cards, the starter, and every card laid."""
    laid = {int(entry) % LOG_SEAT for entry in game.record["log"][: game.record["n_log"]]} - {GO_CARD}
    return set(game.dealt(seat)) | {game.starter} | {card_text(card) for card in laid}


@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("seed", range(5))
def test_no_hidden_card_is_ever_drawn_and_every_line_fits(players, seed):
    rng = random.Random(seed)
    game = Game(seed, Rules(players))
    while True:
        for seat in range(players):
            text = board_text(game.view(seat))
            assert set(game.hand(seat)) <= shown_cards(text) <= known_cards(game, seat)
            assert text.isascii() and max(map(len, text.splitlines())) <= 80
        if game.over:
            break
        game.push(rng.choice(game.legal_actions()))


@pytest.mark.parametrize("target", [1, 2, 60, 61, 62, 121, 999])
def test_every_target_has_its_holes(target):
    text = board_text(Game(rules=Rules(target=target), dealer=0).view(0))
    tracks = text.split("\n\n")[1]
    assert tracks.count(".") == 2 * target
    assert max(map(len, text.splitlines())) <= 80


def test_whose_turn_it_is_before_the_discard():
    game = Game(dealer=0)
    assert board_text(game.view(1)).endswith("Your turn: choose what to lay to the crib.")
    game.push(0)
    assert board_text(game.view(1)).endswith("The others choose what to lay to the crib.")
    assert board_text(game.view(0)).endswith("Your turn: choose what to lay to the crib.")
