"""The rules as numbers: `Rules` (what a table may choose) and the constants (what it may not).

Source tags in brackets are those of the rules reference: ACC = American Cribbage Congress
tournament rules, BIC = Bicycle, HOY = "According to Hoyle" as shipped with BSD cribbage.

    rule                                here           ACC            OpenSpiel 2.0
    four-card flush in the crib         0              0              4
    game ends                           at once        at once        after the whole show
    both could go out in the show       pone first     pone first     seat 0 first
    winner's score                      capped at 121  121            uncapped
    first dealer                        drawn          cut            seat 0
    31, and go or last on that card     2              2              2
    jack as starter                     2, at once     2, at once     2, at once
    go                                  an action      spoken         an action

May import: nothing of ours.
"""

from __future__ import annotations

from dataclasses import dataclass

TARGET_POINTS = 121  # twice round the board
SHORT_TARGET_POINTS = 61  # once round
MAX_COUNT = 31
FIFTEEN = 15
FIFTEEN_POINTS = 2
THIRTY_ONE_POINTS = 2
GO_POINTS = 1  # go, or last card; replaced by the two for 31 [ACC 1.7 chart]
HEELS_POINTS = 2  # jack turned as starter, to the dealer [ACC 6.3]
NOBS_POINTS = 1  # jack of the starter's suit, in hand or crib
PAIR_POINTS = 2  # for each pair: 2, 6, 12 for two, three, four alike
MIN_RUN = 3
HAND_CARDS = 4  # kept by each player; also the size of the crib
SKUNK_SCORE = 90  # a loser at or below this is skunked, at 121 [ACC 1.6]
DOUBLE_SKUNK_SCORE = 60
TRIPLE_SKUNK_SCORE = 30  # counted in free play only
LURCH_SCORE = 30  # the half-way line of the 61-point game

MAX_PLAYERS = 4
MAX_DEALT = 6  # cards dealt to one player, two-handed
FEW_DEALT = 5  # with three and four players


@dataclass(frozen=True)
class Rules:
    """What a table agrees on before the game.

    Args:
        players: 2 (six cards each), 3 (five each and one from the pack to the crib) or
            4 (five each, partners opposite, one score a side). [BIC]
        target: points that win at the moment they are reached: 121, or 61 for the short game;
            any number from 1 to 999 is accepted, so that an ending can be practised.
    Raises:
        ValueError: a value no table could play.
    """

    players: int = 2
    target: int = TARGET_POINTS

    def __post_init__(self) -> None:
        if self.players not in (2, 3, 4):
            raise ValueError(f"Rules(players={self.players!r}): allowed are 2, 3 and 4")
        if isinstance(self.target, bool) or not isinstance(self.target, int) or not 1 <= self.target <= 999:
            raise ValueError(f"Rules(target={self.target!r}): allowed is a whole number 1..999, usually 121 or 61")

    @property
    def sides(self) -> int:
        """How many scores are kept: partners share one."""
        return 3 if self.players == 3 else 2

    @property
    def dealt_cards(self) -> int:
        """Cards dealt to each player."""
        return MAX_DEALT if self.players == 2 else FEW_DEALT

    @property
    def discards(self) -> int:
        """Cards each player lays to the crib."""
        return self.dealt_cards - HAND_CARDS

    @property
    def pack_cards_to_crib(self) -> int:
        """Cards the crib gets from the pack: one with three players."""
        return HAND_CARDS - self.players * self.discards
