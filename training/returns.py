"""Advantages where turns do not alternate. May import: numpy, numba, crib_env.rules.

One game is one stream of decisions by all seats, with what each side gained after each of them,
zero-sum. After a go a seat decides several times in a row, and the discards come before any card,
so "row t + 1 is my next state" is false. Each seat therefore carries its own next value, its own
running advantage and what its side gained since its decision.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from crib_env.rules import MAX_PLAYERS


@njit(cache=True)
def seat_advantages(rewards, dones, values, seats, last_values, last_seats, discount, trace, advantages):
    """Generalised advantage estimation, per seat, over one stream of decisions.

    For the decisions t1 < t2 < ... of one seat in one episode, R_k its side's rewards from t_k up
    to (not with) t_{k+1}:  delta_k = R_k + discount * V(t_{k+1}) - V(t_k),
    A_k = delta_k + discount * trace * A_{k+1}.  An episode's end has value zero.

    Args:
        rewards: float32[T, B, sides], what each side gained between decision t and the next one.
            A seat's side is its number modulo the sides: partners share one.
        dones: bool[T, B], the episode ended with decision t.
        values: float32[T, B], value of decision t for the seat that made it.
        seats: int[T, B], that seat.
        last_values: float32[B], value of the decision after the last row, for its seat. A
            partner's view of that moment is taken as the same, and the other sides as sharing the
            negative alike: the game is zero-sum.
        last_seats: int[B], who makes that decision.
        discount: in 0..1, per decision of a seat.
        trace: lambda, in 0..1.
        advantages: float32[T, B], written. Returns are advantages + values.
    """
    steps, games, sides = rewards.shape
    next_value = np.zeros(MAX_PLAYERS)
    next_advantage = np.zeros(MAX_PLAYERS)
    since = np.zeros(MAX_PLAYERS)  # gained between a seat's decision and its next
    for b in range(games):
        for seat in range(MAX_PLAYERS):
            same_side = seat % sides == last_seats[b] % sides
            next_value[seat] = last_values[b] if same_side else -last_values[b] / (sides - 1)
        next_advantage[:] = 0.0
        since[:] = 0.0
        for t in range(steps - 1, -1, -1):
            if dones[t, b]:
                next_value[:] = 0.0
                next_advantage[:] = 0.0
                since[:] = 0.0
            for seat in range(MAX_PLAYERS):
                since[seat] += rewards[t, b, seat % sides]
            seat = seats[t, b]
            delta = since[seat] + discount * next_value[seat] - values[t, b]
            next_advantage[seat] = delta + discount * trace * next_advantage[seat]
            advantages[t, b] = next_advantage[seat]
            next_value[seat] = values[t, b]
            since[seat] = 0.0
