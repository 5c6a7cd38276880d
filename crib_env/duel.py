"""Duel: many games of a learner against one opponent, the part that both gymnasium forms share.

Who sits where, the opponent's moves, illegal actions, rewards from the learner's side. Knows
nothing of gymnasium's forms but its spaces; no rule and no rulebook number is in here.
May import: everything of crib_env but env and vector_env; `agents` only inside `make_opponent`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import logger, spaces
from numba import njit

from crib_env.actions import N_ACTIONS, N_DISCARDS, action_text, legal_bits, name_action, write_mask
from crib_env.batch import EPISODES
from crib_env.encoding import encode_view, n_features
from crib_env.engine import DRAWN, apply, apply_forced, start_game
from crib_env.game import Event, read_events
from crib_env.rewards import outcome, potential, reward_id
from crib_env.rng import stream_key, to_uint64
from crib_env.rules import TARGET_POINTS, Rules
from crib_env.state import EVENT, MAX_EVENTS, OVER, new_records
from crib_env.values import crib_table
from crib_env.view import look, new_views

ILLEGAL_ACTIONS = ("lose", "raise", "replace")
RENDER_MODES = ("ansi",)
OPTIONS = ("scores", "dealer", "seat")
OBSERVATION_RANGE = (-4.0, 8.0)  # what `encoding.encode` promises

_LEARNER_STREAM = -2  # the stream, among a game's deals, that the learner's seat is drawn from; -1 draws the dealer
_OPPONENT_STREAM = 0x0990  # keeps the opponent's chance apart from the environment's own
_HALF = np.uint64(63)


def observation_space(encoding: str, players: int = 2) -> spaces.Dict:
    """Space of one observation: features and mask.

    The mask is a Box, which every library flattens; its int8 is what `Discrete.sample` wants.
    """
    low, high = OBSERVATION_RANGE
    return spaces.Dict(
        {
            "observation": spaces.Box(low, high, (n_features(encoding, players),), np.float32),
            "action_mask": spaces.Box(0, 1, (N_ACTIONS,), np.int8),
        }
    )


def check_choice(name: str, value: Any, allowed: tuple) -> None:
    """Raise ValueError unless `value` is one of `allowed`."""
    if isinstance(value, bool) or value not in allowed:
        raise ValueError(f"{name} {value!r}: allowed are {', '.join(repr(a) for a in allowed)}")


def make_opponent(opponent: Any) -> Any:
    """The Agent that a name, path, function or Agent stands for."""
    import agents  # noqa: PLC0415  (the one import upwards: only here is a player asked for by name)

    return agents.make(opponent)


class Duel:
    """`n` games of a learner against one opponent, each resting where the learner is to act or all is over.

    Knows nothing of gymnasium's forms; both environments put their own on it.

    Args:
        n: slots.
        opponent, episode, reward, encoding, target, illegal_action, seat, dealer, skip_forced,
            shaping: as CribbageEnv.
    Attributes:
        seats: int64[n], the engine seat the learner has.
        ended: bool[n], the episode is over, or none was begun.
        observations, masks: float32[n, F] and int8[n, 20], as last told; buffers.
        scores, dealers, deals: int64[n, 2], [n] and [n], from the learner's side, as last told; buffers.
        winners: int64[n], 0 the learner, 1 the opponent, -1 nobody; a buffer.
        chosen, illegal: int64[n] and bool[n], the last actions that came, and which were illegal.
    Raises:
        ValueError: a setting outside what is allowed.
    """

    def __init__(
        self,
        n: int,
        *,
        opponent: Any = "greedy",
        episode: str = "game",
        reward: str = "win",
        encoding: str = "rich",
        target: int = TARGET_POINTS,
        illegal_action: str = "lose",
        seat: int | None = None,
        dealer: int | None = None,
        skip_forced: bool = False,
        shaping: float = 0.0,
    ) -> None:
        if n < 1:
            raise ValueError(f"num_envs={n}: at least one is needed")
        check_episode(episode, reward, shaping)
        check_choice("illegal_action", illegal_action, ILLEGAL_ACTIONS)
        check_choice("seat", seat, (None, 0, 1))
        check_choice("dealer", dealer, (None, 0, 1))
        self.n = n
        self.encoding = encoding
        self.rules = Rules(target=target)
        self.opponent = make_opponent(opponent)
        self._one_deal = episode == "deal"
        self._kind = reward_id(reward)
        self._shaping = float(shaping)
        self._illegal_action = illegal_action
        self._skip_forced = bool(skip_forced)
        self._seats_wanted = np.full(n, DRAWN if seat is None else seat)
        self._dealers_wanted = np.full(n, DRAWN if dealer is None else dealer)
        self._no_scores = np.zeros((n, 2), dtype=np.int64)
        self._warned = False
        self._make_buffers()

    def _make_buffers(self) -> None:
        n = self.n
        self.games = new_records(n, self.rules, 0)
        self.seats = np.zeros(n, dtype=np.int64)
        self.ended = np.ones(n, dtype=np.bool_)
        self.seeded = False
        self.illegal = np.zeros(n, dtype=np.bool_)
        self.chosen = np.zeros(n, dtype=np.int64)
        self.observations = np.zeros((n, n_features(self.encoding)), dtype=np.float32)
        self.masks = np.zeros((n, N_ACTIONS), dtype=np.int8)
        self.masks[:, :N_DISCARDS] = 1  # before any game: what every game begins with
        self.scores = np.zeros((n, 2), dtype=np.int64)
        self.dealers = np.zeros(n, dtype=np.int64)
        self.deals = np.zeros(n, dtype=np.int64)
        self.winners = np.full(n, -1, dtype=np.int64)
        self._numbers = np.zeros(n, dtype=np.int64)  # of each slot's next game
        self._leads = np.zeros(n)  # potential, from the learner's side, at its last turn
        self._rewards = np.zeros(n)
        self._dones = np.zeros(n, dtype=np.bool_)
        self._forfeited = np.zeros(n, dtype=np.bool_)
        self._slots = np.zeros(n, dtype=np.int64)  # where the learner's action can be played,
        self._moves = np.zeros(n, dtype=np.int64)  # and that action
        self._waiting = np.zeros(n, dtype=np.int64)  # slots where the opponent is to act
        self._views = new_views(n)
        self._their_masks = np.zeros((n, N_ACTIONS), dtype=np.int8)
        self._events = np.zeros((n, MAX_EVENTS), dtype=EVENT)  # since the learner's last turn: never over a deal's
        self._n_events = np.zeros(n, dtype=np.int64)

    def reseed(self, slots: np.ndarray, seeds: Sequence[int | None], rng: np.random.Generator) -> None:
        """Give slots their seeds, and start their games from number 0 again.

        A seed of None is drawn from `rng` before any was ever given, else left as it is. Seeding
        all slots also begins the opponent's generator anew, from all seeds.
        """
        drawn = [int(s) for s in rng.integers(2**63, size=self.n)] if not self.seeded else [None] * self.n
        new = [s if s is not None else d for s, d in zip(seeds, drawn, strict=True)]
        for slot in slots:
            if new[slot] is not None:
                self.games["seed"][slot] = to_uint64(new[slot])
                self._numbers[slot] = 0
        if len(slots) == self.n or not self.seeded:
            self._opponent_rng = np.random.default_rng([*self.games["seed"].tolist(), _OPPONENT_STREAM])
        self.seeded = True

    def read_options(self, options: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Seats, dealers and scores of every slot for one reset.

        Raises:
            ValueError: an unknown option, or a value no game could begin with.
        """
        unknown = sorted(set(options) - set(OPTIONS))
        if unknown:
            raise ValueError(f"unknown reset options {unknown}: allowed are {', '.join(OPTIONS)}")
        seats = self._places(options.get("seat"), "seat", self._seats_wanted)
        dealers = self._places(options.get("dealer"), "dealer", self._dealers_wanted)
        return seats, dealers, self._start_scores(options.get("scores"))

    def _places(self, value: Any, name: str, otherwise: np.ndarray) -> np.ndarray:
        if value is None:
            return otherwise
        places = np.asarray(value)
        if places.shape not in ((), (self.n,)) or places.dtype.kind not in "iu" or not np.isin(places, (0, 1)).all():
            raise ValueError(f"option {name} {value!r}: allowed are 0 and 1, one for all slots or one a slot")
        return np.array(np.broadcast_to(places, self.n), dtype=np.int64, order="C")

    def _start_scores(self, value: Any) -> np.ndarray:
        if value is None:
            return self._no_scores
        scores = np.asarray(value)
        fits = scores.shape in ((2,), (self.n, 2)) and scores.dtype.kind in "iu"
        if not fits or scores.min() < 0 or scores.max() >= self.rules.target:
            raise ValueError(
                f"option scores {value!r}: allowed are two whole numbers 0..{self.rules.target - 1}, mine and theirs"
            )
        return np.array(np.broadcast_to(scores, (self.n, 2)), dtype=np.int64, order="C")

    def reset(self, slots: np.ndarray, seats: np.ndarray, dealers: np.ndarray, scores: np.ndarray) -> None:
        """`start`, with nothing left of the last step."""
        self._n_events[slots] = 0
        self.start(slots, seats, dealers, scores)

    def start(
        self,
        slots: np.ndarray,
        seats: np.ndarray | None = None,
        dealers: np.ndarray | None = None,
        scores: np.ndarray | None = None,
    ) -> None:
        """Begin the next episode in `slots`; the opponent plays until it is the learner's turn.

        Args:
            slots: int64[K].
            seats: int64[n], the learner's engine seat, -1 to be drawn; None is as the settings say.
            dealers: int64[n], 0 where the learner deals first; -1 and None likewise.
            scores: int64[n, 2], mine and theirs; None is 0-0.
        """
        start_slots(
            self.games, slots, self._numbers,
            self._seats_wanted if seats is None else seats,
            self._dealers_wanted if dealers is None else dealers,
            self._no_scores if scores is None else scores,
            self._kind, self._shaping, self.seats, self._leads,
        )  # fmt: skip
        self._numbers[slots] += 1
        self.ended[slots] = False
        self.illegal[slots] = False
        self._forfeited[slots] = False
        self._answer(ask(self.games, self.seats, self._one_deal, slots, self._waiting, self._views, self._their_masks))

    def step(self, actions: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Take the learner's action in every slot whose episode goes on, and the opponent's answers.

        Args:
            actions: int64[n], contiguous; ignored where `ended`. Kept as `chosen`, not written to.
            rng: draws what stands in for an illegal action, with "replace".
        Returns:
            rewards float64[n] and dones bool[n]: buffers, overwritten by the next step.
        Raises:
            ValueError: an illegal action, with "raise"; nothing was played.
        """
        self.chosen = actions
        playing, n_illegal = self._sort(actions)
        if n_illegal and self._illegal_action == "replace":
            playing = self._replace(actions, rng)
        elif n_illegal:
            self._complain()
        self._n_events[:] = 0
        self._play(self._slots[:playing], self._moves[:playing])
        conclude(
            self.games, self.seats, self.ended, self._one_deal, self._kind, self._shaping,
            self._leads, self._rewards, self._dones,
        )  # fmt: skip
        if n_illegal and self._illegal_action == "lose":
            self._forfeit(np.flatnonzero(self.illegal))
        self.ended |= self._dones
        return self._rewards, self._dones

    def tell(self, slots: np.ndarray) -> None:
        """Write what the learner may know in `slots` into the buffers."""
        tell_slots(
            self.games, self.seats, self.ended, self._forfeited, slots, self._views, self.encoding == "rich",
            crib_table(), self.observations, self.masks, self.scores, self.dealers, self.deals, self.winners,
        )  # fmt: skip

    def report(self) -> dict[str, np.ndarray]:
        """What every info says, by its name there."""
        return {"action_mask": self.masks, "scores": self.scores, "dealer": self.dealers, "deal": self.deals}

    def events(self, slot: int) -> list[Event]:
        """Scoring events since the learner's last turn in a slot; seat 0 is the learner."""
        return read_events(self._events[slot, : self._n_events[slot]])

    def board(self, slot: int) -> str:
        """The table as the learner sees it, as text."""
        from crib_env.render import board_text  # noqa: PLC0415  (only who looks at boards pays for it)

        views = new_views(1)
        look_slot(self.games, slot, self.seats[slot], views)
        return board_text(views[0])

    def _sort(self, actions: np.ndarray) -> tuple[int, int]:
        """Fill `_slots` and `_moves` with what can be played; how many, and how many are illegal."""
        return sort_actions(self.games, actions, self.ended, self.illegal, self._slots, self._moves)

    def _replace(self, actions: np.ndarray, rng: np.random.Generator) -> int:
        """Put a legal action, all alike, for each illegal one; how many can be played then."""
        illegal = np.flatnonzero(self.illegal)
        upto = self.masks[illegal].cumsum(axis=1)  # the masks told last are those of this decision
        drawn = np.floor(rng.random(len(illegal)) * upto[:, -1]).astype(np.int64)
        actions = actions.copy()
        actions[illegal] = (upto > drawn[:, None]).argmax(axis=1)
        playing, _ = self._sort(actions)
        self.illegal[illegal] = True
        return playing

    def _complain(self) -> None:
        """Raise, or warn once, about the first illegal action: what came, where, what was legal."""
        slot = int(self.illegal.argmax())
        g, action = self.games[slot], int(self.chosen[slot])
        dealt, kept = g["dealt"][g["to_act"]], g["kept"][g["to_act"]]
        legal = ", ".join(f"{a} ({action_text(a, dealt, kept)})" for a in np.flatnonzero(self.masks[slot]).tolist())
        where = f"in slot {slot}, deal {g['deal'] + 1}, count {g['count']}"
        message = f"illegal action {action} ({name_action(action)}) {where}: legal are {legal}"
        if self._illegal_action == "raise":
            self.illegal[:] = False
            raise ValueError(f"{message}; nothing was played")
        if not self._warned:
            self._warned = True
            logger.warn(
                f"{message}. The game is forfeited, and so without a word will be later ones. "
                "Choose by info['action_mask'], or set illegal_action to 'raise' or 'replace'."
            )

    def _forfeit(self, slots: np.ndarray) -> None:
        """End `slots` as lost, paid as if the opponent had pegged out on the spot.

        That is the worst that could still have happened, so giving up by an illegal action never
        pays. The records keep the scores as they stand.
        """
        lost = self.games[slots]
        theirs = 1 - self.seats[slots]
        lost["score"][np.arange(len(slots)), theirs] = self.rules.target
        lost["winner"] = theirs
        lost["phase"] = OVER
        self._forfeited[slots] = True
        rewards = np.empty(len(slots))
        conclude(
            lost, self.seats[slots], np.zeros(len(slots), dtype=np.bool_), self._one_deal, self._kind, self._shaping,
            self._leads[slots], rewards, np.empty(len(slots), dtype=np.bool_),
        )  # fmt: skip
        self._rewards[slots] = rewards
        self._dones[slots] = True

    def _play(self, slots: np.ndarray, actions: np.ndarray) -> None:
        """Take actions in `slots`, then the opponent's answers."""
        waiting = play(
            self.games, self.seats, self._one_deal, self._skip_forced, slots, actions,
            self._events, self._n_events, self._waiting, self._views, self._their_masks,
        )  # fmt: skip
        self._answer(waiting)

    def _answer(self, waiting: int) -> None:
        """Let the opponent act, in all the slots that wait for it at once, until none does."""
        while waiting:
            masks = self._their_masks[:waiting]
            chosen = self.opponent.act(self._views[:waiting], masks, self._opponent_rng)
            actions = self._read_answer(chosen, masks)
            waiting = play(
                self.games, self.seats, self._one_deal, self._skip_forced, self._waiting[:waiting], actions,
                self._events, self._n_events, self._waiting, self._views, self._their_masks,
            )  # fmt: skip

    def _read_answer(self, chosen: Any, masks: np.ndarray) -> np.ndarray:
        """The opponent's actions as int64[K]; RuntimeError, naming it, if they cannot be taken."""
        actions = np.asarray(chosen)
        if actions.shape != (len(masks),) or actions.dtype.kind not in "iu":
            raise RuntimeError(
                f"opponent {self.opponent.name!r} gave {actions.dtype}{list(actions.shape)} "
                f"for {len(masks)} views: act must return whole numbers, one a view"
            )
        actions = np.array(actions, dtype=np.int64)  # a copy: read-only or strided input would compile again
        bad = first_masked(masks, actions)
        if bad >= 0:
            raise RuntimeError(
                f"opponent {self.opponent.name!r} chose action {actions[bad]} ({name_action(int(actions[bad]))}) "
                f"in slot {self._waiting[bad]}: legal are {np.flatnonzero(masks[bad]).tolist()}"
            )
        return actions


def check_episode(episode: str, reward: str, shaping: float) -> None:
    """Raise ValueError for an unknown episode; warn of one that would pay nothing."""
    if episode == "match":
        raise ValueError(
            'episode "match" is not there yet: play episode="game", with reward="match" for match points of each game'
        )
    check_choice("episode", episode, EPISODES)
    if episode == "deal" and reward != "points" and not shaping:
        logger.warn(
            f'episode="deal" with reward="{reward}" pays only where a deal ends the game, from 0-0 never: '
            'use reward="points", or start near the end'
        )


@njit(cache=True, inline="always")
def is_over(g, one_deal):
    """Whether the episode is over: the game, or its first deal."""
    return g.phase == OVER or (one_deal and g.deal > 0)


@njit(cache=True)
def start_slots(games, slots, numbers, seats_wanted, dealers_wanted, scores, kind, shaping, seats, leads):
    """Begin game numbers[slot] in each of `slots`; write the learner's seat and lead."""
    for slot in slots:
        g = games[slot]
        seat = seats_wanted[slot]
        if seat == DRAWN:
            seat = np.int64(stream_key(g.seed, numbers[slot], _LEARNER_STREAM) >> _HALF)
        dealer = dealers_wanted[slot]
        start_game(g, numbers[slot], dealer if dealer == DRAWN else dealer ^ seat)
        for place in range(2):
            g.score[place ^ seat] = scores[slot, place]
            g.back[place ^ seat] = scores[slot, place]
        seats[slot] = seat
        leads[slot] = potential(g, kind, shaping, seat)


@njit(cache=True)
def sort_actions(games, actions, ended, illegal, slots, moves):
    """Of the slots whose episode goes on, list those whose action is legal, with it; mark the others.

    Returns:
        How many are listed, and how many are illegal.
    """
    n = 0
    n_illegal = 0
    for i in range(len(games)):
        a = actions[i]
        illegal[i] = False
        if ended[i]:
            continue
        if a < 0 or a >= N_ACTIONS or not legal_bits(games[i]) >> a & 1:
            illegal[i] = True
            n_illegal += 1
        else:
            slots[n] = i
            moves[n] = a
            n += 1
    return n, n_illegal


@njit(cache=True)
def first_masked(masks, actions):
    """First row whose action its mask does not allow, or -1."""
    for k in range(len(actions)):
        if actions[k] < 0 or actions[k] >= N_ACTIONS or not masks[k, actions[k]]:
            return k
    return -1


@njit(cache=True)
def play(games, seats, one_deal, skip_forced, slots, actions, events, n_events, waiting, views, masks):
    """Take actions[k] in slots[k], note what was pegged, and `ask` who waits for the opponent.

    In the notes, `events`, the learner is seat 0.
    """
    for k in range(len(slots)):
        slot = slots[k]
        g = games[slot]
        already = g.n_events
        apply(g, actions[k])
        if skip_forced:
            apply_forced(g)
        # A deal's first discard drops the last deal's events and causes none: then nothing is noted.
        for e in range(already, g.n_events):
            events[slot, n_events[slot]] = g.events[e]
            events[slot, n_events[slot]].seat ^= seats[slot]
            n_events[slot] += 1
    return ask(games, seats, one_deal, slots, waiting, views, masks)


@njit(cache=True)
def ask(games, seats, one_deal, slots, waiting, views, masks):
    """List those of `slots` where the opponent is to act, with what it may know; how many there are.

    `slots` may be the front of `waiting`: a place is read before it is written.
    """
    n = 0
    for k in range(len(slots)):
        slot = slots[k]
        g = games[slot]
        if not is_over(g, one_deal) and g.to_act != seats[slot]:
            waiting[n] = slot
            look(g, g.to_act, views[n])
            write_mask(legal_bits(g), masks[n])
            n += 1
    return n


@njit(cache=True)
def conclude(games, seats, ended, one_deal, kind, shaping, leads, rewards, dones):
    """What the learner gained since its last turn, and whether the episode is over."""
    for i in range(len(games)):
        rewards[i] = 0.0
        dones[i] = False
        if ended[i]:
            continue
        g = games[i]
        lead = potential(g, kind, shaping, seats[i])
        rewards[i] = outcome(g, kind, seats[i]) + lead - leads[i]
        leads[i] = lead
        dones[i] = is_over(g, one_deal)


@njit(cache=True)
def tell_slots(
    games, seats, ended, forfeited, slots, views, rich, table,
    observations, masks, scores, dealers, deals, winners,
):  # fmt: skip
    """Features, mask and report of the learner's seat, in each of `slots`. `views` is scratch room."""
    view = views[0]
    for slot in slots:
        g = games[slot]
        seat = seats[slot]
        look(g, seat, view)
        encode_view(view, rich, table, observations[slot])
        write_mask(0 if ended[slot] else legal_bits(g), masks[slot])
        scores[slot, 0] = g.score[seat]
        scores[slot, 1] = g.score[1 - seat]
        dealers[slot] = g.dealer ^ seat
        deals[slot] = g.deal
        winners[slot] = -1 if g.winner < 0 else g.winner ^ seat
        if forfeited[slot]:
            winners[slot] = 1


@njit(cache=True)
def look_slot(games, slot, seat, views):
    """views[0] = what `seat` may know of games[slot]."""
    look(games[slot], seat, views[0])
