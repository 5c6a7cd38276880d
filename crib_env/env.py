"""CribbageEnv: one game against one opponent, for `gymnasium.make("Cribbage-v0")`.

A `Duel` of one slot in gymnasium's form. No rule and no rulebook number is in here.
May import: everything of crib_env.
"""

from __future__ import annotations

import operator
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from crib_env.actions import N_ACTIONS
from crib_env.duel import RENDER_MODES, Duel, check_choice, observation_space
from crib_env.encoding import Feature, features, n_features
from crib_env.game import Event
from crib_env.rules import TARGET_POINTS

_SLOT = np.zeros(1, dtype=np.int64)  # the one there is


class CribbageEnv(gym.Env[dict[str, Any], Any]):
    """Two-handed six-card cribbage against an opponent, from the learner's seat.

    ## Description

    Six cards each; each lays two to the crib, which is the dealer's; a starter is cut; the four
    cards kept are laid in turn, counting up to 31 and scoring on the way; then the hands and the
    crib are shown. Whoever reaches 121 first wins, at that moment. The deal alternates. A step is
    one decision of the learner; the opponent's follow within it, until the learner is to act
    again. After a go the same side may act several times in a row.

    ## Action Space

    `Discrete(20)`:

    | id | meaning |
    |---|---|
    | 0-14 | lay to the crib a pair of the six sorted cards, in `itertools.combinations` order |
    | 15-18 | lay the k-th card of the four kept, sorted |
    | 19 | go: legal when no card fits, and then alone |

    Few are legal at a time: see the mask. An illegal one is treated as `illegal_action` says.

    ## Observation Space

    `Dict(action_mask: Box(0, 1, (20,), int8), observation: Box(-4, 8, (F,), float32))`.
    The mask has a 1 for each legal action; once the episode is over, for go alone, as samplers
    fail on an empty one. The observation is what the learner may know, in named slices:

    <features>

    `crib_env.encoding.feature(encoding, name).slice` cuts one out. After an episode of one deal
    the last observation shows the cards of the next.

    ## Starting State

    0-0, fresh cards, the learner to discard (if it deals, the opponent has discarded already).
    Cards come from the seed and the number of the game under it: `reset(seed=s)` begins with game
    0, each later `reset()` goes on to the next, and nothing that is played changes what is dealt.
    Cards are those of `Game(seed=s, game=k)`. Who deals first, and which engine seat the learner
    has, are drawn from the same two numbers unless the arguments say it. Playing the same seed
    with `seat=0` and with `seat=1` meets the same cards from both sides.

    `reset(options=...)` places one episode, from the learner's side (seat 0 is the learner):
    `"scores": (mine, theirs)`, each below the target; `"dealer"`: 0 the learner deals first, 1 the
    opponent; `"seat"`: the learner's engine seat, which decides whose cards it gets.

    ## Rewards

    | reward | pays |
    |---|---|
    | `"win"` | +1 or -1 when the game ends |
    | `"points"` | points pegged by the learner less those by the opponent, as they fall |
    | `"match"` | match points when the game ends: 1, 2 for a skunk, 4 for a double skunk |

    With `"win"` and `"match"`, `shaping` adds a potential on the score; see `crib_env.rewards`. A
    game forfeited by an illegal action is paid as if the opponent had pegged out on the spot:
    `"win"` -1; `"match"` -1, -2 or -4 by the learner's score; `"points"` minus what the opponent
    lacked. No continuation can be worse, so forfeiting never pays.

    ## Episode End

    Terminated when the game is won, after the first deal's show with `episode="deal"`, or by a
    forfeit. Never truncated: every deal brings points, so every game ends.

    ## Information

    | key | is |
    |---|---|
    | `action_mask` | int8[20], as in the observation |
    | `scores` | int64[2], mine and theirs |
    | `dealer` | 0 when the learner deals, 1 when the opponent does |
    | `deal` | number of the deal, from 0 |
    | `winner` | only at the end: 0 the learner, 1 the opponent, -1 nobody (a deal that ended no game) |
    | `illegal_action` | only after an illegal action that was not raised: that action |

    `action_masks()` gives bool[20], also before the first reset, when it is the mask every game
    begins with. `events()` lists what was pegged since the learner's last decision.

    ## Arguments

    | argument | default | meaning |
    |---|---|---|
    | `opponent` | `"greedy"` | what `agents.make` takes: a name, a checkpoint, an Agent, `act(views, masks, rng)` |
    | `episode` | `"game"` | or `"deal"`: ends with the first deal (take `reward="points"`) |
    | `reward` | `"win"` | or `"points"`, `"match"` |
    | `encoding` | `"rich"` | or `"raw"`: without expected values |
    | `target` | `121` | points that win; 61 is the short game |
    | `illegal_action` | `"lose"` | the game is forfeited; `"raise"`: ValueError; `"replace"`: a legal one is drawn |
    | `render_mode` | `None` | or `"ansi"`: `render()` returns the board as text |
    | `seat` | `None` | engine seat of the learner, 0 or 1; None: drawn each episode |
    | `dealer` | `None` | 0: the learner deals first, 1: the opponent; None: drawn each episode |
    | `skip_forced` | `False` | the engine makes every move that is the only legal one |
    | `shaping` | `0.0` | weight of the score potential |

    The opponent draws its chance from a generator made from the seed: same seed, same episodes.

    ## References

    American Cribbage Congress, tournament rules. Rules and their sources: `crib_env/rules.py`.

    ## Version History

    v0: first version.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 4}  # noqa: RUF012  (as gymnasium does)

    def __init__(
        self,
        opponent: Any = "greedy",
        episode: str = "game",
        reward: str = "win",
        encoding: str = "rich",
        target: int = TARGET_POINTS,
        illegal_action: str = "lose",
        render_mode: str | None = None,
        seat: int | None = None,
        dealer: int | None = None,
        skip_forced: bool = False,
        shaping: float = 0.0,
    ) -> None:
        check_choice("render_mode", render_mode, (None, *RENDER_MODES))
        self._duel = Duel(
            1,
            opponent=opponent,
            episode=episode,
            reward=reward,
            encoding=encoding,
            target=target,
            illegal_action=illegal_action,
            seat=seat,
            dealer=dealer,
            skip_forced=skip_forced,
            shaping=shaping,
        )
        self.render_mode = render_mode
        self.observation_space = observation_space(encoding)
        self.action_space = spaces.Discrete(N_ACTIONS)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Begin the next game; with a seed, its first.

        Raises:
            ValueError: options no game could begin with; see Starting State.
        """
        start = self._duel.read_options(options or {})
        super().reset(seed=seed)
        if seed is not None or not self._duel.seeded:
            self._duel.reseed(_SLOT, [seed], self.np_random)
        self._duel.reset(_SLOT, *start)
        self._duel.tell(_SLOT)
        return self._observation(), self._info()

    def step(self, action: int) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        """One decision of the learner, and the opponent's until the learner's next.

        Raises:
            ResetNeeded: no episode was begun, or it is over.
            ValueError: an illegal action, with `illegal_action="raise"`; nothing was played.
        """
        if self._duel.ended[0]:
            raise ResetNeeded("no episode goes on: it is over, or none was begun; call env.reset()")
        rewards, dones = self._duel.step(np.array([operator.index(action)]), self.np_random)
        self._duel.tell(_SLOT)
        return self._observation(), float(rewards[0]), bool(dones[0]), False, self._info()

    def action_masks(self) -> np.ndarray:
        """bool[20], true where an action is legal; before the first reset, the discards every game begins with."""
        return self._duel.masks[0].astype(np.bool_)

    def events(self) -> list[Event]:
        """What was pegged since the learner's last decision, as `Game` lists it; seat 0 is the learner."""
        return self._duel.events(0)

    def render(self) -> str | None:
        """The board as text, as the learner sees it; None without a render mode."""
        if self.render_mode is None:
            return None
        if not self._duel.seeded:
            raise ResetNeeded("there is no board before the first env.reset()")
        return self._duel.board(0)

    def _observation(self) -> dict[str, np.ndarray]:
        return {"observation": self._duel.observations[0].copy(), "action_mask": self._duel.masks[0].copy()}

    def _info(self) -> dict[str, Any]:
        duel = self._duel
        info = {
            "action_mask": duel.masks[0].copy(),
            "scores": duel.scores[0].copy(),
            "dealer": int(duel.dealers[0]),
            "deal": int(duel.deals[0]),
        }
        if duel.ended[0]:
            info["winner"] = int(duel.winners[0])
        if duel.illegal[0]:
            info["illegal_action"] = int(duel.chosen[0])
        return info


def feature_table() -> str:
    """The named slices of the observation as a table: `raw` has those above its line, `rich` all."""
    n_raw = n_features("raw")
    rows = ["| places | name | meaning |", "|---|---|---|"]
    for f in features("rich"):
        if f.start == n_raw:
            rows.append(f"| | | the encoding `raw` ends here, F = {n_raw} |")
        rows.append(_feature_row(f))
    return "\n".join([*rows, f"| | | the encoding `rich` ends here, F = {n_features('rich')} |"])


def _feature_row(f: Feature) -> str:
    places = str(f.start) if f.size == 1 else f"{f.start}-{f.start + f.size - 1}"
    return f"| {places} | `{f.name}` | {f.meaning} |"


# Generated, because a table kept by hand goes stale.
CribbageEnv.__doc__ = (CribbageEnv.__doc__ or "").replace("<features>", feature_table().replace("\n", "\n    "))
