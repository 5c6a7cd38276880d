"""A game followed from one chair: the GAME record a player could keep who sees only his own cards.

The record goes through the real engine, so scores and views are those of our own games. Cards not
yet seen are stand-ins, put right as they are laid or shown. Two players; I am seat 0.
May import: crib_env.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crib_env.actions import DISCARD_PLACES, FIRST_PLAY, GO, KEEP_PLACES, N_ACTIONS, write_mask
from crib_env.cards import MAX_PIP, N_CARDS, NO_CARD, cards_text, pip_of, rank_of
from crib_env.engine import bits_one, start_one, try_one
from crib_env.rules import HAND_CARDS, MAX_COUNT, MAX_DEALT, Rules
from crib_env.state import DISCARD, GO_CARD, LOG_SEAT, PHASES, PLAY, new_records
from crib_env.view import look_many, new_views

ME, THEM = 0, 1
SEATS = ("I", "they")


class NotOurRules(RuntimeError):
    """What happened at the table cannot happen by our rules."""


class FollowedGame:
    """One game, as far as seat 0 can see it.

    Call in the order of a deal: `deal`, `discard`, `turn`; then as often as needed `lay` (mine)
    and `catch_up` (theirs); at its end `show_crib` if it was shown, and `catch_up`. A deal that
    ends leads by itself to the next `deal`.

    Args:
        dealer: who deals first: 0 for me, 1 for them.
        rules: two-player rules.
    """

    def __init__(self, dealer: int, rules: Rules | None = None) -> None:
        self._games = new_records(1, rules or Rules(), 0)
        start_one(self._games, 0, 0, dealer)
        self._discard_action = 0
        self._seen: list[int] = []
        self._noted = 0

    @property
    def record(self) -> np.void:
        """The GAME record itself; what I have not seen in it is made up."""
        return self._games[0]

    def view(self) -> np.ndarray:
        """VIEW[1]: what I may know now."""
        views = new_views(1)
        look_many(self._games, np.zeros(1, dtype=np.int64), views)
        return views

    def mask(self) -> np.ndarray:
        """int8[1, 20]: what I may do now."""
        mask = np.zeros((1, N_ACTIONS), dtype=np.int8)
        write_mask(bits_one(self._games, 0), mask[0])
        return mask

    def deal(self, mine: Sequence[int]) -> None:
        """My six cards of a new deal."""
        self._claim(self.record["phase"] == DISCARD, "a new deal begins")
        self._seen = sorted(mine)
        self._noted = 0
        self._write_deck(self._seen, starter=NO_CARD)

    def discard(self, action: int) -> list[int]:
        """What I lay to the crib: the two cards. They move in the record once the starter is known."""
        self._discard_action = action
        return [self._seen[p] for p in DISCARD_PLACES[action]]

    def turn(self, starter: int) -> None:
        """Both have discarded and the starter is turned."""
        self._write_deck(self._seen, starter)
        for _ in SEATS:
            mine = self.record["to_act"] == ME
            try_one(self._games, 0, self._discard_action if mine else 0, False)

    def kept(self) -> list[int]:
        """The four cards I keep, sorted: known as soon as I have discarded."""
        return [self._seen[p] for p in KEEP_PLACES[self._discard_action]]

    def note(self, theirs: Sequence[int]) -> None:
        """Cards they have laid in this deal, so far, in order; `catch_up` moves them."""
        for k, card in enumerate(theirs):
            self.record["kept"][THEM, k] = card
        self._noted = len(theirs)

    def lay(self, action: int) -> None:
        """I lay a card."""
        self._push(action)

    def catch_up(self) -> None:
        """Move all that followed from my last choice: their cards, gos, what was forced on me.

        Stops where I have a card to choose, and at the end of the deal or game.
        """
        while self.record["phase"] == PLAY:
            if self.record["to_act"] == THEM:
                self._push(self._their_move())
            elif self._choice_is_mine():
                return
            else:
                self._push(int(np.flatnonzero(self.mask()[0])[0]))

    def show_crib(self, crib: Sequence[int]) -> None:
        """The four cards of the crib, in any order."""
        mine = [self._seen[p] for p in DISCARD_PLACES[self._discard_action]]
        self._claim(set(mine) < set(crib) and len(set(crib)) == HAND_CARDS, f"the crib holds {cards_text(crib)}")
        self.record["crib"] = crib

    def describe(self) -> str:
        """The position, for people."""
        g = self.record
        moves = [f"{SEATS[m // LOG_SEAT]} {_move_text(m % LOG_SEAT)}" for m in map(int, g["log"][: g["n_log"]])]
        return (
            f"deal {g['deal'] + 1}, {SEATS[g['dealer']]} deal, {PHASES[g['phase']]}, score {g['score'][ME]}-"
            f"{g['score'][THEM]}, my cards {cards_text(self._seen)}, kept {cards_text(g['kept'][ME])}, "
            f"starter {cards_text([g['starter']])}, count {g['count']}, play: {', '.join(moves) or '-'}"
        )

    def _choice_is_mine(self) -> bool:
        """Whether I hold two cards or more and one of them fits; a last card is no choice."""
        return bool(self.record["cards_left"][ME] > 1 and not self.mask()[0, GO])

    def _their_move(self) -> int:
        """Their next noted card if it fits; if it does not, or none is noted, they said go."""
        laid = HAND_CARDS - int(self.record["cards_left"][THEM])
        fits = laid < self._noted and (
            self.record["count"] + pip_of(rank_of(int(self.record["kept"][THEM, laid]))) <= MAX_COUNT
        )
        return FIRST_PLAY + laid if fits else GO

    def _write_deck(self, mine: list[int], starter: int) -> None:
        """Lay out my cards and the starter. Their six are stand-ins, all worth ten.

        Ten is the highest value a card counts: whenever a hidden card of theirs did not fit, a
        stand-in does not fit either, and where one of theirs fitted it was laid and is known.
        """
        known = [*mine, starter]
        hidden = [c for c in range(N_CARDS) if c not in known]
        theirs = [c for c in hidden if pip_of(rank_of(c)) == MAX_PIP][:MAX_DEALT]
        rest = [c for c in hidden if c not in theirs]
        turned = [rest.pop() if starter == NO_CARD else starter]
        g = self.record
        g["deck"] = mine + theirs + turned + rest
        g["dealt"][ME] = mine
        g["dealt"][THEM] = theirs

    def _push(self, action: int) -> None:
        seat = SEATS[self.record["to_act"]]
        if not try_one(self._games, 0, action, False):
            what = "said go" if action == GO else "laid a card"
            raise NotOurRules(f"{seat} {what}, which is not legal here: {self.describe()}")

    def _claim(self, holds: bool, happened: str) -> None:
        if not holds:
            raise NotOurRules(f"{happened}, which cannot be here: {self.describe()}")


def _move_text(card: int) -> str:
    return "go" if card == GO_CARD else cards_text([card])
