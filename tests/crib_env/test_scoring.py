"""The show and the play, card by card: the vectors, the bugs of our peers, and every hand there is."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from numba import njit

from crib_env.cards import N_CARDS, card_id, pip_of, rank_of
from crib_env.scoring import peg_points, show_five, show_points

DATA = Path(__file__).resolve().parents[1] / "data"
VECTORS = json.loads((DATA / "vectors.json").read_text())


def vectors(*sections):
    """The vectors of some sections as pytest parameters, named by their id."""
    return [pytest.param(vector, id=vector["id"]) for name in sections for vector in VECTORS[name]]


def last_card_points(cards):
    """What the last of these cards earns in the play, go and last card apart."""
    ids = [card_id(card) for card in cards]
    ranks = np.array([rank_of(card) for card in ids], dtype=np.int8)
    return peg_points(ranks, len(ranks), sum(pip_of(rank_of(card)) for card in ids))


@pytest.mark.parametrize("vector", vectors("show", "show_random"))
def test_show_vector(vector):
    hand = [card_id(card) for card in vector["hand"]]
    assert show_points(hand, card_id(vector["starter"]), vector["is_crib"]) == vector["expected"]["total"]


@pytest.mark.parametrize("vector", vectors("play_counts"))
def test_play_count_vector(vector):
    cards = vector["cards"]
    assert [last_card_points(cards[: n + 1]) for n in range(len(cards))] == vector["expected"]["per_card"]


@pytest.mark.parametrize(
    ("cards", "as_hand", "as_crib"),
    [
        pytest.param("2H 6H 9H QH | KS", 6, 2, id="no four-card flush in the crib"),
        pytest.param("2H 6H 9H QH | KH", 7, 7, id="five-card flush in hand and crib"),
        pytest.param("TS 7S AS 6S | JC", 4, 0, id="no four-card flush in a worthless crib"),
        pytest.param("2H 6H TH KS | QH", 0, 0, id="the starter is no fourth flush card"),
        pytest.param("2H 4H 8H KH | 9S", 6, 2, id="a four-card flush in hand is paid"),
        pytest.param("JC 2D 4H 8S | KC", 1, 1, id="nobs counts in the crib too"),
        pytest.param("3C 4D 5H 6S | 7C", 9, 9, id="run of five"),
        pytest.param("TC JD QH KS | AC", 4, 4, id="run of four tens by rank"),
        pytest.param("8C 8D 8H 8S | 2C", 12, 12, id="four of a kind is no run"),
        pytest.param("QD JD 4D JC | TC", 9, 9, id="a double run pays both runs"),
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
    *hand, starter = [card_id(card) for card in cards.replace("|", " ").split()]
    assert show_points(hand, starter, is_crib=False) == as_hand
    assert show_points(hand, starter, is_crib=True) == as_crib


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
        pytest.param("7C 2C 2D 2H 2S", 14, id="double pair royal and fifteen"),
        pytest.param("TC 5D 5H 5S 6C", 2, id="31 without a run"),
        pytest.param("8S 9D KS 4S", 2, id="31 is not forgotten"),
    ],
)
def test_pile_where_peers_fail(pile, points):
    assert last_card_points(pile.split()) == points


@njit
def count_all_shows(as_hand, as_crib):
    """Add up every choice of five cards, with each of the five as starter."""
    for a in range(N_CARDS):
        for b in range(a):
            for c in range(b):
                for d in range(c):
                    for e in range(d):
                        for hand in (
                            (a, b, c, d, e),
                            (b, c, d, e, a),
                            (c, d, e, a, b),
                            (d, e, a, b, c),
                            (e, a, b, c, d),
                        ):
                            as_hand[show_five(*hand, False)] += 1
                            as_crib[show_five(*hand, True)] += 1


def test_every_hand_and_starter_matches_the_known_histogram():
    as_hand, as_crib = np.zeros(30, np.int64), np.zeros(30, np.int64)
    count_all_shows(as_hand, as_crib)
    with (DATA / "hand_score_distribution_exact.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert as_hand.sum() == 12_994_800
    assert as_hand.tolist() == [int(row["hand_count"]) for row in rows]
    assert as_crib.tolist() == [int(row["crib_count"]) for row in rows]


@pytest.mark.parametrize(
    ("hand", "starter", "message"),
    [
        pytest.param([0, 1, 2], 3, "3 cards came", id="three cards"),
        pytest.param([0, 1, 2, 3], 0, "AC stands twice", id="the starter is in the hand"),
        pytest.param([0, 1, 2, 52], 3, "52 is out of range", id="no card"),
    ],
)
def test_show_points_refuses_what_is_no_hand(hand, starter, message):
    with pytest.raises(ValueError, match=message):
        show_points(hand, starter, is_crib=False)
