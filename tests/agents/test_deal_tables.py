"""The deal's tables against published figures, and against their own making."""

import csv
from pathlib import Path

import numpy as np
import pytest

from agents.pegging import DEALER, PONE, hand_numbers, pack
from agents.tables.deal import MOST_PEGGED, MOST_SHOWN, deal_tables, load_tables, main, next_tables, save_tables
from crib_env.cards import RANKS
from crib_env.values import OWN_CRIB, THEIR_CRIB

DATA = Path(__file__).parent.parent / "data"
POINTS = np.arange(MOST_PEGGED)


def mean_play(role, side):
    """Points in the play of a role: its own (side 0) or the other's."""
    tables = deal_tables()
    return float((tables.kept[role] * (tables.peg_odds[role, :, side] @ POINTS)).sum())


def test_good_play_brings_what_is_published():
    """Per deal, good players: hands 7.9-8.1 and 8.0-8.2, crib 4.6-4.8, play 3.2-3.6 and 2.0-2.4 (Chambers, Colvert,
    self-play of table bots), each band a rounding wider."""
    tables = deal_tables()
    hands = tables.hand_odds @ np.arange(MOST_SHOWN)
    assert 7.85 < hands[DEALER] < 8.15
    assert 7.95 < hands[PONE] < 8.25
    assert 3.15 < mean_play(DEALER, 0) < 3.65
    assert 1.95 < mean_play(PONE, 0) < 2.45
    plain, suited = np.moveaxis(tables.crib[OWN_CRIB], -1, 0)
    crib = float((tables.thrown[DEALER] * np.where(np.eye(13), plain, 0.8 * plain + 0.2 * suited)).sum())
    assert 4.5 < crib < 4.9


def test_both_sides_tell_of_the_same_play():
    """What the pone pegs is the same seen from either side, as far as card removal goes."""
    assert mean_play(PONE, 0) == pytest.approx(mean_play(DEALER, 1), abs=0.05)
    assert mean_play(DEALER, 0) == pytest.approx(mean_play(PONE, 1), abs=0.05)


def test_chances_sum_to_one():
    """Wherever a discard, a hand or a count can be."""
    tables = deal_tables()
    cribs = tables.crib_odds.sum(axis=-1)
    unlike = ~np.eye(13, dtype=bool)
    assert np.allclose(cribs[:, unlike], 1, atol=5e-3)
    assert np.allclose(cribs[:, ~unlike][..., 0], 1, atol=5e-3)
    assert (cribs[:, ~unlike][..., 1] == 0).all()  # a pair is never suited
    for odds in (tables.peg_odds, tables.hand_odds, tables.kept):
        assert np.allclose(odds.sum(axis=-1), 1, atol=5e-3)
    assert tables.thrown.sum(axis=(1, 2)) == pytest.approx([1, 1], abs=1e-3)


def test_cribs_lie_near_schells():
    """Within a third of a point RMS: his players did not keep cards for the play, ours do, so that a pone's low cards
    are worth less in the dealer's crib, and his high ones more."""
    tables = deal_tables()
    for whose, column in ((OWN_CRIB, "schell_own"), (THEIR_CRIB, "schell_opp")):
        apart = []
        for row in csv.DictReader((DATA / "discard_tables.csv").open()):
            a, b = (RANKS.index(row[k].replace("10", "T")) for k in ("r1", "r2"))
            plain, suited = tables.crib[whose, a, b]
            apart.append((plain if a == b else 0.75 * plain + 0.25 * suited) - float(row[column]))
        assert np.sqrt(np.mean(np.square(apart))) < 0.33
        assert abs(np.mean(apart)) < 0.15


def test_discards_resemble_published_game_theory():
    """A published equilibrium of the discards, play left out: over the 91 pairs correlation is above 0.8."""
    rows = list(csv.DictReader((DATA / "orbitals_discard_frequency.csv").open()))
    pairs = [tuple(RANKS.index(c) for c in row["pair"]) for row in rows]
    for role, column in ((DEALER, "dealer_pct"), (PONE, "pone_pct")):
        ours = [deal_tables().thrown[role, a, b] for a, b in pairs]
        assert np.corrcoef(ours, [float(row[column]) for row in rows])[0, 1] > 0.8


def test_low_cards_are_for_the_play_and_fives_are_not():
    """What every player knows of pegging, in numbers."""
    tables, numbers = deal_tables(), hand_numbers()

    def worth(role, text):
        return tables.peg[role, numbers[pack(np.array(sorted(RANKS.index(c) for c in text)), 4)]]

    assert worth(PONE, "A234") > worth(PONE, "TJQK") > worth(PONE, "5555")
    assert worth(DEALER, "A238") > worth(DEALER, "TJQK")
    for role in (PONE, DEALER):
        assert worth(role, "A238") > worth(role, "5TJQ") + 1


def test_tables_are_read_only_and_survive_their_file(tmp_path):
    """Nobody may change the shared arrays; saved and loaded again they are the same."""
    tables = deal_tables()
    with pytest.raises(ValueError, match="read-only"):
        tables.peg[0, 0] = 1
    save_tables(tables, tmp_path / "deal.npz")
    for old, new in zip(tables, load_tables(tmp_path / "deal.npz"), strict=True):
        assert np.allclose(old, new, atol=2e-3)


def test_damaged_tables_are_refused_by_name(tmp_path):
    """Missing, foreign: the path and the command."""
    for content in (None, b"nothing of the kind"):
        path = tmp_path / "deal.npz"
        if content:
            path.write_bytes(content)
        with pytest.raises(ValueError, match=r"deal\.npz .*python -m agents\.tables\.deal"):
            load_tables(path)


def test_another_round_changes_the_cribs_by_no_more_than_noise():
    """Self-consistent: 60,000 deals with these discards give these cribs, and hands kept as often."""
    tables = deal_tables()
    nothing_played = np.zeros((1, 1820, 1820, 2), dtype=np.int8)
    again = next_tables(nothing_played, tables.crib, tables.peg, seed=77, number=0, deals=60_000)
    used = tables.thrown[[DEALER, PONE]] > 2e-3
    apart = (again.crib - tables.crib)[..., 0][used]
    assert np.sqrt(np.mean(apart**2)) < 0.15
    assert abs(again.kept - tables.kept).sum(axis=1).max() < 0.25
    assert again.hand_odds @ np.arange(MOST_SHOWN) == pytest.approx(tables.hand_odds @ np.arange(MOST_SHOWN), abs=0.05)


@pytest.mark.parametrize("wrong", [["--deals", "0"], ["--passes", "-1"], ["--play", "nowhere.xz"]])
def test_the_command_refuses_what_makes_no_tables(tmp_path, capsys, wrong):
    """Exit status 2, one line, and the file is left alone."""
    out = tmp_path / "deal.npz"
    out.write_bytes(b"as it was")
    assert main([*wrong, "--out", str(out)]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert out.read_bytes() == b"as it was"
