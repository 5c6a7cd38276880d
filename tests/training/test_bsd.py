"""BSD cribbage as an opponent: the terminal, the talk, the game followed from one chair, and live games.

Recorded games in tests/data/bsd (made by record.py there) stand in for the program where it is not installed.
"""

import json
import os
import stat
import subprocess
from pathlib import Path

import numpy as np
import pytest

from agents.registry import make
from crib_env import Game
from crib_env.actions import GO
from crib_env.cards import card_id, parse_cards
from crib_env.state import GO_CARD, LOG_SEAT
from training import bsd
from training.bsd_screen import EXPECTED, Screen, Terminal, UnreadableScreen, read_screen, waiting_prompt
from training.follow import ME, FollowedGame, NotOurRules

DATA = Path(__file__).resolve().parents[1] / "data" / "bsd"
# From the last lines of each recording: my score, theirs, and how the game ended.
RECORDED = {
    "greedy_5_0": (108, 121),  # lost to the program's crib
    "greedy_7_0": (111, 121),  # lost in the play
    "greedy_7_1": (121, 73),  # won in the show, a skunk; the messages run round the window
}
live = pytest.mark.skipif(bsd.missing_reason() is not None, reason=str(bsd.missing_reason()))


def recorded(name):
    """The words of a recorded game: ("<" or ">", bytes)."""
    lines = (DATA / f"{name}.txt").read_text(encoding="ascii").splitlines()
    return [(line[0], json.loads(line[2:]).encode("ascii")) for line in lines]


def greedy_choice(talk):
    return int(make("greedy").act(talk.game.view(), talk.mask, np.random.default_rng(0))[0])


def replay(words, chunk=1 << 16):
    """Talk through a recording, hearing it in pieces; the talk at its end."""
    talk = bsd.Talk()
    typed = b""
    for who, text in words:
        if who == ">":
            assert (talk.choose(greedy_choice(talk)) if talk.chooses else typed) == text
            continue
        assert not talk.chooses
        for start in range(0, len(text), chunk):
            typed = talk.hear(text[start : start + chunk])
            if start + chunk < len(text):
                assert typed == b"" and not talk.chooses, "answered before the program had drawn everything"
    return talk


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("chunk", [1 << 16, 1, 7])
def test_a_recorded_game_is_answered_as_it_was_however_its_output_is_cut(name, chunk):
    talk = replay(recorded(name), chunk)
    assert talk.over
    assert tuple(talk.game.record["score"][:2]) == RECORDED[name]
    assert talk.game.record["winner"] == int(RECORDED[name][ME] != 121)


def test_a_screen_is_read_whole():
    words = recorded("greedy_7_1")
    talk, terminal, screens, row = bsd.Talk(), Terminal(), [], 9
    for who, text in words:
        if who == "<":
            terminal.feed(text)
            screens.append(read_screen(terminal, waiting_prompt(terminal), row))
            row = terminal.row
            terminal.touched = False
    assert not talk.over
    first = next(s for s in screens if s.prompt == "discard")
    assert len(first.mine) == 6 and first.starter is None and first.table == [] and first.scores == (0, 0)
    play = next(s for s in screens if s.prompt == "play")
    assert len(play.mine) == 4 and play.starter is not None and play.theirs == []
    assert {s.prompt for s in screens} == {"length", "more", "discard", "play", "hand", "crib", "again"}
    assert screens[-1].messages[-2:] == ["YOU SKUNKED ME!", "Another game?"]
    assert screens[-1].scores == (121, 73)


def test_the_terminal_draws_what_a_vt52_draws():
    terminal = Terminal()
    terminal.feed(b"\x1bH\x1bJabc\x1bY\x22\x25xyz\r\x1bBdown\b\bOP\x1bA\tT\x1b")
    terminal.feed(b"K")
    assert terminal.text(0, 0, 3) == "abc"
    assert terminal.text(2, 5, 9) == "xyzT"
    assert terminal.text(3, 0, 5) == "doOP "
    terminal.feed(b"\x1bY\x20\x21\x1bK\x1bCq\x1bDr")
    assert terminal.text(0, 0, 4) == "a r "
    with pytest.raises(UnreadableScreen, match="VT52"):
        terminal.feed(b"\x1b[2J")


@pytest.mark.parametrize(
    ("message", "card"), [("I get 2 playing TEN of HEARTS", "TH"), ("I get 12 playing ACE of SPADES", "AS")]
)
def test_a_card_that_scored_is_read_from_its_message(message, card):
    assert Screen("more", messages=[message]).played == [card_id(card)]


def test_nineteen_means_nothing_and_every_other_count_itself():
    assert Screen("more", messages=["My hand scores 19"]).counted == {"hand": 0}
    assert Screen("more", messages=["My crib scores 24"]).counted == {"crib": 24}


@pytest.mark.parametrize(
    "message",
    [
        "It's really only 4 points; I get 2",
        "You should have taken 6, not 4!",
        "Total > 31 -- try again",
        "No such rank",
    ],
)
def test_complaints_of_the_program_are_noticed(message):
    assert not EXPECTED.fullmatch(message)
    assert Screen("more", messages=["Your hand scores 6", message]).unexpected == message


@pytest.mark.parametrize(
    ("said", "instead", "report"),
    [
        (b"My hand scores 1", b"My hand scores 2", "it counts 2. for its hand .*, we count 1."),
        (b"You got 2", b"You got two", "it says 'You got two'"),
    ],
)
def test_a_program_with_other_rules_is_stopped_with_the_position(said, instead, report):
    words = recorded("greedy_7_1")
    k = next(k for k, (who, text) in enumerate(words) if who == "<" and said in text)
    words[k] = ("<", words[k][1].replace(said, instead))
    with pytest.raises(NotOurRules, match=f"{report}.*score .*, my cards .*, starter .*; it last said"):
        replay(words)


# Drawn at the first row for messages: the text, the star before it, the cursor behind it.
AT_AN_END = b"\x1bY*GAnother game? \x1bY*F*\x1bY*U"
THEY_HAVE_121 = b"\x1bY'P121"


@pytest.mark.parametrize(
    ("drawn", "report"),
    [(AT_AN_END, "it says that the game is over"), (THEY_HAVE_121 + AT_AN_END, r"it scores 0-121, we score 0-0")],
)
def test_a_program_that_ends_the_game_too_early_is_stopped(drawn, report):
    words = recorded("greedy_7_1")
    k = next(k for k, (who, text) in enumerate(words) if b"Your play: " in text)
    talk = replay(words[: k + 1])
    with pytest.raises(NotOurRules, match=report):
        talk.hear(drawn)


def laid_by(record, seat):
    moves = [int(m) for m in record["log"][: record["n_log"]]]
    return [m % LOG_SEAT for m in moves if m // LOG_SEAT == seat and m % LOG_SEAT != GO_CARD]


def is_choice(game):
    """Whether the seat to act has something to choose, as the program asks it: a last card it lays itself."""
    record = game.record
    return game.phase == "discard" or (record["cards_left"][game.to_act] > 1 and GO not in game.legal_actions())


class Chair:
    """Follows a real game from one seat, told only what that seat's player sees at his own choices."""

    def __init__(self, game, seat):
        self.seat = seat
        self.followed = FollowedGame((game.dealer - seat) % 2)
        self.turned = True

    def begin_deal(self, game):
        self.followed.deal(parse_cards(game.dealt(self.seat)))
        self.turned = False

    def look(self, game):
        if game.phase == "play":
            self.learn(game.record)
        return self.followed.view()

    def learn(self, record):
        if not self.turned:
            self.followed.turn(int(record["starter"]))
            self.turned = True
        self.followed.note(laid_by(record, 1 - self.seat))
        self.followed.catch_up()

    def end_deal(self, record, last_laid, crib):
        """The deal's record before its last card, that card, and the crib if it was counted."""
        self.learn_all(record, last_laid)
        if crib is not None:
            self.followed.show_crib(crib)
        self.followed.catch_up()

    def learn_all(self, record, last_laid):
        if not self.turned:
            self.followed.turn(int(record["starter"]))
            self.turned = True
        seat, card = last_laid
        theirs = laid_by(record, 1 - self.seat) + ([card] if seat != self.seat and card is not None else [])
        self.followed.note(theirs)


def follow_a_game(seed, seat, rng):
    """Play a random game and compare, at every choice of `seat`, the followed view with the real one."""
    game = Game(seed)
    chair = Chair(game, seat)
    deal, compared = -1, 0
    while not game.over:
        if game.deal != deal:
            chair.begin_deal(game)
            deal = game.deal
        action = int(rng.choice(game.legal_actions()))
        before, mover, is_mine = game.record, game.to_act, game.to_act == seat
        if is_mine and is_choice(game):
            assert chair.look(game)[0].tobytes() == game.view(seat).tobytes()
            assert (chair.followed.mask()[0] == game.mask()).all()
            compared += 1
            if game.phase == "discard":
                chair.followed.discard(action)
            else:
                chair.followed.lay(action)
        card = int(before["kept"][mover, action - 15]) if game.phase == "play" and action != GO else None
        events = game.push(action)
        if game.over or game.deal != deal:
            finish_deal(game, chair, before, (mover, card), events)
    return game, chair, compared


def finish_deal(game, chair, before, last_laid, events):
    counted_crib = any(e["phase"] == "show_crib" for e in events) or not game.over
    if before["phase"] == 0:  # heels ended the game, on the last discard
        chair.followed.turn(int(game.record["starter"]))
    else:
        chair.end_deal(before, last_laid, before["crib"] if counted_crib else None)


@pytest.mark.parametrize("seat", [0, 1])
def test_a_followed_game_shows_the_very_bytes_a_real_one_shows(seat):
    rng = np.random.default_rng(7)
    compared = 0
    for seed in range(60):
        game, chair, n = follow_a_game(seed, seat, rng)
        followed, real = chair.followed.record, game.record
        for name in ("score", "tally"):
            assert followed[name][0].tolist() == real[name][seat].tolist()
            assert followed[name][1].tolist() == real[name][1 - seat].tolist()
        assert followed["deal"] == real["deal"] and followed["winner"] == (real["winner"] - seat) % 2
        compared += n
    assert compared > 60 * 30


def test_a_move_that_our_rules_forbid_is_refused():
    followed = FollowedGame(dealer=1)
    followed.deal(parse_cards("AC 2C 3C 4C 5C 6C"))
    followed.discard(14)
    followed.turn(card_id("KD"))
    with pytest.raises(NotOurRules, match="score 0-0, my cards AC 2C 3C 4C 5C 6C"):
        followed.deal(parse_cards("AC 2C 3C 4C 5C 6C"))
    with pytest.raises(NotOurRules, match="the crib holds"):
        followed.show_crib(parse_cards("AC 2C 3C 4C"))
    followed.lay(15)
    with pytest.raises(NotOurRules, match="they said go, which is not legal"):
        followed.catch_up()


def false_program(folder, text):
    path = folder / "cribbage"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="ascii")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("sleep 60", "asked for nothing in 0.3 seconds"),
        ("exit 3", "ended in the middle"),
        ("while true; do printf '....'; done", "asked for nothing in 0.3 seconds"),
        ("printf '\\033[2J'; sleep 60", "VT52"),
    ],
)
def test_broken_programs_are_dropped_counted_nowhere_and_gone(monkeypatch, tmp_path, text, reason):
    begun = []

    class Watched(subprocess.Popen):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            begun.append(self)

    monkeypatch.setattr(bsd, "PROGRAM_PATHS", (false_program(tmp_path, text),))
    monkeypatch.setattr(bsd, "_clock", lambda seed, game: {"PATH": os.environ["PATH"]})
    monkeypatch.setattr(bsd, "missing_reason", lambda: None)
    monkeypatch.setattr(bsd, "_check_clock", lambda: None)
    monkeypatch.setattr(bsd, "STALL_SECONDS", 0.3)
    monkeypatch.setattr(bsd.subprocess, "Popen", Watched)
    result = bsd.BsdCribbage(tables=2).play(make("greedy"), games=3)
    assert len(result.won) == result.deals == 0
    assert len(result.dropped) == 3 and all(reason in why for why in result.dropped)
    assert len(begun) == 3 and all(p.returncode is not None for p in begun)


def test_a_missing_program_is_named_with_what_to_install(monkeypatch):
    monkeypatch.setattr(bsd, "PROGRAM_PATHS", ())
    assert "apt-get install bsdgames" in str(bsd.missing_reason())
    with pytest.raises(bsd.BsdTrouble, match="bsdgames"):
        bsd.BsdCribbage()
    monkeypatch.setattr(bsd, "PROGRAM_PATHS", ("/bin/sh",))
    monkeypatch.setattr(bsd, "_clock_path", lambda: None)
    assert "crib-env[bsd]" in str(bsd.missing_reason())


def test_a_clock_that_does_not_work_is_noticed(monkeypatch, tmp_path):
    no_library = tmp_path / "libfaketime.so.1"
    no_library.write_bytes(b"not for this machine")
    monkeypatch.setattr(bsd, "_clock_path", lambda: str(no_library))
    with pytest.raises(bsd.BsdTrouble, match="does not set the clock"):
        bsd._check_clock()


@live
def test_a_match_needs_a_game():
    with pytest.raises(ValueError, match="at least 1 game; 0 came"):
        bsd.BsdCribbage().play(make("greedy"), games=0)


@live
def test_an_agent_that_fails_leaves_no_program_behind(monkeypatch):
    tables = []
    leave = bsd._Table.leave
    monkeypatch.setattr(bsd._Table, "leave", lambda table: (leave(table), tables.append(table))[0])

    def fail(views, masks, rng):
        raise ArithmeticError("no idea")

    with pytest.raises(Exception, match="no idea"):
        bsd.BsdCribbage(tables=3).play(make(fail), games=5)
    assert len(tables) == 3 and all(t._process.returncode is not None for t in tables)


@live
def test_a_live_game_is_the_same_again():
    results = [bsd.BsdCribbage(tables=n).play(make("greedy"), games=4, seed=5) for n in (1, 4)]
    assert results[0].dropped == () and len(results[0].won) == 4
    assert results[0].loser_scores.tolist() == results[1].loser_scores.tolist()
    assert (results[0].points == results[1].points).all()


@live
@pytest.mark.slow
def test_greedy_loses_to_bsd_and_points_add_up():
    """300 games: public trials give greedy 40 %; the bounds are four standard errors either side."""
    result = bsd.BsdCribbage().play(make("greedy"), games=300, seed=11)
    assert result.dropped == ()
    assert 0.29 < result.won.mean() < 0.51
    lost_points = int(result.loser_scores.sum(dtype=np.int64))
    assert result.points.sum() == 121 * 300 + lost_points


@live
def test_time_runs_out_for_new_games_only():
    result = bsd.BsdCribbage(tables=2).play(make("greedy"), games=1000, seconds=0.5)
    assert 2 <= len(result.won) < 1000
    assert result.dropped == ()
