"""The policy and value network. torch; knows the encoding's named slices, not the game."""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn

from crib_env.actions import FIRST_PLAY, N_ACTIONS, N_DISCARDS
from crib_env.encoding import ENCODINGS, feature, n_features

SCORE_FEATURES = ("scores", "near")  # zero at 0-0, all that single deals show
WIN_HEAD_WIDTH = 64
VALUE_HEADS = ("points_value", "win_value")
MASKED = -1e5  # logit of an illegal action: exp() of it is exactly zero in float32

# Logits for one unit of hand, crib, points pegged now and mean reply, with a gate at 1: three for
# a point of hand or crib, two for a point in the play. Sharp enough that the noise of a learning
# network does not drown what a table knows.
GATE_SCALES = (30.0, 30.0, 8.0, -8.0)


@dataclass(frozen=True)
class NetworkConfig:
    """Shape of the network.

    Args:
        encoding: what it sees, "raw" or "rich".
        width: units in each hidden layer.
        depth: hidden layers.
    """

    encoding: str = "rich"
    width: int = 256
    depth: int = 2

    def __post_init__(self) -> None:
        if self.encoding not in ENCODINGS:
            raise ValueError(f"network.encoding {self.encoding!r}: allowed are {', '.join(ENCODINGS)}")
        if not 1 <= self.width <= 8192 or not 1 <= self.depth <= 16:
            raise ValueError(f"network {self.width} x {self.depth}: width is 1..8192, depth 1..16")

    def to_dict(self) -> dict:
        """Plain values, for a checkpoint."""
        return asdict(self)


class PolicyValueNet(nn.Module):
    """One trunk; a policy head over the twenty actions and two value heads.

    The value heads are "points" (net points to come in the deal, scaled as the reward is) and
    "win" (expected reward at the game's end), which also sees the scores directly; training uses
    the one its episodes call for.

    With the `rich` encoding the policy's logits start from what it is given: the expected hand
    plus crib of each discard and the points each card pegs now, each times a learned gate, so
    that an untrained network already plays as a table would and learns corrections. With three and
    four players there is no table of cribs, and the gate for it stays unused.

    Args:
        config: its shape.
        players: at the tables it is for; they have encodings of their own.
    """

    def __init__(self, config: NetworkConfig, players: int = 2) -> None:
        super().__init__()
        self.config = config
        self.players = players
        sizes = [n_features(config.encoding, players)] + [config.width] * config.depth
        self.trunk = nn.Sequential()
        for inputs, outputs in itertools.pairwise(sizes):
            self.trunk.append(_orthogonal(nn.Linear(inputs, outputs), math.sqrt(2)))
            self.trunk.append(nn.ReLU())
        self.policy = _orthogonal(nn.Linear(config.width, N_ACTIONS), 0.01)
        self.points_value = _orthogonal(nn.Linear(config.width, 1), 1.0)
        who_deals = "i_deal" if players == 2 else "dealer"
        self._standing = [self._slice(name) for name in ("phase", who_deals, *SCORE_FEATURES)]
        standing = sum(s.stop - s.start for s in self._standing)
        self.win_value = nn.Sequential(
            _orthogonal(nn.Linear(config.width + standing, WIN_HEAD_WIDTH), math.sqrt(2)),
            nn.ReLU(),
            _orthogonal(nn.Linear(WIN_HEAD_WIDTH, 1), 1.0),
        )
        self._rich = config.encoding == "rich"
        if self._rich:
            self.gates = nn.Parameter(torch.ones(4))
            self._hand, self._peg, self._reply = map(self._slice, ("hand_values", "peg_now", "reply"))
            self._crib = self._slice("crib_values") if players == 2 else None
        self._hide_scores()

    def _slice(self, name: str) -> slice:
        """Where a feature lies in this network's observations."""
        return feature(self.config.encoding, name, self.players).slice

    def _hide_scores(self) -> None:
        """Zero the weights of the scores: they are zero in single deals, and must mean nothing at first after."""
        first = self.trunk[0]
        assert isinstance(first, nn.Linear)
        with torch.no_grad():
            for name in SCORE_FEATURES:
                first.weight[:, self._slice(name)] = 0

    def forward(self, observations: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        """Masked logits and values.

        Args:
            observations: float32[B, F].
            masks: bool or int8[B, 20], true where legal.
        Returns:
            float32[B, 20] logits, MASKED where illegal; float32[B, 2] values, points and win.
        """
        hidden = self.trunk(observations)
        logits = self.policy(hidden)
        if self._rich:
            logits = logits + self._table_logits(observations)
        standing = [observations[:, places] for places in self._standing]
        win = self.win_value(torch.cat([hidden, *standing], dim=1))
        return logits.masked_fill(~masks.bool(), MASKED), torch.cat([self.points_value(hidden), win], dim=1)

    def _table_logits(self, observations: Tensor) -> Tensor:
        gates = self.gates * self.gates.new_tensor(GATE_SCALES)
        discards = gates[0] * observations[:, self._hand]
        if self._crib is not None:
            discards = discards + gates[1] * observations[:, self._crib]
        unused = observations.new_zeros(len(observations), N_DISCARDS - discards.shape[1])
        plays = gates[2] * observations[:, self._peg] + gates[3] * observations[:, self._reply]
        go = observations.new_zeros(len(observations), N_ACTIONS - FIRST_PLAY - plays.shape[1])
        return torch.cat([discards, unused, plays, go], dim=1)


def _orthogonal(layer: nn.Linear, gain: float) -> nn.Linear:
    """Orthogonal weights, zero bias: what PPO implementations that learn well start from."""
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


def sample_actions(logits: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Actions drawn from masked logits by the Gumbel trick: int64[B]."""
    noise = torch.empty_like(logits).exponential_(generator=generator)
    return (logits - noise.log()).argmax(dim=1)
