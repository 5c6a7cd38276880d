"""Game: one game as a friendly object, for people, tests and scripts. The `Board` of cribbage.

A batch of one: it holds a GAME record and the history the record forgets, and no rule. It sees
every card; what one seat may know is `view(seat)`.
May import: cards, rules, rng, actions, state, engine, view.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypedDict

import numpy as np

from crib_env.actions import FIRST_PLAY, GO, N_ACTIONS, action_text, name_action, parse_action, write_mask
from crib_env.cards import N_CARDS, NO_CARD, card_id, card_text, cards_text, check_distinct, parse_cards
from crib_env.engine import DRAWN, bits_one, start_one, try_one
from crib_env.rules import HAND_CARDS, Rules
from crib_env.state import EVENT_KINDS, GO_CARD, LOG_SEAT, OVER, PHASES, new_records
from crib_env.view import look_many, new_views

MAX_GAME_NUMBER = 2**63 - 1

Card = str | int
Cards = str | Iterable[Card]


class Event(TypedDict):
    """One act of scoring. Only acts with points are events."""

    phase: str  # "heels", "play", "go", "last", "show_hand" or "show_crib"
    seat: int
    points: int  # earned
    pegged: int  # added to the score, which stops at the target
    score: int  # of the seat's side, after it


class Game:
    """A game of cribbage with all hands in sight.

    Args:
        seed: any integer; with `game` it decides every card.
        rules: the table's choices; None is two players to 121.
        dealer: seat that deals first; None lets the seed draw it.
        scores: where the sides begin, one a side, each below the target; None is zero.
        game: number of the game under that seed, from 0.
    Attributes:
        events: every scoring event since the start, in order.
        actions: the ids pushed so far.
    Raises:
        ValueError: an argument outside what is allowed.
    """

    def __init__(
        self,
        seed: int = 1,
        rules: Rules | None = None,
        dealer: int | None = None,
        scores: Sequence[int] | None = None,
        game: int = 0,
    ) -> None:
        self.rules = rules or Rules()
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise ValueError(f"seed {seed!r}: allowed is any whole number")
        check_whole("game", game, MAX_GAME_NUMBER)
        if dealer is not None:
            check_whole("dealer", dealer, self.rules.players - 1)
        self._games = new_records(1, self.rules, int(seed))
        start_one(self._games, 0, int(game), DRAWN if dealer is None else int(dealer))
        for pegs in ("score", "back"):
            self._games[pegs][0, : self.rules.sides] = check_scores(scores, self.rules)
        self._begin_history()

    @classmethod
    def from_deal(
        cls,
        dealer: int,
        hands: Sequence[Cards],
        crib: Cards,
        starter: Card,
        scores: Sequence[int],
        rules: Rules | None = None,
        seed: int = 0,
    ) -> Game:
        """A game that stands just after the discard: the starter is turned, the play begins.

        Heels may already be in `events`, and may have ended the game. Later deals come from `seed`.

        Args:
            dealer: seat.
            hands: the four cards each seat kept, by seat.
            crib: four cards, credited as discards in seat order: two a seat with two players, one
                a seat with three and four; with three the last is the pack's.
            starter: the card turned.
            scores: before heels, one a side, each below the target.
            rules: the table's choices; None is two players to 121.
            seed: decides the deals after this one.
        Raises:
            ValueError: what no table could hold: a wrong number of hands or cards, a card twice, a
                score that has already won.
        """
        rules = rules or Rules()
        check_whole("dealer", dealer, rules.players - 1)  # a deal on the table has a dealer: None is no seat
        kept, laid_away, turned = check_deal(hands, crib, starter, rules)
        new = cls(seed, rules, dealer, scores)
        new._lay_out(kept, laid_away, turned)
        new._begin_history()
        return new

    @property
    def seed(self) -> int:
        """What decides the cards: the low 64 bits of the seed given."""
        return int(self._g["seed"])

    @property
    def game(self) -> int:
        """Number of this game under its seed."""
        return int(self._g["game"])

    @property
    def deal(self) -> int:
        """Number of the present deal, from 0 as in `rng.deal_cards`; in print it counts from 1."""
        return int(self._g["deal"])

    @property
    def phase(self) -> str:
        """What the game waits for: "discard", "play", or nothing, "over"."""
        return PHASES[self._g["phase"]]

    @property
    def dealer(self) -> int:
        """Seat that deals, and whose crib it is."""
        return int(self._g["dealer"])

    @property
    def to_act(self) -> int:
        """Seat to act; means nothing once the game is over."""
        return int(self._g["to_act"])

    @property
    def count(self) -> int:
        """Running total of the play, 0..31."""
        return int(self._g["count"])

    @property
    def starter(self) -> str | None:
        """The card turned after the discard; None before."""
        return None if self._g["starter"] == NO_CARD else card_text(int(self._g["starter"]))

    @property
    def scores(self) -> list[int]:
        """Scores by side; partners share one."""
        return [int(s) for s in self._g["score"][: self.rules.sides]]

    @property
    def over(self) -> bool:
        """Whether a side has reached the target."""
        return bool(self._g["phase"] == OVER)

    @property
    def winner(self) -> int | None:
        """Side that won; None while nobody has."""
        return int(self._g["winner"]) if self.over else None

    @property
    def crib(self) -> list[str]:
        """Cards laid to the crib so far. Their order means nothing."""
        return cards_text(self._g["crib"]).split()

    @property
    def pile(self) -> list[str]:
        """Cards laid since the count was last reset, oldest first."""
        cards = [int(entry) % LOG_SEAT for entry in self._g["log"][: self._g["n_log"]]]
        laid = [card_text(card) for card in cards if card != GO_CARD]
        return laid[len(laid) - int(self._g["n_pile"]) :]

    @property
    def record(self) -> np.void:
        """The whole state: a copy of the GAME record."""
        return self._games.copy()[0]

    def hand(self, seat: int) -> list[str]:
        """Cards `seat` holds now: as dealt before its discard, then those of its four not yet laid."""
        return self.dealt(seat) if not self.kept(seat) else self._unlaid(seat)

    def dealt(self, seat: int) -> list[str]:
        """Cards `seat` was dealt, sorted."""
        return cards_text(self._g["dealt"][self._check_seat(seat)]).split()

    def kept(self, seat: int) -> list[str]:
        """The four cards `seat` kept, laid or not, sorted; empty before its discard."""
        return cards_text(self._g["kept"][self._check_seat(seat)]).split()

    def discards(self, seat: int) -> list[str]:
        """What `seat` laid to the crib; empty before."""
        kept = self.kept(seat)
        return [card for card in self.dealt(seat) if card not in kept] if kept else []

    def view(self, seat: int) -> np.void:
        """VIEW record of what `seat` may know; a copy."""
        views = new_views(1)
        look_many(self._games, np.array([self._check_seat(seat)], dtype=np.int64), views)
        return views[0]

    def mask(self) -> np.ndarray:
        """int8[20], 1 where an action is legal. A finished game's mask keeps go set."""
        mask = np.zeros(N_ACTIONS, dtype=np.int8)
        write_mask(bits_one(self._games, 0), mask)
        return mask

    def legal_actions(self) -> list[int]:
        """Ids of the legal actions, rising; none when the game is over."""
        bits = bits_one(self._games, 0)
        return [a for a in range(N_ACTIONS) if bits >> a & 1]

    def action_text(self, action: int) -> str:
        """Text of a legal action: "5H KD" for a discard, "5H" for a card laid, "go".

        Raises:
            ValueError: the action is not legal now.
        """
        if action not in self.legal_actions():
            raise ValueError(self._describe_illegal(action))
        return self._text(int(action))

    def push(self, action: int | str) -> list[Event]:
        """Take an action for the seat to act, and go on to the next decision or the end.

        Args:
            action: a legal id or its text; the cards of a discard may come in any order.
        Returns:
            The scoring events it caused, in order.
        Raises:
            ValueError: it is not legal; the game is as it was.
        """
        action_id = self._read_action(action)
        already = int(self._g["n_events"])
        try_one(self._games, 0, action_id, False)
        self.actions.append(action_id)
        # A deal's first discard drops the last deal's events and causes none: then this is empty.
        events = self._record_events()[already:]
        self.events += events
        return [event.copy() for event in events]

    def copy(self) -> Game:
        """An independent game in the same state, with the same history."""
        new = Game.__new__(Game)
        new.rules = self.rules
        new._games = self._games.copy()
        new._start = self._start
        new.actions = list(self.actions)
        new.events = [event.copy() for event in self.events]
        return new

    def at_start(self) -> Game:
        """The same game before its first action: what a record of it is replayed from."""
        new = Game.__new__(Game)
        new.rules = self.rules
        new._games = self._start.copy()
        new._begin_history()
        return new

    def __repr__(self) -> str:
        return f"<Game seed={self.seed} game={self.game} deal {self.deal + 1} scores {self.scores} {self.phase}>"

    def __str__(self) -> str:
        return "\n".join([f"Deal {self.deal + 1}, to {self.rules.target}", *self._seat_lines(), *self._table_lines()])

    @property
    def _g(self) -> np.void:
        return self._games[0]

    def _begin_history(self) -> None:
        self._start = self._games.copy()
        self.actions: list[int] = []
        self.events: list[Event] = self._record_events()  # heels, after from_deal

    def _record_events(self) -> list[Event]:
        """What the record still knows: the events since the present deal's (or last) first discard."""
        return read_events(self._g["events"][: self._g["n_events"]])

    def _lay_out(self, kept: list[list[int]], laid_away: list[int], starter: int) -> None:
        """Put given cards in the place of the dealt ones, and have every seat discard its own.

        Going through the engine's discards makes the record the one that real play would have left.
        """
        n = self.rules.discards
        hands = [sorted(kept[seat] + laid_away[seat * n : seat * n + n]) for seat in range(self.rules.players)]
        from_pack = laid_away[self.rules.players * n :]
        known = [card for hand in hands for card in hand] + from_pack + [starter]
        self._g["deck"][:] = known + [card for card in range(N_CARDS) if card not in known]
        self._g["crib"][: len(from_pack)] = from_pack
        for seat, hand in enumerate(hands):
            self._g["dealt"][seat, : len(hand)] = hand
        while self.phase == "discard":
            discards = cards_text(laid_away[self.to_act * n : self.to_act * n + n])
            try_one(self._games, 0, self._parse(discards), False)

    def _check_seat(self, seat: int) -> int:
        check_whole("seat", seat, self.rules.players - 1)
        return seat

    def _unlaid(self, seat: int) -> list[str]:
        laid = int(self._g["laid"][seat])
        return [card for k, card in enumerate(self.kept(seat)) if not laid >> k & 1]

    def _cards_to_act(self) -> tuple[np.ndarray, np.ndarray]:
        return self._g["dealt"][self.to_act], self._g["kept"][self.to_act]

    def _text(self, action: int) -> str:
        return action_text(action, *self._cards_to_act())

    def _parse(self, text: str) -> int:
        return parse_action(text, self.legal_actions(), *self._cards_to_act())

    def _read_action(self, action: int | str) -> int:
        """Id of a legal action given as id or text; ValueError says what was legal."""
        if isinstance(action, str):
            try:
                return self._parse(action)
            except ValueError as error:
                raise ValueError(self._describe_illegal(action)) from error
        is_whole = isinstance(action, (int, np.integer)) and not isinstance(action, bool)
        if not is_whole or action not in self.legal_actions():
            raise ValueError(self._describe_illegal(action))
        return int(action)

    def _describe_illegal(self, action: object) -> str:
        """The message for an action that cannot be taken: what came, where, what was legal."""
        came = f"illegal action {action!r}"
        if isinstance(action, (int, np.integer)):
            lays_own = self.phase == "play" and FIRST_PLAY <= action < GO
            came = f"illegal action {action} ({self._text(int(action)) if lays_own else name_action(int(action))})"
        where = f"at deal {self.deal + 1}, count {self.count}"
        if self.over:
            return f"{came} {where}: the game is over, side {self.winner} has won; no action is legal"
        legal = ", ".join(f"{self._text(a)} ({a})" for a in self.legal_actions())
        return f"{came} {where}, seat {self.to_act} to {self.phase}: legal are {legal}"

    def _seat_lines(self) -> list[str]:
        lines = []
        for seat in range(self.rules.players):
            role = "dealer" if seat == self.dealer else ""
            score = self.scores[seat % self.rules.sides]
            lines.append(f"seat {seat} {role:6} {score:4}   {' '.join(self.hand(seat))}".rstrip())
        return lines

    def _table_lines(self) -> list[str]:
        lines = [f"crib {' '.join(self.crib) or '-'}   starter {self.starter or '-'}"]
        if self.phase == "play":
            lines.append(f"count {self.count}   pile {' '.join(self.pile) or '-'}")
        return [*lines, f"side {self.winner} has won" if self.over else f"seat {self.to_act} to {self.phase}"]


def check_whole(name: str, value: object, most: int) -> None:
    """Raise ValueError unless `value` is a whole number 0..most."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value <= most:
        raise ValueError(f"{name} {value!r}: allowed are whole numbers 0..{most}")


def read_events(records: np.ndarray) -> list[Event]:
    """EVENT records as plain values."""
    return [
        {
            "phase": EVENT_KINDS[e["kind"]],
            "seat": int(e["seat"]),
            "points": int(e["points"]),
            "pegged": int(e["pegged"]),
            "score": int(e["score"]),
        }
        for e in records
    ]


def check_scores(scores: Sequence[int] | None, rules: Rules) -> list[int]:
    """Start scores given by a user, one a side; ValueError if no game could stand there."""
    if scores is None:
        return [0] * rules.sides
    values = _as_list(scores, "scores")
    if len(values) != rules.sides:
        raise ValueError(f"scores {values}: {rules.players} players keep {rules.sides} scores, one a side")
    for side, score in enumerate(values):
        check_whole(f"score of side {side}", score, rules.target - 1)
    return [int(score) for score in values]


def check_deal(
    hands: Sequence[Cards], crib: Cards, starter: Card, rules: Rules
) -> tuple[list[list[int]], list[int], int]:
    """Ids of hands, crib and starter given by a user; ValueError if they are no deal of one pack."""
    given = _as_list(hands, "hands")
    if len(given) != rules.players:
        raise ValueError(f"hands: {len(given)} came; {rules.players} players keep {rules.players} hands")
    kept = [_four_cards(hand, f"hand of seat {seat}") for seat, hand in enumerate(given)]
    laid_away = _four_cards(crib, "crib")
    try:
        turned = card_id(starter)
    except ValueError as error:
        raise ValueError(f"starter: {error}") from error
    check_distinct([card for hand in kept for card in hand] + laid_away + [turned], "hands, crib and starter")
    return kept, laid_away, turned


def _four_cards(cards: Cards, where: str) -> list[int]:
    try:
        ids = parse_cards(cards if isinstance(cards, str) else _as_list(cards, where))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    if len(ids) != HAND_CARDS:
        raise ValueError(f"{where}: {len(ids)} cards came ({cards_text(ids)}); allowed are exactly {HAND_CARDS}")
    return ids


def _as_list(values: object, what: str) -> list:
    try:
        return list(values)  # type: ignore[call-overload]
    except TypeError as error:
        raise ValueError(f"{what}: {values!r} came; a list is wanted") from error
