"""The crib table against what others published, and against its own making."""

import numpy as np
import pytest

from agents.tables.crib import next_table
from crib_env.cards import RANKS
from crib_env.values import OWN_CRIB, THEIR_CRIB, crib_table

# Schell's table as published, own and opponent's crib, a selection over its whole range.
SCHELL = {
    "AA": (5.38, 6.02), "A2": (4.23, 5.07), "23": (7.00, 7.33), "55": (8.79, 9.37), "TK": (2.84, 3.88),
}  # fmt: skip


def pair_value(whose, ranks):
    """Table value of a rank pair, suited a quarter of the time."""
    a, b = RANKS.index(ranks[0]), RANKS.index(ranks[1])
    unsuited, suited = crib_table()[whose, a, b]
    return unsuited if a == b else 0.75 * unsuited + 0.25 * suited


@pytest.mark.parametrize("ranks", SCHELL)
def test_values_lie_near_the_published_ones(ranks):
    """Published tables differ among themselves by 0.06-0.10 RMS; ours may not be far outside."""
    own, theirs = SCHELL[ranks]
    assert pair_value(OWN_CRIB, ranks) == pytest.approx(own, abs=0.3)
    assert pair_value(THEIR_CRIB, ranks) == pytest.approx(theirs, abs=0.3)


def test_the_table_is_symmetric_and_read_only():
    """Order of the two discards means nothing; nobody may change the shared array."""
    table = crib_table()
    assert table.shape == (2, 13, 13, 2)
    assert np.array_equal(table, table.transpose(0, 2, 1, 3))
    with pytest.raises(ValueError, match="read-only"):
        table[0, 0, 0, 0] = 1


def test_suited_discards_are_worth_more():
    """A flush needs them; 78 unlike pairs, both roles."""
    upper = np.triu_indices(13, 1)
    for whose in (OWN_CRIB, THEIR_CRIB):
        unsuited, suited = crib_table()[whose][upper].T
        assert (suited > unsuited - 0.05).all()
        assert 0.01 < (suited - unsuited).mean() < 0.1


def test_the_table_is_its_own_next_table():
    """Self-consistent: another round of 40,000 deals moves it by no more than its noise."""
    again = next_table(np.array(crib_table()), seed=1, round_number=0, deals=40_000)
    seen = again > 0  # a pair has no suited entry
    assert np.sqrt(np.mean((again - crib_table())[seen] ** 2)) < 0.25
    assert abs((again - crib_table())[seen].mean()) < 0.05
