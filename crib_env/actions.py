"""The twenty action ids, their text, and which are legal. One space for every variant.

    id      meaning
    0-14    lay to the crib the pair of the sorted six-card hand, in itertools.combinations order
    0-4     with a five-card hand: lay to the crib the k-th card of the sorted hand
    15-18   lay the k-th card of the sorted four kept
    19      go

May import: cards, rules, state.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numba import njit

from crib_env.cards import NO_CARD, card_id, cards_text, pip_of, rank_of
from crib_env.rules import FEW_DEALT, HAND_CARDS, MAX_COUNT, MAX_DEALT
from crib_env.state import DISCARD, PLAY

N_ACTIONS = 20
N_DISCARDS = 15
FIRST_PLAY = 15
GO = 19

# int8[15, 2]: places in the sorted six-card hand of the two cards each discard lays away.
DISCARD_PLACES = np.array(list(combinations(range(MAX_DEALT), 2)), dtype=np.int8)
# int8[15, 4]: the places it keeps, in order.
KEEP_PLACES = np.array(
    [[p for p in range(MAX_DEALT) if p not in pair] for pair in combinations(range(MAX_DEALT), 2)], dtype=np.int8
)
# int8[5, 4]: the places kept of a five-card hand when one card is laid away.
KEEP_PLACES_OF_FIVE = np.array([[p for p in range(FEW_DEALT) if p != away] for away in range(FEW_DEALT)], dtype=np.int8)


@njit(cache=True)
def playable_bits(g, seat):
    """Bit k for each kept card that `seat` still holds and may lay without passing 31."""
    room = MAX_COUNT - g.count
    bits = np.int64(0)
    for k in range(HAND_CARDS):
        bits |= np.int64(pip_of(rank_of(g.kept[seat, k])) <= room) << k
    return bits & ~np.int64(g.laid[seat])


@njit(cache=True)
def legal_bits(g):
    """Bit a for each legal action a; none when the game is over. Legality is decided here alone."""
    if g.phase == PLAY:
        bits = playable_bits(g, g.to_act)
        return bits << FIRST_PLAY if bits else 1 << GO
    if g.phase == DISCARD:
        return (1 << (N_DISCARDS if g.dealt_cards == MAX_DEALT else np.int64(g.dealt_cards))) - 1
    return 0


@njit(cache=True)
def write_mask(bits, mask):
    """Expand `legal_bits` into `mask` (int8[20], 0 or 1).

    A finished game's mask keeps go set: samplers of other libraries fail on an empty one.
    """
    if bits == 0:
        bits = 1 << GO
    for a in range(N_ACTIONS):
        mask[a] = bits >> a & 1


def action_cards(action: int, dealt, kept) -> list[int]:
    """Card ids an action moves, given the sorted cards dealt and kept; [] for go."""
    dealt = [int(c) for c in dealt if c != NO_CARD]
    if action == GO:
        return []
    if FIRST_PLAY <= action < GO:
        return [int(kept[action - FIRST_PLAY])]
    if len(dealt) == MAX_DEALT:
        return [dealt[p] for p in DISCARD_PLACES[action]]
    return [dealt[action]]


def action_text(action: int, dealt, kept) -> str:
    """Text of an action: "5H KD" for a discard, "5H" for a card laid, "go"."""
    return "go" if action == GO else cards_text(action_cards(action, dealt, kept))


def name_action(action: int) -> str:
    """What an id means without knowing the cards: for messages about illegal actions."""
    if 0 <= action < N_DISCARDS:
        places = ", ".join(str(p + 1) for p in DISCARD_PLACES[action])
        return f"lay away cards {places} of the six"
    if FIRST_PLAY <= action < GO:
        return f"lay card {action - FIRST_PLAY + 1} of the four"
    return "go" if action == GO else "no action"


def parse_action(text: str, legal: list[int], dealt, kept) -> int:
    """Id of the legal action that `text` names; cards may come in any order and case.

    Raises:
        ValueError: it names none; the message lists what was legal.
    """
    wanted = text.strip().lower()
    by_cards = {frozenset(action_cards(a, dealt, kept)): a for a in legal}
    if wanted == "go":
        if GO in legal:
            return GO
    else:
        cards = frozenset(card_id(t) for t in text.split())
        if cards and cards in by_cards:
            return by_cards[cards]
    raise ValueError(f"{text!r} is not legal here; legal are: {', '.join(action_text(a, dealt, kept) for a in legal)}")
