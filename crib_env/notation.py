"""Text records of games: `write` and `parse`. What a record claims is checked against the rules.

One line says one thing, and reads aloud:

    cribbage 1                           format and its version
    players 2
    target 121
    seed 1                               with the game number, decides every card
    game 0
    dealer 0                             of the first deal
    scores 0 0                           where the sides began
    deal 1: dealer 0
    seat 0 dealt 2C 3D 5H 7D 9S KC       a line a seat; three players: "crib from pack 4H" follows
    seat 1 discards AH QS                the first action
    starter JD
      heels: seat 0 pegs 2, score 2      an event; "pegs 6 of 8" where the target cut it short
    seat 1 lays TH, count 10
    seat 0 says go
    scores 12 10                         after the deal, and at the end
    over: side 0 wins                    or "unfinished: seat 1 to play"

A game begun by `Game.from_deal` says "deal 1: dealer 0, after the discard", then "seat 0 kept ..."
for each seat, "crib ..." and "starter ..."; with no action after it, it is a position. Blank lines,
extra spaces and lines that begin with # mean nothing; all else must be as `write` would have it.
May import: cards, rules, game.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from crib_env.cards import card_id, pip_of, rank_of
from crib_env.game import Event, Game, check_scores, check_whole
from crib_env.rules import Rules

FORMAT = "cribbage 1"
AFTER_DISCARD = ", after the discard"
VERBS = ("discards", "lays", "says")  # third word of a line that is an action
MAX_DIGITS = 20  # of a seed


def write(game: Game) -> str:
    """The record of a game, finished or not. `parse` makes the same game of it."""
    replay = game.at_start()
    lines = list(start_lines(replay))
    for action in game.actions:
        lines += action_lines(replay, action)
    return "\n".join([*lines, end_line(replay)]) + "\n"


def parse(text: str) -> Game:
    """The game a record tells of, replayed through `Game.push`.

    Raises:
        ValueError: the record is damaged, or tells what the cards or the rules do not allow; the
            message begins with the number of the line.
    """
    reader = _Reader(text)
    try:
        game = read_start(reader)
        reader.rewind()
        reader.expect(start_lines(game))
        while (action := read_action(reader)) is not None:
            reader.expect(action_lines(game, action))
        reader.expect([end_line(game)])
        reader.expect_end()
    except ValueError as error:
        raise ValueError(f"line {reader.number}: {error}") from error
    return game


def start_lines(game: Game) -> Iterator[str]:
    """All that comes before the first action, of a game that stands at its start."""
    g = game.record
    yield FORMAT
    yield f"players {game.rules.players}"
    yield f"target {game.rules.target}"
    yield f"seed {game.seed}"
    yield f"game {game.game}"
    yield f"dealer {game.dealer}"
    # Heels alone can have pegged so far, once: the back pegs still stand where the game began.
    yield scores_line([int(score) for score in g["back"][: game.rules.sides]])
    yield from given_lines(game) if game.starter else deal_lines(game)


def deal_lines(game: Game) -> Iterator[str]:
    """A deal's cards as they come from the pack."""
    yield f"deal {game.deal + 1}: dealer {game.dealer}"
    for seat in range(game.rules.players):
        yield f"seat {seat} dealt {' '.join(game.dealt(seat))}"
    if game.crib:
        yield f"crib from pack {game.crib[0]}"


def given_lines(game: Game) -> Iterator[str]:
    """The position `Game.from_deal` was given, in the order that gives the same game again."""
    seats = range(game.rules.players)
    discards = [card for seat in seats for card in game.discards(seat)]
    from_pack = [card for card in game.crib if card not in discards]
    yield f"deal {game.deal + 1}: dealer {game.dealer}{AFTER_DISCARD}"
    for seat in seats:
        yield f"seat {seat} kept {' '.join(game.kept(seat))}"
    yield f"crib {' '.join(discards + from_pack)}"
    yield from starter_lines(game, game.events)


def action_lines(game: Game, action: int | str) -> Iterator[str]:
    """Push an action, and tell it and all that follows from it, up to the next decision."""
    seat, phase, deal, count = game.to_act, game.phase, game.deal, game.count
    action = action if isinstance(action, str) else game.action_text(action)
    events = game.push(action)
    if phase == "discard":
        yield f"seat {seat} discards {action}"
        if game.phase != "discard":
            yield from starter_lines(game, events)
    else:
        yield f"seat {seat} says go" if action == "go" else f"seat {seat} lays {action}, count {count + pip(action)}"
        yield from map(event_line, events)
    if game.over or game.deal != deal:
        yield scores_line(game.scores)
    if game.deal != deal:
        yield from deal_lines(game)


def starter_lines(game: Game, events: list[Event]) -> Iterator[str]:
    """The starter, and heels if it is a jack."""
    yield f"starter {game.starter}"
    yield from map(event_line, events)


def event_line(event: Event) -> str:
    """One act of scoring."""
    cut_short = "" if event["pegged"] == event["points"] else f" of {event['points']}"
    return f"  {event['phase']}: seat {event['seat']} pegs {event['pegged']}{cut_short}, score {event['score']}"


def scores_line(scores: list[int]) -> str:
    """Scores by side."""
    return f"scores {' '.join(map(str, scores))}"


def end_line(game: Game) -> str:
    """The last line, so that a record cut short is seen to be."""
    return f"over: side {game.winner} wins" if game.over else f"unfinished: seat {game.to_act} to {game.phase}"


def pip(card: str) -> int:
    """Counting value of a card's text."""
    return int(pip_of(rank_of(card_id(card))))


def read_start(reader: _Reader) -> Game:
    """The game at its start, from the lines up to the first action."""
    reader.expect([FORMAT])
    rules = Rules(players=reader.number_after("players"))
    rules = replace(rules, target=reader.number_after("target"))
    seed = reader.number_after("seed")
    number = reader.number_after("game")
    dealer = reader.number_after("dealer")
    check_whole("dealer", dealer, rules.players - 1)
    scores = check_scores([_whole(word) for word in reader.words_after("scores")], rules)
    words = reader.words_after("deal")
    if AFTER_DISCARD in " ".join(words):
        return read_given(reader, rules, seed, dealer, scores)
    return Game(seed, rules, dealer, scores, number)


def read_given(reader: _Reader, rules: Rules, seed: int, dealer: int, scores: list[int]) -> Game:
    """The game that `given_lines` tells of."""
    hands = [reader.words_after(f"seat {seat} kept") for seat in range(rules.players)]
    crib = reader.words_after("crib")
    starter = " ".join(reader.words_after("starter"))
    return Game.from_deal(dealer, hands, crib, starter, scores, rules=rules, seed=seed)


def read_action(reader: _Reader) -> str | None:
    """Text of the action the next line tells of, which stays unread; None if it tells of none."""
    words = reader.next_line().replace(",", " ").split()
    if len(words) < 4 or words[2] not in VERBS:
        return None
    return " ".join(words[3:]) if words[2] == "discards" else words[3]


class _Reader:
    """The lines of a record, one after the other; `number` is of the line last looked at."""

    def __init__(self, text: str) -> None:
        numbered = [(n, " ".join(line.split())) for n, line in enumerate(text.splitlines(), start=1)]
        self._lines = [(n, line) for n, line in numbered if line and not line.startswith("#")]
        self._past_end = (len(numbered) + 1, "")
        self._next = 0
        self.number = 1

    def rewind(self) -> None:
        """Go back to the first line."""
        self._next = 0

    def next_line(self) -> str:
        """The next line, which stays unread; empty at the end."""
        self.number, line = self._lines[self._next] if self._next < len(self._lines) else self._past_end
        return line

    def expect(self, lines: Iterable[str]) -> None:
        """Read on, and hold every line against what it must be."""
        for due in lines:
            line = self.next_line()
            if line != due.strip():
                raise ValueError(f"{line!r} stands where {due.strip()!r} is due")
            self._next += 1

    def expect_end(self) -> None:
        """Raise ValueError if anything is left."""
        if line := self.next_line():
            raise ValueError(f"{line!r} stands after the end of the record")

    def words_after(self, start: str) -> list[str]:
        """Read a line that begins with `start`; the words after it."""
        words, due = self.next_line().split(), start.split()
        if words[: len(due)] != due:
            raise ValueError(f"{' '.join(words)!r} stands where {start!r} is due")
        self._next += 1
        return words[len(due) :]

    def number_after(self, start: str) -> int:
        """Read a line of `start` and one whole number."""
        return _whole(" ".join(self.words_after(start)))


def _whole(word: str) -> int:
    if not (word.removeprefix("-").isdecimal() and len(word) <= MAX_DIGITS):
        raise ValueError(f"{word!r} is no whole number")
    return int(word)
