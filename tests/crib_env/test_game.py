"""Game keeps the public contract: its attributes, its events, its errors, and the rules of whole deals."""

import copy
import json
import random
from pathlib import Path

import numpy as np
import pytest

from crib_env.actions import FIRST_PLAY, GO, N_ACTIONS, N_DISCARDS, legal_bits
from crib_env.cards import card_id, card_text
from crib_env.game import Game
from crib_env.rng import deal_cards
from crib_env.rules import Rules
from crib_env.state import PLAY, check_invariants, new_records
from crib_env.view import VIEW

VECTORS = json.loads((Path(__file__).resolve().parents[1] / "data" / "vectors.json").read_text())
NO_POINTS = {2: [0, 0], 3: [0, 0, 0], 4: [0, 0]}
# Kept hands and crib in which no seat holds a card of another: for cases where the cards do not matter.
HANDS = ["2C 4D 6H 8S", "9C 9D 9H 9S", "AC 3D 5H 7S", "TC QD KH 7D"]
CRIB = "KC KD QC QS"


def vectors(*sections):
    """The vectors of some sections as pytest parameters, named by their id."""
    return [pytest.param(vector, id=vector["id"]) for name in sections for vector in VECTORS[name]]


def spare_cards(hands, number):
    """Cards nobody holds and no jack, to stand as crib and starter where these do not matter."""
    held = {card for hand in hands for card in hand}
    deck = [rank + suit for rank in "A23456789TQK" for suit in "CDHS"]
    return [card for card in deck if card not in held][:number]


def lay(game, cards):
    """Lay these cards in order, saying go wherever it is the only action; stops when the game ends."""
    for card in cards.split():
        while game.legal_actions() == [GO]:
            game.push("go")
        if game.over:
            return game
        game.push(card)
    return game


def event(phase, seat, points, score, pegged=None):
    """One expected event; everything is pegged unless the case says otherwise."""
    return {"phase": phase, "seat": seat, "points": points, "pegged": pegged or points, "score": score}


def given(players=2, **changes):
    """A `from_deal` game that is in order but for the changes."""
    deal = {"dealer": 0, "hands": HANDS[:players], "crib": CRIB, "starter": "AH", "scores": NO_POINTS[players]}
    return Game.from_deal(**{**deal, "rules": Rules(players=players), **changes})


def random_game(seed, players=2, target=121, moves=10_000):
    """A game of random legal play, stopped after some moves or at its end."""
    rng = random.Random(seed)
    game = Game(seed, Rules(players, target))
    while not game.over and len(game.actions) < moves:
        game.push(rng.choice(game.legal_actions()))
    return game


# ---- the vectors ------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", vectors("plays", "multi", "plays_random"))
def test_play_vector(vector):
    hands, expected = vector["hands"], vector["expected"]["plays"]
    *crib, starter = spare_cards(hands, 5)
    players = len(hands)
    game = Game.from_deal(vector["dealer"], hands, crib, starter, NO_POINTS[players], rules=Rules(players=players))
    for play in expected:
        while game.legal_actions() == [GO]:
            game.push("go")
        assert (game.to_act, game.count + min(1 + card_id(play["card"]) // 4, 10)) == (play["seat"], play["count"])
        game.push(play["card"])
    # 31 is part of "play"; go or last is an event of its own, after the card that earned it.
    items = [
        (phase, play["seat"], points)
        for play in expected
        for phase, points in [
            ("play", play["points"] - play["go"] - play["last"]),
            ("go", play["go"]),
            ("last", play["last"]),
        ]
        if points
    ]
    pegged = [e for e in game.events if e["phase"] in ("play", "go", "last")]
    assert [(e["phase"], e["seat"], e["points"]) for e in pegged] == items


@pytest.mark.parametrize("vector", vectors("game_end", "multi_end", "deals_random"))
def test_deal_vector(vector):
    rules = Rules(len(vector["hands_kept"]), vector["target"])
    game = Game.from_deal(
        vector["dealer"], vector["hands_kept"], vector["crib"], vector["starter"], vector["start_scores"], rules=rules
    )
    lay(game, " ".join(vector["order"]))
    while game.deal == 0 and game.legal_actions() == [GO]:
        game.push("go")
    expected = vector["expected"]
    assert game.events == expected["events"]
    assert game.scores == expected["final_scores"]
    assert (game.over, game.winner) == (expected["winner"] is not None, expected["winner"])


# A seat without cards is never asked, so the case of an empty hand has no meaning here.
@pytest.mark.parametrize("vector", [case for case in vectors("legal_plays") if case.values[0]["hand"]])
def test_legal_plays_vector(vector):
    cards = sorted(card_id(card) for card in vector["hand"])
    games = new_records(1, Rules(), seed=0)
    games["phase"], games["count"] = PLAY, vector["count"]
    games["kept"][0, 0, : len(cards)] = cards
    games["laid"][0, 0] = 0b1111 & ~((1 << len(cards)) - 1)
    bits = legal_bits(games[0])
    laid = [card_text(cards[a - FIRST_PLAY]) for a in range(FIRST_PLAY, GO) if bits >> a & 1]
    assert sorted(laid) == sorted(vector["expected"]["legal"])
    assert bool(bits >> GO & 1) == vector["expected"]["must_say_go"]


# ---- order and end of the game: where peers fail -------------------------------------------------


def test_pone_wins_when_both_hands_would_reach_121():
    game = Game.from_deal(0, ["3C TD TH JS", "9H QD KH KS"], "2C 4C 6C 7D", "5H", [113, 114])
    lay(game, "KH JS KS 3C 9H TD QD TH")
    # Both stand at 115 when the show begins and both hold 8: the dealer never counts.
    assert game.events == [
        event("go", 1, 1, 115),
        event("go", 0, 1, 114),
        event("last", 0, 1, 115),
        event("show_hand", 1, 8, 121, pegged=6),
    ]
    assert (game.winner, game.scores) == (1, [115, 121])


@pytest.mark.parametrize(("score", "pegged"), [(119, 2), (120, 1)])
def test_heels_wins_the_game_before_a_card_is_laid(score, pegged):
    game = given(scores=[score, 120], starter="JH")
    assert game.events == [event("heels", 0, 2, 121, pegged)]
    assert (game.over, game.winner, game.phase, game.legal_actions()) == (True, 0, "over", [])


def test_heels_pays_the_dealer_two_once_before_the_first_card():
    game = given(dealer=1, starter="JC")
    assert game.events == [event("heels", 1, 2, 2)]
    assert (game.scores, game.to_act) == ([0, 2], 0)
    lay(game, "2C 9C 4D 9D 6H 9H 8S 9S")
    assert [e["phase"] for e in game.events].count("heels") == 1


def test_117_and_a_run_of_four_is_121_and_wins():
    game = Game.from_deal(0, ["7D 6S 2C 3C", "5C 4H KS QS"], CRIB.replace("QS", "QD"), "AH", [117, 120])
    lay(game, "5C 7D 4H")
    assert game.push("6S") == [event("play", 0, 4, 121)]
    assert (game.over, game.winner) == (True, 0)


def test_last_card_making_31_pegs_two_and_not_three():
    game = Game.from_deal(0, ["9D TC 5H 6C", "KC 8S 5D 5S"], "AC AD 2H 3S", "QH", [0, 0])
    lay(game, "KC 9D 8S TC 5D 5H 5S")
    pegged_before = game.scores[0]
    events = game.push("6C")
    assert events[0] == event("play", 0, 2, pegged_before + 2)
    assert {e["phase"] for e in events[1:]} <= {"show_hand", "show_crib"}


def test_go_pays_one_point_however_many_cards_follow_it():
    game = Game.from_deal(0, ["3C AD AC 2D", "9S 8H 4D KH"], "QC QD QH QS", "KC", [0, 0])
    lay(game, "9S 3C 8H AD 4D")
    assert (game.count, game.to_act) == (25, 0)
    assert game.push("AC") == []
    assert game.push("go") == []
    assert game.push("2D") == [event("go", 0, 1, 1)]


def test_a_card_over_31_may_not_be_laid():
    game = Game.from_deal(0, ["4H 3H KC 9D", "3S 6D JS QC"], "AC AD 2C 2D", "KH", [0, 0])
    lay(game, "3S 4H 6D 3H JS")
    assert (game.count, game.to_act, game.legal_actions()) == (26, 0, [GO])
    with pytest.raises(ValueError, match="9D"):
        game.push("9D")


def test_combinations_do_not_span_a_reset():
    game = lay(Game.from_deal(0, ["QD 7D JH 6D", "KC 7C 9S 8S"], "AC AD 2C 2D", "KH", [0, 0]), "KC QD 7C")
    assert game.push("go") == [event("go", 1, 1, 1)]
    assert game.push("7D") == []


def test_last_player_says_no_go_and_the_lead_passes_to_his_left():
    hands = ["9D 8D 7S 6C", "TC KD QH 9C", "TD JS 8C 7H"]
    game = lay(given(3, hands=hands, crib="AC AD 2C 2D"), "TC TD 9D")
    assert (game.count, game.to_act) == (29, 1)
    assert game.push("go") == []
    # Seat 0 cannot lay either, but laid the last card: the count closes without his go.
    assert game.push("go") == [event("go", 0, 1, 1)]
    assert (game.count, game.to_act, game.pile) == (0, 1, [])


# ---- a new game ----------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 3, 4])
def test_a_new_game_waits_for_the_discard_left_of_the_dealer(players):
    game = Game(seed=5, rules=Rules(players=players), dealer=1, game=3)
    size = game.rules.dealt_cards
    pack = deal_cards(5, 3, 0)
    assert (game.phase, game.dealer, game.to_act, game.deal) == ("discard", 1, 2 % players, 0)
    assert (game.seed, game.game, game.scores) == (5, 3, NO_POINTS[players])
    assert (game.starter, game.over, game.winner, game.count) == (None, False, None, 0)
    for seat in range(players):
        assert game.hand(seat) == [card_text(c) for c in sorted(pack[seat * size : (seat + 1) * size])]
    assert game.crib == ([card_text(pack[15])] if players == 3 else [])
    assert game.legal_actions() == list(range(N_DISCARDS if players == 2 else 5))


def test_start_scores_stand_before_the_first_deal():
    game = Game(scores=[95, 102], dealer=0)
    assert (game.scores, game.record["back"][:2].tolist()) == ([95, 102], [95, 102])


def test_first_dealer_is_drawn_by_the_seed():
    assert {Game(seed=seed).dealer for seed in range(20)} == {0, 1}
    assert {Game(seed=seed, rules=Rules(players=4)).dealer for seed in range(40)} == {0, 1, 2, 3}


def test_mask_and_texts_agree_with_the_legal_actions():
    game = random_game(1, moves=20)
    for action in game.legal_actions():
        assert game.mask()[action] == 1
        assert game.copy().push(game.action_text(action)) == game.copy().push(action)
    assert game.mask().sum() == len(game.legal_actions()) and game.mask().dtype == np.int8


def test_a_finished_game_has_no_legal_action_but_a_mask_with_go():
    game = random_game(2)
    assert (game.over, game.legal_actions(), game.phase) == (True, [], "over")
    assert game.scores[game.winner] == 121
    assert game.mask().tolist() == [0] * GO + [1]


def test_push_takes_an_id_or_a_text_in_any_order_and_case():
    game = Game(seed=1, dealer=0)
    text = game.action_text(7)
    for action in (7, np.int64(7), text, " ".join(reversed(text.lower().split())), text.replace("T", "10")):
        other = game.copy()
        other.push(action)
        assert other.actions == [7] and other.discards(1) == text.split()


def test_events_of_every_deal_are_kept_and_push_returns_its_own():
    rng = random.Random(3)
    game = Game(seed=3)
    pushed = []
    while not game.over:
        pushed += game.push(rng.choice(game.legal_actions()))
    assert pushed == game.events
    for side in range(2):
        assert sum(e["pegged"] for e in game.events if e["seat"] == side) == game.scores[side]
    # What a caller does to the events he was given does not reach the game.
    pushed[0]["score"] = 99
    assert game.events[0]["score"] != 99


def test_a_copy_goes_its_own_way():
    game = random_game(4, moves=30)
    before = (game.record.tobytes(), list(game.events), list(game.actions))
    for other in (game.copy(), copy.deepcopy(game)):
        assert (other.record.tobytes(), other.events, other.actions) == before
        while not other.over:
            other.push(other.legal_actions()[0])
    assert (game.record.tobytes(), game.events, game.actions) == before


def test_view_is_a_copy_of_what_a_seat_may_know():
    game = random_game(5, moves=4)
    view = game.view(1)
    assert view.dtype == VIEW
    assert [card_text(card) for card in view["kept"]] == game.kept(1)
    view["scores"][0] = 77
    assert game.view(1)["scores"][0] != 77


@pytest.mark.parametrize("players", [2, 3, 4])
def test_random_games_keep_the_invariants_and_their_pile(players):
    rng = random.Random(players)
    game = Game(seed=players, rules=Rules(players, target=61))
    while not game.over:
        check_invariants(game.record)
        assert sum(min(1 + card_id(card) // 4, 10) for card in game.pile) == game.count
        assert all(len(game.hand(seat)) <= game.rules.dealt_cards for seat in range(players))
        game.push(rng.choice(game.legal_actions()))
    check_invariants(game.record)


# ---- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["9D", "go", "5H KD", "5X", "", -1, 3, 20, 83, 15.0, None, True, [15]])
def test_an_illegal_push_says_what_was_legal_and_changes_nothing(action):
    game = lay(given(), "9C")
    before = (game.record.tobytes(), list(game.events), list(game.actions))
    with pytest.raises(ValueError) as caught:
        game.push(action)
    message = str(caught.value)
    assert f"illegal action {action!r}" in message
    assert "at deal 1, count 9, seat 0 to play: legal are 2C (15), 4D (16), 6H (17), 8S (18)" in message
    assert (game.record.tobytes(), game.events, game.actions) == before


def test_a_card_that_does_not_fit_is_named():
    game = Game.from_deal(0, ["4H 3H KC 9D", "3S 6D JS QC"], "AC AD 2C 2D", "KH", [0, 0])
    lay(game, "3S 4H 6D 3H JS")
    with pytest.raises(ValueError, match=r"illegal action 17 \(9D\) at deal 1, count 26.*legal are go \(19\)"):
        game.push(17)


def test_after_the_end_nothing_may_be_pushed():
    game = random_game(2)
    before = game.record.tobytes()
    for action in (GO, "go", 0):
        with pytest.raises(ValueError, match="the game is over"):
            game.push(action)
    assert game.record.tobytes() == before


def test_action_text_refuses_what_is_not_legal():
    game = lay(given(), "9C")
    for action in (0, GO, N_ACTIONS, -1):
        with pytest.raises(ValueError, match="illegal action"):
            game.action_text(action)


@pytest.mark.parametrize(
    "arguments",
    [
        {"seed": 1.5},
        {"seed": True},
        {"dealer": 2},
        {"dealer": -1},
        {"dealer": "0"},
        {"scores": [0]},
        {"scores": [0, 121]},
        {"scores": [-1, 0]},
        {"scores": [0, 1.5]},
        {"scores": 7},
        {"game": -1},
        {"game": 2**63},
    ],
    ids=str,
)
def test_a_game_that_cannot_be_begun_is_refused(arguments):
    with pytest.raises(ValueError, match=r"seed|dealer|score|game"):
        Game(**arguments)


@pytest.mark.parametrize("seat", [-1, 2, "0", None])
def test_a_seat_nobody_sits_on_is_refused(seat):
    game = Game()
    for ask in (game.hand, game.kept, game.view, game.discards):
        with pytest.raises(ValueError, match="seat"):
            ask(seat)


# ---- from_deal --------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("dealer", [0, 1])
def test_from_deal_leaves_the_record_that_real_play_would_have_left(players, dealer):
    game = given(players, dealer=dealer)
    each = game.rules.discards
    crib = CRIB.split()
    for seat in range(players):
        assert game.kept(seat) == sorted(HANDS[seat].split(), key=card_id)
        assert game.discards(seat) == crib[each * seat : each * (seat + 1)]
        assert sorted(game.dealt(seat)) == sorted(HANDS[seat].split() + game.discards(seat))
        assert [card_text(c) for c in game.view(seat)["discards"][:each]] == game.discards(seat)
    assert (sorted(game.crib), game.starter) == (sorted(crib), "AH")
    assert (game.phase, game.to_act, game.events, game.actions) == (
        "play",
        dealer + 1 if dealer + 1 < players else 0,
        [],
        [],
    )
    assert sorted(game.record["deck"].tolist()) == list(range(52))
    check_invariants(game.record)


def test_from_deal_takes_texts_and_ids_alike():
    ids = given(hands=[[card_id(c) for c in hand.split()] for hand in HANDS[:2]], starter=card_id("AH"))
    lists = given(hands=[hand.split() for hand in HANDS[:2]], crib=CRIB.lower().split(), starter="ah")
    assert ids.record.tobytes() == lists.record.tobytes() == given().record.tobytes()


def test_later_deals_after_from_deal_come_from_the_seed():
    game = lay(given(seed=9), "9C 2C 9D 4D 6H 9H 8S 9S")
    assert (game.deal, game.dealer, game.phase) == (1, 1, "discard")
    assert game.hand(0) == [card_text(card) for card in sorted(deal_cards(9, 0, 1)[:6])]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"dealer": 2}, "dealer 2: allowed are whole numbers 0..1", id="dealer"),
        pytest.param({"dealer": None}, "dealer None", id="no dealer"),
        pytest.param({"hands": HANDS[:1]}, "hands: 1 came; 2 players keep 2 hands", id="one hand"),
        pytest.param({"hands": HANDS[:3]}, "hands: 3 came", id="three hands"),
        pytest.param({"hands": None}, "hands: None came", id="no hands"),
        pytest.param({"hands": [HANDS[0], "9C 9D 9H"]}, "hand of seat 1: 3 cards came", id="three cards"),
        pytest.param({"hands": [HANDS[0], "9C 9D 9H 9S TC"]}, "hand of seat 1: 5 cards came", id="five cards"),
        pytest.param({"hands": [None, HANDS[1]]}, "hand of seat 0: None came", id="no hand"),
        pytest.param({"hands": ["1C 4D 6H 8S", HANDS[1]]}, "hand of seat 0: '1C' is not a card", id="no card"),
        pytest.param({"crib": "KC KD QC"}, "crib: 3 cards came", id="three crib cards"),
        pytest.param({"crib": "KC KD QC 9C"}, "9C stands twice", id="a card of the crib in a hand"),
        pytest.param({"starter": "2C"}, "2C stands twice", id="the starter in a hand"),
        pytest.param({"starter": "ZZ"}, "starter: 'ZZ' is not a card", id="no starter"),
        pytest.param({"starter": None}, "starter: None is not a card", id="starter None"),
        pytest.param({"scores": [0, 121]}, "score of side 1 121: allowed are whole numbers 0..120", id="score"),
        pytest.param({"scores": [0]}, "2 players keep 2 scores", id="one score"),
        pytest.param({"scores": [61, 0], "rules": Rules(target=61)}, "0..60", id="score that has won"),
        pytest.param({"rules": Rules(players=3)}, "hands: 2 came; 3 players keep 3 hands", id="three players"),
    ],
)
def test_from_deal_refuses_what_no_table_could_hold(changes, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        given(**changes)


@pytest.mark.parametrize(("players", "scores"), [(3, [0, 0]), (4, [0, 0, 0, 0])])
def test_from_deal_wants_one_score_a_side(players, scores):
    with pytest.raises(ValueError, match="one a side"):
        given(players, scores=scores)


# ---- pictures ----------------------------------------------------------------------------------------


def test_str_shows_the_whole_table():
    game = lay(given(scores=[10, 95]), "9C 2C")
    assert str(game).splitlines() == [
        "Deal 1, to 121",
        "seat 0 dealer   10   4D 6H 8S",
        "seat 1          95   9D 9H 9S",
        "crib QC QS KC KD   starter AH",
        "count 11   pile 9C 2C",
        "seat 1 to play",
    ]
    assert repr(game) == "<Game seed=0 game=0 deal 1 scores [10, 95] play>"
    assert str(random_game(2)).splitlines()[-1].endswith("has won")
