"""GameBatch: many games with both seats yours. The one stateful facade that training uses.

Owns the records and reusable buffers, and nothing of the rules.
May import: cards, rules, rng, actions, state, engine, view, encoding, rewards, game (for its checks).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from crib_env.actions import GO, N_ACTIONS, legal_bits, name_action, write_mask
from crib_env.encoding import encode_places, encode_view, n_features
from crib_env.engine import DRAWN, apply, apply_forced, start_game
from crib_env.game import check_scores
from crib_env.rewards import check_reward, mean_show, outcome, play_lead, potential
from crib_env.rules import MAX_PLAYERS, Rules
from crib_env.state import DISCARD, OVER, PLAY, TALLIES, new_records
from crib_env.values import crib_table
from crib_env.view import look, new_views

EPISODES = ("game", "deal")
_CHANGING = ("episodes", "ended", "tally", "deals_ended", "_scores")


class GameBatch:
    """`n` games side by side, each waiting for the decision of its seat `to_act[i]`.

    Slot i plays game i of the seed, then game i + n, i + 2n, ... (from `first_game` on): what is dealt never depends on
    n or on what was played, and game 7 is the same in a batch of 1 and of 4,096.

    Args:
        n: number of games.
        seed: any integer; decides cards and first dealers.
        rules: the table's choices.
        episode: "game", or "deal": an episode ends with the show of its first deal.
        reward: "win", "points" or, with two sides, "match" (see `rewards`).
        mean_show: with "points": heels and the show are paid when the last discard is made, at
            their mean over the starters (see `rewards`); less luck, for learning on deals.
        shaping: weight of the score potential in "win" and "match".
        skip_forced: the engine makes every move that is the only legal one; views and records
            still show it.
        dealer: seat that deals first; None lets the seed draw it.
        start_scores: two ints, where every episode begins; None is 0-0. `draw_scores` varies it.
        first_game: number of the game in slot 0.
        autoreset: when an episode ends, `step` starts the slot's next one at once.
    Attributes:
        side_rewards: float32[n, sides], what each side gained by the last step: zero-sum in each
            row, column 0 is what `step` returns. A buffer.
    Raises:
        ValueError: an argument outside what is allowed.
    """

    def __init__(
        self,
        n: int,
        seed: int = 0,
        rules: Rules | None = None,
        *,
        episode: str = "game",
        reward: str = "win",
        mean_show: bool = False,
        shaping: float = 0.0,
        skip_forced: bool = False,
        dealer: int | None = None,
        start_scores: Sequence[int] | None = None,
        autoreset: bool = True,
        first_game: int = 0,
    ) -> None:
        self.rules = rules or Rules()
        if n < 1:
            raise ValueError(f"GameBatch(n={n}): at least one game is needed")
        if episode not in EPISODES:
            raise ValueError(f"unknown episode {episode!r}: allowed are {', '.join(EPISODES)}")
        if dealer is not None and dealer not in range(self.rules.players):
            raise ValueError(f"dealer {dealer!r}: allowed are seats 0..{self.rules.players - 1}, or None to draw it")
        if mean_show and (reward != "points" or self.rules.players != 2):
            raise ValueError("mean_show goes with reward='points' and two players")
        self.n = n
        self.seed = seed
        self.episode = episode
        self.skip_forced = skip_forced
        self.autoreset = autoreset
        self.first_game = int(first_game)
        self._reward = check_reward(reward, self.rules.sides)
        self._mean_show = bool(mean_show)
        self._shaping = float(shaping)
        self._dealer = DRAWN if dealer is None else dealer
        self._scores = np.tile(np.array(check_scores(start_scores, self.rules), dtype=np.int16), (n, 1))
        self.games = new_records(n, self.rules, seed)
        self.episodes = np.zeros(n, dtype=np.int64)  # finished or begun before the present one, by slot
        self.rewards = np.zeros(n, dtype=np.float32)
        self.side_rewards = np.zeros((n, self.rules.sides), dtype=np.float32)
        self.dones = np.zeros(n, dtype=np.bool_)
        self.ended = np.zeros(n, dtype=np.bool_)  # episode over and, without autoreset, none begun since
        self.to_act = np.zeros(n, dtype=np.int64)
        self.tally = np.zeros(len(TALLIES), dtype=np.int64)  # points pegged in ended episodes, by source
        self.deals_ended = np.zeros(1, dtype=np.int64)  # how many deals those had
        self._views = new_views(n)
        self._bits = np.zeros(n, dtype=np.int64)
        self.reset()

    def reset(self) -> None:
        """Begin again with the first game of every slot."""
        self.episodes[:] = 0
        self._start(np.arange(self.n))
        self.rewards[:] = 0
        self.side_rewards[:] = 0
        self.dones[:] = False
        self.ended[:] = False
        self._refresh()

    def reset_slots(self, slots: np.ndarray, scores: np.ndarray | None = None) -> None:
        """Start the next episode in some slots.

        Args:
            slots: int[K], slot numbers.
            scores: int[K, 2], where these episodes begin; None keeps the slot's present start.
        """
        if scores is not None:
            self._scores[slots] = [check_scores(row, self.rules) for row in scores]
        self.episodes[slots] += 1
        self._start(np.asarray(slots, dtype=np.int64))
        self.ended[slots] = False
        self._refresh()

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Take one action in every game whose episode goes on.

        Args:
            actions: int[n], the action of seat `to_act[i]` in game i; ignored where `ended[i]`.
        Returns:
            rewards float32[n], what side 0 gained by it (the other of two sides the negative; for
            three see `side_rewards`), and dones bool[n], True where the episode ended with this
            step. Both are buffers, overwritten next time.
        Raises:
            ValueError: wrong shape or dtype, or an illegal action; then no game was touched.
        """
        actions = self._check_actions(actions)
        step_many(
            self.games, actions, self.ended, self.episode == "deal", self.skip_forced,
            self._reward, self._mean_show, self._shaping, self.rewards, self.side_rewards, self.dones,
        )  # fmt: skip
        if self.dones.any():
            self._end_episodes(np.flatnonzero(self.dones))
        self._refresh()
        return self.rewards, self.dones

    def observe(self, encoding: str = "rich", out=None, masks=None) -> tuple[np.ndarray, np.ndarray]:
        """Observation and mask of the seat to act in every game.

        Args:
            encoding: "raw" or "rich".
            out: float32[n, F] to write into, or None for a new array.
            masks: int8[n, 20] likewise.
        Raises:
            ValueError: unknown encoding.
        """
        size = n_features(encoding, self.rules.players)
        out = np.empty((self.n, size), dtype=np.float32) if out is None else out
        masks = np.empty((self.n, N_ACTIONS), dtype=np.int8) if masks is None else masks
        if self.rules.players == 2:
            observe_many(self.games, self._views, encoding == "rich", crib_table(), out, masks)
        else:
            observe_many_places(self.games, self._views, encoding == "rich", out, masks)
        return out, masks

    def views(self, slots: np.ndarray | None = None) -> np.ndarray:
        """VIEW[K] of the seats to act, in some slots or (None) in all. A new array."""
        slots = np.arange(self.n) if slots is None else np.asarray(slots, dtype=np.int64)
        views = new_views(len(slots))
        look_slots(self.games, slots, views)
        return views

    def masks(self, slots: np.ndarray | None = None) -> np.ndarray:
        """int8[K, 20] legal masks of the seats to act, in some slots or in all. A new array.

        A finished game's mask has go alone, as `write_mask` leaves it.
        """
        bits = self._bits if slots is None else self._bits[slots]
        bits = np.where(bits == 0, 1 << GO, bits)
        return (bits[:, None] >> np.arange(N_ACTIONS) & 1).astype(np.int8)

    def _end_episodes(self, finished: np.ndarray) -> None:
        games = self.games[finished]
        self.tally += games["tally"].sum(axis=(0, 1), dtype=np.int64)
        self.deals_ended += (games["deal"] + (games["phase"] == OVER)).sum()
        if self.autoreset:
            self.episodes[finished] += 1
            self._start(finished)
        else:
            self.ended[finished] = True

    def _start(self, slots: np.ndarray) -> None:
        start_slots(self.games, slots, self.first_game, self.episodes, self._dealer, self._scores)

    def snapshot(self) -> dict[str, np.ndarray]:
        """Copies of all that changes as games go on, for `restore` in a batch made alike."""
        return {name: getattr(self, name).copy() for name in _CHANGING} | {"games": self.games.view(np.uint8).copy()}

    def restore(self, snapshot: dict[str, np.ndarray]) -> None:
        """Go on from a snapshot.

        Raises:
            ValueError: it was taken from a batch of another size or another release's record.
        """
        games = snapshot["games"]
        if games.dtype != np.uint8 or games.size != self.games.nbytes:
            raise ValueError(f"snapshot of {games.size} bytes; {self.n} games here take {self.games.nbytes}")
        self.games[:] = games.view(self.games.dtype)
        for name in _CHANGING:
            getattr(self, name)[:] = snapshot[name]
        self._refresh()

    def _refresh(self) -> None:
        refresh(self.games, self.to_act, self._bits)

    def _check_actions(self, actions: np.ndarray) -> np.ndarray:
        actions = np.asarray(actions)
        if actions.shape != (self.n,) or actions.dtype.kind not in "iu":
            raise ValueError(f"actions: {actions.dtype}{list(actions.shape)} came; step wants whole numbers [{self.n}]")
        actions = np.array(actions, dtype=np.int64)  # contiguous: strided input would compile a second time
        slot = first_illegal(self._bits, actions, self.ended)
        if slot >= 0:
            raise ValueError(self._describe_illegal(slot, int(actions[slot])))
        return actions

    def _describe_illegal(self, slot: int, action: int) -> str:
        g = self.games[slot]
        legal = [a for a in range(N_ACTIONS) if self._bits[slot] >> a & 1]
        return (
            f"illegal action {action} ({name_action(action)}) in slot {slot} at deal {int(g['deal']) + 1}, "
            f"count {int(g['count'])}, seat {int(g['to_act'])} to act: legal are {legal}; nothing was played"
        )


@njit(cache=True)
def start_slots(games, slots, first_game, episodes, dealer, scores):
    """Start game first_game + slot + n * episode in each of `slots`, from scores[slot]."""
    for slot in slots:
        g = games[slot]
        start_game(g, first_game + slot + len(games) * episodes[slot], dealer)
        for side in range(g.sides):
            g.score[side] = scores[slot, side]
            g.back[side] = scores[slot, side]


@njit(cache=True)
def step_many(games, actions, ended, deal_episodes, skip_forced, kind, mean, shaping, rewards, side_rewards, dones):
    """Apply one legal action in each game whose episode goes on; write rewards and dones."""
    before = np.zeros(MAX_PLAYERS)
    for i in range(len(games)):
        g = games[i]
        rewards[i] = 0
        side_rewards[i] = 0
        dones[i] = False
        if ended[i]:
            continue
        before[0] = play_lead(g) if mean else potential(g, kind, shaping, 0)
        for side in range(2, g.sides):
            before[side] = potential(g, kind, shaping, side)
        deal = g.deal
        discarding = g.phase == DISCARD
        apply(g, actions[i])
        if skip_forced:
            apply_forced(g)
        dones[i] = g.phase == OVER or (deal_episodes and g.deal != deal)
        if mean:
            rewards[i] = play_lead(g) - before[0]
            if discarding and g.phase == PLAY:
                rewards[i] += mean_show(g)
        else:
            rewards[i] = outcome(g, kind, 0) + potential(g, kind, shaping, 0) - before[0]
        side_rewards[i, 0] = rewards[i]
        side_rewards[i, 1] = -rewards[i]
        for side in range(2, g.sides):
            side_rewards[i, side] = outcome(g, kind, side) + potential(g, kind, shaping, side) - before[side]
            side_rewards[i, 1] -= side_rewards[i, side]  # zero-sum


@njit(cache=True)
def observe_many(games, views, rich, table, out, masks):
    """View, features and mask of each two-player game's seat to act."""
    for i in range(len(games)):
        look(games[i], games[i].to_act, views[i])
        encode_view(views[i], rich, table, out[i])
        write_mask(legal_bits(games[i]), masks[i])


@njit(cache=True)
def observe_many_places(games, views, rich, out, masks):
    """`observe_many` with three or four players."""
    for i in range(len(games)):
        look(games[i], games[i].to_act, views[i])
        encode_places(views[i], rich, out[i])
        write_mask(legal_bits(games[i]), masks[i])


@njit(cache=True)
def look_slots(games, slots, views):
    """views[k] = what the seat to act knows in games[slots[k]]."""
    for k in range(len(slots)):
        look(games[slots[k]], games[slots[k]].to_act, views[k])


@njit(cache=True)
def refresh(games, to_act, bits):
    """Read out who is to act, and what is legal, in every game."""
    for i in range(len(games)):
        to_act[i] = games[i].to_act
        bits[i] = legal_bits(games[i])


@njit(cache=True)
def first_illegal(bits, actions, ended):
    """First slot whose action is not legal, or -1; slots whose episode is over are passed over."""
    for i in range(len(actions)):
        if not ended[i] and (actions[i] < 0 or actions[i] > 63 or not bits[i] >> actions[i] & 1):
            return i
    return -1
