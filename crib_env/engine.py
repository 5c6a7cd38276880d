"""The game, once: deal, discard, cut, play, show, for one record `g`. Everything else calls this.

A seat acts through `apply`; whatever needs no decision (cutting, closing a count, the show, the
next deal) follows at once. Only `peg` changes a score, and only `peg` ends a game.
May import: cards, rules, scoring, rng, actions, state.
"""

from __future__ import annotations

from numba import njit

from crib_env.actions import DISCARD_PLACES, FIRST_PLAY, GO, KEEP_PLACES, N_ACTIONS, legal_bits, playable_bits
from crib_env.cards import JACK, NO_CARD, pip_of, rank_of
from crib_env.rng import first_dealer, shuffle_into
from crib_env.rules import GO_POINTS, HAND_CARDS, HEELS_POINTS, MAX_COUNT, MAX_DEALT
from crib_env.scoring import peg_points, show_five
from crib_env.state import (
    DISCARD,
    GO_CARD,
    HEELS,
    LAID,
    LAST,
    LOG_SEAT,
    OVER,
    PLAY,
    SHOW_CRIB,
    SHOW_HAND,
    TALLY_CRIB,
    TALLY_HAND,
    TALLY_HEELS,
    TALLY_PLAY,
    WENT,
)

DRAWN = -1  # "let the seed decide", for the first dealer


@njit(cache=True)
def start_game(g, game, dealer):
    """Begin game number `game` of the record's seed: scores to zero, first deal dealt.

    `dealer` is a seat, or DRAWN. The caller may set scores afterwards, before the first action.
    """
    g.game = game
    g.deal = 0
    g.winner = -1
    g.score[:] = 0
    g.back[:] = 0
    g.tally[:] = 0
    g.n_events = 0
    g.first_dealer = first_dealer(g.seed, game, g.players) if dealer == DRAWN else dealer
    g.dealer = g.first_dealer
    deal_hands(g)


@njit(cache=True)
def deal_hands(g):
    """Deal from a fresh pack. The seat left of the dealer (two-handed: the pone) discards first.

    The order in which discards are asked means nothing: no seat sees another's.
    """
    n = g.players * g.dealt_cards
    from_pack = cards_from_pack(g)
    shuffle_into(g.deck, n + from_pack + 1, g.seed, g.game, g.deal)
    g.dealt[:] = NO_CARD
    for seat in range(g.players):
        write_sorted(g.deck, seat * g.dealt_cards, g.dealt_cards, g.dealt[seat])
    g.crib[:] = NO_CARD
    g.crib_cards = 0
    for k in range(from_pack):
        to_crib(g, g.deck[n + k])
    clear_table(g)
    g.phase = DISCARD
    g.to_act = left_of(g, g.dealer)


@njit(cache=True, inline="always")
def cards_from_pack(g):
    """How many crib cards come from the pack: one with three players, otherwise none."""
    return HAND_CARDS - g.players * (g.dealt_cards - HAND_CARDS)


@njit(cache=True)
def clear_table(g):
    """Nothing kept, turned, laid or said yet in this deal."""
    g.starter = NO_CARD
    g.kept[:] = NO_CARD
    g.laid[:] = 0
    g.cards_left[:] = 0
    g.denied[:] = 0
    g.n_log = 0
    clear_count(g)


@njit(cache=True)
def clear_count(g):
    """A new count begins: nothing carries over a reset."""
    g.count = 0
    g.n_pile = 0
    g.said_go = 0
    g.last_seat = -1


@njit(cache=True, inline="always")
def left_of(g, seat):
    """The next seat round the table."""
    return seat + 1 if seat + 1 < g.players else 0


@njit(cache=True, inline="always")
def side_of(g, seat):
    """Whose score a seat pegs on: partners 0+2 and 1+3 share one."""
    return seat - g.sides if seat >= g.sides else seat


@njit(cache=True)
def write_sorted(cards, first, n, hand):
    """Write n cards, from cards[first] on, into `hand` in rising order of id."""
    for i in range(n):
        place = 0
        for j in range(n):
            place += cards[first + j] < cards[first + i]
        hand[place] = cards[first + i]


@njit(cache=True, inline="always")
def to_crib(g, card):
    """Lay a card to the crib."""
    g.crib[g.crib_cards] = card
    g.crib_cards += 1


@njit(cache=True)
def apply(g, action):
    """Take a legal action for the seat to act, and go on to the next decision or the end."""
    if g.phase == DISCARD:
        discard(g, action)
    elif action == GO:
        say_go(g)
    else:
        lay(g, action - FIRST_PLAY)


@njit(cache=True)
def apply_forced(g):
    """Make moves for as long as only one is legal; they stay in the log and the events."""
    while g.phase == PLAY:
        bits = legal_bits(g)
        if bits & (bits - 1):
            return
        action = GO
        while not bits >> action & 1:
            action -= 1
        apply(g, action)


@njit(cache=True)
def discard(g, action):
    """Lay cards away face down; the last seat to do so brings the starter."""
    seat = g.to_act
    if g.crib_cards == cards_from_pack(g):
        g.n_events = 0  # the first discard of a deal: the last deal's events may go now
    if g.dealt_cards == MAX_DEALT:
        for k in range(HAND_CARDS):
            g.kept[seat, k] = g.dealt[seat, KEEP_PLACES[action, k]]
        to_crib(g, g.dealt[seat, DISCARD_PLACES[action, 0]])
        to_crib(g, g.dealt[seat, DISCARD_PLACES[action, 1]])
    else:
        for k in range(HAND_CARDS):
            g.kept[seat, k] = g.dealt[seat, k + (k >= action)]
        to_crib(g, g.dealt[seat, action])
    if seat == g.dealer:
        begin_play(g)
    else:
        g.to_act = left_of(g, seat)


@njit(cache=True)
def begin_play(g):
    """Turn the starter, then the seat left of the dealer leads.

    Heels pays the dealer at once and can end the game. Source: ACC 6.3.
    """
    g.phase = PLAY
    for seat in range(g.players):
        g.cards_left[seat] = HAND_CARDS
    g.starter = g.deck[g.players * g.dealt_cards + cards_from_pack(g)]
    if rank_of(g.starter) == JACK:
        peg(g, g.dealer, HEELS_POINTS, HEELS, TALLY_HEELS)
    if g.phase == PLAY:
        g.to_act = left_of(g, g.dealer)


@njit(cache=True)
def lay(g, k):
    """Lay the k-th kept card: peg what it earns, then find who is next."""
    seat = g.to_act
    card = g.kept[seat, k]
    g.laid[seat] |= 1 << k
    g.cards_left[seat] -= 1
    g.count += pip_of(rank_of(card))
    g.pile[g.n_pile] = rank_of(card)
    g.n_pile += 1
    g.last_seat = seat
    write_log(g, seat, card)
    peg(g, seat, peg_points(g.pile, g.n_pile, g.count), LAID, TALLY_PLAY)
    if g.phase == PLAY:
        next_to_play(g)


@njit(cache=True)
def say_go(g):
    """Say go: for the rest of this count the seat is passed over."""
    g.said_go |= 1 << g.to_act
    deny(g, g.to_act)
    write_log(g, g.to_act, GO_CARD)
    next_to_play(g)


@njit(cache=True, inline="always")
def deny(g, seat):
    """Everybody now knows that `seat` holds no card that fits under 31."""
    g.denied[seat] = max(g.denied[seat], MAX_COUNT - g.count)


@njit(cache=True, inline="always")
def write_log(g, seat, card):
    """Note a card laid, or a go, for everybody to see."""
    g.log[g.n_log] = seat * LOG_SEAT + card
    g.n_log += 1


@njit(cache=True)
def next_to_play(g):
    """Find who acts after a card or a go, closing the count when nobody can.

    Going round from the left of the seat that has just acted: a seat without cards, or that has
    said go, is passed over in silence; any other acts, even if go is all it can say. When the
    round comes back to the seat that laid the last card, it plays on if it can; otherwise
    nobody can, for the others are all out of cards or have said go.
    """
    if g.count < MAX_COUNT:
        seat = g.to_act
        for _ in range(g.players):
            seat = left_of(g, seat)
            if seat == g.last_seat:
                if playable_bits(g, seat):
                    g.to_act = seat
                    return
                break
            if g.cards_left[seat] > 0 and not (g.said_go >> seat & 1):
                g.to_act = seat
                return
    close_count(g)


@njit(cache=True)
def close_count(g):
    """Pay go or last, unless 31 was paid; then the next count, or the show.

    Each count closes once, with one award. The lead goes to the left of the last card's player,
    to the first seat that has cards. Source: ACC 1.7, rules reference 3.3 and 3.4.
    """
    cards_out = total_left(g) == 0
    if g.count < MAX_COUNT:
        peg(g, g.last_seat, GO_POINTS, LAST if cards_out else WENT, TALLY_PLAY)
        if g.phase == OVER:
            return
    if cards_out:
        show(g)
        return
    seat = left_of(g, g.last_seat)
    while g.cards_left[seat] == 0:
        seat = left_of(g, seat)
    deny(g, g.last_seat)  # he closed the count because he could not go on
    clear_count(g)
    g.to_act = seat


@njit(cache=True)
def total_left(g):
    """Cards still to be laid in this deal, all seats together."""
    left = 0
    for seat in range(g.players):
        left += g.cards_left[seat]
    return left


@njit(cache=True)
def show(g):
    """Count left of the dealer first, the dealer last, then his crib; stop when somebody wins.

    Pone counts first: at 119-119 a two-point pone hand beats a dealer's 29.
    """
    seat = g.dealer
    for _ in range(g.players):
        seat = left_of(g, seat)
        hand = g.kept[seat]
        points = show_five(hand[0], hand[1], hand[2], hand[3], g.starter, False)
        peg(g, seat, points, SHOW_HAND, TALLY_HAND)
        if g.phase == OVER:
            return
    crib = g.crib
    points = show_five(crib[0], crib[1], crib[2], crib[3], g.starter, True)
    peg(g, g.dealer, points, SHOW_CRIB, TALLY_CRIB)
    if g.phase != OVER:
        g.dealer = left_of(g, g.dealer)
        g.deal += 1
        deal_hands(g)


@njit(cache=True)
def peg(g, seat, points, kind, tally):
    """Add points to a side's score, never past the target; reaching it wins at that moment.

    The only function that changes a score, and the only one that ends a game.
    `tally` is the first of the columns of GAME.tally for this kind: play and hand have one for
    the dealer and, next to it, one for the others.
    """
    if points == 0:
        return
    side = side_of(g, seat)
    pegged = min(points, g.target - g.score[side])
    g.back[side] = g.score[side]
    g.score[side] += pegged
    by_role = tally in (TALLY_PLAY, TALLY_HAND) and seat != g.dealer
    g.tally[seat, tally + by_role] += pegged
    event = g.events[g.n_events]
    event.kind = kind
    event.seat = seat
    event.points = points
    event.pegged = pegged
    event.score = g.score[side]
    g.n_events += 1
    if g.score[side] == g.target:
        g.phase = OVER
        g.winner = side


# One game of an array, for callers in Python: a record scalar is slow to hand over.


@njit(cache=True)
def start_one(games, i, game, dealer):
    """`start_game` for games[i]."""
    start_game(games[i], game, dealer)


@njit(cache=True)
def bits_one(games, i):
    """`legal_bits` of games[i]."""
    return legal_bits(games[i])


@njit(cache=True)
def try_one(games, i, action, skip_forced):
    """Apply `action` to games[i] if it is legal and say whether it was; else change nothing."""
    g = games[i]
    if action < 0 or action >= N_ACTIONS or not legal_bits(g) >> action & 1:
        return False
    apply(g, action)
    if skip_forced:
        apply_forced(g)
    return True
