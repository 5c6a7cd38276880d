"""The bench: a signature that is the same everywhere, fair draws, and the JSON of the contract."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from crib_env import Game, Rules, bench
from crib_env.state import new_records

CONTRACT = {
    "signature",
    "engine_steps_per_s",
    "engine_games_per_s",
    "observe_steps_per_s",
    "gym_steps_per_s",
    "vector_steps_per_s",
    "openspiel_games_per_s",
    "compile_cold_s",
    "compile_warm_s",
    "import_s",
}


@pytest.fixture
def shortened(monkeypatch):
    """Everything runs, once and briefly; fresh processes and the signature are pretended."""
    monkeypatch.setattr(bench, "BATCH", 32)
    monkeypatch.setattr(bench, "ENGINE_GAMES", 5)
    monkeypatch.setattr(bench, "signature", lambda: "0123456789abcdef")
    monkeypatch.setattr(bench, "run_fresh", lambda code, environment: 0.5)
    run = bench.run_in_turn
    monkeypatch.setattr(bench, "run_in_turn", lambda loads, seconds, repeats: run(loads, 0.01, 2))


def test_the_json_has_what_the_contract_names(shortened, tmp_path, capsys):
    bench.main(["--json", str(tmp_path / "bench.json"), "--quick"])
    report = json.loads((tmp_path / "bench.json").read_text())
    assert set(report) >= CONTRACT
    assert report["compile_cold_s"] is None and report["compile_warm_s"] == 0.5
    speeds = [v for k, v in report.items() if k.endswith("_per_s")]
    assert all(v is None or v > 0 for v in speeds)
    assert report["engine_steps_per_s"] > 50 * report["engine_games_per_s"]
    shown = capsys.readouterr()
    assert "0123456789abcdef" in shown.out and "compiling" in shown.err


def test_without_openspiel_the_reason_stands_there(shortened, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    report = bench.measure(quick=True)
    assert report["openspiel_games_per_s"] is None and report["engine_to_openspiel"] is None
    assert "not installed" in report["openspiel_games_per_s_reason"]


def test_random_games_are_real_games_to_121():
    record = new_records(1, Rules(), 5)
    _, steps = bench.random_games(record, 3, 1)
    g = record[0]
    assert g["game"] == 3 and g["score"].max() == 121
    assert steps > 9 * int(g["deal"])
    assert Game(seed=5, game=3).dealer == g["first_dealer"]


def test_draws_are_legal_and_fair():
    masks = np.zeros((30_000, 20), dtype=np.int8)
    masks[:, [2, 7, 16, 19]] = 1
    # 30,000 draws of four: 7,500 each, sigma 75; five sigmas allowed.
    counts = np.bincount(bench.draw_legal(masks, 1), minlength=20)
    assert set(np.flatnonzero(counts)) == {2, 7, 16, 19}
    assert (abs(counts[[2, 7, 16, 19]] - 7_500) < 5 * 75).all()


def test_folding_depends_on_every_value_and_its_place():
    start = np.uint64(0)
    values = np.array([1, 2, -3], dtype=np.int64)
    folded = bench.fold_all(start, values)
    assert folded == bench.fold_all(start, values.copy())
    assert folded != bench.fold_all(start, values[::-1].copy())
    assert folded != bench.fold_all(start, np.array([1, 2, -4]))


def test_a_change_of_a_single_rule_changes_the_signature(monkeypatch):
    for name, value in (("SIGNATURE_RANDOM_GAMES", 20), ("SIGNATURE_BOT_GAMES", 2), ("SIGNATURE_VIEWS", 8)):
        monkeypatch.setattr(bench, name, value)
    before = bench.signature()
    assert before == bench.signature() and len(before) == 16 and int(before, 16) > 0
    # The short game, in the same place: another rule.
    monkeypatch.setattr(bench, "Rules", lambda: Rules(target=120))
    assert bench.signature() != before


def test_medians_are_taken_over_interleaved_repeats():
    order = []

    def load(name, count):
        def run():
            order.append(name)
            return {name: count}

        return run

    speeds = bench.run_in_turn({"a": load("a", 1), "b": load("b", 2)}, seconds=0.0, repeats=3)
    assert order == ["a", "b"] * 4  # one to warm up
    assert speeds["a"] > 0 and speeds["b"] > 0


def test_a_failing_fresh_process_is_reported():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        bench.run_fresh("1 / 0", {})


@pytest.mark.slow
@pytest.mark.ci
def test_the_signature_is_the_same_for_another_processor():
    """Compiled for a plain processor, without this one's vector units, in caches of its own."""
    code = "from crib_env import bench; print(bench.signature())"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}

    def run(**more):
        done = subprocess.run(
            [sys.executable, "-c", code], env={**environment, **more}, capture_output=True, text=True, check=True
        )
        return done.stdout

    assert run() == run(NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")
