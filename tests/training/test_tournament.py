"""The command: the same figures however it is played, files that can be read, one line an error."""

import csv
import json
import subprocess
import sys
import time

import pytest

from crib_env import notation
from training import bsd, tournament

SECONDS = "seconds_per_decision"


def run(*argv, processes=1):
    return tournament.main([*argv, "--processes", str(processes)])


def figures(path):
    """A tournament's JSON without the one figure that is not repeatable."""
    found = json.loads(path.read_text())
    for match in found["matches"]:
        del match[SECONDS]
    return found


def test_one_process_or_two_and_resumed_or_not_the_figures_are_the_same(tmp_path, capsys):
    argv = ["random", "greedy", "heuristic", "--pairs", "300"]
    assert run(*argv, "--json", str(tmp_path / "one.json")) == 0
    kept = str(tmp_path / "state")
    assert run(*argv[:3], "--pairs", "250", "--resume", kept) == 0
    assert run(*argv, "--resume", kept, "--json", str(tmp_path / "two.json"), processes=2) == 0
    assert run(*argv, "--resume", kept, "--json", str(tmp_path / "all-kept.json")) == 0
    assert figures(tmp_path / "one.json") == figures(tmp_path / "two.json") == figures(tmp_path / "all-kept.json")


def test_a_killed_tournament_goes_on(tmp_path, capsys):
    argv = ["greedy", "random", "--pairs", "1500", "--seed", "3"]
    kept = tmp_path / "state"
    command = [sys.executable, "-m", "training.tournament", *argv, "--processes", "1", "--resume", str(kept)]
    killed = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while not list(kept.glob("*.npz")) and killed.poll() is None:
        time.sleep(0.01)
    killed.kill()
    killed.wait()
    parts = len(list(kept.glob("*.npz")))
    assert parts > 0
    assert run(*argv, "--resume", str(kept), "--json", str(tmp_path / "resumed.json")) == 0
    assert run(*argv, "--json", str(tmp_path / "whole.json")) == 0
    assert figures(tmp_path / "resumed.json") == figures(tmp_path / "whole.json")


def test_a_folder_of_another_tournament_is_refused(tmp_path, capsys):
    kept = ["--resume", str(tmp_path)]
    assert run("greedy", "random", "--pairs", "10", *kept) == 0
    assert run("greedy", "random", "--pairs", "10", "--seed", "1", *kept) == 2
    assert "seed 0, now it is 1" in capsys.readouterr().err
    part = next(tmp_path.glob("*.npz"))
    part.write_bytes(part.read_bytes()[:100])
    assert run("greedy", "random", "--pairs", "10", *kept) == 2
    assert "damaged" in capsys.readouterr().err


def test_the_sequential_test_stops_at_the_same_pair_for_any_number_of_processes(tmp_path, capsys):
    argv = ["heuristic", "greedy", "--pairs", "3000", "--sprt", "50", "55"]
    for processes in (1, 2):
        assert run(*argv, "--json", str(tmp_path / f"{processes}.json"), processes=processes) == 0
    assert figures(tmp_path / "1.json") == figures(tmp_path / "2.json")
    (match,) = figures(tmp_path / "1.json")["matches"]
    assert match["sprt"]["decision"] == "above" and match["sprt"]["pairs"] <= match["pairs"] < 3000
    assert "heuristic wins more than 50 % against greedy" in capsys.readouterr().out


def test_files_for_programs_and_people(tmp_path, capsys):
    wanted = [str(tmp_path / name) for name in ("t.json", "t.csv", "t.png")]
    flags = [part for flag, path in zip(("--json", "--csv", "--plot"), wanted, strict=True) for part in (flag, path)]
    records = tmp_path / "records"
    flags += ["--records", str(records), "--record-games", "2", "--anchor", "strong"]
    assert run("greedy", "strong=heuristic", "--pairs", "250", *flags) == 0
    found = json.loads((tmp_path / "t.json").read_text())
    (match,) = found["matches"]
    assert (match["a"], match["b"], match["mirrored"]) == ("greedy", "strong", True)
    for name, interval in match["rates_ci95"].items():
        assert interval[0] <= match[name] <= interval[1]
    assert match["complete_deals"]["a"]["hand_dealer"]["mean"] == pytest.approx(8.0, abs=0.3)
    assert match["discard_loss"]["b"]["mean"] == 0 < match["discard_loss"]["a"]["mean"]
    assert match["less_luck"]["narrowed"] > 1
    assert match[SECONDS]["a"] > 0
    assert [r["elo"] for r in found["ratings"] if r["agent"] == "strong"] == [0]
    (row,) = csv.DictReader((tmp_path / "t.csv").open())
    assert float(row["win_rate"]) == match["win_rate"] and float(row["ci95.low"]) == match["ci95"][0]
    assert float(row["points_per_deal.a.hand"]) == match["points_per_deal"]["a"]["hand"]
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    games = [notation.parse(path.read_text()) for path in sorted(records.glob("*.txt"))]
    assert len(games) == 4 and all(game.over for game in games)
    assert sorted((game.game, game.seed) for game in games) == [(0, 0), (0, 0), (1, 0), (1, 0)]
    out = capsys.readouterr().out
    assert "less luck" in out and max(map(len, out.splitlines())) <= 132


def test_records_of_a_resumed_tournament_are_written_too(tmp_path, capsys):
    kept, records = tmp_path / "state", tmp_path / "records"
    assert run("greedy", "random", "--pairs", "5", "--resume", str(kept)) == 0
    assert run("greedy", "random", "--pairs", "5", "--resume", str(kept), "--records", str(records)) == 0
    names = sorted(path.name for path in records.iterdir())
    assert names == ["greedy-v-random-game-0.txt", "random-v-greedy-game-0.txt"]


def test_a_fault_stops_its_match_and_no_other(tmp_path, capsys):
    out = tmp_path / "t.json"
    assert run("greedy", "hostile:Raises", "heuristic", "--pairs", "10", "--json", str(out)) == 1
    found = json.loads(out.read_text())
    assert [(m["a"], m["b"]) for m in found["matches"]] == [("greedy", "heuristic")]
    assert {r["agent"] for r in found["ratings"]} == {"greedy", "heuristic"}
    assert len(found["stopped"]) == 2 and "ZeroDivisionError" in found["stopped"][0]["reason"]
    assert len(capsys.readouterr().err.strip().splitlines()) == 2


def test_or_forfeits_its_games(tmp_path, capsys):
    out = tmp_path / "t.json"
    flags = ["--on-error", "forfeit", "--time-limit", "2", "--json", str(out)]
    assert run("greedy", "hostile:FearsJacks", "hostile:Exits", "--pairs", "20", *flags) == 0
    jacks, exits, both = json.loads(out.read_text())["matches"]
    assert 0 < jacks["forfeits"]["b"] < 40 and jacks["forfeits"]["a"] == 0
    assert exits["forfeits"] == both["forfeits"] == {"a": 0, "b": 40}
    assert exits["win_rate"] == 1 and exits["skunk_rate"] == 0
    assert "fears-jacks forfeited" in capsys.readouterr().out


def test_a_program_from_outside_plays_single_games(tmp_path, capsys):
    for order in (["greedy", "hostile:Coins"], ["hostile:Coins", "greedy"]):
        assert run(*order, "--pairs", "500", "--json", str(tmp_path / f"{order[0][:5]}.json")) == 0
    (match,), (turned,) = (json.loads((tmp_path / f"{n}.json").read_text())["matches"] for n in ("greed", "hosti"))
    assert match["mirrored"] is False and match["games"] == match["pairs"] == 1000
    assert match["win_rate"] == pytest.approx(0.4, abs=0.06)
    assert turned["win_rate"] == pytest.approx(1 - match["win_rate"])
    assert turned["points_per_deal"] == {"a": match["points_per_deal"]["b"], "b": match["points_per_deal"]["a"]}
    half_width = (match["ci95"][1] - match["ci95"][0]) / 2
    assert half_width == pytest.approx(1.96 * (0.24 / 1000) ** 0.5, rel=0.05)
    assert "not mirrored" in capsys.readouterr().out


def test_bsd_plays_or_is_left_out_with_its_reason(capsys):
    argv = ["greedy", "heuristic", "bsd", "--pairs", "2"]
    assert run(*argv) == 0
    out = capsys.readouterr().out
    reason = bsd.missing_reason()
    assert ("not mirrored" in out) if reason is None else (f"bsd is left out: {reason}" in out)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["greedy"], "two or more players"),
        (["greedy", "greedy"], "different names"),
        (["greedy", "x=greedy", "x=random"], "different names"),
        (["greedy", "gredy"], "no agent 'gredy'"),
        (["greedy", "random", "--anchor", "bob"], "nobody of that name"),
        (["greedy", "random", "--sprt", "55", "50"], "LOW < HIGH"),
        (["greedy", "random", "--pairs", "0"], "at least 1 pair"),
        (["greedy", "random", "--time-limit", "0"], "more than 0 seconds"),
        (["greedy", "random", "--target", "0"], "target"),
        (["greedy", "random", "--processes", "0"], "--processes 0"),
        (["greedy", "hostile:Nobody"], "hostile:Nobody"),
        (["greedy", "hostile:ExitsAtOnce"], "ended the process"),
    ],
)
def test_a_tournament_that_cannot_be_is_refused(argv, said, capsys):
    """Exit status 2 and one line."""
    assert tournament.main(["--processes", "1", *argv]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert said in line


def test_a_plot_without_matplotlib_names_the_extra(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert run("greedy", "random", "--pairs", "2", "--plot", str(tmp_path / "t.png")) == 2
    assert "crib-env[plot]" in capsys.readouterr().err
