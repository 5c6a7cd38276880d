"""Matches round a table of three or four: one side is A's, every other B's, and A moves on.

The same cards are played once with A on each side: what is luck of the cards falls to all alike.
Two players have `arena`, which tells more. May import: crib_env, agents, arena, stats.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.base import Agent
from crib_env.batch import GameBatch
from crib_env.rules import Rules
from training.arena import checked_actions, chunks
from training.stats import Interval, mean_interval


@dataclass(frozen=True)
class TableSummary:
    """A match round tables in figures.

    Attributes:
        rounds: how many games of cards were dealt; each was played once with A on each side.
        games: rounds times sides.
        win_rate: share of games A's side won, 0..1.
        ci95: its 95 % interval, from rounds.
        equal_share: what A would win if it were B: 1/2 or, with three sides, 1/3.
        points_per_deal: points pegged a deal begun by A's side, and by one of B's.
    """

    rounds: int
    games: int
    win_rate: float
    ci95: Interval
    equal_share: float
    points_per_deal: tuple[float, float]


def play_tables(a: Agent, b: Agent, rounds: int, seed: int, rules: Rules) -> TableSummary:
    """Play `rounds` games of cards, each once with A on every side against B on all others.

    Raises:
        ValueError: fewer than one round.
        AgentFault: a player raised an error or broke the rules; the message names it.
    """
    played = [_play_chunk(a, b, first, n, seed, rules) for first, n in chunks(rounds)]
    games = np.concatenate(played, axis=1)  # GAME[sides, rounds]
    places = np.arange(rules.sides)
    won = games["winner"] == places[:, None]
    scores = games["score"][:, :, : rules.sides].sum(axis=1, dtype=np.int64)  # [A's side, side]
    mine = int(np.trace(scores))
    deals = int((games["deal"] + 1).sum(dtype=np.int64))
    return TableSummary(
        rounds=rounds,
        games=won.size,
        win_rate=float(won.mean()),
        ci95=mean_interval(won.mean(axis=0)),
        equal_share=1 / rules.sides,
        points_per_deal=(mine / deals, (int(scores.sum()) - mine) / (rules.sides - 1) / deals),
    )


def _play_chunk(a: Agent, b: Agent, first: int, n: int, seed: int, rules: Rules) -> np.ndarray:
    """Games first .. first + n - 1, finished, with A on each side: GAME[sides, n]."""
    batches = [
        GameBatch(n, seed, rules, skip_forced=True, autoreset=False, first_game=first) for _ in range(rules.sides)
    ]
    generators = [np.random.default_rng([seed & 0xFFFFFFFF, first, who]) for who in range(2)]
    while not all(batch.ended.all() for batch in batches):
        actions = [np.zeros(n, dtype=np.int64) for _ in batches]
        for who, agent in enumerate((a, b)):
            turns = [
                np.flatnonzero(~batch.ended & ((batch.to_act % rules.sides != side) == who))
                for side, batch in enumerate(batches)
            ]
            _answer(agent, batches, turns, actions, generators[who])
        for batch, chosen in zip(batches, actions, strict=True):
            batch.step(chosen)
    return np.stack([batch.games for batch in batches])


def _answer(
    agent: Agent, batches: list[GameBatch], turns: list[np.ndarray], actions: list[np.ndarray], rng: np.random.Generator
) -> None:
    """Ask an agent at once for all the decisions that are its, and write them into `actions`."""
    views = np.concatenate([batch.views(slots) for batch, slots in zip(batches, turns, strict=True)])
    masks = np.concatenate([batch.masks(slots) for batch, slots in zip(batches, turns, strict=True)])
    if not len(views):
        return
    chosen = checked_actions(agent, views, masks, rng)
    ends = np.cumsum([len(slots) for slots in turns])[:-1]
    for places, slots, answer in zip(actions, turns, np.split(chosen, ends), strict=True):
        places[slots] = answer
