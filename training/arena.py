"""Mirrored pairs: two players meet the same cards twice, with seats swapped.

Owns the playing of matches; says nothing about statistics (`stats`) or printing (`tournament`).
Games come in chunks of a fixed size with a generator each, so a result depends on seed and
pairs alone, whatever is played side by side. May import: crib_env, agents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from agents.base import Agent
from crib_env.actions import N_ACTIONS
from crib_env.batch import GameBatch
from crib_env.rules import Rules

CHUNK_PAIRS = 512
SCORED_BY = ("hand", "crib", "peg", "heels")


@dataclass(frozen=True)
class MatchResult:
    """Every game of a match, from the side of its first player, A.

    Attributes:
        won: bool[P, 2], A won; column 0 with A in seat 0, column 1 in seat 1, same cards.
        loser_scores: int16[P, 2], final score of whoever lost.
        first_dealer: bool[P, 2], A dealt first.
        points: int64[2, 4], points pegged in all by A, by B, from hand, crib, play, heels.
        deals: deals begun in all games.
        target: points a game goes to.
    """

    won: np.ndarray
    loser_scores: np.ndarray
    first_dealer: np.ndarray
    points: np.ndarray
    deals: int
    target: int

    @property
    def pairs(self) -> int:
        """How many mirrored pairs were played."""
        return len(self.won)


class IllegalPlay(RuntimeError):
    """An agent gave something that is no legal action."""


def play_match(
    a: Agent,
    b: Agent,
    pairs: int,
    seed: int = 0,
    rules: Rules | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> MatchResult:
    """Play `pairs` mirrored pairs of A against B.

    Args:
        a: first player; rates are from its side.
        b: second player.
        pairs: pairs of games, at least 1.
        seed: decides cards, first dealers and the players' own chance.
        rules: two-player rules.
        on_progress: called with the pairs done so far.
    Raises:
        ValueError: fewer than one pair.
        IllegalPlay: a player broke the rules; the message names it and the position.
    """
    if pairs < 1:
        raise ValueError(f"a match needs at least 1 pair; {pairs} came")
    rules = rules or Rules()
    parts = []
    for first in range(0, pairs, CHUNK_PAIRS):
        n = min(CHUNK_PAIRS, pairs - first)
        parts.append(_play_chunk(a, b, first, n, seed, rules))
        if on_progress:
            on_progress(first + n)
    return MatchResult(
        won=np.concatenate([p.won for p in parts]),
        loser_scores=np.concatenate([p.loser_scores for p in parts]),
        first_dealer=np.concatenate([p.first_dealer for p in parts]),
        points=np.sum([p.points for p in parts], axis=0),
        deals=sum(p.deals for p in parts),
        target=rules.target,
    )


def _play_chunk(a: Agent, b: Agent, first: int, n: int, seed: int, rules: Rules) -> MatchResult:
    """Play pairs first .. first + n - 1, both games of each side by side."""
    batches = [
        GameBatch(n, seed, rules, skip_forced=True, autoreset=False, first_game=first) for _ in range(2)
    ]  # batch k has A in seat k
    generators = [np.random.default_rng([seed & 0xFFFFFFFF, first, who]) for who in range(2)]
    while not all(batch.ended.all() for batch in batches):
        actions = [np.zeros(n, dtype=np.int64) for _ in batches]
        for who, agent in enumerate((a, b)):
            turns = [np.flatnonzero(~batch.ended & (batch.to_act == (k + who) % 2)) for k, batch in enumerate(batches)]
            if len(turns[0]) + len(turns[1]) == 0:
                continue
            views = np.concatenate([batch.views(t) for batch, t in zip(batches, turns, strict=True)])
            masks = np.concatenate([batch.masks(t) for batch, t in zip(batches, turns, strict=True)])
            chosen = checked_actions(agent, views, masks, generators[who])
            actions[0][turns[0]] = chosen[: len(turns[0])]
            actions[1][turns[1]] = chosen[len(turns[0]) :]
        for batch, chosen in zip(batches, actions, strict=True):
            batch.step(chosen)
    return _read_results(batches, n, rules)


def checked_actions(agent: Agent, views: np.ndarray, masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The agent's actions, int64[B]; IllegalPlay names the agent if they are not legal ones."""
    actions = np.asarray(agent.act(views, masks, rng))
    if actions.shape != (len(views),) or actions.dtype.kind not in "iu":
        raise IllegalPlay(
            f"agent {agent.name!r} returned {actions.dtype}{list(actions.shape)}; {len(views)} whole numbers wanted"
        )
    in_range = (actions >= 0) & (actions < N_ACTIONS)
    legal = in_range & (masks[np.arange(len(masks)), np.where(in_range, actions, 0)] == 1)
    if not legal.all():
        i = int(np.flatnonzero(~legal)[0])
        raise IllegalPlay(
            f"agent {agent.name!r} chose action {int(actions[i])} in deal {int(views[i]['deal']) + 1}; "
            f"legal were {np.flatnonzero(masks[i]).tolist()}"
        )
    return actions.astype(np.int64)


def _read_results(batches: list[GameBatch], n: int, rules: Rules) -> MatchResult:
    seats = (0, 1)
    games = [batch.games for batch in batches]
    points = np.zeros((2, len(SCORED_BY)), dtype=np.int64)
    for a_seat, g in enumerate(games):
        for who in range(2):
            heels, play_dealer, play_pone, hand_dealer, hand_pone, crib = g["tally"][:, (a_seat + who) % 2].sum(
                axis=0, dtype=np.int64
            )
            points[who] += (hand_dealer + hand_pone, crib, play_dealer + play_pone, heels)
    return MatchResult(
        won=np.stack([games[s]["winner"] == s for s in seats], axis=1),
        loser_scores=np.stack([games[s]["score"][np.arange(n), 1 - games[s]["winner"]] for s in seats], axis=1),
        first_dealer=np.stack([games[s]["first_dealer"] == s for s in seats], axis=1),
        points=points,
        deals=int(sum((g["deal"] + 1).sum() for g in games)),
        target=rules.target,
    )
