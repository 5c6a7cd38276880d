"""`random`: any legal action, all alike. Considers nothing."""

from __future__ import annotations

import numpy as np
from numba import njit


class RandomAgent:
    """Uniform over the legal actions."""

    name = "random"

    def act(self, views: np.ndarray, masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See `Agent.act`."""
        return choose_uniform(masks, rng.random(len(masks)))


@njit(cache=True)
def choose_uniform(masks, draws):
    """The legal action at place floor(draw * number of legal ones): int64[B]."""
    actions = np.empty(len(masks), np.int64)
    for i in range(len(masks)):
        left = np.int64(draws[i] * masks[i].sum())
        for a in range(masks.shape[1]):
            if masks[i, a]:
                if left == 0:
                    actions[i] = a
                    break
                left -= 1
    return actions
