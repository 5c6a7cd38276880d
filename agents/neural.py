"""A network as a player. torch."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import torch

from agents.checkpoint import load_policy
from agents.networks import PolicyValueNet
from crib_env.encoding import encode


class NeuralAgent:
    """Plays a policy network.

    Args:
        network: what decides.
        name: how tables call it.
        temperature: 0 plays the likeliest action; above, actions are drawn, from softer or (below
            1) sharper odds than the network's own.
    """

    def __init__(self, network: PolicyValueNet, name: str = "network", temperature: float = 0.0) -> None:
        if temperature < 0:
            raise ValueError(f"temperature {temperature}: at least 0, where 0 plays the likeliest action")
        self.name = name
        self.network = network
        self.temperature = temperature

    @torch.inference_mode()
    def act(self, views: np.ndarray, masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See `Agent.act`.

        Raises:
            ValueError: views of another number of players than the network is for.
        """
        if len(views) and views["players"][0] != self.network.players:
            raise ValueError(f"{self.name} was trained for {self.network.players} players, not {views['players'][0]}")
        device = self.network.policy.weight.device
        observations = torch.from_numpy(encode(views, self.network.config.encoding)).to(device)
        logits, _ = self.network(observations, torch.from_numpy(masks).to(device))
        scores = logits.cpu().numpy()
        if self.temperature > 0:
            scores = scores / self.temperature + rng.gumbel(size=scores.shape)
        return scores.argmax(axis=1)


def load_agent(path: str | os.PathLike, temperature: float = 0.0) -> NeuralAgent:
    """The player in a policy file or a run's folder, named after it."""
    network, _ = load_policy(path)
    path = Path(path)
    name = path.parent.name if path.name.startswith(("best.", "latest.")) and path.parent.name else path.stem
    return NeuralAgent(network, name, temperature)
