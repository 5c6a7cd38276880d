"""`Agent`: what every player is. Players see VIEWs and masks; never a GAME record."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np


@runtime_checkable
class Agent(Protocol):
    """A player, always batched.

    Attributes:
        name: how tables and records call it.
    """

    name: str

    def act(self, views: np.ndarray, masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose one action for each view.

        Args:
            views: VIEW[B], what each seat to act may know.
            masks: int8[B, 20], 1 where legal; every row has a legal action.
            rng: the only source of chance the player may use.
        Returns:
            int64[B], legal action ids.
        """
        ...


class CallableAgent:
    """A function `act(views, masks, rng) -> actions` as an Agent."""

    def __init__(self, function, name: str) -> None:
        self.name = name
        self._function = function

    def act(self, views: np.ndarray, masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """What the function says, as int64[B]."""
        return np.asarray(self._function(views, masks, rng), dtype=np.int64)
