"""Names to players: "greedy", a checkpoint, "module:function", or a player as it is."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agents.base import Agent, CallableAgent
from agents.greedy import GreedyAgent
from agents.heuristic import HeuristicAgent
from agents.random_agent import RandomAgent
from agents.search import SearchAgent


def _solved() -> Agent:
    from agents.expert import SolvedAgent  # noqa: PLC0415  (its tables are large, and regenerated as modules)

    return SolvedAgent()


def _expert() -> Agent:
    from agents.expert import ExpertAgent  # noqa: PLC0415

    return ExpertAgent()


_MAKERS: dict[str, Callable[[], Agent]] = {
    "random": RandomAgent,
    "greedy": GreedyAgent,
    "heuristic": HeuristicAgent,
    "search": SearchAgent,
    "solved": _solved,
    "expert": _expert,
}
SCRIPTED = tuple(_MAKERS)  # weakest to strongest
# The ladder in Elo, greedy at 0, +- 10 (random 46): 500 mirrored pairs a match, seed 3, BSD cribbage (65 +- 19)
# among them; README, "Evaluate". Next to each other 50 points are 57 % of games.
RATINGS = {"random": -698, "greedy": 0, "heuristic": 94, "search": 120, "solved": 135, "expert": 148}


def register(name: str, maker: Callable[[], Agent]) -> None:
    """Make `name` known to `make`; a second registration replaces the first.

    Raises:
        ValueError: a name that could be taken for a path or a module.
    """
    if not name or any(c in name for c in "/\\:.") or name != name.strip():
        raise ValueError(f"agent name {name!r}: use a plain word, without / \\ : or .")
    _MAKERS[name] = maker


def names() -> tuple[str, ...]:
    """Every registered name, scripted bots first."""
    return tuple(_MAKERS)


def make(agent: Any) -> Agent:
    """A player from what people write.

    Args:
        agent: a registered name; the path of a checkpoint or of a run's folder; "module:function",
            the function being `act(views, masks, rng) -> actions` or giving an Agent when called
            without arguments; such a function itself; or an Agent, which is returned as it is.
    Raises:
        ValueError: nothing of that name; the message lists what there is.
    """
    if isinstance(agent, (str, os.PathLike)):
        return _from_text(os.fspath(agent))
    if isinstance(agent, Agent) and not isinstance(agent, type):
        return agent
    if callable(agent):
        return CallableAgent(agent, getattr(agent, "__name__", type(agent).__name__))
    raise ValueError(
        f"{agent!r} is no agent: give a name ({', '.join(_MAKERS)}), a checkpoint path, 'module:function', "
        "a function act(views, masks, rng), or an object with name and act"
    )


def _from_text(text: str) -> Agent:
    if text in _MAKERS:
        return _MAKERS[text]()
    path = Path(text).expanduser()
    if path.exists():
        from agents.neural import load_agent  # noqa: PLC0415  (torch only when a network plays)

        return load_agent(path)
    if ":" in text and os.sep not in text:
        return _from_module(text)
    raise ValueError(
        f"no agent {text!r}: known names are {', '.join(_MAKERS)}; no file or folder of that path exists; "
        "'module:function' names a function of your own"
    )


def _from_module(text: str) -> Agent:
    module_name, _, attribute = text.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"agent {text!r}: cannot load it ({error}); write an importable module:function") from error
    if isinstance(found, type):
        found = found()
    return make(found)
