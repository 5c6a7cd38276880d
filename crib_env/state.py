"""The game record: `GAME`, the only declaration of state, and its invariants in one place.

One record is one game; a batch is an array of them. Views, encodings and environments never
keep state of a game elsewhere. May import: cards, rules.
"""

from __future__ import annotations

import numpy as np

from crib_env.cards import MAX_PIP, N_CARDS, NO_CARD, card_text
from crib_env.rules import HAND_CARDS, MAX_COUNT, MAX_DEALT, MAX_PLAYERS, Rules

# Phases. The show needs no decision, so no game rests in it.
DISCARD, PLAY, OVER = 0, 1, 2
PHASES = ("discard", "play", "over")

# Kinds of scoring event, in the words of the contract.
HEELS, LAID, WENT, LAST, SHOW_HAND, SHOW_CRIB = range(6)
EVENT_KINDS = ("heels", "play", "go", "last", "show_hand", "show_crib")

# Columns of GAME.tally: where a seat's points came from, by its role in that deal.
TALLIES = ("heels", "play_dealer", "play_pone", "hand_dealer", "hand_pone", "crib")
TALLY_HEELS, TALLY_PLAY, TALLY_HAND, TALLY_CRIB = 0, 1, 3, 5

GO_CARD = N_CARDS  # stands in the log where a card would, when the seat said go
LOG_SEAT = 64  # a log entry is seat * 64 + card
# Sixteen cards and at most three gos a count. Every count but the last two of a deal takes three
# cards or more, so 16 + 3 * 7 entries are never passed.
MAX_LOG = 40
MAX_PILE = 13  # four aces, twos and threes and a four make 28
# Per card one for itself and one for go or last; then heels, four hands and the crib.
MAX_EVENTS = 40

EVENT = np.dtype([("score", "i2"), ("kind", "i1"), ("seat", "i1"), ("points", "i1"), ("pegged", "i1")])

# Packed: np.dtype(align=True) pads, and then equal games differ in bytes. Wide fields first.
GAME = np.dtype(
    [
        ("seed", "u8"),  # with game and deal, decides every card
        ("game", "i8"),
        ("deal", "i4"),  # deals begun so far, less one
        ("target", "i2"),
        ("score", "i2", (MAX_PLAYERS,)),  # by side: front pegs
        ("back", "i2", (MAX_PLAYERS,)),  # by side: back pegs, the score before the last gain
        ("tally", "i2", (MAX_PLAYERS, len(TALLIES))),  # by seat: points pegged so far, by source
        ("events", EVENT, (MAX_EVENTS,)),  # of this deal; kept until the next one's first discard
        ("n_events", "i1"),
        ("players", "i1"),
        ("sides", "i1"),
        ("dealt_cards", "i1"),  # to each player: six, or five with three and four players
        ("first_dealer", "i1"),
        ("dealer", "i1"),
        ("phase", "i1"),
        ("to_act", "i1"),
        ("winner", "i1"),  # side, -1 while nobody has won
        ("starter", "i1"),  # -1 until it is turned
        ("count", "i1"),  # 0..31
        ("dealt", "i1", (MAX_PLAYERS, MAX_DEALT)),  # sorted by id, -1 where there is none
        ("kept", "i1", (MAX_PLAYERS, HAND_CARDS)),  # sorted, -1 before the discard
        ("crib", "i1", (HAND_CARDS,)),  # places fill as the discards come; order means nothing
        ("crib_cards", "i1"),  # how many lie there
        ("laid", "u1", (MAX_PLAYERS,)),  # bit k: kept[k] has been laid
        ("cards_left", "i1", (MAX_PLAYERS,)),  # to lay in this deal
        ("said_go", "u1"),  # bit s: seat s said go in this count
        ("denied", "i1", (MAX_PLAYERS,)),  # by seat: gos proved that no card of this value or less is held
        ("last_seat", "i1"),  # who laid the last card, -1 before the first of a count
        ("n_pile", "i1"),
        ("pile", "i1", (MAX_PILE,)),  # ranks laid since the count was last reset, oldest first
        ("n_log", "i1"),
        ("log", "u1", (MAX_LOG,)),  # cards laid and gos said, in order: seat * 64 + card
        ("deck", "i1", (N_CARDS,)),  # as shuffled: hands, the crib's card from the pack, the starter
    ]
)


def new_records(n: int, rules: Rules, seed: int) -> np.ndarray:
    """GAME[n] with the rules and the seed written in; `engine.start_game` does the rest."""
    games = np.zeros(n, dtype=GAME)
    games["seed"] = seed & 0xFFFFFFFFFFFFFFFF
    games["players"] = rules.players
    games["sides"] = rules.sides
    games["dealt_cards"] = rules.dealt_cards
    games["target"] = rules.target
    return games


def starter_in_deck(g: np.void) -> int:
    """The card that is, or will be, the starter: hidden from everybody before the discards."""
    in_hands = int(g["players"]) * int(g["dealt_cards"])
    return int(g["deck"][in_hands + Rules(players=int(g["players"])).pack_cards_to_crib])


def check_invariants(g: np.void) -> None:
    """Raise AssertionError, naming what is wrong, if a record could not come from legal play."""
    players, sides = int(g["players"]), int(g["sides"])
    scores = [int(s) for s in g["score"][:sides]]
    _claim(all(0 <= s <= g["target"] for s in scores), f"scores {scores} lie outside 0..{g['target']}")
    _claim((g["phase"] == OVER) == (g["winner"] >= 0), "a game is over exactly when it has a winner")
    _claim(sum(s == g["target"] for s in scores) == int(g["phase"] == OVER), f"winners among scores {scores}")
    _claim(0 <= g["count"] <= MAX_COUNT, f"count {g['count']}")
    seen = [int(c) for c in g["dealt"][:players].ravel() if c != NO_CARD] + [starter_in_deck(g)]
    _claim(len(set(seen)) == len(seen), f"a card was dealt twice: {[card_text(c) for c in seen]}")
    on_table = sum(min(int(r) + 1, MAX_PIP) for r in g["pile"][: g["n_pile"]])
    _claim(on_table == g["count"], f"count {g['count']} but the cards on the table make {on_table}")
    for seat in range(players):
        laid = bin(int(g["laid"][seat])).count("1")
        left = int(g["cards_left"][seat])
        _claim(g["phase"] == DISCARD or laid + left == HAND_CARDS, f"seat {seat} laid {laid} and holds {left}")
    # A side's front peg is ahead of its back peg, or both still stand where they began.
    _claim(all(int(b) <= s for b, s in zip(g["back"], scores, strict=False)), "a back peg is ahead of its front peg")


def _claim(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(f"game record: {message}")
