"""The play between two as a small game in ranks: its positions, moves and information sets.

Suits mean nothing in the play, so a hand is a multiset of ranks, packed into one integer, and a
position is a record of a few integers: what the solver walks through a million times a second and
what search and `expert` think with. Points come from `scoring.pile_points`; who plays next is the
engine's rule for two (a test plays both side by side). Seats here are roles.
May import: crib_env.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from crib_env.cards import N_RANKS, pip_of, rank_of
from crib_env.rules import GO_POINTS, HAND_CARDS, MAX_COUNT
from crib_env.scoring import PILE_BITS, PILE_MASK, pile_points
from crib_env.state import GO_CARD, LOG_SEAT

PONE, DEALER = 0, 1
NOBODY = -1  # to play: all cards are down
MAX_LINE = 2 * HAND_CARDS + 1  # positions from the lead to the end
MAX_CHOICES = HAND_CARDS
_BEYOND = 1000  # points no play can make
N_HANDS = 1820  # multisets of four ranks: 16 choose 4

# A packed hand is like a packed pile, four bits a card, rank + 1; sorted, the lowest rank in the lowest bits.
CARD_BITS = PILE_BITS
CARD_MASK = PILE_MASK

# Where the play stands. Pairs are by role, pone first.
POSITION = np.dtype(
    [
        ("turn", "i8"),  # PONE or DEALER, who has a card that fits; NOBODY when the play is over
        ("count", "i8"),  # 0..30
        ("pile", "i8"),  # packed ranks of this count, the last card lowest
        ("hand", "i8", (2,)),  # packed ranks still held
        ("laid", "i8", (2,)),  # packed ranks laid in this deal
        ("denied", "i8", (2,)),  # gos proved that no card of this value or less is held
        ("passed", "i8"),  # 1 when the other said go in this count
    ]
)


# Where alpha-beta stands at one position of a line; all points are the pone's, net, from the first one on.
LEVEL = np.dtype(
    [
        ("net", "i8"),  # made on the way here
        ("low", "i8"),  # the pone is sure of so many, elsewhere or here
        ("high", "i8"),  # the dealer need not grant more
        ("places", "i8"),  # `pegging.choices`
        ("left", "i8"),  # how many of them are still to be tried
    ]
)


@njit(cache=True)
def write_opening(s, pone_hand, dealer_hand):
    """Make `s` the position before the pone's lead, from two packed hands."""
    s.turn = PONE
    s.count = 0
    s.pile = 0
    s.hand[PONE] = pone_hand
    s.hand[DEALER] = dealer_hand
    s.laid[:] = 0
    s.denied[:] = 0
    s.passed = 0


@njit(cache=True)
def pack(ranks, n):
    """Pack the first n ranks of an array that is sorted, lowest first."""
    hand = np.int64(0)
    for k in range(n):
        hand |= np.int64(ranks[k] + 1) << (CARD_BITS * k)
    return hand


@njit(cache=True, inline="always")
def rank_at(hand, k):
    """The k-th lowest rank of a packed hand; -1 where it has no card."""
    return (hand >> (CARD_BITS * k) & CARD_MASK) - 1


@njit(cache=True, inline="always")
def without(hand, k):
    """A packed hand less its k-th card."""
    below = (1 << (CARD_BITS * k)) - 1
    return (hand & below) | (hand >> CARD_BITS & ~below)


@njit(cache=True)
def with_rank(hand, rank):
    """A packed hand and one card more."""
    k = 0
    while 0 <= rank_at(hand, k) <= rank:
        k += 1
    below = (1 << (CARD_BITS * k)) - 1
    return (hand & below) | (rank + 1) << (CARD_BITS * k) | (hand & ~below) << CARD_BITS


@njit(cache=True)
def size_of(hand):
    """How many cards a packed hand has."""
    n = 0
    while hand:
        hand >>= CARD_BITS
        n += 1
    return n


@njit(cache=True)
def choices(s):
    """The different cards the player to move may lay.

    Returns:
        places: four bits each, the place in his hand of the first card of each rank that fits,
            lowest rank in the lowest bits.
        m: how many, at least one while the play goes on.
    """
    hand = s.hand[s.turn]
    places = np.int64(0)
    m = np.int64(0)
    before = np.int64(-1)
    for k in range(HAND_CARDS):
        rank = rank_at(hand, k)
        if rank < 0 or pip_of(rank) > MAX_COUNT - s.count:
            break
        if rank != before:
            places |= np.int64(k) << (CARD_BITS * m)
            m += 1
        before = rank
    return places, m


@njit(cache=True, inline="always")
def place_at(places, a):
    """The a-th place of those `choices` gives."""
    return places >> (CARD_BITS * a) & CARD_MASK


@njit(cache=True, inline="always")
def fits(hand, count):
    """Whether the lowest card of a packed hand can be laid on the count."""
    return hand != 0 and pip_of(rank_at(hand, 0)) <= MAX_COUNT - count


@njit(cache=True)
def step(s, k, after):
    """Lay the k-th card of the player to move in `s`; `after` becomes the next position with a move.

    Returns:
        The pone's net points up to there, go and last card among them.
    """
    role, other = s.turn, 1 - s.turn
    rank = rank_at(s.hand[role], k)
    after.count = s.count + pip_of(rank)
    after.pile = s.pile << CARD_BITS | (rank + 1)
    after.hand[role] = without(s.hand[role], k)
    after.hand[other] = s.hand[other]
    after.laid[role] = with_rank(s.laid[role], rank)
    after.laid[other] = s.laid[other]
    after.denied[role] = s.denied[role]
    after.denied[other] = s.denied[other]
    after.passed = s.passed
    points = pile_points(after.pile, after.count) + pass_turn(after, role, other)
    return points if role == PONE else -points


@njit(cache=True)
def pass_turn(s, role, other):
    """Find who moves after `role` has laid a card; returns what closing the count pegs to him."""
    if s.hand[role] == 0 and s.hand[other] == 0:
        s.turn = NOBODY
        return GO_POINTS if s.count < MAX_COUNT else 0
    if s.count == MAX_COUNT:
        begin_count(s, role, other)
        return 0
    if s.hand[other] != 0 and not s.passed:
        if fits(s.hand[other], s.count):
            s.turn = other
            return 0
        deny(s, other)
        s.passed = 1
    if fits(s.hand[role], s.count):
        s.turn = role
        return 0
    deny(s, role)
    begin_count(s, role, other)
    return GO_POINTS


@njit(cache=True, inline="always")
def deny(s, role):
    """Everybody now knows that he holds no card that fits under 31."""
    s.denied[role] = max(s.denied[role], MAX_COUNT - s.count)


@njit(cache=True)
def begin_count(s, last, other):
    """The next count: the lead goes to the other of who laid last, if he has cards."""
    s.turn = other if s.hand[other] != 0 else last
    s.count = 0
    s.pile = 0
    s.passed = 0


@njit(cache=True)
def open_points(line, levels, start):
    """The pone's net points from line[start] to the end when both see all cards, by alpha-beta.

    A loop: loaded from Numba's cache, a function that calls itself with arrays crashed (0.68).

    Args:
        line: POSITION[9]; from line[start + 1] on it is written.
        levels: LEVEL[9], scratch.
        start: place in the line.
    """
    depth = start
    enter(line[start], levels[start], 0, -_BEYOND, _BEYOND)
    while True:
        level = levels[depth]
        if level.left > 0 and level.low < level.high:
            level.left -= 1  # high cards first: they cut off more
            net = step(line[depth], place_at(level.places, level.left), line[depth + 1])
            depth += 1
            enter(line[depth], levels[depth], level.net + net, level.low, level.high)
            continue
        points = level.low if line[depth].turn == PONE else level.high
        if depth == start:
            return points
        depth -= 1
        level = levels[depth]
        if line[depth].turn == PONE:
            level.low = max(level.low, points)
        else:
            level.high = min(level.high, points)


@njit(cache=True)
def enter(s, level, net, low, high):
    """Begin with a position that is reached with `net` points made; at the end they are the result."""
    level.net = net
    if s.turn == NOBODY:
        level.low, level.high, level.left = net, net, 0
    else:
        level.low, level.high = low, high
        level.places, level.left = choices(s)


@njit(cache=True)
def lone_choice(line, levels, d):
    """The choice that begins the best order of the cards of a player whose other has none left.

    Args:
        line: POSITION[9]; from line[d + 1] on it is written.
        levels: LEVEL[9], scratch.
        d: place in the line.
    """
    s = line[d]
    places, m = choices(s)
    best, choice = -_BEYOND, 0
    for a in range(m):
        net = step(s, place_at(places, a), line[d + 1]) + open_points(line, levels, d + 1)
        if s.turn == DEALER:
            net = -net
        if net > best:
            best, choice = net, a
    return choice


@njit(cache=True)
def live_tail(pile, count, cards_left):
    """The end of the pile that can still matter to pairs or runs, packed like it.

    A rank met twice kills all runs across it, and so does a gap that the cards left, or the room
    up to 31, cannot fill. What lies before has no bearing on any later point.
    """
    last = pile & CARD_MASK
    alike = 1
    while pile >> (CARD_BITS * alike) & CARD_MASK == last:
        alike += 1
    if alike > 1:
        return pile & ((1 << (CARD_BITS * alike)) - 1)
    room = MAX_COUNT - count
    seen = np.int64(0)
    length = 0
    live = 1
    low, high = last, last
    while True:
        card = pile >> (CARD_BITS * length) & CARD_MASK
        if card == 0 or seen >> card & 1:
            break
        seen |= 1 << card
        low, high = min(low, card), max(high, card)
        length += 1
        gaps = high - low + 1 - length
        if gaps <= cards_left and run_room(seen, low, high) <= room:
            live = length
    return pile & ((1 << (CARD_BITS * live)) - 1)


@njit(cache=True)
def run_room(seen, low, high):
    """Least count it takes to make these ranks (each + 1) part of a longer run."""
    needed = 0
    for card in range(low + 1, high):
        if not seen >> card & 1:
            needed += pip_of(card - 1)
    if needed == 0:  # already neighbours: one more at either end, the lower end costing less
        needed = pip_of(low - 2) if low > 1 else pip_of(high)
    return needed


@njit(cache=True)
def key_of(s):
    """The information set of the player to move, as a number of 60 bits, never zero.

    Own ranks held, ranks the other laid, the live end of the pile, the count, what the other's
    gos denied, whether he said go in this count, the role. How many cards he holds follows.
    Only for positions with a choice against hidden cards: at most five cards lie then.
    """
    role, other = s.turn, 1 - s.turn
    tail = np.int64(0)
    if s.pile:
        tail = live_tail(s.pile, s.count, size_of(s.hand[PONE]) + size_of(s.hand[DEALER]))
    key = s.hand[role] | s.laid[other] << 16 | tail << 28 | s.count << 48
    key |= s.denied[other] << 53 | s.passed << 57 | role << 58 | np.int64(1) << 59
    return np.uint64(key)


def all_hands() -> np.ndarray:
    """Every packed hand of four: int64[1820], in rising order of their sorted ranks."""
    hands = np.empty(N_HANDS, dtype=np.int64)
    _fill_hands(hands)
    return hands


@njit(cache=True)
def _fill_hands(hands):
    i = 0
    ranks = np.empty(HAND_CARDS, np.int64)
    for a in range(N_RANKS):
        for b in range(a, N_RANKS):
            for c in range(b, N_RANKS):
                for d in range(c, N_RANKS):
                    ranks[0], ranks[1], ranks[2], ranks[3] = a, b, c, d
                    hands[i] = pack(ranks, HAND_CARDS)
                    i += 1


def hand_numbers() -> np.ndarray:
    """From packed hand to its place in `all_hands`: int16[65536], -1 where there is none."""
    numbers = np.full(1 << (CARD_BITS * HAND_CARDS), -1, dtype=np.int16)
    numbers[all_hands()] = np.arange(N_HANDS)
    return numbers


@njit(cache=True)
def write_position(view, their_hand, s):
    """Make `s` the position a seat sees in the play when it is to act, the other holding `their_hand`."""
    role = DEALER if view.dealer == 0 else PONE
    other = 1 - role
    s.turn = role
    s.count = view.count
    s.pile = np.int64(0)
    for i in range(view.n_pile):
        s.pile = s.pile << CARD_BITS | (view.pile[i] + 1)
    s.hand[role] = hand_left(view)
    s.hand[other] = their_hand
    s.laid[role] = laid_by(view, 0)
    s.laid[other] = laid_by(view, 1)
    s.denied[role] = view.denied[0]
    s.denied[other] = view.denied[1]
    s.passed = view.said_go >> 1 & 1


@njit(cache=True)
def laid_by(view, place):
    """The packed ranks that a place (0 is the looker) has laid in this deal."""
    laid = np.int64(0)
    for i in range(view.n_log):
        card = view.log[i] % LOG_SEAT
        if view.log[i] // LOG_SEAT == place and card != GO_CARD:
            laid = with_rank(laid, np.int64(rank_of(card)))
    return laid


@njit(cache=True)
def hand_left(view):
    """The packed ranks a seat still holds."""
    return pack_kept(view, view.laid)


@njit(cache=True)
def pack_kept(view, laid):
    """The packed ranks of the kept cards whose bit in `laid` is not set."""
    hand = np.int64(0)
    n = 0
    for k in range(HAND_CARDS):
        if not laid >> k & 1:
            hand |= np.int64(rank_of(view.kept[k]) + 1) << (CARD_BITS * n)
            n += 1
    return hand


@njit(cache=True)
def kept_place(view, place):
    """Which of the four kept cards is the place-th of those still held."""
    for k in range(HAND_CARDS):
        if not view.laid >> k & 1:
            if place == 0:
                return k
            place -= 1
    return -1
