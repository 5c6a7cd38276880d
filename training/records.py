"""Text records of games that a tournament played. May import: crib_env."""

from __future__ import annotations

from collections.abc import Sequence

from crib_env.game import Game
from crib_env.notation import write
from crib_env.rules import Rules


def game_record(seed: int, number: int, rules: Rules, seats: Sequence[str], chosen: Sequence[int]) -> str:
    """The record of one game of a match, which `notation.parse` reads.

    Args:
        seed: the tournament's.
        number: the game's under that seed, which is its pair's.
        rules: the table's.
        seats: who sat in seat 0 and in seat 1.
        chosen: the actions the players chose; moves that were the only legal one are not among
            them. The record ends where they end.
    Raises:
        ValueError: the actions are not legal in that game.
    """
    game = Game(seed, rules, game=number)
    for action in chosen:
        push_forced(game)
        game.push(action)
    push_forced(game)
    names = "".join(f"# seat {seat}: {' '.join(name.split())}\n" for seat, name in enumerate(seats))
    return names + write(game)


def push_forced(game: Game) -> None:
    """Make moves for as long as only one is legal."""
    while len(legal := game.legal_actions()) == 1:
        game.push(legal[0])
