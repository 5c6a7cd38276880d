"""Match equity: the chance to win a match, between games and inside one, when both play well.

Stands on the outcomes of a game (`win.outcome_table`): a match is a walk over them. Both players
are taken to play for the game, whatever the match score. For a race to a number of match points;
not for a fixed number of games. May import: crib_env, agents.tables.win.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from agents.tables.win import check_position, outcome_table
from crib_env.game import check_whole
from crib_env.match import MARGINS, MatchRules, next_first_dealer, points_after

ME, THEY = 0, 1


@lru_cache(maxsize=32)
def match_equity(match: MatchRules) -> np.ndarray:
    """My chance to win the match, before a game.

    Returns:
        float64[length + 1, length + 1, 2], read-only: [my match points, theirs, whether I deal
        first in the next game]. Row `length` is 1, I have won; column `length` above it is 0. With
        next_dealer "cut" the cut has been made; before it take the mean of the last axis.
    """
    length = match.length
    equity = np.zeros((length + 1, length + 1, 2))
    equity[length] = 1
    for total in range(2 * length - 2, -1, -1):
        for mine in range(max(0, total - length + 1), min(total, length - 1) + 1):
            for i_deal in (False, True):
                values = _outcome_values(equity, match, mine, total - mine, i_deal)
                equity[mine, total - mine, int(i_deal)] = _outcome_chances(match.target, 0, 0, i_deal) @ values
    equity.setflags(write=False)
    return equity


def outcome_values(
    match: MatchRules, my_points: int, their_points: int, i_dealt_first: bool | None = None
) -> np.ndarray:
    """My chance to win the match after each outcome of the game in hand.

    Args:
        match: what was agreed.
        my_points: match points before this game, 0..length - 1.
        their_points: likewise.
        i_dealt_first: whether I dealt first in this game; only next_dealer "alternate" asks.
    Returns:
        float64[8]: I win by each of the four `match.MARGINS`, then they do.
    Raises:
        ValueError: match points at which no game is played, or nobody said who dealt first.
    """
    check_whole("my match points", my_points, match.length - 1)
    check_whole("their match points", their_points, match.length - 1)
    if i_dealt_first is None and match.next_dealer == "alternate":
        raise ValueError("i_dealt_first: with next_dealer 'alternate' say whether I dealt first in this game")
    return _outcome_values(match_equity(match), match, my_points, their_points, bool(i_dealt_first))


def equity_in_game(
    my_score: int,
    their_score: int,
    i_deal: bool,
    match: MatchRules,
    my_points: int,
    their_points: int,
    i_dealt_first: bool | None = None,
) -> float:
    """My chance to win the match, before a deal of a game in hand.

    Args:
        my_score: points in the game, 0..target - 1.
        their_score: likewise.
        i_deal: whether I deal next.
        match: what was agreed.
        my_points: match points before this game, 0..length - 1.
        their_points: likewise.
        i_dealt_first: see `outcome_values`.
    Raises:
        ValueError: no such position, or a target above 121.
    """
    check_position(my_score, their_score, match.target)
    if match.target in (my_score, their_score):
        raise ValueError(f"scores {my_score}-{their_score}: the game to {match.target} is over, see `match_equity`")
    values = outcome_values(match, my_points, their_points, i_dealt_first)
    return float(_outcome_chances(match.target, my_score, their_score, i_deal) @ values)


def _outcome_chances(target: int, my_score: int, their_score: int, i_deal: bool) -> np.ndarray:
    """Chances of a game's outcomes: float[8], I win by each margin, then they do."""
    if i_deal:
        return outcome_table(target)[my_score, their_score]
    return np.roll(outcome_table(target)[their_score, my_score], len(MARGINS))


def _outcome_values(equity: np.ndarray, match: MatchRules, mine: int, theirs: int, i_dealt_first: bool) -> np.ndarray:
    """`outcome_values`, from an equity table that is filled for more match points than these."""
    first_dealer = ME if i_dealt_first else THEY
    values = []
    for winner in (ME, THEY):
        dealer = next_first_dealer(match.next_dealer, first_dealer, winner)
        for gain in match.gains:
            if winner == ME:
                after = equity[points_after(mine, gain, match.length), theirs]
            else:
                after = equity[mine, points_after(theirs, gain, match.length)]
            values.append(after.mean() if dealer is None else after[int(dealer == ME)])
    return np.array(values)
