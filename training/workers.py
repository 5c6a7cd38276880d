"""Chunks of matches played in processes of their own, so that no player can do harm.

A player is made from its text in the process that plays it. One that raises, breaks the rules,
thinks for too long or ends the process is named in a `Fault`; the process is replaced and the other
chunks go on. Which process plays a chunk changes nothing in its result.
May import: crib_env, agents, arena, players, records.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

import agents
from agents.base import Agent
from crib_env.rules import Rules
from training.arena import AgentFault, MatchResult, play_chunk, play_match
from training.players import OutsideOpponent, Unavailable, fingerprint, load_player, swap_sides
from training.records import game_record

LOAD_SECONDS = 300.0  # for making a player, where thinking time is limited: a first one compiles
_POLL_SECONDS = 0.1
_NOBODY = -1.0


@dataclass(frozen=True)
class Meet:
    """Task: make a player, and say what it is called."""

    player: str

    @property
    def players(self) -> tuple[str, ...]:
        """Texts of those who may be at fault."""
        return (self.player,)


@dataclass(frozen=True)
class Met:
    """Who was met. `missing` says why an outside program cannot play; None where it can."""

    name: str
    fingerprint: str
    outside: bool
    missing: str | None = None


@dataclass(frozen=True)
class Chunk:
    """Task: play pairs first .. first + n - 1 of a match, or `n` games against an outside program.

    Attributes:
        match: places of the two players in the tournament.
        players: their texts; names: what they are called.
        forfeit: a player at fault loses the game it could not go on with.
        recorded: games of this many pairs, from the match's first on, are written down.
        seconds: an outside program begins no game after so long.
    """

    match: tuple[int, int]
    players: tuple[str, str]
    names: tuple[str, str]
    first: int
    n: int
    seed: int
    rules: Rules
    forfeit: bool = False
    recorded: int = 0
    seconds: float | None = None


@dataclass(frozen=True)
class Played:
    """A chunk's result, and the records of its games that were asked for, by (pair, game)."""

    result: MatchResult
    records: dict[tuple[int, int], str] = field(default_factory=dict)


@dataclass(frozen=True)
class Fault:
    """Why a task came to nothing: one line that names the player, and its place in the task."""

    said: str
    who: int | None = None


Task = Meet | Chunk
Outcome = Met | Played | Fault


class WorkerLost(RuntimeError):
    """A process ended while no player had the turn."""


class Workers:
    """Processes that do tasks; as many as there is work for, up to a number.

    Args:
        processes: how many at the most.
        time_limit: seconds a player may take for one batch of decisions; None is any time.
    """

    def __init__(self, processes: int, time_limit: float | None = None) -> None:
        self._most = processes
        self._limit = time_limit
        self._staff: list[_Worker] = []

    def __enter__(self) -> Workers:
        """Nothing is started before there is a task."""
        return self

    def __exit__(self, *exception: object) -> None:
        """End every process, whatever it does."""
        for worker in self._staff:
            worker.end()
        self._staff.clear()

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Outcome]]:
        """Do tasks and give outcomes as they come; the next task is asked for when somebody is free."""
        waiting = iter(tasks)
        more = True
        while True:
            while more and (worker := self._free()) is not None:
                task = next(waiting, None)
                more = task is not None
                if task is not None:
                    worker.begin(task)
            busy = [worker for worker in self._staff if worker.task is not None]
            if not busy:
                return
            wait([worker.pipe for worker in busy], timeout=_POLL_SECONDS)
            for worker in busy:
                outcome = worker.look()
                if outcome is not None:
                    task, worker.task = worker.task, None
                    if not worker.alive:
                        self._staff.remove(worker)
                    assert task is not None
                    yield task, outcome

    def _free(self) -> _Worker | None:
        """A process without a task, a new one if need be; None when all are busy."""
        for worker in self._staff:
            if worker.task is None:
                return worker
        if len(self._staff) == self._most:
            return None
        self._staff.append(_Worker(self._limit))
        return self._staff[-1]


class _Worker:
    """The parent's end of one process."""

    def __init__(self, limit: float | None) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.task: Task | None = None
        self.alive = True
        self._watch = context.RawArray("d", [_NOBODY, 0.0])  # who has the turn, and until when
        self._process = context.Process(target=work, args=(theirs, self._watch, limit), daemon=True)
        self._process.start()
        theirs.close()  # or its end would never be heard of

    def begin(self, task: Task) -> None:
        """Hand a task over."""
        self.task = task
        with contextlib.suppress(OSError):  # it has ended: `look` finds out
            self.pipe.send(task)

    def look(self) -> Outcome | None:
        """The task's outcome, if there is one by now."""
        try:
            if self.pipe.poll():
                return self.pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            return self._blame(f"ended the process ({_exit_text(self._process.exitcode)})")
        who, until = self._watch
        if who != _NOBODY and time.monotonic() > until:
            return self._blame("did not answer in time")
        return None

    def end(self) -> None:
        """End the process."""
        self.alive = False
        self._process.kill()
        self._process.join()
        self.pipe.close()

    def _blame(self, what: str) -> Fault:
        """The fault of whoever has the turn; the process ends with it."""
        who = int(self._watch[0])
        self.end()
        if who == _NOBODY:
            raise WorkerLost(f"a playing process {what} while no agent had the turn")
        assert self.task is not None
        names = self.task.names if isinstance(self.task, Chunk) else self.task.players
        return Fault(f"agent {names[who]!r} {what}", who)


def _exit_text(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"status {code}"


def work(pipe: Connection, watch: Any, limit: float | None) -> None:
    """A process's life: do tasks until there are none, or nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    desk = _Desk(watch, limit)
    with contextlib.suppress(EOFError, OSError):
        while True:
            pipe.send(desk.perform(pipe.recv()))


class _Desk:
    """The process's own end: the players made so far, and the watch that the parent reads."""

    def __init__(self, watch: Any, limit: float | None) -> None:
        self._watch = watch
        self._limit = limit
        self._players: dict[str, Agent | OutsideOpponent] = {}
        if limit is not None:
            _compile()  # so that no player's time is spent on it

    def perform(self, task: Task) -> Outcome:
        """Do a task; whatever goes wrong becomes a Fault."""
        try:
            return self._meet(task) if isinstance(task, Meet) else self._play(task)
        except Exception as error:
            self.end_turn()
            return Fault(" ".join(str(error).split()) or type(error).__name__)

    def _meet(self, task: Meet) -> Met:
        try:
            player = self._player(task.player, 0)
        except Unavailable as error:
            return Met(task.player, task.player, True, " ".join(str(error).split()))
        return Met(player.name, fingerprint(task.player), isinstance(player, OutsideOpponent))

    def _player(self, text: str, who: int) -> Agent | OutsideOpponent:
        if text not in self._players:
            self._begin(who, None if self._limit is None else max(self._limit, LOAD_SECONDS))
            try:
                self._players[text] = load_player(text)
            except SystemExit as error:
                raise AgentFault(f"agent {text!r} failed: SystemExit: {error}") from error
            self.end_turn()
            if "torch" in sys.modules:  # a network came with it
                sys.modules["torch"].set_num_threads(1)
        return self._players[text]

    def _play(self, task: Chunk) -> Played:
        players = [self._player(text, who) for who, text in enumerate(task.players)]
        outside = [isinstance(player, OutsideOpponent) for player in players]
        if any(outside):
            return self._play_outside(task, players, outside.index(True))
        a, b = (_Watched(player, task.names[who], who, self) for who, player in enumerate(players))
        logs: list[list[list[int]]] = [[[], []] for _ in range(min(task.n, task.recorded - task.first))]
        result = play_chunk(a, b, task.first, task.n, task.seed, task.rules, task.forfeit, logs)
        return Played(result, _records(task, logs))

    def _play_outside(self, task: Chunk, players: list[Any], where: int) -> Played:
        ours = _Watched(players[1 - where], task.names[1 - where], 1 - where, self)
        result = players[where].play_games(ours, task.n, task.seed, task.rules, task.seconds)
        return Played(swap_sides(result) if where == 0 else result)

    def begin_turn(self, who: int) -> None:
        """Note who has the turn, and until when."""
        self._begin(who, self._limit)

    def _begin(self, who: int, seconds: float | None) -> None:
        self._watch[1] = float("inf") if seconds is None else time.monotonic() + seconds
        self._watch[0] = who  # last: the parent may look in between

    def end_turn(self) -> None:
        """Nobody has the turn."""
        self._watch[0] = _NOBODY


class _Watched:
    """A player whose turns are noted where the parent process sees them."""

    def __init__(self, player: Any, name: str, who: int, desk: _Desk) -> None:
        self.name = name
        self._player = player
        self._who = who
        self._desk = desk

    def act(self, views: np.ndarray, masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See `Agent.act`."""
        self._desk.begin_turn(self._who)
        try:
            return self._player.act(views, masks, rng)
        except KeyboardInterrupt as error:  # its own: Ctrl-C does not come here
            raise RuntimeError("KeyboardInterrupt") from error
        finally:
            self._desk.end_turn()


def _records(task: Chunk, logs: list[list[list[int]]]) -> dict[tuple[int, int], str]:
    """In game k of a pair A sits in seat k."""
    return {
        (task.first + pair, k): game_record(
            task.seed, task.first + pair, task.rules, (task.names[k], task.names[1 - k]), log[k]
        )
        for pair, log in enumerate(logs)
        for k in range(2)
    }


def _compile() -> None:
    """Let Numba compile the game and the scripted bots; at once where its cache is filled."""
    bots = [agents.make(name) for name in agents.SCRIPTED]
    for bot in bots:
        play_match(bot, bots[0], 1)


def cores() -> int:
    """How many processes this machine runs side by side."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
