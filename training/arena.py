"""Mirrored pairs: two players meet the same cards twice, with seats swapped.

Owns the playing of matches in this process; `workers` spreads them over several. Says nothing
about statistics (`stats`) or printing (`report`). Games come in chunks of a fixed size with
generators of their own, so a result depends on seed and pairs alone, whatever is played side by
side and wherever. May import: crib_env, agents, ledger.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from agents.base import Agent
from crib_env.actions import N_ACTIONS
from crib_env.batch import GameBatch
from crib_env.rules import Rules
from training.ledger import Ledger, Notes, empty_notes, join_notes, merge_ledgers

CHUNK_PAIRS = 250
SCORED_BY = ("hand", "crib", "peg", "heels")
FORFEIT = -1  # stands where an action would
NOBODY, BY_A, BY_B = 0, 1, 2  # who forfeited a game


@dataclass(frozen=True)
class MatchResult:
    """Every game of a match, from the side of its first player, A. A row is a pair.

    In a match against a program that deals its own cards a row is one game, and K is 1.

    Attributes:
        won: bool[P, K], A won; column 0 with A in seat 0, column 1 in seat 1, same cards.
        loser_scores: int16[P, K], final score of whoever lost.
        first_dealer: bool[P, K], A dealt first.
        points: int64[2, 4], points pegged in all by A, by B, from hand, crib, play, heels.
        deals: deals begun in all games.
        target: points a game goes to.
        forfeits: int8[P, K], 0, or 1 where A forfeited the game, 2 where B did.
        notes: points by role, discards and luck; None where they were not taken.
        decisions: int64[2], how many choices A and B were asked for.
        seconds: float64[2], how long they thought: the one figure that is not repeatable.
        dropped: games begun that an outside program broke off; they do not count.
    """

    won: np.ndarray
    loser_scores: np.ndarray
    first_dealer: np.ndarray
    points: np.ndarray
    deals: int
    target: int
    forfeits: np.ndarray
    notes: Notes | None = None
    decisions: np.ndarray = field(default_factory=lambda: np.zeros(2, dtype=np.int64))
    seconds: np.ndarray = field(default_factory=lambda: np.zeros(2))
    dropped: int = 0

    @property
    def pairs(self) -> int:
        """How many rows there are: mirrored pairs, or single games."""
        return len(self.won)

    @property
    def mirrored(self) -> bool:
        """Whether every deal was played twice, with seats swapped."""
        return self.won.shape[1] == 2


class AgentFault(RuntimeError):
    """An agent did what no player may; the message names it."""


class IllegalPlay(AgentFault):
    """An agent gave something that is no legal action."""


def play_match(
    a: Agent,
    b: Agent,
    pairs: int,
    seed: int = 0,
    rules: Rules | None = None,
    on_progress: Callable[[int], None] | None = None,
    forfeit: bool = False,
) -> MatchResult:
    """Play `pairs` mirrored pairs of A against B.

    Args:
        a: first player; rates are from its side.
        b: second player.
        pairs: pairs of games, at least 1.
        seed: decides cards, first dealers and the players' own chance.
        rules: two-player rules.
        on_progress: called with the pairs done so far.
        forfeit: an agent at fault loses the game it could not go on with; else the match stops.
    Raises:
        ValueError: fewer than one pair.
        AgentFault: a player raised an error or broke the rules; the message names it.
    """
    rules = rules or Rules()
    parts = []
    for first, n in chunks(pairs):
        parts.append(play_chunk(a, b, first, n, seed, rules, forfeit))
        if on_progress:
            on_progress(first + n)
    return join_results(parts)


def chunks(pairs: int) -> list[tuple[int, int]]:
    """First pair and number of pairs of each stretch that is played as one batch.

    Raises:
        ValueError: fewer than one pair.
    """
    if pairs < 1:
        raise ValueError(f"a match needs at least 1 pair; {pairs} came")
    return [(first, min(CHUNK_PAIRS, pairs - first)) for first in range(0, pairs, CHUNK_PAIRS)]


def join_results(parts: list[MatchResult]) -> MatchResult:
    """Stretches of one match, in order, as one result."""
    notes = [p.notes for p in parts if p.notes is not None]
    return MatchResult(
        won=np.concatenate([p.won for p in parts]),
        loser_scores=np.concatenate([p.loser_scores for p in parts]),
        first_dealer=np.concatenate([p.first_dealer for p in parts]),
        points=np.sum([p.points for p in parts], axis=0),
        deals=sum(p.deals for p in parts),
        target=parts[0].target,
        forfeits=np.concatenate([p.forfeits for p in parts]),
        notes=join_notes(notes) if len(notes) == len(parts) else None,
        decisions=np.sum([p.decisions for p in parts], axis=0),
        seconds=np.sum([p.seconds for p in parts], axis=0),
        dropped=sum(p.dropped for p in parts),
    )


def play_chunk(
    a: Agent,
    b: Agent,
    first: int,
    n: int,
    seed: int,
    rules: Rules,
    forfeit: bool = False,
    logs: list[list[list[int]]] | None = None,
) -> MatchResult:
    """Play pairs first .. first + n - 1, both games of each side by side.

    `logs`, if given, gets for each game of each of its rows the actions chosen: logs[pair][k].
    """
    table = _Table(first, n, seed, rules)
    generators = [np.random.default_rng([seed & 0xFFFFFFFF, first, who]) for who in range(2)]
    while not table.ended:
        for who, agent in enumerate((a, b)):
            views, masks = table.ask(who)
            if len(views):
                began = time.perf_counter()
                chosen = choose(agent, views, masks, generators[who], forfeit)
                table.seconds[who] += time.perf_counter() - began
                table.answer(who, chosen)
        table.step(logs)
    return table.result()


class _Table:
    """The games of a chunk: batch k has A in seat k."""

    def __init__(self, first: int, n: int, seed: int, rules: Rules) -> None:
        batches = [GameBatch(n, seed, rules, skip_forced=True, autoreset=False, first_game=first) for _ in range(2)]
        self.batches = batches
        self.ledgers = Ledger(batches[0].games), Ledger(batches[1].games)
        self.seconds = np.zeros(2)
        self._rules = rules
        self._decisions = np.zeros(2, dtype=np.int64)
        self._forfeits = np.zeros((n, 2), dtype=np.int8)
        self._actions = np.full((2, n), FORFEIT, dtype=np.int64)
        self._turns: list[np.ndarray] = []

    @property
    def ended(self) -> bool:
        """Whether every game is over."""
        return all(batch.ended.all() for batch in self.batches)

    def ask(self, who: int) -> tuple[np.ndarray, np.ndarray]:
        """Views and masks of every game that waits for player `who` (0 is A)."""
        self._turns = [
            np.flatnonzero(~batch.ended & (batch.to_act == (k + who) % 2)) for k, batch in enumerate(self.batches)
        ]
        turns = list(zip(self.batches, self._turns, strict=True))
        views = np.concatenate([batch.views(t) for batch, t in turns])
        masks = np.concatenate([batch.masks(t) for batch, t in turns])
        return views, masks

    def answer(self, who: int, chosen: np.ndarray) -> None:
        """Take player `who`'s answer to what it was last asked; a forfeited game ends."""
        self._decisions[who] += len(chosen)
        answers = np.split(chosen, [len(self._turns[0])])
        for k, (turns, actions) in enumerate(zip(self._turns, answers, strict=True)):
            self._actions[k, turns] = actions
            lost = turns[actions == FORFEIT]
            self._forfeits[lost, k] = BY_A + who
            self.batches[k].ended[lost] = True

    def step(self, logs: list[list[list[int]]] | None) -> None:
        """Play what was chosen in every game that goes on."""
        for k, (batch, ledger) in enumerate(zip(self.batches, self.ledgers, strict=True)):
            for pair, log in enumerate(logs or ()):
                if not batch.ended[pair]:
                    log[k].append(int(self._actions[k, pair]))
            batch.step(self._actions[k])
            ledger.note()

    def result(self) -> MatchResult:
        """What came of it."""
        games = [batch.games for batch in self.batches]
        forfeits = self._forfeits
        winners = np.stack([np.where(g["winner"] == k, 0, 1) for k, g in enumerate(games)], axis=1)  # 0 is A
        winners = np.where(forfeits == NOBODY, winners, BY_B - forfeits)
        scores = np.stack([g["score"][:, [k, 1 - k]] for k, g in enumerate(games)], axis=1)  # [n, game, player]
        return MatchResult(
            won=winners == 0,
            loser_scores=np.take_along_axis(scores, 1 - winners[..., None], axis=2)[..., 0],
            first_dealer=np.stack([g["first_dealer"] == k for k, g in enumerate(games)], axis=1),
            points=_points_pegged(games),
            deals=int(sum((g["deal"] + 1).sum() for g in games)),
            target=self._rules.target,
            forfeits=forfeits,
            notes=merge_ledgers(self.ledgers),
            decisions=self._decisions,
            seconds=self.seconds,
        )


def _points_pegged(games: list[np.ndarray]) -> np.ndarray:
    """Points of A and of B by `SCORED_BY`: int64[2, 4]; in games[k] A sits in seat k."""
    points = np.zeros((2, len(SCORED_BY)), dtype=np.int64)
    for k, g in enumerate(games):
        for who in range(2):
            heels, play_dealer, play_pone, hand_dealer, hand_pone, crib = g["tally"][:, (k + who) % 2].sum(
                axis=0, dtype=np.int64
            )
            points[who] += (hand_dealer + hand_pone, crib, play_dealer + play_pone, heels)
    return points


def forfeited_chunk(who: int, n: int, rules: Rules) -> MatchResult:
    """A chunk that player `who` (0 is A) lost without playing on: nothing else is known of it."""
    return MatchResult(
        won=np.full((n, 2), who == 1),
        loser_scores=np.zeros((n, 2), dtype=np.int16),
        first_dealer=np.zeros((n, 2), dtype=np.bool_),
        points=np.zeros((2, len(SCORED_BY)), dtype=np.int64),
        deals=0,
        target=rules.target,
        forfeits=np.full((n, 2), BY_A + who, dtype=np.int8),
        notes=empty_notes(n),
    )


def choose(agent: Agent, views: np.ndarray, masks: np.ndarray, rng: np.random.Generator, forfeit: bool) -> np.ndarray:
    """The agent's actions, int64[B].

    With `forfeit`, FORFEIT stands for each view it has no legal answer to: a batch it fails on is
    halved until the views it fails on are alone.
    """
    try:
        return checked_actions(agent, views, masks, rng)
    except AgentFault:
        if not forfeit:
            raise
    if len(views) == 1:
        return np.array([FORFEIT], dtype=np.int64)
    half = len(views) // 2
    parts = [(views[:half], masks[:half]), (views[half:], masks[half:])]
    return np.concatenate([choose(agent, v, m, rng, forfeit) for v, m in parts])


def checked_actions(agent: Agent, views: np.ndarray, masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The agent's actions, int64[B]; AgentFault names the agent if it fails or they are not legal ones."""
    try:
        actions = np.asarray(agent.act(views, masks.copy(), rng))  # a copy: what is legal is not the agent's to say
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit too: an agent may not end the match
        what = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise AgentFault(f"agent {agent.name!r} failed: {what}") from error
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
