"""Who plays in a tournament: agents, and programs from outside that deal their own cards.

A player is written as `agents.make` wants it, "name=player" to give it a name, or "bsd". An outside
opponent is any object with a name and
`play_games(opponent, games, seed, rules, seconds=None) -> MatchResult`, from our agent's side, with
one game a row; "module:attribute" may name one, or what makes one. May import: agents, arena, bsd.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

import agents
from agents.base import Agent
from crib_env.rules import TARGET_POINTS, Rules
from training.arena import MatchResult


class Unavailable(RuntimeError):
    """A program from outside that this machine does not have; the message says what to install."""


@runtime_checkable
class OutsideOpponent(Protocol):
    """A program that deals its own cards."""

    name: str

    def play_games(
        self, opponent: Agent, games: int, seed: int, rules: Rules, seconds: float | None = None
    ) -> MatchResult:
        """Let our agent play; begin no game after `seconds`. A row is a game, from our agent's side."""
        ...


class BsdOpponent:
    """Debian's `cribbage` as an outside opponent.

    Raises:
        Unavailable: it is not installed.
    """

    name = "bsd"

    def __init__(self) -> None:
        from training import bsd  # noqa: PLC0415  (needs a terminal: not on every system)

        reason = bsd.missing_reason()
        if reason:
            raise Unavailable(reason)
        self._program = bsd.BsdCribbage()

    def play_games(
        self, opponent: Agent, games: int, seed: int, rules: Rules, seconds: float | None = None
    ) -> MatchResult:
        """See `OutsideOpponent`."""
        if rules.target != TARGET_POINTS:
            raise ValueError(f"bsd plays to {TARGET_POINTS} here, not to {rules.target}")
        played = self._program.play(opponent, games, seed, seconds)
        if len(played.won) == 0:
            raise RuntimeError("bsd finished no game in the time given")
        return MatchResult(
            won=played.won[:, None],
            loser_scores=played.loser_scores[:, None],
            first_dealer=played.first_dealer[:, None],
            points=played.points,
            deals=played.deals,
            target=rules.target,
            forfeits=np.zeros((len(played.won), 1), dtype=np.int8),
            dropped=len(played.dropped),
        )


OUTSIDE = {"bsd": BsdOpponent}


def load_player(text: str) -> Agent | OutsideOpponent:
    """The player that a command line names.

    Raises:
        ValueError: there is none of that name.
        Unavailable: an outside program that is not installed.
    """
    name, player = split_name(text)
    found = _load(player)
    if name:
        found.name = name
    return found


def split_name(text: str) -> tuple[str, str]:
    """("name", "player") of "name=player"; no name where there is none, or where a file is called so."""
    name, is_named, player = text.partition("=")
    return (name, player) if is_named and name and not Path(text).exists() else ("", text)


def _load(player: str) -> Any:
    if player in OUTSIDE:
        return OUTSIDE[player]()
    if ":" in player and os.sep not in player:
        found = _outside_from_module(player)
        if found is not None:
            return found
    return agents.make(player)


def _outside_from_module(player: str) -> OutsideOpponent | None:
    """The outside opponent that "module:attribute" names, or None: then it is an agent's, or nobody's."""
    module_name, _, attribute = player.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError):
        return None
    if isinstance(found, type) and hasattr(found, "play_games"):
        found = found()
    return found if not isinstance(found, type) and isinstance(found, OutsideOpponent) else None


def fingerprint(text: str) -> str:
    """What tells a player from a later one of the same name: a checkpoint's bytes, otherwise the text."""
    player = split_name(text)[1]
    path = Path(player).expanduser()
    if player in agents.names() or not path.exists():
        return player
    from agents.checkpoint import policy_file  # noqa: PLC0415  (torch only when a network plays)

    return hashlib.sha256(policy_file(path).read_bytes()).hexdigest()


def swap_sides(result: MatchResult) -> MatchResult:
    """The same match from the other player's side."""
    return replace(
        result,
        won=~result.won,
        first_dealer=~result.first_dealer,
        points=result.points[::-1].copy(),
        forfeits=np.where(result.forfeits == 0, 0, 3 - result.forfeits).astype(np.int8),
        notes=None,
        decisions=result.decisions[::-1].copy(),
        seconds=result.seconds[::-1].copy(),
    )
