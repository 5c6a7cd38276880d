"""Match play: the margin of a game, what it is worth in each format, who deals the next game.

Names and numbers for two sides; no game is played here. Source tags as in `rules`, and S-RU, S-KO,
S-EE: the Russian, Korean and Estonian rules articles; BSD: the manual of BSD cribbage; own: settled
here, since no source does.
May import: rules, rewards, game (for its checks).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from crib_env.game import check_whole
from crib_env.rewards import skunk_level
from crib_env.rules import SHORT_TARGET_POINTS, TARGET_POINTS, TRIPLE_SKUNK_SCORE, Rules

NORMAL, SKUNK, DOUBLE_SKUNK, TRIPLE_SKUNK = range(4)
MARGINS = ("normal", "skunk", "double_skunk", "triple_skunk")

WIN_MATCH: Final = "win_match"  # instead of points: the game wins the match outright
Gain: TypeAlias = int | Literal["win_match"]
MAX_LENGTH = 999


@dataclass(frozen=True)
class MatchFormat:
    """What a won game is worth.

    Attributes:
        name: id of the format.
        points: gain by margin at 121 points: normal, skunk, double skunk, triple skunk. Where a
            format knows no such line, the next lower one that it does know. [own]
        lurch: match points for a lurch, at 61; any other win there is worth points[0].
        source: where it comes from.
    """

    name: str
    points: tuple[Gain, Gain, Gain, Gain]
    lurch: int
    source: str

    def gains(self, target: int) -> tuple[Gain, Gain, Gain, Gain]:
        """Gain by margin in games to `target`, to be read with `margin_of`."""
        if target == SHORT_TARGET_POINTS:
            return (self.points[NORMAL], self.lurch, self.lurch, self.lurch)
        return self.points


# A lurch counts two games [S-EE]: where a game is 2 or 3 points it is scored as a skunk [own].
FORMATS = {
    f.name: f
    for f in (
        MatchFormat("acc", (2, 3, 3, 3), 3, "official tournament [S-RU, S-KO, ACC 1.6]"),
        MatchFormat("long", (3, 4, 4, 4), 4, "long match [S-RU, S-KO]"),
        MatchFormat("free_3", (1, 2, 3, 3), 2, "free play, a double skunk 3 [S-RU, S-KO]"),
        MatchFormat("free_4", (1, 2, 4, 4), 2, "free play, a double skunk 4 [S-RU, S-KO, S-EE]"),
        MatchFormat("free_triple", (1, 2, 4, WIN_MATCH), 2, "free play with a triple skunk [S-RU, S-KO]"),
        MatchFormat("lurch_half", (1, 1, 2, 2), 2, "two games for less than half the target [HOY, S-EE]"),
    )
}

# Who deals first in the next game: loser [S-RU, S-KO, S-EE, BSD]; winner [Britannica 1911]; the other of
# who dealt first in this one; or whom the cut says, an even chance.
NEXT_DEALERS = ("loser", "winner", "alternate", "cut")


@dataclass(frozen=True)
class MatchRules:
    """What two players agree on before a match.

    Args:
        format: id of a `MatchFormat`.
        length: match points that win; boards have holes for 5 or 7. [S-RU]
        next_dealer: one of `NEXT_DEALERS`.
        target: points a game goes to.
    Raises:
        ValueError: a value no table could play.
    """

    format: str = "free_4"
    length: int = 7
    next_dealer: str = "loser"
    target: int = TARGET_POINTS

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise ValueError(f"unknown match format {self.format!r}: allowed are {', '.join(FORMATS)}")
        if self.next_dealer not in NEXT_DEALERS:
            raise ValueError(f"unknown next dealer {self.next_dealer!r}: allowed are {', '.join(NEXT_DEALERS)}")
        check_whole("match length", self.length, MAX_LENGTH)
        if self.length == 0:
            raise ValueError(f"match length 0: allowed are 1..{MAX_LENGTH} match points")
        Rules(target=self.target)

    @property
    def gains(self) -> tuple[Gain, Gain, Gain, Gain]:
        """Gain by margin."""
        return FORMATS[self.format].gains(self.target)


def margin_of(loser_score: int, target: int = TARGET_POINTS) -> int:
    """Margin of a game, 0..3 into `MARGINS`, from the loser's final score.

    At 121: 90 is a skunk, 60 a double and 30 a triple one. At 61 a lurch (30 or less) stands as 1.
    Other targets know only a normal win.
    """
    return skunk_level(loser_score, target) + int(target == TARGET_POINTS and loser_score <= TRIPLE_SKUNK_SCORE)


def points_after(points: int, gain: Gain, length: int) -> int:
    """Match points once `gain` is added, 0..length: what is beyond the length decides nothing."""
    return length if gain == WIN_MATCH else min(points + gain, length)


def next_first_dealer(next_dealer: str, first_dealer: int, winner: int) -> int | None:
    """Side, 0 or 1, that deals first in the next game; None where a cut decides.

    Args:
        next_dealer: one of `NEXT_DEALERS`, trusted.
        first_dealer: side that dealt first in the game just played.
        winner: side that won it.
    """
    choices = {"loser": 1 - winner, "winner": winner, "alternate": 1 - first_dealer, "cut": None}
    return choices[next_dealer]
