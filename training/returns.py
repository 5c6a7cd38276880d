"""Advantages where turns do not alternate. May import: numpy, numba.

One game is one stream of decisions by both seats, with one signed reward stream: what seat 0
gains, seat 1 loses. After a go a seat decides several times in a row, and the two discards come
before any card, so "row t + 1 is my next state" is false. Each seat therefore carries its own
next value, its own running advantage and what it gained since its decision.
"""

from __future__ import annotations

from numba import njit


@njit(cache=True)
def seat_advantages(rewards, dones, values, seats, last_values, last_seats, discount, trace, advantages):
    """Generalised advantage estimation, per seat, over one signed stream.

    For the decisions t1 < t2 < ... of one seat in one episode, R_k the signed rewards from t_k up
    to (not with) t_{k+1}:  delta_k = R_k + discount * V(t_{k+1}) - V(t_k),
    A_k = delta_k + discount * trace * A_{k+1}.  An episode's end has value zero.

    Args:
        rewards: float32[T, B], what seat 0 gained between decision t and the next one.
        dones: bool[T, B], the episode ended with decision t.
        values: float32[T, B], value of decision t for the seat that made it.
        seats: int[T, B], that seat, 0 or 1.
        last_values: float32[B], value of the decision after the last row, for its seat. The other
            seat's view of that moment is taken as the negative: the game is zero-sum.
        last_seats: int[B], who makes that decision.
        discount: in 0..1, per decision of a seat.
        trace: lambda, in 0..1.
        advantages: float32[T, B], written. Returns are advantages + values.
    """
    steps, games = rewards.shape
    for b in range(games):
        mine = last_values[b] if last_seats[b] == 0 else -last_values[b]
        next_value_0, next_value_1 = mine, -mine
        next_advantage_0 = next_advantage_1 = 0.0
        since_0 = since_1 = 0.0  # gained between a seat's decision and its next
        for t in range(steps - 1, -1, -1):
            if dones[t, b]:
                next_value_0 = next_value_1 = 0.0
                next_advantage_0 = next_advantage_1 = 0.0
                since_0 = since_1 = 0.0
            since_0 += rewards[t, b]
            since_1 -= rewards[t, b]
            if seats[t, b] == 0:
                delta = since_0 + discount * next_value_0 - values[t, b]
                next_advantage_0 = delta + discount * trace * next_advantage_0
                advantages[t, b] = next_advantage_0
                next_value_0 = values[t, b]
                since_0 = 0.0
            else:
                delta = since_1 + discount * next_value_1 - values[t, b]
                next_advantage_1 = delta + discount * trace * next_advantage_1
                advantages[t, b] = next_advantage_1
                next_value_1 = values[t, b]
                since_1 = 0.0
