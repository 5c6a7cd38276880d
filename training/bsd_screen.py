"""What the screen of BSD games' `cribbage -qr` shows: a small terminal, and the reading of it.

The program draws with curses, sending only what changed, so its output means nothing until a
terminal has put it together. It is run with TERM=vt52, whose whole vocabulary is the few codes in
`Terminal`; that draws 70 times as fast as a general emulator (pyte 0.8.2, on the recorded games).
May import: crib_env.cards.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
from numba import njit

from crib_env.cards import RANKS, SUITS, card_id

# Wide and high: then no message is broken over lines, and none is overwritten before it is read.
ROWS, COLS = 60, 132
TERM = "vt52"

# Where the program draws (its cribcur.h): windows by their first column, the rest by row and column.
MINE_COL, TABLE_COL, THEIRS_COL = 0, 12, 26
CRIB_ROW, MY_CRIB_COL, THEIR_CRIB_COL = 17, 0, 26
MY_SCORE_ROW, THEIR_SCORE_ROW, SCORE_COL = 1, 7, 48
STAR_COL, MESSAGE_COL, FIRST_MESSAGE_ROW = 38, 39, 10
MOST_CARDS_SHOWN = 8

# The codes of a VT52, of those that curses knows for it.
BELL, BACKSPACE, TAB, LINE_FEED, RETURN, ESCAPE, SPACE, DELETE = 7, 8, 9, 10, 13, 27, 32, 127
CURSOR_UP, CURSOR_DOWN, CURSOR_RIGHT, CURSOR_LEFT, CURSOR_HOME = 65, 66, 67, 68, 72
CLEAR_SCREEN, CLEAR_LINE, ADDRESS = 74, 75, 89
CHARACTER_SETS = (70, 71, 61, 62)  # graphics on and off, keypad modes: nothing is drawn with them

# What it waits with, by the end of the line the cursor stands on.
LENGTH, MORE, DISCARD, PLAY, HAND, CRIB, AGAIN = "length", "more", "discard", "play", "hand", "crib", "again"
PRESS_SPACE = "--More--"
PROMPTS = {
    "L or S? ": LENGTH,
    PRESS_SPACE: MORE,
    "Discard --> ": DISCARD,
    "Your play: ": PLAY,
    "Your hand scores ": HAND,
    "Your crib scores ": CRIB,
    "Another game? ": AGAIN,
}
# Everything it says in a game where nobody miscounts. Anything else means it and we differ.
EXPECTED = re.compile(
    r"L or S\?( \w)?|(You|I) cut \w+ of \w+|We tied\.\.\.|(I|You) get two for his heels|Discard -->( \w+)?"
    r"|Your play:( \w+)?|GO|You have a GO|(You|I) get one( for last)?|I get \d+ playing \w+ of \w+|You got \d+"
    r"|You play your last card|(My|Your) (hand|crib) scores( \d+)?"
    r"|(YOU|I) (WON|SKUNKED ME|SKUNKED YOU|DOUBLE SKUNKED ME|DOUBLE SKUNKED YOU)!|Another game\?"
)
_PLAYED = re.compile(r"I get \d+ playing (\w+) of (\w+)")
_SCORED = re.compile(r"My (hand|crib) scores (\d+)")
SAID_FOR_NONE = "19"  # no hand is worth nineteen: cribbage slang for nothing
_RANK_NAMES = ("ACE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE", "TEN", "JACK", "QUEEN", "KING")


class UnreadableScreen(RuntimeError):
    """The program wrote what no VT52 shows, or shows what cannot be."""


class Terminal:
    """A VT52: rows of text and a cursor.

    Attributes:
        touched: something has been drawn, or the cursor moved, since this was last set to False.
    """

    def __init__(self) -> None:
        self._cells = np.full((ROWS, COLS), SPACE, dtype=np.uint8)
        self._cursor = np.zeros(2, dtype=np.int64)
        self._rest = b""
        self.touched = False

    @property
    def row(self) -> int:
        """Row of the cursor, 0 at the top."""
        return int(self._cursor[0])

    @property
    def col(self) -> int:
        """Column of the cursor, 0 at the left."""
        return int(self._cursor[1])

    def feed(self, data: bytes) -> None:
        """Draw what the program wrote; it may be cut anywhere, a code's second half comes later.

        Raises:
            UnreadableScreen: a code that is not a VT52's.
        """
        data = self._rest + data
        done = draw(self._cells, self._cursor, np.frombuffer(data, dtype=np.uint8))
        if done < 0:
            raise UnreadableScreen(f"no VT52 code: {data[-1 - done :][:8]!r}")
        self.touched |= done > 0
        self._rest = data[done:]

    def text(self, row: int, start: int, end: int = COLS) -> str:
        """What stands in a row from column `start` up to `end`."""
        return self._cells[row, start:end].tobytes().decode("ascii")

    def lines(self) -> list[str]:
        """Every row's text."""
        text = self._cells.tobytes().decode("ascii")
        return [text[start : start + COLS] for start in range(0, len(text), COLS)]


@njit(cache=True)
def draw(cells, cursor, data):
    """Carry out terminal codes: text goes to `cells`, the cursor moves.

    Args:
        cells: uint8[ROWS, COLS], characters.
        cursor: int64[2], row and column.
        data: uint8[N], what to carry out.
    Returns:
        How many bytes were done; fewer than N if a code's end is still to come. -1 - n if an
        unknown code came after n bytes.
    """
    at = 0
    while at < len(data):
        left = len(data) - at
        if data[at] == ESCAPE:
            size = 2 if left < 2 or data[at + 1] != ADDRESS else 4
            if left < size:
                return at
            if not obey_escape(cells, cursor, data[at + 1 : at + size]):
                return -1 - at
        else:
            size = 1
            if not write_one(cells, cursor, data[at]):
                return -1 - at
        at += size
    return at


@njit(cache=True)
def write_one(cells, cursor, code):
    """A character, or a control code that moves the cursor; False if it is neither."""
    if SPACE <= code < DELETE:
        cells[cursor[0], cursor[1]] = code
        move(cursor, cursor[0], cursor[1] + 1)
    elif code == RETURN:
        move(cursor, cursor[0], 0)
    elif code == LINE_FEED:
        move(cursor, cursor[0] + 1, cursor[1])
    elif code == BACKSPACE:
        move(cursor, cursor[0], cursor[1] - 1)
    elif code == TAB:
        move(cursor, cursor[0], cursor[1] // 8 * 8 + 8)
    else:
        return code == BELL
    return True


@njit(cache=True)
def obey_escape(cells, cursor, code):
    """What follows an escape: up, down, right, left, home, clear, go to; False if unknown."""
    row, col = cursor[0], cursor[1]
    if code[0] == ADDRESS:
        move(cursor, np.int64(code[1]) - SPACE, np.int64(code[2]) - SPACE)
    elif code[0] == CURSOR_UP:
        move(cursor, row - 1, col)
    elif code[0] == CURSOR_DOWN:
        move(cursor, row + 1, col)
    elif code[0] == CURSOR_RIGHT:
        move(cursor, row, col + 1)
    elif code[0] == CURSOR_LEFT:
        move(cursor, row, col - 1)
    elif code[0] == CURSOR_HOME:
        move(cursor, 0, 0)
    elif code[0] == CLEAR_LINE:
        cells[row, col:] = SPACE
    elif code[0] == CLEAR_SCREEN:
        cells[row, col:] = SPACE
        cells[row + 1 :] = SPACE
    else:
        return code[0] in CHARACTER_SETS
    return True


@njit(cache=True)
def move(cursor, row, col):
    """Put the cursor there, stopping at the edges."""
    cursor[0] = min(max(row, 0), ROWS - 1)
    cursor[1] = min(max(col, 0), COLS - 1)


@dataclass(frozen=True)
class Screen:
    """What the program shows while it waits.

    Attributes:
        prompt: what it waits for.
        mine, table, theirs: card ids in the three windows, in the order shown; cards shown face
            down are left out. `mine` and `theirs` hold the crib when that is counted.
        starter: card id, or None while it is face down or not there.
        i_deal: whose side the crib lies on; None before the first deal.
        scores: mine, theirs, as the program keeps them: the last count may pass the target.
        messages: said since it last waited, in order; the last one holds the prompt.
    """

    prompt: str
    mine: list[int] = field(default_factory=list)
    table: list[int] = field(default_factory=list)
    theirs: list[int] = field(default_factory=list)
    starter: int | None = None
    i_deal: bool | None = None
    scores: tuple[int, int] = (0, 0)
    messages: list[str] = field(default_factory=list)

    @property
    def unexpected(self) -> str | None:
        """A message that no game without miscounts has."""
        return next((m for m in self.messages if not EXPECTED.fullmatch(m)), None)

    @property
    def played(self) -> list[int]:
        """Cards of the program's that scored as it laid them: 31 is cleared away before it can be seen."""
        found = [_PLAYED.match(m) for m in self.messages]
        return [card_id(RANKS[_RANK_NAMES.index(m[1])] + m[2][0]) for m in found if m]

    @property
    def counted(self) -> dict[str, int]:
        """Points the program says its "hand" and "crib" hold."""
        found = [_SCORED.match(m) for m in self.messages]
        return {m[1]: 0 if m[2] == SAID_FOR_NONE else int(m[2]) for m in found if m}


def waiting_prompt(terminal: Terminal) -> str | None:
    """What the program waits for, or None while it is still drawing.

    Its last strokes are always the star that marks the message line and then the cursor's way back
    to the end of the message; before both are there the drawing is not finished.
    """
    if not terminal.touched or terminal.row < FIRST_MESSAGE_ROW or terminal.text(terminal.row, STAR_COL)[0] != "*":
        return None
    line = terminal.text(terminal.row, MESSAGE_COL, max(terminal.col, MESSAGE_COL))
    return next((prompt for end, prompt in PROMPTS.items() if line.endswith(end)), None)


def read_screen(terminal: Terminal, prompt: str, last_row: int) -> Screen:
    """Everything on the screen; `last_row` is where the last prompt stood."""
    lines = terminal.lines()
    crib_col = next((c for c in (MY_CRIB_COL, THEIR_CRIB_COL) if lines[CRIB_ROW][c + 1 :].startswith("CRIB")), None)
    return Screen(
        prompt=prompt,
        mine=_read_cards(lines, MINE_COL),
        table=_read_cards(lines, TABLE_COL),
        theirs=_read_cards(lines, THEIRS_COL),
        starter=None if crib_col is None else _read_card(lines[CRIB_ROW + 2], crib_col + 1),
        i_deal=None if crib_col is None else crib_col == MY_CRIB_COL,
        scores=(_read_score(lines[MY_SCORE_ROW]), _read_score(lines[THEIR_SCORE_ROW])),
        messages=_read_messages(lines, last_row, terminal.row),
    )


def _read_cards(lines: list[str], first_col: int) -> list[int]:
    """Cards fanned out from a window's corner, each a column to the right and two rows down."""
    found = (_read_card(lines[2 * k + 1], first_col + k + 1) for k in range(MOST_CARDS_SHOWN))
    return [card for card in found if card is not None]


def _read_card(line: str, col: int) -> int | None:
    rank, suit = line[col], line[col + 1]
    return card_id(rank + suit) if rank in RANKS and suit in SUITS else None


def _read_score(line: str) -> int:
    text = line[SCORE_COL : SCORE_COL + 3].strip()
    return int(text) if text.isdigit() else 0


def _read_messages(lines: list[str], last_row: int, row: int) -> list[str]:
    """The lines below `last_row` down to `row`; after the lowest comes the first again."""
    high = ROWS - FIRST_MESSAGE_ROW
    n = (row - last_row - 1) % high + 1
    rows = [FIRST_MESSAGE_ROW + (last_row + k - FIRST_MESSAGE_ROW) % high for k in range(1, n + 1)]
    messages = [lines[r][MESSAGE_COL:].split(PRESS_SPACE)[0].strip() for r in rows]
    return [message for message in messages if message]
