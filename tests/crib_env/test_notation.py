"""Text records: what is written is read back the same, and what is damaged is refused with its line."""

import random

import pytest

from crib_env.game import Game
from crib_env.notation import parse, write
from crib_env.rules import Rules


def played(game, seed, moves=10_000):
    """The game after some random legal moves, or at its end."""
    rng = random.Random(seed)
    while not game.over and moves > 0:
        game.push(rng.choice(game.legal_actions()))
        moves -= 1
    return game


def given_ending(players=2, moves=10_000):
    """A `from_deal` game, begun with heels and played on over later deals."""
    hands = ["2C 4D 6H 8S", "9C 9D 9H 9S", "AC 3D 5H 7S", "TC QD KH 7D"][:players]
    scores = [30, 21, 27][: 3 if players == 3 else 2]
    game = Game.from_deal(1, hands, "KC KD QC QS", "JH", scores, rules=Rules(players, target=61), seed=5)
    return played(game, players, moves)


def assert_same(game, other):
    assert other.record.tobytes() == game.record.tobytes()
    assert (other.events, other.actions, other.scores) == (game.events, game.actions, game.scores)


@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("target", [61, 121])
def test_random_games_are_read_back_the_same(players, target):
    rules = Rules(players, target)
    for seed in range(50):
        scores = [random.Random(seed).randrange(target) for _ in range(rules.sides)] if seed % 3 == 0 else None
        moves = 10_000 if seed % 2 else 3 * seed
        game = played(Game(seed - 5, rules, scores=scores, game=seed % 4), seed, moves)
        assert_same(game, parse(write(game)))


@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("moves", [0, 5, 10_000])
def test_games_from_a_deal_are_read_back_the_same(players, moves):
    game = given_ending(players, moves)
    assert_same(game, parse(write(game)))


def test_heels_that_end_the_game_are_read_back_the_same():
    game = Game.from_deal(0, ["2C 4D 6H 8S", "9C 9D 9H 9S"], "KC KD QC QS", "JH", [120, 7])
    text = write(game)
    assert text.splitlines()[-3:] == ["starter JH", "  heels: seat 0 pegs 1 of 2, score 121", "over: side 0 wins"]
    assert_same(game, parse(text))


RECORD = """\
cribbage 1
players 2
target 121
seed 0
game 0
dealer 0
scores 115 93
deal 1: dealer 0, after the discard
seat 0 kept 2C 4D 6H 8S
seat 1 kept 9C 9D 9H 9S
crib KC KD QC QS
starter AH
seat 1 lays 9C, count 9
seat 0 lays 6H, count 15
  play: seat 0 pegs 2, score 117
seat 1 lays 9D, count 24
seat 0 lays 2C, count 26
seat 1 says go
seat 0 lays 4D, count 30
  go: seat 0 pegs 1, score 118
seat 1 lays 9H, count 9
seat 0 lays 8S, count 17
seat 1 lays 9S, count 26
  last: seat 1 pegs 1, score 94
  show_hand: seat 1 pegs 12, score 106
  show_hand: seat 0 pegs 3 of 4, score 121
scores 121 106
over: side 0 wins
"""


def test_a_record_reads_like_this():
    game = Game.from_deal(0, ["2C 4D 6H 8S", "9C 9D 9H 9S"], "KC KD QC QS", "AH", [115, 93])
    for action in ("9C", "6H", "9D", "2C", "go", "4D", "9H", "8S", "9S"):
        game.push(action)
    assert write(game) == RECORD


def test_spaces_blank_lines_and_comments_mean_nothing():
    game = played(Game(3), 3, moves=40)
    text = "# a comment\n\n" + write(game).replace("\n", " \n\n").replace(" ", "   ") + "\n# the end\n"
    assert_same(game, parse(text))


RECORDS = {
    "two": write(played(Game(7, Rules(target=31)), seed=1)),
    "three": write(played(Game(8, Rules(3, target=21)), seed=2)),
    "from_deal": write(given_ending()),
}
# What may happen to a line. Each gives the lines that stand in its place.
DAMAGES = {
    "dropped": lambda line: [],
    "doubled": lambda line: [line, line],
    "emptied but for a word": lambda line: line.split()[:1] if len(line.split()) > 1 else [line + "x"],
    "last word lost": lambda line: [line.rsplit(maxsplit=1)[0] if " " in line else ""],
    "word added": lambda line: [line + " 7"],
    "last letter lost": lambda line: [line[:-1]],
    "number raised": lambda line: [raise_last_digit(line)],
    "made huge": lambda line: [line + "9" * 5000],
    "made negative": lambda line: [line.rsplit(maxsplit=1)[0] + " -1"],
    "other case": lambda line: [line.swapcase()],
    "nonsense": lambda line: ["\x00 \u0663 %s {}"],
    "other seat": lambda line: [
        line.replace("seat 0", "seat 9").replace("seat 1", "seat 0").replace("dealer", "dealt")
    ],
    "nobody's card": lambda line: [" ".join([*line.split()[:-1], "1X"])],
    "go": lambda line: ["seat 0 says go"] if line != "seat 0 says go" else ["seat 1 says go"],
}


def raise_last_digit(line):
    """The line with its last digit one higher, 9 becoming 0; nonsense if it has none."""
    for place in range(len(line) - 1, -1, -1):
        if line[place].isdigit():
            return line[:place] + str((int(line[place]) + 1) % 10) + line[place + 1 :]
    return line + "?"


@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_line_is_refused_with_a_line_number(record, damage):
    lines = RECORDS[record].splitlines()
    for n, line in enumerate(lines):
        damaged = [*lines[:n], *DAMAGES[damage](line), *lines[n + 1 :]]
        if damaged == lines:
            continue  # this line has nothing of the kind
        with pytest.raises(ValueError, match=r"^line \d+: "):
            parse("\n".join(damaged))


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_cut_short_is_refused_at_its_end(record):
    lines = RECORDS[record].splitlines()
    for n in range(len(lines)):
        with pytest.raises(ValueError, match=rf"^line {n + 1}: "):
            parse("\n".join(lines[:n]))


@pytest.mark.parametrize("record", RECORDS)
def test_swapped_lines_are_refused(record):
    lines = RECORDS[record].splitlines()
    for n in range(len(lines) - 1):
        if lines[n] == lines[n + 1]:
            continue
        with pytest.raises(ValueError, match=r"^line \d+: "):
            parse("\n".join([*lines[:n], lines[n + 1], lines[n], *lines[n + 2 :]]))


def test_an_error_says_what_is_wrong_where():
    lines = RECORDS["two"].splitlines()
    n = next(n for n, line in enumerate(lines) if " lays " in line)
    lines[n] = lines[n].split(" lays ")[0] + " lays 9X, count 9"
    with pytest.raises(ValueError, match=rf"^line {n + 1}: illegal action '9X' at deal 1, count 0"):
        parse("\n".join(lines))


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment", "cribbage 2", "chess 1"])
def test_what_is_no_record_is_refused(text):
    with pytest.raises(ValueError, match=r"^line \d+: .*cribbage 1"):
        parse(text)
