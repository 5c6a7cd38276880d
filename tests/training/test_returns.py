"""Advantages per seat over one stream of decisions."""

import numpy as np
import pytest

from training.returns import seat_advantages


def advantages(rewards, dones, values, seats, last_value=0.0, last_seat=0, discount=1.0, trace=0.5):
    """One game's advantages as a list."""
    column = lambda values, dtype: np.array(values, dtype=dtype)[:, None]  # noqa: E731
    out = np.zeros((len(rewards), 1), dtype=np.float32)
    gains = np.array(rewards, np.float32)
    if gains.ndim == 1:  # two sides, from the first one's
        gains = np.stack([gains, -gains], axis=1)
    seat_advantages(
        gains[:, None], column(dones, bool), column(values, np.float32), column(seats, np.int64),
        np.array([last_value], np.float32), np.array([last_seat]), discount, trace, out,
    )  # fmt: skip
    return out[:, 0].tolist()


def test_advantages_match_a_hand_worked_deal_with_a_go():
    """Seat 0 deals: both discard (heels 2), pone lays, dealer pairs (2), pone's go is the engine's,
    dealer lays again (go 1), pone lays the last card and the show gives him 4 net."""
    seats = [1, 0, 1, 0, 0, 1]
    rewards = [0, 2, 0, 2, 1, -4]
    values = [0.5, 0.25, 0, 1, 0.5, -1]
    dones = [False] * 5 + [True]
    # Pone gains -2, -3, +4 between his decisions; deltas -2.5, -4, 5.
    # Dealer gains +2, +2, -3 between his; deltas 2.75, 1.5, -3.5. Then A = delta + 0.5 * next A.
    assert advantages(rewards, dones, values, seats) == pytest.approx([-3.25, 2.625, -1.5, -0.25, -3.5, 5.0])


def test_an_episode_boundary_stops_everything():
    """What the next episode brings must not reach back over a done."""
    one = advantages([1, 2], [False, True], [0.0, 0.0], [0, 1])
    two = advantages([1, 2, 50, 60], [False, True, False, True], [0.0, 0.0, 7.0, -7.0], [0, 1, 0, 1])
    assert two[:2] == one


@pytest.mark.parametrize("last_seat", [0, 1])
def test_beyond_the_rollout_each_seat_takes_the_value_with_its_own_sign(last_seat):
    """Last value 3 for its seat is -3 for the other."""
    got = advantages([0, 0], [False, False], [0.0, 0.0], [0, 1], last_value=3.0, last_seat=last_seat)
    sign = 1 if last_seat == 0 else -1
    assert got == pytest.approx([3.0 * sign, -3.0 * sign])


@pytest.mark.parametrize("seed", range(20))
def test_equals_the_definition_on_random_streams(seed):
    """The compiled backward pass against the definition, seat by seat."""
    rng = np.random.default_rng(seed)
    n, discount, trace = 30, 0.97, 0.8
    rewards, values = rng.normal(size=n).tolist(), rng.normal(size=n).tolist()
    seats, dones = rng.integers(0, 2, n).tolist(), (rng.random(n) < 0.15).tolist()
    last_value, last_seat = float(rng.normal()), int(rng.integers(0, 2))
    expected = [0.0] * n
    for seat in (0, 1):
        sign = 1 if seat == 0 else -1
        next_value, next_advantage = (last_value if last_seat == seat else -last_value), 0.0
        rows = [t for t in range(n) if seats[t] == seat]
        for t in reversed(rows):
            later = [u for u in rows if u > t]
            end = next((u for u in range(t, n) if dones[u]), None)
            until = later[0] if later else n
            ended = end is not None and end < until
            gained = sign * sum(rewards[t : (end + 1 if ended else until)])
            ahead = 0.0 if ended else (values[later[0]] if later else next_value)
            running = 0.0 if ended else next_advantage
            next_advantage = gained + discount * ahead - values[t] + discount * trace * running
            expected[t] = next_advantage
    got = advantages(rewards, dones, values, seats, last_value, last_seat, discount, trace)
    assert got == pytest.approx(expected, abs=1e-4)


def test_three_sides_and_partners_each_follow_their_own_gains():
    """Three for themselves: seat 2 gains between its decisions what falls to it while others act."""
    rewards = [[-0.5, -0.5, 1], [2, -1, -1], [0, 0, 0], [-1, 2, -1]]
    # Seats 1, 2, 0, 2 decide; the game ends. Seat 1 gains -0.5 - 1 + 0 + 2, seat 2 first -1 + 0, then -1,
    # seat 0 0 - 1.
    got = advantages(rewards, [False] * 3 + [True], [0.0] * 4, [1, 2, 0, 2], trace=0.0)
    assert got == pytest.approx([0.5, -1.0, -1.0, -1.0])
    # Partners: seats 0 and 2 are side 0, and what either's side gains is both's.
    got = advantages([1, 2, 4], [False, False, True], [0.0] * 3, [0, 1, 2])
    assert got == pytest.approx([7.0, -6.0, 4.0])


def test_beyond_the_rollout_a_partner_shares_the_value_and_two_others_halve_the_negative():
    zeros = [[0, 0, 0]] * 3
    assert advantages(zeros, [False] * 3, [0.0] * 3, [0, 1, 2], last_value=4.0, last_seat=1) == [-2, 4, -2]
    assert advantages([0] * 4, [False] * 4, [0.0] * 4, [0, 1, 2, 3], last_value=4.0, last_seat=3) == [-4, 4, -4, 4]
