"""Golden games: whole records that must replay exactly. Read the diff before renewing them.

python -m tests.crib_env.test_playthroughs      writes tests/golden/playthroughs/*.txt anew
"""

import random
from pathlib import Path

import pytest

from crib_env.game import Game
from crib_env.notation import parse, write
from crib_env.rules import Rules

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "playthroughs"


def start_of_each():
    """The golden games before their first action, by name."""
    return {
        "two_to_121": Game(seed=1),
        "three_to_61": Game(seed=2, rules=Rules(players=3, target=61)),
        "ending_from_119": Game.from_deal(
            dealer=1,
            hands=["5C 5D JH QS", "4S 6H 6D KC"],
            crib="2C 8D 9S TH",
            starter="5H",
            scores=[95, 119],
            seed=3,
        ),
    }


def random_playthrough(game):
    """The game played to its end by random legal moves, always the same."""
    rng = random.Random(1)
    while not game.over:
        game.push(rng.choice(game.legal_actions()))
    return game


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_playthroughs_replay_exactly(path):
    text = path.read_text()
    game = parse(text)
    assert game.over
    assert write(game) == text


@pytest.mark.parametrize("name", start_of_each())
def test_seeds_still_deal_and_play_the_golden_games(name):
    assert write(random_playthrough(start_of_each()[name])) == (FOLDER / f"{name}.txt").read_text()


if __name__ == "__main__":
    for name, game in start_of_each().items():
        (FOLDER / f"{name}.txt").write_text(write(random_playthrough(game)))
