"""CribbageVectorEnv: many games against one opponent, in one process, for `gymnasium.make_vec`.

A `Duel` in gymnasium's vector form. May import: everything of crib_env but env.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from crib_env.actions import N_ACTIONS
from crib_env.duel import RENDER_MODES, Duel, check_choice, observation_space
from crib_env.game import Event


class CribbageVectorEnv(VectorEnv[dict[str, np.ndarray], np.ndarray, np.ndarray]):
    """`num_envs` games of Cribbage-v0 side by side; spaces, rewards and options as in CribbageEnv.

    Slot i, reset with an int seed s, plays what `CribbageEnv` plays after `reset(seed=s + i)`: the
    same cards, dealers and seats, whatever `num_envs` and the autoreset mode are. So seeds s and
    s + 1 share all slots but one; give seeds `num_envs` apart, or a list, to have none in common.
    The opponent draws its chance for all slots from one generator, made from all seeds: one that
    draws none plays each slot as in a CribbageEnv, any other only where `num_envs` is 1.

    Args:
        num_envs: slots.
        render_mode: None or "ansi".
        autoreset_mode: SAME_STEP (a finished slot begins anew in the same step; what it ended with
            is in `infos["final_obs"]` and `["final_info"]`), NEXT_STEP (the next step ignores its
            action and returns its reset) or DISABLED (reset it with `options["reset_mask"]`).
        copy: whether observations are fresh arrays; if False, the next step overwrites them.
        **settings: as CribbageEnv: opponent, episode, reward, encoding, target, illegal_action,
            seat, dealer, skip_forced, shaping.
    Raises:
        ValueError: a setting outside what is allowed.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (declared as gymnasium does)
        "render_modes": list(RENDER_MODES),
        "render_fps": 4,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        copy: bool = True,
        **settings: Any,
    ) -> None:
        check_choice("render_mode", render_mode, (None, *RENDER_MODES))
        self._duel = Duel(num_envs, **settings)
        self._mode = AutoresetMode(autoreset_mode)
        self._copy = copy
        self._all = np.arange(num_envs)
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "autoreset_mode": self._mode}
        self.single_observation_space = observation_space(self._duel.encoding)
        self.single_action_space = spaces.Discrete(N_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Begin the next episode in every slot, or in those of `options["reset_mask"]`.

        Args:
            seed: int s gives slot i the seed s + i; a list gives one each, None leaving that slot
                as it is; None goes on with each slot's next game.
            options: as CribbageEnv, each one value for all slots or one a slot; and "reset_mask",
                bool[num_envs], the slots to reset.
        Raises:
            ValueError: seeds or options that do not fit.
        """
        options = dict(options or {})  # a copy: wrappers read the mask after us
        slots = self._masked_slots(options.pop("reset_mask", None))
        seeds = self._slot_seeds(seed)
        start = self._duel.read_options(options)
        if len(slots) < self.num_envs and not self._duel.seeded:
            raise ValueError("the first reset must be one of all slots: leave out options['reset_mask']")
        first = next((s for s in seeds if s is not None), None)
        super().reset(seed=first)
        if first is not None or not self._duel.seeded:
            self._duel.reseed(slots, seeds, self.np_random)
        self._duel.reset(slots, *start)
        self._duel.tell(self._all)
        told = np.zeros(self.num_envs, dtype=np.bool_)
        told[slots] = True
        return self._observations(), self._infos(told)

    def step(
        self, actions: np.ndarray
    ) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """One decision of the learner in every slot, and all the opponent's answers.

        Raises:
            ResetNeeded: before the first reset; with DISABLED, a slot whose episode is over.
            ValueError: no whole numbers [num_envs]; or an illegal action with illegal_action="raise".
        """
        duel = self._duel
        fresh = self._resting_slots()
        rewards, dones = duel.step(self._read_actions(actions), self.np_random)
        infos: dict[str, Any] = {}
        if self._mode is AutoresetMode.SAME_STEP:
            fresh = np.flatnonzero(dones)
            if len(fresh):
                duel.tell(fresh)
                infos = self._final(dones)
        if len(fresh):
            duel.start(fresh)
        duel.tell(self._all)
        infos.update(self._infos(np.ones(self.num_envs, dtype=np.bool_)))
        return self._observations(), rewards.copy(), dones.copy(), np.zeros(self.num_envs, dtype=np.bool_), infos

    def action_masks(self) -> np.ndarray:
        """bool[num_envs, 20], true where the learner's action is legal; before the first reset, the discards."""
        return self._duel.masks.astype(np.bool_)

    def events(self, slot: int) -> list[Event]:
        """What was pegged in a slot since the learner's last decision there; seat 0 is the learner."""
        return self._duel.events(slot)

    def render(self) -> tuple[str, ...] | None:
        """The board of every slot as text, seen by the learner; None without a render mode."""
        return None if self.render_mode is None else tuple(self._duel.board(slot) for slot in range(self.num_envs))

    def _masked_slots(self, mask: Any) -> np.ndarray:
        if mask is None:
            return self._all
        mask = np.asarray(mask)
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not mask.any():
            raise ValueError(
                f"options['reset_mask']: {mask.dtype}{list(mask.shape)} with {np.count_nonzero(mask)} set came; "
                f"wanted is bool[{self.num_envs}] with at least one True"
            )
        return np.flatnonzero(mask)

    def _slot_seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, (int, np.integer)):
            return [int(seed) + i for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(f"{len(seed)} seeds came for {self.num_envs} slots: give one each, or a single int")
        return [None if s is None else operator.index(s) for s in seed]

    def _resting_slots(self) -> np.ndarray:
        """Slots that this step has to start anew; ResetNeeded where nobody will."""
        if not self._duel.seeded:
            raise ResetNeeded("Cannot call venv.step() before calling venv.reset()")
        resting = np.flatnonzero(self._duel.ended)
        if len(resting) and self._mode is AutoresetMode.DISABLED:
            raise ResetNeeded(
                f"the episodes in slots {resting.tolist()} are over: reset them with options={{'reset_mask': ...}}"
            )
        return resting

    def _read_actions(self, actions: Any) -> np.ndarray:
        """A copy, as int64[n]: the caller's may change later, and strided input would compile a second time."""
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or actions.dtype.kind not in "iu":
            raise ValueError(
                f"actions: {actions.dtype}{list(actions.shape)} came; step wants whole numbers [{self.num_envs}]"
            )
        return np.array(actions, dtype=np.int64)

    def _observations(self) -> dict[str, np.ndarray]:
        observations, masks = self._duel.observations, self._duel.masks
        if self._copy:
            self._duel.observations = np.empty_like(observations)  # told anew before it is read: spares a copy
            masks = masks.copy()
        return {"observation": observations, "action_mask": masks}

    def _infos(self, told: np.ndarray) -> dict[str, Any]:
        """Infos of the slots `told` (bool[n]), shaped as gymnasium's vector environments do."""
        duel = self._duel
        infos: dict[str, Any] = {}
        for key, values in duel.report().items():
            _put(infos, key, values, told)
        if (ended := duel.ended & told).any():
            _put(infos, "winner", duel.winners, ended)
        if (illegal := duel.illegal & told).any():
            _put(infos, "illegal_action", duel.chosen, illegal)
        return infos

    def _final(self, dones: np.ndarray) -> dict[str, Any]:
        """`final_obs` and `final_info` of the slots that are done, before they begin anew."""
        final_obs = np.full(self.num_envs, None, dtype=object)
        slots = np.flatnonzero(dones)
        rows = zip(slots, self._duel.observations[slots], self._duel.masks[slots], strict=True)
        for slot, observation, mask in rows:  # a loop over finished episodes only: an object array has no faster way
            final_obs[slot] = {"observation": observation, "action_mask": mask}
        infos: dict[str, Any] = {"final_obs": final_obs, "_final_obs": dones.copy()}
        return {**infos, "final_info": self._infos(dones), "_final_info": dones.copy()}


def _put(infos: dict[str, Any], key: str, values: np.ndarray, where: np.ndarray) -> None:
    """Add values[where] under `key`, zero elsewhere, and the mask that says where."""
    infos[key] = values.copy()
    infos[key][~where] = 0
    infos[f"_{key}"] = where.copy()
