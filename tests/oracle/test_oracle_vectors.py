"""The oracle against every hand-worked and machine-made vector, and against the bugs of our peers.

Owns the question "is the oracle right?"; the engine's tests then ask only "does the engine
agree with the oracle?". Reads tests/data; imports the oracle and nothing else of ours.
Cards in text, ten is "T"; show cases are "four cards | starter".
"""

import csv
import json
import random
from collections import Counter
from itertools import combinations, combinations_with_replacement
from math import comb, prod
from pathlib import Path

import pytest

from .oracle import (
    RANKS,
    OracleGame,
    cards_that_fit,
    flush_points,
    full_game,
    must_say_go,
    play_parts,
    show_parts,
)

DATA = Path(__file__).resolve().parents[1] / "data"
VECTORS = json.loads((DATA / "vectors.json").read_text())
DECK = [rank + suit for rank in RANKS for suit in "CDHS"]


def cards_in(text):
    """The cards of a line of text: "5C JH" is two cards."""
    return text.split()


def vectors(*sections):
    """The vectors of some sections as pytest parameters, named by their id."""
    return [pytest.param(vector, id=vector["id"]) for name in sections for vector in VECTORS[name]]


def spare_cards(hands, number):
    """Cards nobody holds and no jack, to stand as crib and starter where these do not matter."""
    held = {card for hand in hands for card in hand}
    return [card for card in DECK if card not in held and card[0] != "J"][:number]


def deal_of(hands, dealer=0, scores=None, starter=None, crib=None, target=121):
    """A deal with whatever the case leaves open filled in: zero scores, no jack, spare cards."""
    *spare_crib, spare_starter = spare_cards([*hands, [starter or "--"], crib or []], 5)
    players = len(hands)
    scores = scores or [0] * (2 if players == 4 else players)
    return OracleGame(dealer, hands, crib or spare_crib, starter or spare_starter, scores, players, target)


def lay(game, cards):
    """Lay these cards in order, saying go wherever it is the only action; stops when the game ends."""
    for card in cards:
        while game.legal() == ["go"]:
            game.push("go")
        if game.over:
            return game
        game.push(card)
    while game.legal() == ["go"]:
        game.push("go")
    return game


def event(phase, seat, points, score, pegged=None):
    """One expected event; everything is pegged unless the case says otherwise."""
    return {"phase": phase, "seat": seat, "points": points, "pegged": pegged or points, "score": score}


def phases(game):
    """Phase, seat and points of each event of a game so far."""
    return [(e["phase"], e["seat"], e["points"]) for e in game.events]


# ---- the vectors ------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", vectors("show", "show_random"))
def test_show_vector(vector):
    assert show_parts(vector["hand"], vector["starter"], vector["is_crib"]) == vector["expected"]


@pytest.mark.parametrize("vector", vectors("play_counts"))
def test_play_count_vector(vector):
    cards, expected = vector["cards"], vector["expected"]
    parts = [play_parts(cards[: n + 1]) for n in range(len(cards))]
    for card, got, detail in zip(cards, parts, expected["detail"], strict=True):
        assert {"card": card, **got} == {key: detail[key] for key in ("card", *got)}
    assert [p["points"] for p in parts] == expected["per_card"]


@pytest.mark.parametrize("vector", vectors("plays", "multi", "plays_random"))
def test_play_vector(vector):
    game = lay(deal_of(vector["hands"], vector["dealer"]), vector["order"])
    assert game.plays == vector["expected"]["plays"]
    totals = Counter(dict.fromkeys(range(game.players), 0))
    for play in game.plays:
        totals[play["seat"]] += play["points"]
    assert [totals[seat] for seat in range(game.players)] == vector["expected"]["totals"]
    assert game.deal_over and game.to_act is None and game.legal() == []


@pytest.mark.parametrize("vector", vectors("game_end", "multi_end", "deals_random"))
def test_deal_vector(vector):
    hands, expected = vector["hands_kept"], vector["expected"]
    game = deal_of(hands, vector["dealer"], vector["start_scores"], vector["starter"], vector["crib"], vector["target"])
    assert [game.side_of(seat) for seat in range(len(hands))] == vector.get("teams", list(range(len(hands))))
    lay(game, vector["order"])
    assert game.events == expected["events"]
    assert game.scores == expected["final_scores"]
    assert game.winner == expected["winner"]
    assert game.over == (expected["winner"] is not None) and game.deal_over
    assert len(game.plays) == expected["cards_played"]
    if game.over:
        assert game.events[-1]["phase"] == expected["ended_in"]


@pytest.mark.parametrize("vector", vectors("legal_plays"))
def test_legal_plays_vector(vector):
    held, count = vector["hand"], vector["count"]
    assert cards_that_fit(held, count) == vector["expected"]["legal"]
    assert must_say_go(held, count) == vector["expected"]["must_say_go"]


def test_every_vector_section_of_the_six_card_game_is_used():
    ours = {"show", "show_random", "play_counts", "plays", "plays_random", "multi", "game_end", "multi_end"}
    ours |= {"deals_random", "legal_plays"}
    # Match points, muggins, the cut for deal and the variants are no part of the oracle.
    others = {"meta", "margins", "lurch_61", "matches", "muggins", "cut_for_deal"}
    others |= {"five_card_show", "five_card_play", "squares", "costly_colours"}
    assert set(VECTORS) == ours | others


# ---- the published distribution -----------------------------------------------------------------


def published(column):
    """Hands by points from the published table, without the points nobody can hold."""
    with (DATA / "hand_score_distribution_exact.csv").open() as file:
        counts = {int(row["score"]): int(row[column]) for row in csv.DictReader(file)}
    return {points: number for points, number in counts.items() if number}


def test_fifteens_pairs_and_runs_of_all_ranks_match_the_known_histogram():
    found = Counter()
    for ranks in combinations_with_replacement(RANKS, 5):
        copies = Counter(ranks)
        if max(copies.values()) > 4:
            continue
        five = [rank + "CDHSC"[ranks[:n].count(rank)] for n, rank in enumerate(ranks)]
        parts = show_parts(five[:4], five[4], False)
        # Any of the five may be the starter, so each choice of five cards is five shows.
        shows = 5 * prod(comb(4, n) for n in copies.values())
        found[parts["fifteens"] + parts["pairs"] + parts["runs"]] += shows
    assert dict(found) == published("rank_only_count")


@pytest.mark.slow
def test_every_hand_and_starter_matches_the_known_histogram():
    """12,994,800 shows as hand and as crib; suits renamed make one case, counted by how many it stands for."""
    hands, cribs, alike = Counter(), Counter(), Counter()
    for five in combinations(DECK, 5):
        alike[suits_renamed(five)] += 1
    for five, number in alike.items():
        for starter in five:
            hand = [card for card in five if card != starter]
            parts = show_parts(hand, starter, is_crib=False)
            hands[parts["total"]] += number
            # Only the flush of a crib is judged otherwise; counting it all again takes as long again.
            without_flush = parts["total"] - parts["flush"]
            cribs[without_flush + flush_points(hand, starter, is_crib=True)] += number
    assert sum(hands.values()) == 12_994_800
    assert dict(hands) == published("hand_count")
    assert dict(cribs) == published("crib_count")


def suits_renamed(five):
    """The same cards with the suits ordered by the ranks held in them, so that alike hands are equal."""
    ranks_by_suit = sorted("".join(card[0] for card in five if card[1] == suit) for suit in "CDHS")
    return tuple(rank + suit for suit, ranks in zip("CDHS", ranks_by_suit, strict=True) for rank in ranks)


# ---- peers' bugs: the show ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cards", "as_hand", "as_crib"),
    [
        pytest.param("2H 6H 9H QH | KS", 6, 2, id="no four-card flush in the crib"),
        pytest.param("2H 6H 9H QH | KH", 7, 7, id="five-card flush in hand and crib"),
        pytest.param("TS 7S AS 6S | JC", 4, 0, id="no four-card flush in a worthless crib"),
        pytest.param("2H 6H TH KS | QH", 0, 0, id="starter is no fourth flush card"),
        pytest.param("2H 4H 8H KH | 9S", 6, 2, id="four-card flush in hand is paid"),
        pytest.param("JC 2D 4H 8S | KC", 1, 1, id="nobs counts in the crib too"),
        pytest.param("3C 4D 5H 6S | 7C", 9, 9, id="run of five"),
        pytest.param("TC JD QH KS | AC", 4, 4, id="run of four tens by rank"),
        pytest.param("8C 8D 8H 8S | 2C", 12, 12, id="four of a kind is no run"),
        pytest.param("QD JD 4D JC | TC", 9, 9, id="double run pays both runs"),
        pytest.param("4H 4C QD 8H | 9H", 2, 2, id="runs by rank and not by pips"),
        pytest.param("3C 4D 5H KS | KC", 9, 9, id="a pair outside does not double a run"),
        pytest.param("2C 3D 7H KS | 9C", 2, 2, id="two cards are no run"),
        pytest.param("QC KD AH 2S | 3C", 7, 7, id="kings do not wrap"),
        pytest.param("5C 5D 5H JS | 5S", 29, 29, id="the twenty-nine hand"),
        pytest.param("5C 5D 5H JC | 5S", 28, 28, id="the wrong jack"),
        pytest.param("AC AD 2H 3S | 3C", 16, 16, id="double-double run"),
        pytest.param("4C 5D 6H 6S | 6C", 21, 21, id="triple run"),
    ],
)
def test_show_where_peers_fail(cards, as_hand, as_crib):
    *hand, _, starter = cards.split()
    assert show_parts(hand, starter, is_crib=False)["total"] == as_hand
    assert show_parts(hand, starter, is_crib=True)["total"] == as_crib


# ---- peers' bugs: the play ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pile", "points"),
    [
        pytest.param("TC 9D 5H 4S 3C", 5, id="31 and a run of three"),
        pytest.param("4C 6D 5H", 5, id="fifteen and a run of three"),
        pytest.param("6D 5S 6C", 0, id="equal ranks apart are no pair"),
        pytest.param("6D 5S 6C 5C", 0, id="nor twice apart"),
        pytest.param("4H 4C AH", 0, id="an older pair is not paid again"),
        pytest.param("5C 7D 4H 6S", 4, id="run out of order"),
        pytest.param("5C 7D 6H 4S", 4, id="run out of order, four last"),
        pytest.param("8C 7D 7H 6S", 0, id="a repeat breaks the run"),
        pytest.param("3C 4D 5H 4S 3D", 3, id="run since the repeat"),
        pytest.param("2C 3D 2H 4S 3C", 3, id="run 2-4-3 since the repeat"),
        pytest.param("9D 8H KD", 0, id="no run by pips"),
        pytest.param("KC JD QH", 3, id="court cards run by rank"),
        pytest.param("QC KD AH", 0, id="kings do not wrap"),
        pytest.param("AC AD", 2, id="pair"),
        pytest.param("7C 7D 7H 7S", 12, id="double pair royal"),
        pytest.param("TC 5D 5H 5S 6C", 2, id="31 without a run"),
        pytest.param("8S 9D KS 4S", 2, id="31 is not forgotten"),
    ],
)
def test_pile_where_peers_fail(pile, points):
    assert play_parts(pile.split())["points"] == points


def test_a_card_over_31_may_not_be_laid():
    dealer, pone = cards_in("4H 3H KC 9D"), cards_in("3S 6D JS QC")
    game = lay(deal_of([dealer, pone]), cards_in("3S 4H 6D 3H"))
    game.push("JS")
    assert (game.count, game.to_act, game.legal()) == (26, 0, ["go"])
    with pytest.raises(ValueError, match="9D"):
        game.push("9D")


def test_last_card_making_31_pegs_two_and_not_three():
    dealer, pone = cards_in("9D TC 5H 6C"), cards_in("KC 8S 5D 5S")
    game = lay(deal_of([dealer, pone]), cards_in("KC 9D 8S TC 5D 5H 5S"))
    pegged_before = game.scores[0]
    events = game.push("6C")
    assert events[0] == event("play", 0, 2, pegged_before + 2)
    assert {e["phase"] for e in events[1:]} <= {"show_hand", "show_crib"}
    last_play = game.plays[-1]
    assert (last_play["thirtyone"], last_play["go"], last_play["last"], last_play["points"]) == (2, 0, 0, 2)


def test_go_pays_one_point_however_many_cards_follow_it():
    stuck, lays_on = cards_in("9S 8H 4D KH"), cards_in("3C AD AC 2D")
    game = lay(deal_of([lays_on, stuck]), cards_in("9S 3C 8H AD 4D"))
    assert (game.count, game.to_act) == (25, 0)
    assert game.push("AC") == []
    assert game.push("go") == []
    assert game.push("2D") == [event("go", 0, 1, 1)]


def test_combinations_do_not_span_a_reset():
    dealer, pone = cards_in("QD 7D JH 6D"), cards_in("KC 7C 9S 8S")
    game = lay(deal_of([dealer, pone]), cards_in("KC QD 7C"))
    assert phases(game) == [("go", 1, 1)]
    assert game.push("7D") == []


def test_the_four_kept_cards_are_shown_after_they_were_played():
    dealer, pone = cards_in("2C 4D 6H 8S"), cards_in("9C 9D 9H 9S")
    game = lay(deal_of([dealer, pone], starter="KD"), cards_in("9C 2C 9D 4D 6H 9H 8S 9S"))
    assert ("show_hand", 1, 12) in phases(game)


# ---- peers' bugs: order and end of the game ---------------------------------------------------------


def test_pone_wins_when_both_hands_would_reach_121():
    dealer, pone = cards_in("3C TD TH JS"), cards_in("9H QD KH KS")
    game = deal_of([dealer, pone], starter="5H", scores=[113, 114])
    lay(game, cards_in("KH JS KS 3C 9H TD QD TH"))
    # Both stand at 115 when the show begins and both hold 8: the dealer never counts.
    assert game.events == [
        event("go", 1, 1, 115),
        event("go", 0, 1, 114),
        event("last", 0, 1, 115),
        event("show_hand", 1, 8, 121, pegged=6),
    ]
    assert (game.winner, game.scores) == (1, [115, 121])
    assert show_parts(dealer, "5H", is_crib=False)["total"] == 8


@pytest.mark.parametrize(("score", "pegged"), [(119, 2), (120, 1)])
def test_heels_wins_the_game_before_a_card_is_laid(score, pegged):
    game = deal_of([cards_in("2C 4D 6H 8S"), cards_in("9C 9D 9H 9S")], scores=[score, 120], starter="JH")
    assert game.events == [event("heels", 0, 2, 121, pegged)]
    assert (game.over, game.winner, game.legal(), game.plays) == (True, 0, [], [])


def test_heels_pays_the_dealer_two_once_before_the_first_card():
    game = deal_of([cards_in("2C 4D 6H 8S"), cards_in("9C 9D 9H 9S")], dealer=1, starter="JC")
    assert game.events == [event("heels", 1, 2, 2)]
    assert (game.scores, game.to_act) == ([0, 2], 0)
    lay(game, cards_in("2C 9C 4D 9D 6H 9H 8S 9S"))
    assert [e["phase"] for e in game.events].count("heels") == 1


def test_117_and_a_run_of_four_is_121_and_wins():
    game = lay(deal_of([cards_in("7D 6S 2C 3C"), cards_in("5C 4H KS QS")], scores=[117, 120]), cards_in("5C 7D 4H"))
    assert game.push("6S") == [event("play", 0, 4, 121)]
    assert (game.over, game.winner) == (True, 0)


# ---- who says go, who leads -------------------------------------------------------------------------


def test_last_player_says_no_go_and_the_lead_passes_to_his_left():
    hands = [cards_in("9D 8D 7S 6C"), cards_in("TC KD QH 9C"), cards_in("TD JS 8C 7H")]
    game = deal_of(hands)
    lay(game, cards_in("TC TD"))
    assert game.push("9D") == []
    assert (game.count, game.to_act) == (29, 1)
    game.push("go")
    assert (game.to_act, game.said_go) == (2, [1])
    # Seat 0 cannot lay either, but laid the last card: the count closes without his go.
    assert game.push("go") == [event("go", 0, 1, 1)]
    assert (game.count, game.said_go, game.to_act) == (0, [], 1)


def test_a_seat_says_go_once_in_a_count():
    hands = [cards_in("9D 2D 2S 6C"), cards_in("TC KD QH 9C"), cards_in("TD JS 8C 7H")]
    game = lay(deal_of(hands), cards_in("TC TD"))
    for text in ("9D", "go", "go"):
        game.push(text)
    assert (game.to_act, game.legal()) == (0, ["2D", "2S"])
    assert game.push("2D") == [event("play", 0, 2, 2)]
    assert [play["gos_after"] for play in game.plays[2:]] == [[1, 2], []]


def test_lead_skips_a_seat_without_cards():
    dealer, pone = cards_in("TC TD TH TS"), cards_in("AC AD 2C 2D")
    game = lay(deal_of([dealer, pone]), cards_in("AC TC AD TD 2C 2D TH TS"))
    # At 24 the dealer says go and the pone lays his last card; the dealer then goes on alone.
    assert [(p["seat"], p["count"], p["gos_after"], p["go"], p["last"]) for p in game.plays[4:]] == [
        (1, 24, [0], 0, 0),
        (1, 26, [], 1, 0),
        (0, 10, [], 0, 0),
        (0, 20, [], 0, 1),
    ]


# ---- whole games --------------------------------------------------------------------------------------


def shuffled_deals(rng, players):
    """Endless fresh deals: 6 cards each, or 5; with three players one more straight to the crib."""
    size = 6 if players == 2 else 5
    while True:
        deck = rng.sample(DECK, len(DECK))
        hands = [deck[size * seat : size * (seat + 1)] for seat in range(players)]
        crib = deck[-2:-1] if players == 3 else []
        yield {"hands": hands, "crib": crib, "starter": deck[-1]}


@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("target", [61, 121])
def test_random_whole_games_keep_the_rules_of_the_score(players, target):
    rng = random.Random(f"{players} {target}")
    for _ in range(20):
        games = full_game(
            shuffled_deals(rng, players),
            first_dealer=rng.randrange(players),
            choose_discards=lambda seat, hand: rng.sample(hand, len(hand) - 4),
            choose_play=lambda game: rng.choice(game.legal()),
            target=target,
            players=players,
        )
        assert [g.over for g in games] == [False] * (len(games) - 1) + [True]
        assert [g.dealer for g in games] == [(games[0].dealer + n) % players for n in range(len(games))]
        assert [s == target for s in games[-1].scores].count(True) == 1
        pegged = Counter()
        for game in games:
            check_deal_properties(game)
            for e in game.events:
                side = game.side_of(e["seat"])
                pegged[side] += e["pegged"]
                assert e["score"] == pegged[side] <= target and 0 < e["pegged"] <= e["points"]
        assert [pegged[side] for side in range(len(games[-1].scores))] == games[-1].scores


def check_deal_properties(game):
    """What RULES.md section 6 says must hold of any deal's play."""
    assert all(play["points"] <= 15 for play in game.plays)
    assert sum(play["go"] + play["last"] + play["thirtyone"] > 0 for play in game.plays) == sum(
        play["closes_count"] for play in game.plays
    )
    played_out = all(not held for held in game.held) and any(e["phase"].startswith("show") for e in game.events)
    if played_out:
        assert len(game.plays) == 4 * game.players and game.plays[-1]["closes_count"]
    if played_out and game.players == 2:
        assert sum(play["points"] for play in game.plays if play["seat"] == game.dealer) >= 1


def test_a_whole_game_plays_the_deals_it_is_given():
    deal = {"hands": [cards_in("5C 5D 5H JS 2C 9D"), cards_in("6D 6H 4C 3S KC QC")], "starter": "5S"}
    games = full_game([deal, deal], 1, lambda seat, hand: hand[4:], lambda game: game.legal()[0])
    assert games[0].hands == [cards_in("5C 5D 5H JS"), cards_in("6D 6H 4C 3S")]
    assert games[0].crib == cards_in("2C 9D KC QC")
    assert [g.dealer for g in games] == [1, 0]
    assert ("show_hand", 0, 29) in phases(games[0])
    assert games[1].events[0]["score"] > games[1].events[0]["pegged"] and not games[-1].over


@pytest.mark.parametrize(
    ("hands", "scores", "complaint"),
    [
        ([cards_in("2C 4D 6H 8S")], [0, 0], "2 players need"),
        ([cards_in("2C 4D 6H 8S"), cards_in("9C 9D 9H")], [0, 0], "need 4 cards"),
        ([cards_in("2C 4D 6H 8S"), cards_in("9C 9D 9H 8S")], [0, 0], "twice"),
        ([cards_in("2C 4D 6H 8S"), cards_in("9C 9D 9H 9S")], [0, 0, 0], "2 scores"),
    ],
)
def test_a_deal_that_cannot_be_is_refused(hands, scores, complaint):
    with pytest.raises(ValueError, match=complaint):
        OracleGame(0, hands, cards_in("KC KD QC QD"), "AS", scores)
