"""Cribbage for reinforcement learning: the game, and its Gymnasium environments.

    import gymnasium as gym, crib_env
    env = gym.make("Cribbage-v0", opponent="greedy")

Importing registers "Cribbage-v0"; `Game` is loaded when it is first asked for. Never imports torch.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import gymnasium

from crib_env.rules import Rules

if TYPE_CHECKING:
    from crib_env.game import Game

__all__ = ["Game", "Rules", "__version__", "register_envs"]

ENV_ID = "Cribbage-v0"
_LATER = {"Game": "crib_env.game"}  # brings Numba, most of a second: only who wants it waits

try:
    __version__ = version("crib-env")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+unknown"


def register_envs() -> None:
    """Make "Cribbage-v0" known to `gymnasium.make` and `make_vec`; doing it again changes nothing."""
    if ENV_ID not in gymnasium.registry:
        gymnasium.register(
            id=ENV_ID,
            entry_point="crib_env.env:CribbageEnv",
            vector_entry_point="crib_env.vector_env:CribbageVectorEnv",
        )


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'crib_env' has no attribute {name!r}: it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))


register_envs()
