"""CribbageAEC: every seat an agent, for PettingZoo; two, three and four players.

One GAME record in PettingZoo's form. No rule and no rulebook number is in here. Importing it
registers "Cribbage-v0" for `pettingzoo.make("aec", ...)`. May import: everything of crib_env.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from gymnasium import logger, spaces
from gymnasium.error import ResetNeeded
from numba import njit

try:
    import pettingzoo
    from pettingzoo.utils.wrappers import OrderEnforcingWrapper
except ImportError as error:
    raise ImportError("crib_env.aec_env needs PettingZoo: python -m pip install 'pettingzoo>=1.27'") from error

from crib_env.actions import GO, N_ACTIONS, action_text, name_action, write_mask
from crib_env.batch import EPISODES
from crib_env.cards import N_CARDS, N_RANKS
from crib_env.duel import check_choice, check_episode, observation_space
from crib_env.encoding import Feature, encode
from crib_env.engine import DRAWN, bits_one, cards_from_pack, side_of, start_one, try_one
from crib_env.game import Event, check_scores, read_events
from crib_env.render import board_text
from crib_env.rewards import check_reward, standings_one
from crib_env.rng import to_uint64
from crib_env.rules import HAND_CARDS, MAX_COUNT, TARGET_POINTS, Rules
from crib_env.state import DISCARD, MAX_PILE, OVER, new_records
from crib_env.view import look_many, new_views

ENV_ID = "Cribbage-v0"
ILLEGAL_ACTIONS = ("lose", "raise")
RENDER_MODES = ("ansi", "human")
NOBODY = -1


class CribbageAEC(pettingzoo.AECEnv):
    """Cribbage for two, three or four players, every seat an agent.

    ## Description

    Two players: six cards each, two laid to the crib. Three: five each, one laid to the crib, which
    gets a fourth card from the pack; each for himself. Four: five each, one laid away; partners sit
    opposite (`seat_0` with `seat_2`, `seat_1` with `seat_3`) and share a score. The rest is as in
    `CribbageEnv`. Agents are `seat_0`, `seat_1`, ... in the order of play round the table.

    A step is one decision of one seat. Turns do not simply go round: a seat that has said go is
    passed over, and the same seat may act several times in a row. The discards are private choices
    made at once; the seats are asked in turn, and no observation tells who has been asked already.

    There is no parallel form: in the play the seats act one at a time, each knowing what was laid
    before, and a form that took idle actions from all others would not be this game.
    `metadata["is_parallelizable"]` is False; `max_cycles` is not there, as every game ends.

    ## Action Space

    `Discrete(20)`, alike for every seat:

    | id | meaning |
    |---|---|
    | 0-14 | two players: lay to the crib a pair of the six sorted cards, `itertools.combinations` order |
    | 0-4 | three and four: lay to the crib the k-th of the five sorted cards |
    | 15-18 | lay the k-th card of the four kept, sorted |
    | 19 | go: legal when no card fits, and then alone |

    ## Observation Space

    `Dict(action_mask: Box(0, 1, (20,), int8), observation: Box(-4, 8, (F,), float32))`, what that
    seat may know; `crib_env.encoding.features(encoding, players)` names its slices. A mask is told
    to the seat to act alone: what is legal says something about a hand, so every other seat's is
    all zeros. Once the game is over each mask has go alone, as samplers fail on an empty one.

    `state()` is everything, for a centralised critic: all hands, the crib and the card that is or
    will be the starter. It is the only door to what a seat may not know;
    `state_features(players)` names its slices.

    ## Starting State

    0-0, fresh cards; the seat left of the dealer is asked for its discard first. `reset(seed=s)`
    begins with game 0 of the seed, each later `reset()` goes on to the next; cards and first dealer
    are those of `Game(seed=s, game=k, rules=...)`, and nothing that is played changes what is
    dealt. `reset(options=...)` places one episode: `"scores"`, one a side; `"dealer"`, a seat.
    Other options are ignored, as PettingZoo's own test sends one.

    ## Rewards

    Zero-sum over the sides; partners are both paid what their side is.

    | reward | pays |
    |---|---|
    | `"win"` | at the end +1 to the winner, -1 to the loser; with three players -1/2 to each loser |
    | `"points"` | points pegged by the seat's side less the mean of the other sides', as they fall |
    | `"match"` | at the end match points to the winner, minus those to the loser; not with three players |

    With `"win"` and `"match"`, `shaping` adds a potential on the score; see `crib_env.rewards`. What
    falls to a seat while others act is added up and told by `last()` at its next turn.

    ## Episode End

    All agents are terminated together when the game is won, after the first deal's show with
    `episode="deal"`, or by an illegal action; then each is asked once more, for `None`. Never
    truncated.

    An illegal action forfeits: paid as if every other side had pegged out on the spot, each alike
    the winner. `"win"`: -1 for the side at fault and +1 for the other; with three players -1/2, and
    +1/4 for each other. No continuation can be worse, so forfeiting never pays.

    ## Information

    | key | is |
    |---|---|
    | `scores` | by side, the agent's own first |
    | `dealer` | place of the dealer: 0 the agent deals, 1 its left neighbour, ... |
    | `deal` | number of the deal, from 0 |
    | `winner` | only at the end: place of the side that won, 0 the agent's; -1 nobody or not decided |
    | `illegal_action` | only at the end, for the agent that forfeited: that action |

    `events()` lists what the last step pegged.

    ## Arguments

    | argument | default | meaning |
    |---|---|---|
    | `players` | `2` | 2, 3 or 4 |
    | `episode` | `"game"` | or `"deal"`: ends with the first deal (take `reward="points"`) |
    | `reward` | `"win"` | or `"points"`, `"match"` |
    | `encoding` | `"rich"` | or `"raw"`: without expected values |
    | `target` | `121` | points that win; 61 is the short game |
    | `illegal_action` | `"lose"` | the game is forfeited; `"raise"`: ValueError, nothing was played |
    | `render_mode` | `None` | `"ansi"`: `render()` returns the board of the seat to act as text; `"human"` prints it |
    | `dealer` | `None` | seat that deals first; None: drawn each episode |
    | `skip_forced` | `False` | the engine makes every move that is the only legal one |
    | `shaping` | `0.0` | weight of the score potential |

    ## References

    American Cribbage Congress, tournament rules; Bicycle's rules for three and four players. Rules
    and their sources: `crib_env/rules.py`.

    ## Version History

    v0: first version.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (as PettingZoo does)
        "name": "cribbage_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": 4,
        "is_parallelizable": False,
    }

    def __init__(
        self,
        players: int = 2,
        episode: str = "game",
        reward: str = "win",
        encoding: str = "rich",
        target: int = TARGET_POINTS,
        illegal_action: str = "lose",
        render_mode: str | None = None,
        dealer: int | None = None,
        skip_forced: bool = False,
        shaping: float = 0.0,
    ) -> None:
        super().__init__()
        self.rules = Rules(players=players, target=target)
        check_episode(episode, reward, shaping)
        check_choice("illegal_action", illegal_action, ILLEGAL_ACTIONS)
        check_choice("render_mode", render_mode, (None, *RENDER_MODES))
        check_choice("dealer", dealer, (None, *range(players)))
        self.render_mode = render_mode
        self.possible_agents = [f"seat_{seat}" for seat in range(players)]
        self.agents: list[str] = []
        self.observation_spaces = {agent: observation_space(encoding, players) for agent in self.possible_agents}
        self.action_spaces = {agent: spaces.Discrete(N_ACTIONS) for agent in self.possible_agents}
        self.state_space = spaces.Box(0, 1, (n_state(players),), np.float32)
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._encoding = encoding
        self._one_deal = episode == EPISODES[1]
        self._kind = check_reward(reward, self.rules.sides)
        self._shaping = float(shaping)
        self._illegal_action = illegal_action
        self._dealer = dealer
        self._skip_forced = bool(skip_forced)
        self._warned = False
        self._games = new_records(1, self.rules, 0)
        self._next_game = 0
        self._seeded = False
        self._views = new_views(1)
        self._standings = np.zeros(self.rules.sides)
        self._events_before = 0

    def observation_space(self, agent: str) -> spaces.Space:
        """Space of what `agent` observes; the same object each time."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        """`Discrete(20)`; the same object each time."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin the next game; with a seed, its first.

        Raises:
            ValueError: scores or a dealer no game could begin with.
        """
        options = options or {}
        dealer = options.get("dealer", self._dealer)
        check_choice("dealer", dealer, (None, *range(self.rules.players)))
        scores = check_scores(options.get("scores"), self.rules)
        self._reseed(seed)
        start_one(self._games, 0, self._next_game, DRAWN if dealer is None else dealer)
        self._next_game += 1
        for pegs in ("score", "back"):
            self._games[pegs][0, : self.rules.sides] = scores
        self._standings = self._standings_of(self._games)
        self._events_before = 0
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None  # PettingZoo's own, for the steps of agents that are done
        self._over = False
        self._turn_to_act()
        self._inform(NOBODY)

    def step(self, action: int | None) -> None:
        """One decision of the seat to act; `None` once the game is over.

        Raises:
            ResetNeeded: no game was begun, or all agents are gone.
            ValueError: `None` while the game goes on, or an illegal action with
            `illegal_action="raise"`; nothing was played.
        """
        if not self.agents:
            raise ResetNeeded("no game goes on: it is over, or none was begun; call env.reset()")
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        if action is None:
            raise ValueError(f"{agent} gave None, which is for agents that are done: its game goes on")
        action = operator.index(action)
        self._events_before = int(self._games["n_events"][0])
        deal = int(self._games["deal"][0])
        if try_one(self._games, 0, action, self._skip_forced):
            self._begin_rewards(agent)
            self._pay(self._standings_of(self._games))
            g = self._games[0]
            self._end(agent, int(g["winner"]), g["phase"] == OVER or (self._one_deal and g["deal"] != deal))
        else:
            self._complain(action)
            self._begin_rewards(agent)
            self._forfeit(agent, action)

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """What `agent` may know, and its mask: zeros unless it is to act. New arrays."""
        seat = self._seats[agent]
        mask = np.zeros(N_ACTIONS, dtype=np.int8)
        if self._over:
            mask[GO] = 1
        elif agent == self.agent_selection:
            write_mask(bits_one(self._games, 0), mask)
        return {"observation": encode(self._look(seat), self._encoding)[0], "action_mask": mask}

    def state(self) -> np.ndarray:
        """float32[S]: every card, hidden ones too; see `state_features`. A new array."""
        row = np.empty(self.state_space.shape, dtype=np.float32)
        write_state(self._games, 0, _STATE_AT[self.rules.players - 2], row)
        return row

    def events(self) -> list[Event]:
        """What the last step pegged, as `Game` lists it."""
        before, n = self._events_before, int(self._games["n_events"][0])
        return read_events(self._games["events"][0, before:n])

    def render(self) -> str | None:
        """The board as the seat to act sees it: returned with "ansi", printed with "human"."""
        if self.render_mode is None:
            return None
        if not self._seeded:
            raise ResetNeeded("there is no board before the first env.reset()")
        board = board_text(self._look(self._seats[self.agent_selection])[0])
        if self.render_mode == "human":
            print(board)
            return None
        return board

    def close(self) -> None:
        """Nothing is held open."""

    def _reseed(self, seed: int | None) -> None:
        if seed is None and self._seeded:
            return
        new = int(np.random.default_rng().integers(2**63)) if seed is None else operator.index(seed)
        self._games["seed"] = to_uint64(new)
        self._next_game = 0
        self._seeded = True

    def _look(self, seat: int) -> np.ndarray:
        """VIEW[1] of a seat: a buffer."""
        look_many(self._games, np.array([seat]), self._views)
        return self._views

    def _standings_of(self, games: np.ndarray) -> np.ndarray:
        """float64[sides], as `rewards.standings_one` has them. A new array."""
        standings = np.empty(self.rules.sides)
        standings_one(games, 0, self._kind, self._shaping, standings)
        return standings

    def _begin_rewards(self, agent: str) -> None:
        """What `agent` had gained until its turn has been told; a new step pays anew."""
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()

    def _pay(self, standings: np.ndarray) -> None:
        """Pay every agent what its side gained since the last step."""
        gains = standings - self._standings
        self._standings = standings
        for agent, seat in self._seats.items():
            self.rewards[agent] = float(gains[seat % self.rules.sides])
        self._accumulate_rewards()

    def _end(self, agent: str, winner: int, over: bool) -> None:
        """Say whose turn it is, and what everybody may know; `agent` has just acted."""
        self._over = bool(over)
        if over:
            self.terminations = dict.fromkeys(self.agents, True)
            self.agent_selection = agent
            self._deads_step_first()
        else:
            self._turn_to_act()
        self._inform(winner)

    def _turn_to_act(self) -> None:
        self.agent_selection = self.possible_agents[int(self._games["to_act"][0])]

    def _inform(self, winner: int) -> None:
        """Every agent's info: common knowledge, told from its place."""
        g, n, sides = self._games[0], self.rules.players, self.rules.sides
        scores, dealer, deal = g["score"][:sides].tolist(), int(g["dealer"]), int(g["deal"])
        self.infos = {}
        for agent, seat in self._seats.items():
            side = seat % sides
            info: dict[str, Any] = {
                "scores": scores[side:] + scores[:side],
                "dealer": (dealer - seat) % n,
                "deal": deal,
            }
            if self._over:
                info["winner"] = (winner - side) % sides if winner != NOBODY else NOBODY
            self.infos[agent] = info

    def _complain(self, action: int) -> None:
        """Raise, or warn once, about an illegal action: what came, where, what was legal."""
        g = self._games[0]
        seat = int(g["to_act"])
        bits = bits_one(self._games, 0)
        legal = ", ".join(
            f"{a} ({action_text(a, g['dealt'][seat], g['kept'][seat])})" for a in range(N_ACTIONS) if bits >> a & 1
        )
        message = (
            f"illegal action {action} ({name_action(action)}) of seat_{seat} at deal {g['deal'] + 1}, "
            f"count {g['count']}: legal are {legal}"
        )
        if self._illegal_action == "raise":
            raise ValueError(f"{message}; nothing was played")
        if not self._warned:
            self._warned = True
            logger.warn(
                f"{message}. The game is forfeited, and so without a word will be later ones. "
                "Choose by the observation's action_mask, or set illegal_action to 'raise'."
            )

    def _forfeit(self, agent: str, action: int) -> None:
        """End the game as lost by the side of `agent`; see Episode End. The record keeps its scores."""
        side = self._seats[agent] % self.rules.sides
        others = [s for s in range(self.rules.sides) if s != side]
        lost = self._games.copy()
        lost["phase"] = OVER
        lost["score"][0, others] = self.rules.target
        standings = np.zeros(self.rules.sides)
        for winner in others:
            lost["winner"] = winner
            standings += self._standings_of(lost) / len(others)
        self._pay(standings)
        self._end(agent, others[0] if len(others) == 1 else NOBODY, True)
        self.infos[agent]["illegal_action"] = action


raw_env = CribbageAEC


def env(**settings: Any) -> OrderEnforcingWrapper:
    """The environment in PettingZoo's order-enforcing wrapper; `settings` as `CribbageAEC` takes them.

    Actions out of bounds and illegal ones are the environment's own matter: PettingZoo's wrapper for
    them would not be zero-sum.
    """
    return OrderEnforcingWrapper(raw_env(**settings))


def state_features(players: int) -> tuple[Feature, ...]:
    """The named slices of `state()`, in order; values within 0..1."""
    sides = Rules(players=players).sides
    found, start = [], 0
    for name, size, meaning in (
        ("phase", 3, "discard, play or over, one-hot"),
        ("dealer", players, "seat, one-hot"),
        ("to_act", players, "seat, one-hot"),
        ("held", players * N_CARDS, "by seat: cards in hand, not yet laid or laid away"),
        ("laid", players * N_CARDS, "by seat: cards it has laid in this deal"),
        ("crib", N_CARDS, "cards laid to the crib so far"),
        ("starter", N_CARDS, "the card that is, or will be, the starter, one-hot"),
        ("pile", MAX_PILE * N_RANKS, "ranks laid since the count was last reset, oldest first, each one-hot"),
        ("count", 1, "over 31"),
        ("go", players, "by seat: said go in this count"),
        ("last_seat", players, "who laid the last card of this count, one-hot; none before the first"),
        ("scores", sides, "by side, over the target"),
        ("backs", sides, "by side: score before its last gain, over the target"),
    ):
        found.append(Feature(name, start, size, meaning))
        start += size
    return tuple(found)


def n_state(players: int) -> int:
    """Length S of a state."""
    return state_features(players)[-1].slice.stop


# Where each slice starts: int64[3, slices], by players - 2.
_STATE_AT = np.array([[f.start for f in state_features(players)] for players in (2, 3, 4)])
(
    _PHASE, _DEALER, _TO_ACT, _HELD, _LAID, _CRIB, _STARTER, _PILE, _COUNT, _GO, _LAST_SEAT, _SCORES, _BACKS,
) = range(len(state_features(2)))  # fmt: skip


@njit(cache=True)
def write_state(games, i, at, row):
    """Write everything about games[i] into `row` (float32[S]); `at` says where the slices start."""
    g = games[i]
    row[:] = 0
    row[at[_PHASE] + g.phase] = 1
    row[at[_DEALER] + g.dealer] = 1
    row[at[_TO_ACT] + g.to_act] = 1
    write_cards(g, at, row)
    for k in range(g.n_pile):
        row[at[_PILE] + k * N_RANKS + g.pile[k]] = 1
    row[at[_COUNT]] = g.count / MAX_COUNT
    for seat in range(g.players):
        row[at[_GO] + seat] = g.said_go >> seat & 1
        row[at[_SCORES] + side_of(g, seat)] = g.score[side_of(g, seat)] / g.target
        row[at[_BACKS] + side_of(g, seat)] = g.back[side_of(g, seat)] / g.target
    if g.last_seat >= 0:
        row[at[_LAST_SEAT] + g.last_seat] = 1


@njit(cache=True)
def write_cards(g, at, row):
    """Where every card lies: hands, what was laid, crib, starter."""
    for seat in range(g.players):
        if g.phase == DISCARD and g.kept[seat, 0] < 0:
            for k in range(g.dealt_cards):
                row[at[_HELD] + seat * N_CARDS + g.dealt[seat, k]] = 1
        else:
            for k in range(HAND_CARDS):
                slice_of = _LAID if g.laid[seat] >> k & 1 else _HELD
                row[at[slice_of] + seat * N_CARDS + g.kept[seat, k]] = 1
    for k in range(g.crib_cards):
        row[at[_CRIB] + g.crib[k]] = 1
    row[at[_STARTER] + g.deck[g.players * g.dealt_cards + cards_from_pack(g)]] = 1


if ENV_ID not in pettingzoo.aec_registry:
    pettingzoo.register("aec", ENV_ID, "crib_env.aec_env:env")
