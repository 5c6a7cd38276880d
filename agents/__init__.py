"""Players: the scripted ladder, networks, and the registry that makes them by name.

import agents
bot = agents.make("heuristic")          # or "random", "greedy", a checkpoint, "module:function"
actions = bot.act(views, masks, rng)    # VIEW[B], int8[B, 20] -> int64[B]
"""

from agents.base import Agent
from agents.registry import SCRIPTED, make, names, register

__all__ = ["SCRIPTED", "Agent", "make", "names", "register"]
