"""`bsd`: the cribbage of BSD games, an opponent from outside, played over a pseudo-terminal.

An adapter is our agent's hands: it reads the program's screen, keeps the exact game by our own
engine (`follow`), shows the agent its view, types what it chooses, and stops if the two programs
ever differ about the rules. The program deals, so games are not mirrored: the interval of a win
rate is that of single games.

Its cards come from its clock: it seeds `rand` with the second, anew in every deal, so games begun
in one second would be the same game. It is therefore run under libfaketime, each game with a clock
of its own, drawn from our seed. That makes a match independent from game to game, and repeatable.
Imported by `tournament`; may import: crib_env, agents, arena.
"""

from __future__ import annotations

import calendar
import contextlib
import fcntl
import glob
import importlib.util
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agents.base import Agent
from crib_env.actions import FIRST_PLAY, GO
from crib_env.cards import card_text, cards_text
from crib_env.rules import HAND_CARDS, MAX_DEALT
from crib_env.scoring import show_points
from crib_env.state import OVER
from training.arena import SCORED_BY, checked_actions
from training.bsd_screen import (
    COLS,
    CRIB,
    DISCARD,
    FIRST_MESSAGE_ROW,
    HAND,
    LENGTH,
    MORE,
    PLAY,
    ROWS,
    TERM,
    Screen,
    Terminal,
    UnreadableScreen,
    read_screen,
    waiting_prompt,
)
from training.follow import ME, THEM, FollowedGame, NotOurRules

PROGRAM_PATHS = ("/usr/games/cribbage", "/usr/local/games/cribbage")
CLOCK_PATTERN = "/usr/lib/*/faketime/libfaketime.so.1"  # Debian's place for it
TABLES = 16  # programs side by side, so that a network decides for many at once
STALL_SECONDS = 20.0  # a program that asks nothing for so long has hung
EXIT_SECONDS = 1.0
MAX_DROPPED = 20  # more broken games than this: something is wrong with the machine, not a game
CLOCK_FORMAT = "%Y-%m-%d %H:%M:%S"
CLOCK_SECONDS = 1 << 16  # the program's seed is made of the second's low 16 bits


class BsdTrouble(RuntimeError):
    """The program is not installed, or games break down one after the other."""


@dataclass(frozen=True)
class BsdResult:
    """Every finished game of a match, from our agent's side, in the order they were begun.

    Attributes:
        won: bool[G], our agent won.
        loser_scores: int16[G], final score of whoever lost.
        first_dealer: bool[G], our agent dealt first.
        points: int64[2, 4], points pegged in all by us, by them, from hand, crib, play, heels.
        deals: deals begun in all games.
        dropped: what went wrong in each game that was not finished and does not count.
    """

    won: np.ndarray
    loser_scores: np.ndarray
    first_dealer: np.ndarray
    points: np.ndarray
    deals: int
    dropped: tuple[str, ...]


def missing_reason() -> str | None:
    """One line that says what to install, or None when BSD cribbage can be played."""
    if _program_path() is None:
        return "BSD cribbage is not here: install Debian's package bsdgames (apt-get install bsdgames)"
    if _clock_path() is None:
        return "libfaketime is not here: install the extra bsd (pip install 'crib-env[bsd]') or Debian's faketime"
    return None


class BsdCribbage:
    """The program as an opponent.

    Args:
        tables: how many programs run side by side. Games are the same for any number as long as
            the agent draws no chance of its own.
    Raises:
        BsdTrouble: it, or the clock it needs, is not installed or does not work here.
    """

    name = "bsd"

    def __init__(self, tables: int = TABLES) -> None:
        reason = missing_reason()
        if reason:
            raise BsdTrouble(reason)
        _check_clock()
        self._tables = tables

    def play(self, agent: Agent, games: int, seed: int = 0, seconds: float | None = None) -> BsdResult:
        """Let `agent` play games to 121 against the program.

        Args:
            agent: plays the human's side; may draw chance.
            games: how many to begin.
            seed: decides the program's clocks, and so the cards, and the agent's own chance.
            seconds: begin no game after so long; those begun are finished and count, so that
                short games are not favoured.
        Raises:
            ValueError: fewer than one game.
            NotOurRules: the program and our engine differ; the message says where and how.
            RuntimeError: the agent broke the rules, as `arena.checked_actions` says it.
            BsdTrouble: more than MAX_DROPPED games broke down.
        """
        if games < 1:
            raise ValueError(f"a match needs at least 1 game; {games} came")
        match = _Match(agent, games, seed, None if seconds is None else time.monotonic() + seconds)
        with tempfile.TemporaryDirectory(prefix="bsd-cribbage-") as folder:
            program = Path(folder) / "cribbage"
            # A copy drops the set-group-id bit, with which the loader would refuse the clock.
            shutil.copyfile(str(_program_path()), program)
            program.chmod(0o700)
            try:
                match.run(program, self._tables)
            finally:
                match.leave()
        return match.result()


class _Match:
    """Games in progress and done."""

    def __init__(self, agent: Agent, games: int, seed: int, until: float | None) -> None:
        self._agent = agent
        self._games = games
        self._seed = seed & 0xFFFFFFFF
        self._until = until
        self._rng = np.random.default_rng([self._seed, 0, 1])  # [seed, game] are the programs' clocks
        self._begun = 0
        self._live: list[_Table] = []
        self._done: dict[int, np.void] = {}
        self._dropped: list[str] = []

    def run(self, program: Path, tables: int) -> None:
        """Play in step: every table up to its agent's next choice, then all choices at once."""
        while True:
            while len(self._live) < tables and self._may_begin():
                self._live.append(_Table(program, self._begun, self._seed))
                self._begun += 1
            if not self._live:
                return
            _settle(self._live)
            self._clear_tables()
            self._choose()

    def leave(self) -> None:
        """End every program still running."""
        for table in self._live:
            table.leave()

    def result(self) -> BsdResult:
        """The finished games, in the order they were begun."""
        records = [self._done[game] for game in sorted(self._done)]
        points = np.zeros((2, len(SCORED_BY)), dtype=np.int64)
        for g in records:
            for seat in (ME, THEM):
                heels, play_dealer, play_pone, hand_dealer, hand_pone, crib = g["tally"][seat]
                points[seat] += (hand_dealer + hand_pone, crib, play_dealer + play_pone, heels)
        return BsdResult(
            won=np.array([g["winner"] == ME for g in records], dtype=bool),
            loser_scores=np.array([g["score"][1 - g["winner"]] for g in records], dtype=np.int16),
            first_dealer=np.array([g["first_dealer"] == ME for g in records], dtype=bool),
            points=points,
            deals=sum(int(g["deal"]) + 1 for g in records),
            dropped=tuple(self._dropped),
        )

    def _may_begin(self) -> bool:
        return self._begun < self._games and (self._until is None or time.monotonic() < self._until)

    def _clear_tables(self) -> None:
        """Take away the tables whose game is over or broken."""
        for table in [t for t in self._live if t.trouble or t.talk.over]:
            table.leave()
            self._live.remove(table)
            if table.trouble:
                self._dropped.append(f"game {table.game}: {table.trouble}")
            else:
                self._done[table.game] = table.talk.game.record
        if len(self._dropped) > MAX_DROPPED:
            raise BsdTrouble(f"{len(self._dropped)} games broke down; the last was {self._dropped[-1]}")

    def _choose(self) -> None:
        """Ask the agent for every table that waits; a single legal action is not asked."""
        asked = [t for t in self._live if t.talk.mask.sum() > 1]
        for table in self._live:
            if table not in asked:
                table.type(table.talk.choose(int(table.talk.mask.argmax())))
        if not asked:
            return
        views = np.concatenate([t.talk.game.view() for t in asked])
        masks = np.concatenate([t.talk.mask for t in asked])
        for table, action in zip(asked, checked_actions(self._agent, views, masks, self._rng), strict=True):
            table.type(table.talk.choose(int(action)))


class _Table:
    """One running program and the talk with it."""

    def __init__(self, program: Path, game: int, seed: int) -> None:
        self.game = game
        self.talk = Talk()
        self.trouble: str | None = None
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLS, 0, 0))
        self.fd = master
        self._deadline = time.monotonic() + STALL_SECONDS
        self._process = subprocess.Popen(
            [str(program), "-qr"],
            stdin=slave,
            stdout=slave,
            stderr=subprocess.DEVNULL,
            env={"TERM": TERM, "LINES": str(ROWS), "COLUMNS": str(COLS), **_clock(seed, game)},
            start_new_session=True,
        )
        os.close(slave)

    @property
    def rests(self) -> bool:
        """Whether nothing happens here until we act."""
        return bool(self.trouble) or self.talk.over or self.talk.chooses

    def hear(self) -> None:
        """Read what the program has written and answer what needs no agent."""
        try:
            keys = self.talk.hear(os.read(self.fd, 1 << 16))
        except OSError:  # its end of the terminal was closed
            self.trouble = "the program ended in the middle of its game"
        except UnreadableScreen as error:
            self.trouble = str(error)
        else:
            if keys:
                self.type(keys)

    def type(self, keys: bytes) -> None:
        """Press keys."""
        self._deadline = time.monotonic() + STALL_SECONDS
        try:
            os.write(self.fd, keys)
        except OSError:
            self.trouble = "the program ended in the middle of its game"

    def check_time(self) -> None:
        """Give up on a program that has not come to its next question in time."""
        if not self.rests and time.monotonic() > self._deadline:
            self.trouble = f"the program asked for nothing in {STALL_SECONDS:g} seconds"

    def leave(self) -> None:
        """End the program and wait until it is gone.

        On an interrupt it leaves in order; then it also writes nothing to the system's log of games.
        """
        for how in (signal.SIGINT, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, how)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(EXIT_SECONDS)
                break
        os.close(self.fd)
        for name in ("faketime_shm_{}", "sem.faketime_sem_{}"):  # a program that was killed leaves these
            Path("/dev/shm", name.format(self._process.pid)).unlink(missing_ok=True)


class Talk:
    """Our half of the conversation in one game: what to type, and the game as we follow it.

    Attributes:
        game: the game by our engine; set once the first deal is seen.
        chooses: the program waits for a choice of the agent's.
        over: the game is over, and both programs agree how.
        mask: what the agent may choose, int8[1, 20].
    """

    game: FollowedGame
    mask: np.ndarray

    def __init__(self) -> None:
        self.chooses = False
        self.over = False
        self._terminal = Terminal()
        self._last_row = FIRST_MESSAGE_ROW - 1
        self._to_crib: list[int] = []  # the second card of a discard, still to be typed
        self._theirs: list[int] = []  # what the program has laid in this deal
        self._mine: set[int] = set()  # my six
        self._turned = False

    def hear(self, data: bytes) -> bytes:
        """Take in the program's output; the keys it needs that are no choice of the agent's."""
        self._terminal.feed(data)
        prompt = waiting_prompt(self._terminal)
        if prompt is None:
            return b""
        screen = read_screen(self._terminal, prompt, self._last_row)
        self._last_row = self._terminal.row
        self._terminal.touched = False
        if screen.unexpected:
            self._differ(screen, f"it says {screen.unexpected!r}")
        self._watch_deal(screen)
        return self._answer(screen)

    def choose(self, action: int) -> bytes:
        """The agent's choice; the keys for it."""
        self.chooses = False
        if action < FIRST_PLAY:
            first, second = self.game.discard(action)
            self._to_crib = [second]
            return _card_keys(first)
        card = int(self.game.record["kept"][ME, action - FIRST_PLAY])
        self.game.lay(action)
        return _card_keys(card)

    def _answer(self, screen: Screen) -> bytes:
        if screen.prompt == LENGTH:
            return b"l"
        if screen.prompt == MORE:
            return b" "
        if screen.prompt == DISCARD:
            return _card_keys(self._to_crib.pop()) if self._to_crib else self._begin_deal(screen)
        if screen.prompt == PLAY:
            return self._continue_play(screen)
        if screen.prompt in (HAND, CRIB):
            return b"%d\n" % self._count_mine(screen)
        return self._end(screen)

    def _begin_deal(self, screen: Screen) -> bytes:
        """Six new cards: the last deal is done, both scores must agree, and the agent discards."""
        if len(set(screen.mine)) != MAX_DEALT:
            raise UnreadableScreen(f"six cards were to be dealt, the screen shows {cards_text(screen.mine)}")
        if not self._mine:
            self.game = FollowedGame(ME if screen.i_deal else THEM)
        else:
            self._catch_up(screen)
        self.game.deal(screen.mine)
        if screen.i_deal != (self.game.record["dealer"] == ME):
            self._differ(screen, f"it says that {'I deal' if screen.i_deal else 'it deals'}")
        self._check_scores(screen)
        self._mine, self._theirs, self._turned = set(screen.mine), [], False
        self._ask()
        return b""

    def _continue_play(self, screen: Screen) -> bytes:
        self._catch_up(screen)
        self._check_scores(screen)
        record = self.game.record
        if record["phase"] == OVER or self.game.mask()[0, GO] or record["to_act"] != ME:
            self._differ(screen, "it asks me for a card")
        self._ask()
        return b""

    def _ask(self) -> None:
        self.mask = self.game.mask()
        self.chooses = True

    def _watch_deal(self, screen: Screen) -> None:
        """Note the starter, the cards the program lays and the crib, as they come into sight."""
        if screen.starter is None or not self._mine:
            return
        if not self._turned:
            self.game.turn(screen.starter)
            self._turned = True
        for card in screen.table + screen.played:
            if card not in self._mine and card not in self._theirs:
                self._theirs.append(card)
        if "crib" in screen.counted:
            self.game.show_crib(screen.theirs)
        for what, points in screen.counted.items():
            cards = self._theirs if what == "hand" else screen.theirs
            ours = show_points(cards, screen.starter, what == "crib") if len(cards) == HAND_CARDS else None
            if ours != points:
                self._differ(screen, f"it counts {points} for its {what} {cards_text(cards)}, we count {ours}")

    def _count_mine(self, screen: Screen) -> int:
        """What my hand or crib is worth by our rules; the program protests if it thinks otherwise."""
        if screen.prompt == CRIB:
            self.game.show_crib(screen.mine)
        elif sorted(screen.mine) != self.game.kept():
            self._differ(screen, f"it shows my hand as {cards_text(screen.mine)}")
        return show_points(screen.mine, int(screen.starter or 0), screen.prompt == CRIB)

    def _end(self, screen: Screen) -> bytes:
        self._catch_up(screen)
        self._check_scores(screen)
        if self.game.record["phase"] != OVER:
            self._differ(screen, "it says that the game is over")
        self.over = True
        return b""

    def _catch_up(self, screen: Screen) -> None:
        self.game.note(self._theirs)
        self.game.catch_up()

    def _check_scores(self, screen: Screen) -> None:
        target = int(self.game.record["target"])
        theirs = tuple(min(score, target) for score in screen.scores)
        ours = tuple(int(s) for s in self.game.record["score"][:2])
        if theirs != ours:
            self._differ(screen, f"it scores {theirs[ME]}-{theirs[THEM]}, we score {ours[ME]}-{ours[THEM]}")

    def _differ(self, screen: Screen, how: str) -> None:
        where = self.game.describe() if self._mine else "before the first deal"
        raise NotOurRules(f"BSD cribbage and we differ: {how}; {where}; it last said {screen.messages}")


def _settle(tables: Sequence[_Table]) -> None:
    """Wait until every table rests."""
    busy = {t.fd: t for t in tables if not t.rests}
    while busy:
        ready, _, _ = select.select(list(busy), [], [], 1.0)
        for fd in ready:
            busy[fd].hear()
        for table in busy.values():
            table.check_time()
        busy = {fd: t for fd, t in busy.items() if not t.rests}


def _card_keys(card: int) -> bytes:
    return card_text(card).encode() + b"\n"


def _program_path() -> str | None:
    return next((p for p in PROGRAM_PATHS if os.access(p, os.X_OK)), None)


def _clock_path() -> str | None:
    """Where libfaketime lies: Debian's, or the one in the package of that name."""
    found = sorted(glob.glob(CLOCK_PATTERN))
    spec = importlib.util.find_spec("libfaketime")
    if spec and spec.origin:
        found += map(str, Path(spec.origin).parent.rglob("libfaketime.so.1"))
    return found[0] if found else None


def _check_clock() -> None:
    """Raise BsdTrouble unless a program believes the clock we give it.

    The loader passes over a library it cannot use; then games begun together would be one game.
    """
    told = _clock(0, 0)
    start = time.strptime(told["FAKETIME"].rsplit(" ", 1)[0], CLOCK_FORMAT)
    said = subprocess.run(["date", "+%s"], env={**os.environ, **told}, capture_output=True, text=True, check=False)
    seconds = said.stdout.strip()
    if not seconds.isdigit() or int(seconds) - calendar.timegm(start) not in range(2 * CLOCK_SECONDS):
        raise BsdTrouble(
            f"{told['LD_PRELOAD']} does not set the clock of programs here "
            f"({(said.stdout + said.stderr).strip()!r}); install Debian's package faketime"
        )


def _clock(seed: int, game: int) -> dict[str, str]:
    """Environment that gives a program its clock: it stands still, and leaps each time it is read."""
    start, leap = np.random.default_rng([seed, game]).integers(1, CLOCK_SECONDS, size=2)
    date = time.strftime(CLOCK_FORMAT, time.gmtime(int(start)))
    return {"LD_PRELOAD": str(_clock_path()), "FAKETIME": f"{date} i{leap}", "TZ": "UTC"}
