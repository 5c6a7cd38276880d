"""The solver: a table that learns, a run that goes on where it was stopped, files that are whole."""

import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest

from agents.pegging import N_HANDS, POSITION, all_hands, write_opening
from agents.tables.deal import load_tables, settle
from agents.tables.play import (
    PARTS,
    SHARES,
    chances_at,
    in_eighths,
    load_play,
    make_strategy,
    place_of_key,
    save_play,
    solved_play,
    strategy_of,
)
from crib_env.values import crib_table
from training.cfr import ROW, average_strategy, learn, move_rows, new_walk
from training.solve_play import Settings, Solver, main


def learned(deals, rows_bits=20, seed=3):
    rows, walks = np.zeros(1 << rows_bits, dtype=ROW), new_walk(seed)
    numbers = np.full(1 << 16, -1, dtype=np.int16)
    numbers[all_hands()] = np.arange(N_HANDS)
    peg = np.zeros((2, N_HANDS), dtype=np.float32)
    done = learn(rows, walks[0], 0, deals, np.uint64(seed), crib_table(), peg, numbers, 0.6, 1e6)
    return rows, walks, done


def by_key(rows):
    used = rows[rows["key"] != 0]
    return used[np.argsort(used["key"])]


def test_a_full_table_stops_the_walk_and_moves_without_loss():
    """Rows run out before the deals do; in a larger table every row is found again."""
    rows, walks, done = learned(5_000, rows_bits=16)
    assert 0 < done < 5_000
    assert 0.7 * len(rows) < walks["filled"][0] < 0.8 * len(rows)
    larger = np.zeros(2 * len(rows), dtype=ROW)
    move_rows(rows, larger)
    assert (by_key(rows) == by_key(larger)).all()
    for row in by_key(rows)[::997]:
        assert larger[place_of_key(larger, row["key"])] == row


def test_regrets_are_floored_and_averages_are_chances():
    """No regret below zero; every average sums to one over at most four cards."""
    rows, _, _ = learned(2_000)
    assert (rows["regret"] >= 0).all()
    keys, chances = average_strategy(rows)
    assert len(keys) > 50_000
    assert (np.diff(keys.astype(np.int64)) > 0).all()
    assert np.allclose(chances.sum(axis=1), 1, atol=1e-5)


def test_eighths_are_near_and_drop_what_is_small():
    """Rounding moves no chance by an eighth or more; small ones go, unless nothing else is left."""
    rng = np.random.default_rng(0)
    chances = rng.dirichlet([0.4] * 4, 5_000)
    parts = SHARES[in_eighths(chances, 0.0)] / PARTS
    assert np.abs(parts - chances).max() < 1 / PARTS
    assert (SHARES.sum(axis=1) == PARTS).all()
    dropped = SHARES[in_eighths(chances, 0.3)]
    assert (dropped[(chances < 0.3) & (chances < chances.max(axis=1, keepdims=True))] == 0).all()
    assert SHARES[in_eighths(np.array([[0.25, 0.25, 0.25, 0.25]]), 0.9)].sum() == PARTS


def test_a_strategy_survives_its_file(tmp_path):
    """Keys in any order come back sorted, each with its code; the hash table finds them all."""
    rng = np.random.default_rng(1)
    keys = np.unique(rng.integers(1, 1 << 60, 3_000, dtype=np.uint64))
    rng.shuffle(keys)
    codes = rng.integers(0, len(SHARES), len(keys)).astype(np.uint8)
    save_play(tmp_path / "play.xz", keys, codes)
    got_keys, got_codes = load_play((tmp_path / "play.xz").read_bytes(), "play.xz")
    order = np.argsort(keys)
    assert (got_keys == keys[order]).all()
    assert (got_codes == codes[order]).all()
    strategy = strategy_of(keys, codes)
    for key, code in zip(keys[:200], codes[:200], strict=True):
        assert (strategy[place_of_key(strategy, key)]["chance"] * PARTS == SHARES[code]).all()


@pytest.mark.parametrize("damage", [lambda d: d[:-20], lambda d: b"what is this", lambda d: b"", lambda d: d[::-1]])
def test_a_damaged_solution_is_refused_by_name(tmp_path, damage):
    """Cut short, foreign, empty: one message that names the file and the way out."""
    keys = np.arange(1, 200, dtype=np.uint64)
    save_play(tmp_path / "play.xz", keys, np.zeros(len(keys), np.uint8))
    (tmp_path / "play.xz").write_bytes(damage((tmp_path / "play.xz").read_bytes()))
    with pytest.raises(ValueError, match=r"play\.xz .*python -m training\.solve_play"):
        solved_play(tmp_path / "play.xz")


def test_a_missing_solution_says_how_to_make_one(tmp_path):
    """The path and the command."""
    with pytest.raises(ValueError, match=r"nowhere.*python -m training\.solve_play"):
        solved_play(tmp_path / "nowhere.xz")


def test_unknown_positions_get_even_chances():
    """And are told apart from known ones."""
    line = np.zeros(1, dtype=POSITION).view(np.recarray)
    write_opening(line[0], int(all_hands()[700]), int(all_hands()[900]))
    chances = np.zeros(4)
    empty = make_strategy(np.array([], dtype=np.uint64), np.zeros((0, 4)))
    assert not chances_at(empty, line[0], 3, chances)
    assert chances[:3] == pytest.approx([1 / 3] * 3)


def test_stopped_and_gone_on_it_ends_where_it_would_have(tmp_path):
    """Every row, bit for bit, and the round's tables in between."""
    settings = Settings(rounds=1, deals=3_000, seed=5)
    whole = Solver(settings, tmp_path / "whole")
    whole.learn(3_000)
    parts = Solver(settings, tmp_path / "parts")
    parts.learn(1_234)
    parts.save()
    parts = Solver(settings, tmp_path / "parts")
    assert parts.deals == 1_234
    parts.learn(3_000 - 1_234)
    assert by_key(parts.rows).tobytes() == by_key(whole.rows).tobytes()
    assert parts.walk.tobytes() != b"" and parts.walk["chance"] == whole.walk["chance"]


def test_other_settings_or_a_damaged_state_are_refused(tmp_path):
    """Both name the file and what to do."""
    solver = Solver(Settings(deals=100), tmp_path)
    solver.learn(50)
    solver.save()
    with pytest.raises(ValueError, match="was begun with"):
        Solver(Settings(deals=200), tmp_path)
    state = tmp_path / "state.npz"
    state.write_bytes(state.read_bytes()[:1000])
    with pytest.raises(ValueError, match="damaged"):
        Solver(Settings(deals=100), tmp_path)


@pytest.mark.parametrize("wrong", [["--deals", "0"], ["--rounds", "-1"], ["--hands", "-3"], ["--report-every", "0"]])
def test_the_command_refuses_what_makes_no_sense(tmp_path, capsys, wrong):
    """Exit status 2 and one line."""
    assert main([*wrong, "--out", str(tmp_path)]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


@pytest.mark.slow
@pytest.mark.ci
def test_the_command_from_start_to_end(tmp_path, monkeypatch, capsys):
    """Two short rounds: files that load, a table of convergence, and nothing left to do the second time."""
    short = partial(settle, rounds=1, deals=2_000, last_deals=2_000, passes=1)
    monkeypatch.setattr("training.solve_play.settle", short)
    command = ["--rounds", "2", "--deals", "3000", "--hands", "2", "--report-every", "2000", "--out", str(tmp_path)]
    assert main(command) == 0
    tables, strategy = load_tables(tmp_path / "deal.npz"), solved_play(tmp_path / "solved_play.xz")
    assert (strategy["key"] != 0).sum() > 10_000
    assert tables.kept.sum(axis=1) == pytest.approx([1, 1], abs=1e-3)
    lines = (tmp_path / "convergence.csv").read_text().splitlines()
    assert lines[0] == "deals,information_sets,gain,standard_error"
    assert [int(line.split(",")[0]) for line in lines[1:]] == [2000, 3000, 4000, 6000]
    gains = [float(line.split(",")[2]) for line in lines[1:]]
    assert all(gain > 0 for gain in gains)
    assert main(command) == 0
    assert (tmp_path / "convergence.csv").read_text().splitlines() == lines


def test_a_signal_saves_and_the_same_command_goes_on(tmp_path):
    """Stopped from outside it leaves a state, says so, and finds it again."""
    command = [sys.executable, "-m", "training.solve_play", "--hands", "0", "--out", str(tmp_path)]

    def run_for_a_moment():
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            first = process.stderr.readline()
            time.sleep(2)
            process.send_signal(signal.SIGTERM)
            return first, process.communicate()[1], process.returncode

    first, rest, status = run_for_a_moment()
    assert "begins anew" in first
    assert status == 130
    assert "the same command goes on" in rest
    with np.load(tmp_path / "state.npz") as state:
        assert state["deals"] > 0
    assert "goes on after" in run_for_a_moment()[0]
