"""Cards: the id of a card, its rank, suit, counting value and text. Knows no game.

A card id is ``rank * 4 + suit``: rank 0 is the ace, 12 the king; suits in the order C D H S.
Text is two characters, ``"5H"``; ten is ``T``. Input may also be lower case or ``"10H"``.
May import: nothing of ours.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numba import njit

RANKS = "A23456789TJQK"
SUITS = "CDHS"
N_RANKS = 13
N_SUITS = 4
N_CARDS = 52
NO_CARD = -1
JACK = 10
MAX_PIP = 10  # jack, queen and king count ten


@njit(cache=True, inline="always")
def rank_of(card):
    """Rank 0 (ace) to 12 (king) of a card id."""
    return card >> 2


@njit(cache=True, inline="always")
def suit_of(card):
    """Suit 0 to 3 (C D H S) of a card id."""
    return card & 3


@njit(cache=True, inline="always")
def pip_of(rank):
    """Counting value 1 to 10 of a rank."""
    return min(rank + 1, MAX_PIP)


def card_text(card: int) -> str:
    """Text of a card id: 18 -> "5H"."""
    return RANKS[card >> 2] + SUITS[card & 3]


def cards_text(cards: Iterable[int]) -> str:
    """Texts joined by spaces; empty places (-1) are left out."""
    return " ".join(card_text(int(c)) for c in cards if c >= 0)


def card_id(card: str | int) -> int:
    """Id 0..51 of a card given as text ("5H", "5h", "10H") or already as an id.

    Raises:
        ValueError: the text or number names no card.
    """
    if isinstance(card, (int, np.integer)) and not isinstance(card, bool):
        if 0 <= card < N_CARDS:
            return int(card)
        raise ValueError(f"card id {card} is out of range: allowed are 0..{N_CARDS - 1}")
    if isinstance(card, str):
        text = card.strip().upper().replace("10", "T")
        if len(text) == 2 and text[0] in RANKS and text[1] in SUITS:
            return RANKS.index(text[0]) * N_SUITS + SUITS.index(text[1])
    raise ValueError(f"{card!r} is not a card: write a rank of {RANKS} and a suit of {SUITS}, as in '5H' or 'TD'")


def parse_cards(cards: str | Iterable[str | int]) -> list[int]:
    """Ids of several cards: one text with spaces ("5H TD") or any iterable of texts and ids."""
    return [card_id(c) for c in (cards.split() if isinstance(cards, str) else cards)]


def check_distinct(cards: Iterable[int], where: str) -> None:
    """Raise ValueError, naming the card, if one stands twice among `cards`."""
    seen: set[int] = set()
    for card in cards:
        if card in seen:
            raise ValueError(f"{where}: {card_text(card)} stands twice; a pack has each card once")
        seen.add(card)
