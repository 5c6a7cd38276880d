"""Games as somebody at the table could not tell them apart: what a seat has not seen, dealt anew."""

import numpy as np

from crib_env.cards import N_CARDS
from crib_env.state import GO_CARD, LOG_SEAT


def seen_cards(g, seat):
    """Cards that `seat` has met: its own, the starter once turned, and what was laid."""
    laid = [int(entry) % LOG_SEAT for entry in g["log"][: g["n_log"]]]
    return {*map(int, g["dealt"][seat]), *(c for c in laid if c != GO_CARD)} | ({int(g["starter"])} - {-1})


def shuffle_unseen(games, seat, rng):
    """The same record with all that `seat` has not seen dealt anew: the others' cards and discards, the deck."""
    games = games.copy()
    g = games[0]
    unseen = [c for c in range(N_CARDS) if c not in seen_cards(g, seat)]
    new = dict(zip(unseen, rng.permutation(unseen).tolist(), strict=True))

    def swap(card):
        return new.get(int(card), int(card))

    for other in set(range(int(g["players"]))) - {seat}:
        kept = [(swap(c), bool(g["laid"][other] >> k & 1)) for k, c in enumerate(g["kept"][other]) if c >= 0]
        for k, (card, laid) in enumerate(sorted(kept)):
            g["kept"][other, k] = card
            bit = np.uint8(1 << k)
            g["laid"][other] = g["laid"][other] | bit if laid else g["laid"][other] & ~bit
        dealt = sorted(swap(c) for c in g["dealt"][other] if c >= 0)
        g["dealt"][other, : len(dealt)] = dealt
    g["crib"][:] = [c if c < 0 else swap(c) for c in g["crib"]]
    g["deck"][:] = [swap(c) for c in g["deck"]]
    return games
