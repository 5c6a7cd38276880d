"""VIEW -> float features for a network. Never sees a GAME record.

Two encodings, both lists of named slices (`features(name, players)`):
    raw    cards, what lies on the table, what the gos proved, counts, scores
    rich   raw, plus the exact expected hand and the table crib of each discard, the points each
           play would peg now, and the mean reply to it over the cards not seen
Two players have slices for me and them; three and four have one for each place round the table
(0 is me, 1 my left, ...), every card laid with its place, and no crib table: one card says little.
Suits are shown where they can matter: before the discard. Scores are zero at 0-0, so a network
trained on single deals sees no score until it meets one.
May import: cards, rules, scoring, actions, state, view, values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numba import njit

from crib_env.actions import N_DISCARDS
from crib_env.cards import N_RANKS, N_SUITS, NO_CARD, pip_of, rank_of, suit_of
from crib_env.rules import FEW_DEALT, HAND_CARDS, MAX_COUNT, MAX_DEALT, Rules
from crib_env.scoring import peg_points, show_five
from crib_env.state import DISCARD, GO_CARD, LOG_SEAT, MAX_PILE
from crib_env.values import crib_table, crib_values, expected_hands, expected_hands_of_five, reply_points
from crib_env.view import count_unseen

ENCODING_VERSION = 1  # raised with any change of meaning or order
_CARD = N_RANKS + N_SUITS
_LOG_CARDS = 7  # cards laid before the last decision of a deal that is no forced one
_LOG_ITEM = N_RANKS + 2
_NEAR = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 26, 31, 40)  # points to go: "this many or fewer"
NEAR = np.array(_NEAR, dtype=np.int16)
_PIPS = 10
_HAND_SCALE = 0.1  # ten points are 1.0
_PEG_SCALE = 0.25  # four points are 1.0


@dataclass(frozen=True)
class Feature:
    """A named slice of the observation."""

    name: str
    start: int
    size: int
    meaning: str

    @property
    def slice(self) -> slice:
        """Where it lies in the observation."""
        return slice(self.start, self.start + self.size)


_RAW = (
    ("phase", 2, "1 0 in the discard, 0 1 in the play"),
    ("i_deal", 1, "1 when the crib is mine"),
    ("dealt", MAX_DEALT * _CARD, "discard phase: my six sorted cards, each rank (13) and suit (4) one-hot"),
    ("held", HAND_CARDS * N_RANKS, "play: rank of each kept card I still hold, one-hot, in the place of its action"),
    ("discards", N_RANKS, "play: how many of each rank I laid to the crib"),
    ("starter", N_RANKS, "play: rank of the starter, one-hot"),
    ("mine_laid", N_RANKS, "how many of each rank I have laid"),
    ("theirs_laid", N_RANKS, "how many of each rank they have laid"),
    ("unseen", N_RANKS, "a quarter for each card of the rank I have not seen"),
    ("log", _LOG_CARDS * _LOG_ITEM, "cards laid, latest first: rank one-hot, mine, in the present count"),
    ("count", MAX_COUNT, "play: the count 0..30, one-hot"),
    ("cards_left", 2 * (HAND_CARDS + 1), "cards I hold, then cards they hold, one-hot 0..4"),
    ("go", 2, "I, they said go in this count"),
    ("denied", 2 * _PIPS, "counting values 1..10 that gos have proved me, then them, not to hold"),
    ("scores", 2, "my score, theirs, over the target"),
    ("gains", 2, "last gain of mine, of theirs, ten points as 1"),
    ("near", 2 * len(_NEAR), "I, then they, are within 1, 2, ... 40 points of the target"),
)
_RICH = (
    ("hand_values", N_DISCARDS, "discard phase: exact mean show of the hand each discard keeps, ten points as 1"),
    ("crib_values", N_DISCARDS, "discard phase: table crib of each discard, minus when it is theirs, ten points as 1"),
    ("peg_now", HAND_CARDS, "play: points each kept card would peg now, four as 1; 0 where it cannot be laid"),
    ("reply", HAND_CARDS, "play: mean points of a reply to it by a card I have not seen, four as 1"),
    ("my_show", 1, "play: what my hand will count at the show, ten points as 1"),
)
ENCODINGS = ("raw", "rich")


def _raw_of_places(players: int) -> tuple[tuple[str, int, str], ...]:
    """Slices of `raw` with three or four players: (name, size, meaning)."""
    sides = Rules(players=players).sides
    log_cards = players * HAND_CARDS - 1  # the last card of a deal is followed by no decision
    return (
        ("phase", 2, "1 0 in the discard, 0 1 in the play"),
        ("dealer", players, "place of the dealer, whose side's crib it is, one-hot"),
        ("dealt", FEW_DEALT * _CARD, "discard phase: my five sorted cards, each rank (13) and suit (4) one-hot"),
        ("held", HAND_CARDS * N_RANKS, "play: rank of each kept card I still hold, one-hot, in its action's place"),
        ("discards", N_RANKS, "play: rank of the card I laid to the crib, one-hot"),
        ("starter", N_RANKS, "play: rank of the starter, one-hot"),
        ("laid", players * N_RANKS, "by place: how many of each rank it has laid"),
        ("unseen", N_RANKS, "a quarter for each card of the rank I have not seen"),
        ("log", log_cards * (N_RANKS + players + 1), "cards laid, latest first: rank and place one-hot, in this count"),
        ("count", MAX_COUNT, "play: the count 0..30, one-hot"),
        ("cards_left", players * (HAND_CARDS + 1), "by place: cards to lay, one-hot 0..4"),
        ("go", players, "by place: said go in this count"),
        ("denied", players * _PIPS, "by place: counting values 1..10 that gos have proved it not to hold"),
        ("scores", sides, "by side, mine first: score over the target"),
        ("gains", sides, "by side, mine first: last gain, ten points as 1"),
        ("near", sides * len(_NEAR), "by side, mine first: within 1, 2, ... 40 points of the target"),
    )


_RICH_OF_PLACES = (
    ("hand_values", FEW_DEALT, "discard phase: exact mean show of the hand each discard keeps, ten points as 1"),
    ("peg_now", HAND_CARDS, "play: points each kept card would peg now, four as 1; 0 where it cannot be laid"),
    ("reply", HAND_CARDS, "play: mean points of the next player's reply by a card I have not seen, four as 1"),
    ("my_show", 1, "play: what my hand will count at the show, ten points as 1"),
)


@lru_cache
def features(encoding: str, players: int = 2) -> tuple[Feature, ...]:
    """The named slices of an encoding for a number of players, in order.

    Raises:
        ValueError: no such encoding, or number of players.
    """
    if encoding not in ENCODINGS:
        raise ValueError(f"unknown encoding {encoding!r}: allowed are {', '.join(ENCODINGS)}")
    if players not in (2, 3, 4):
        raise ValueError(f"encoding for {players!r} players: allowed are 2, 3 and 4")
    raw, rich = (_RAW, _RICH) if players == 2 else (_raw_of_places(players), _RICH_OF_PLACES)
    found, start = [], 0
    for name, size, meaning in raw + (rich if encoding == "rich" else ()):
        found.append(Feature(name, start, size, meaning))
        start += size
    return tuple(found)


def feature(encoding: str, name: str, players: int = 2) -> Feature:
    """One named slice; KeyError names those there are."""
    by_name = {f.name: f for f in features(encoding, players)}
    if name not in by_name:
        raise KeyError(f"encoding {encoding!r} has no feature {name!r}: it has {', '.join(by_name)}")
    return by_name[name]


def n_features(encoding: str, players: int = 2) -> int:
    """Length F of an observation."""
    return features(encoding, players)[-1].slice.stop


def encode(views: np.ndarray, encoding: str, out: np.ndarray | None = None) -> np.ndarray:
    """Features of a batch of views.

    Args:
        views: VIEW[B], of games with one number of players (B = 0: of two).
        encoding: "raw" or "rich".
        out: float32[B, F] to write into; a new array if None.
    Returns:
        float32[B, F], values within -4..8.
    Raises:
        ValueError: unknown encoding, or views of games with different numbers of players.
    """
    players = int(views["players"][0]) if len(views) else 2
    if (views["players"] != players).any():
        raise ValueError(f"views of games with {np.unique(views['players']).tolist()} players: encode each by itself")
    size = n_features(encoding, players)
    out = np.empty((len(views), size), dtype=np.float32) if out is None else out
    if players == 2:
        encode_many(views, encoding == "rich", crib_table(), out)
    else:
        encode_many_places(views, encoding == "rich", out)
    return out


@njit(cache=True)
def encode_many(views, rich, table, out):
    """`encode` of two-player views without checks: one row a view."""
    for i in range(len(views)):
        encode_view(views[i], rich, table, out[i])


@njit(cache=True)
def encode_many_places(views, rich, out):
    """`encode` of views with three or four players without checks: one row a view."""
    for i in range(len(views)):
        encode_places(views[i], rich, out[i])


# Two players.

# Where each slice starts, as compile-time constants for the functions below.
_AT = {f.name: f.start for f in features("rich")}
_PHASE, _I_DEAL, _DEALT, _HELD = _AT["phase"], _AT["i_deal"], _AT["dealt"], _AT["held"]
_DISCARDS, _STARTER, _UNSEEN, _LOG = _AT["discards"], _AT["starter"], _AT["unseen"], _AT["log"]
_MINE_LAID, _THEIRS_LAID, _COUNT = _AT["mine_laid"], _AT["theirs_laid"], _AT["count"]
_CARDS_LEFT, _GO, _DENIED = _AT["cards_left"], _AT["go"], _AT["denied"]
_SCORES, _GAINS, _NEAR_AT = _AT["scores"], _AT["gains"], _AT["near"]
_HAND_VALUES, _CRIB_VALUES, _PEG_NOW = _AT["hand_values"], _AT["crib_values"], _AT["peg_now"]
_REPLY, _MY_SHOW = _AT["reply"], _AT["my_show"]


@njit(cache=True)
def encode_view(v, rich, table, row):
    """Write the features of one two-player VIEW into `row` (float32[F])."""
    row[:] = 0
    row[_I_DEAL] = v.dealer == 0
    unseen = row[_UNSEEN : _UNSEEN + N_RANKS]
    count_unseen(v, unseen)
    encode_scores(v, row)
    if v.phase == DISCARD and v.kept[0] == NO_CARD:
        row[_PHASE] = 1
        encode_dealt(v, row)
        if rich:
            encode_discard_values(v, table, row)
    else:
        row[_PHASE + 1] = 1
        encode_hand(v, row)
        encode_log(v, row)
        encode_table(v, row)
        if rich:
            encode_play_values(v, unseen, row)
    unseen *= np.float32(1 / N_SUITS)


@njit(cache=True)
def encode_scores(v, row):
    """Scores, last gains, and how near each is to the end."""
    for p in range(2):
        row[_SCORES + p] = v.scores[p] / v.target
        row[_GAINS + p] = (v.scores[p] - v.backs[p]) * _HAND_SCALE
        to_go = v.target - v.scores[p]
        for k in range(len(NEAR)):
            row[_NEAR_AT + p * len(NEAR) + k] = to_go <= NEAR[k]


@njit(cache=True)
def encode_dealt(v, row):
    """My six cards before the discard."""
    for k in range(MAX_DEALT):
        row[_DEALT + k * _CARD + rank_of(v.dealt[k])] = 1
        row[_DEALT + k * _CARD + N_RANKS + suit_of(v.dealt[k])] = 1


@njit(cache=True)
def encode_hand(v, row):
    """The cards I hold, those I laid away, and the starter."""
    for k in range(HAND_CARDS):
        if not v.laid >> k & 1:
            row[_HELD + k * N_RANKS + rank_of(v.kept[k])] = 1
    for k in range(2):
        if v.discards[k] != NO_CARD:
            row[_DISCARDS + rank_of(v.discards[k])] += 1
    if v.starter != NO_CARD:
        row[_STARTER + rank_of(v.starter)] = 1


@njit(cache=True)
def encode_log(v, row):
    """Cards laid: totals by rank and seat, and the latest seven in order."""
    n = 0
    for i in range(v.n_log - 1, -1, -1):
        card = v.log[i] % LOG_SEAT
        if card == GO_CARD:
            continue
        mine = v.log[i] < LOG_SEAT
        rank = rank_of(card)
        if mine:
            row[_MINE_LAID + rank] += 1
        else:
            row[_THEIRS_LAID + rank] += 1
        if n < _LOG_CARDS:
            row[_LOG + n * _LOG_ITEM + rank] = 1
            row[_LOG + n * _LOG_ITEM + N_RANKS] = mine
            row[_LOG + n * _LOG_ITEM + N_RANKS + 1] = n < v.n_pile
        n += 1


@njit(cache=True)
def encode_table(v, row):
    """Count, cards left, gos and what they proved."""
    row[_COUNT + min(v.count, MAX_COUNT - 1)] = 1
    for p in range(2):
        row[_CARDS_LEFT + p * (HAND_CARDS + 1) + v.cards_left[p]] = 1
        row[_GO + p] = v.said_go >> p & 1
        for value in range(1, _PIPS + 1):
            row[_DENIED + p * _PIPS + value - 1] = value <= v.denied[p]


@njit(cache=True)
def encode_discard_values(v, table, row):
    """Exact hand and table crib of each discard."""
    if v.dealt[MAX_DEALT - 1] == NO_CARD:
        return
    hands = row[_HAND_VALUES : _HAND_VALUES + N_DISCARDS]
    cribs = row[_CRIB_VALUES : _CRIB_VALUES + N_DISCARDS]
    expected_hands(v.dealt, hands)
    crib_values(v.dealt, v.dealer == 0, table, cribs)
    hands *= np.float32(_HAND_SCALE)
    cribs *= np.float32(_HAND_SCALE)


@njit(cache=True)
def encode_play_values(v, unseen, row):
    """What each card I could lay pegs now, and what a reply to it would peg on average."""
    pile = np.empty(MAX_PILE + 2, np.int8)
    pile[: v.n_pile] = v.pile[: v.n_pile]
    n_unseen = unseen.sum()
    for k in range(HAND_CARDS):
        if v.laid >> k & 1:
            continue
        rank = rank_of(v.kept[k])
        count = v.count + pip_of(rank)
        if count > MAX_COUNT:
            continue
        pile[v.n_pile] = rank
        row[_PEG_NOW + k] = peg_points(pile, v.n_pile + 1, count) * _PEG_SCALE
        if v.cards_left[1] > 0 and count < MAX_COUNT:
            replies = reply_points(pile, v.n_pile + 1, count, v.denied[1], unseen)
            row[_REPLY + k] = replies / n_unseen * _PEG_SCALE
    if v.starter != NO_CARD:
        h = v.kept
        row[_MY_SHOW] = show_five(h[0], h[1], h[2], h[3], v.starter, False) * _HAND_SCALE


# Three and four players. What depends on their number is looked up: _AT_PLACES[players - 3, slice].

_PLACES = {f.name: i for i, f in enumerate(features("rich", 3))}
_AT_PLACES = np.array([[f.start for f in features("rich", players)] for players in (3, 4)])
_P_PHASE, _P_DEALER, _P_DEALT, _P_HELD = (_PLACES[n] for n in ("phase", "dealer", "dealt", "held"))
_P_DISCARDS, _P_STARTER, _P_LAID, _P_UNSEEN = (_PLACES[n] for n in ("discards", "starter", "laid", "unseen"))
_P_LOG, _P_COUNT, _P_CARDS_LEFT, _P_GO = (_PLACES[n] for n in ("log", "count", "cards_left", "go"))
_P_DENIED, _P_SCORES, _P_GAINS, _P_NEAR = (_PLACES[n] for n in ("denied", "scores", "gains", "near"))
_P_HAND_VALUES, _P_PEG_NOW, _P_REPLY, _P_MY_SHOW = (_PLACES[n] for n in ("hand_values", "peg_now", "reply", "my_show"))


@njit(cache=True)
def encode_places(v, rich, row):
    """Write the features of one VIEW of a game with three or four players into `row` (float32[F])."""
    at = _AT_PLACES[v.players - 3]
    row[:] = 0
    row[at[_P_DEALER] + v.dealer] = 1
    unseen = row[at[_P_UNSEEN] : at[_P_UNSEEN] + N_RANKS]
    count_unseen(v, unseen)
    encode_scores_of_sides(v, at, row)
    if v.phase == DISCARD and v.kept[0] == NO_CARD:
        row[at[_P_PHASE]] = 1
        encode_five(v, at, rich, row)
    else:
        row[at[_P_PHASE] + 1] = 1
        encode_four(v, at, row)
        encode_log_of_places(v, at, row)
        encode_table_of_places(v, at, row)
        if rich:
            encode_plays_of_places(v, at, unseen, row)
    unseen *= np.float32(1 / N_SUITS)


@njit(cache=True)
def encode_scores_of_sides(v, at, row):
    """Scores, last gains, and how near each side is to the end."""
    for side in range(3 if v.players == 3 else 2):
        row[at[_P_SCORES] + side] = v.scores[side] / v.target
        row[at[_P_GAINS] + side] = (v.scores[side] - v.backs[side]) * _HAND_SCALE
        to_go = v.target - v.scores[side]
        for k in range(len(NEAR)):
            row[at[_P_NEAR] + side * len(NEAR) + k] = to_go <= NEAR[k]


@njit(cache=True)
def encode_five(v, at, rich, row):
    """My five cards before the discard and, if `rich`, the exact hand that each discard keeps."""
    for k in range(FEW_DEALT):
        place = at[_P_DEALT] + k * _CARD
        row[place + rank_of(v.dealt[k])] = 1
        row[place + N_RANKS + suit_of(v.dealt[k])] = 1
    if rich:
        hands = row[at[_P_HAND_VALUES] : at[_P_HAND_VALUES] + FEW_DEALT]
        expected_hands_of_five(v.dealt, hands)
        hands *= np.float32(_HAND_SCALE)


@njit(cache=True)
def encode_four(v, at, row):
    """The cards I hold, the one I laid away, and the starter."""
    for k in range(HAND_CARDS):
        if not v.laid >> k & 1:
            row[at[_P_HELD] + k * N_RANKS + rank_of(v.kept[k])] = 1
    row[at[_P_DISCARDS] + rank_of(v.discards[0])] = 1
    if v.starter != NO_CARD:
        row[at[_P_STARTER] + rank_of(v.starter)] = 1


@njit(cache=True)
def encode_log_of_places(v, at, row):
    """Cards laid: totals by place and rank, and in order, latest first."""
    size = N_RANKS + v.players + 1
    n = 0
    for i in range(v.n_log - 1, -1, -1):
        card = v.log[i] % LOG_SEAT
        if card == GO_CARD:
            continue
        place = v.log[i] // LOG_SEAT
        row[at[_P_LAID] + place * N_RANKS + rank_of(card)] += 1
        item = at[_P_LOG] + n * size
        if item < at[_P_COUNT]:  # all but the first card of a finished deal
            row[item + rank_of(card)] = 1
            row[item + N_RANKS + place] = 1
            row[item + N_RANKS + v.players] = n < v.n_pile
        n += 1


@njit(cache=True)
def encode_table_of_places(v, at, row):
    """Count, cards left, gos and what they proved."""
    row[at[_P_COUNT] + min(v.count, MAX_COUNT - 1)] = 1
    for p in range(v.players):
        row[at[_P_CARDS_LEFT] + p * (HAND_CARDS + 1) + v.cards_left[p]] = 1
        row[at[_P_GO] + p] = v.said_go >> p & 1
        for value in range(1, _PIPS + 1):
            row[at[_P_DENIED] + p * _PIPS + value - 1] = value <= v.denied[p]


@njit(cache=True)
def encode_plays_of_places(v, at, unseen, row):
    """What each card I could lay pegs now, and what the next player's reply to it pegs on average."""
    pile = np.empty(MAX_PILE + 2, np.int8)
    pile[: v.n_pile] = v.pile[: v.n_pile]
    n_unseen = unseen.sum()
    place = next_place(v)
    for k in range(HAND_CARDS):
        rank = rank_of(v.kept[k])
        count = v.count + pip_of(rank)
        if v.laid >> k & 1 or count > MAX_COUNT:
            continue
        pile[v.n_pile] = rank
        row[at[_P_PEG_NOW] + k] = peg_points(pile, v.n_pile + 1, count) * _PEG_SCALE
        if place > 0 and count < MAX_COUNT:
            replies = reply_points(pile, v.n_pile + 1, count, v.denied[place], unseen)
            row[at[_P_REPLY] + k] = replies / n_unseen * _PEG_SCALE
    if v.starter != NO_CARD:
        h = v.kept
        row[at[_P_MY_SHOW]] = show_five(h[0], h[1], h[2], h[3], v.starter, False) * _HAND_SCALE


@njit(cache=True)
def next_place(v):
    """The first place to my left that holds cards and has not said go; 0 if there is none."""
    for p in range(1, v.players):
        if v.cards_left[p] > 0 and not v.said_go >> p & 1:
            return p
    return 0
