"""The test oracle: cribbage written a second time, for clarity and not for speed.

Owns the scoring of the show and of the play, one deal from the discards to the crib,
and whole games of given deals, for 2, 3 and 4 players. Does not own shuffling, match
points, muggins or any variant. May import the standard library only, and nothing of
ours: a mistake shared with the engine would be a mistake nobody sees.

Cards are text, rank then suit, "5H"; ten is "T". Seats are 0..players-1, and the deal
and the play pass to the left, which is the next higher seat. A side is what owns a
score: a seat, or with 4 players a partnership, seats 0 and 2 against 1 and 3.

Source: RULES.md sections 1.2, 1.4, 1.5, 2, 3 and 4.
"""

from itertools import combinations

RANKS = "A23456789TJQK"
TARGET_POINTS = 121
MAX_COUNT = 31
CARDS_KEPT = 4
FIFTEEN_POINTS = 2
THIRTYONE_POINTS = 2
HEELS_POINTS = 2
NOBS_POINTS = 1
GO_POINTS = 1
# The totals for two, three and four of a rank: pair, pair royal, double pair royal.
BLOCK_POINTS = {1: 0, 2: 2, 3: 6, 4: 12}
DISCARDS_EACH = {2: 2, 3: 1, 4: 1}


# ---- cards ----------------------------------------------------------------------------


def rank_of(card):
    """Place of a card in A 2 ... Q K, 1..13. The ace is low only, so kings do not wrap."""
    return RANKS.index(card[0]) + 1


def suit_of(card):
    """The suit letter of a card: C, D, H or S."""
    return card[1]


def pips_of(card):
    """Counting value of a card: ace 1, 2..10 its pips, jack, queen and king 10."""
    return min(rank_of(card), 10)


def count_of(cards):
    """Counting value of several cards together."""
    return sum(pips_of(card) for card in cards)


def is_run(cards):
    """Whether the cards are three or more, of different and consecutive ranks, in any order."""
    ranks = sorted(rank_of(card) for card in cards)
    return len(ranks) >= 3 and ranks == list(range(ranks[0], ranks[0] + len(ranks)))


# ---- the show -------------------------------------------------------------------------


def show_parts(hand, starter, is_crib):
    """What a hand or crib earns at the show, item by item.

    Args:
        hand: four card texts, any order.
        starter: card text, not in `hand`.
        is_crib: a crib's flush needs all five cards; a hand's needs its four.
    Returns:
        dict of points: fifteens, pairs, runs, flush, nobs, total. Heels is never part of it.
    Source: RULES.md section 4.
    """
    five = [*hand, starter]
    parts = {
        "fifteens": fifteens_points(five),
        "pairs": pairs_points(five),
        "runs": runs_points(five),
        "flush": flush_points(hand, starter, is_crib),
        "nobs": nobs_points(hand, starter),
    }
    return {**parts, "total": sum(parts.values())}


def fifteens_points(cards):
    """Two for every choice of cards, of any size, that counts fifteen."""
    choices = [c for size in range(2, len(cards) + 1) for c in combinations(cards, size)]
    return FIFTEEN_POINTS * sum(count_of(choice) == 15 for choice in choices)


def pairs_points(cards):
    """Two for every two cards of one rank; so three of a rank make 6 and four make 12."""
    return BLOCK_POINTS[2] * sum(rank_of(a) == rank_of(b) for a, b in combinations(cards, 2))


def runs_points(cards):
    """The longest run, once for every choice of cards that makes it."""
    # Only the longest length counts: the threes and fours inside a run of five earn nothing.
    for length in (5, 4, 3):
        runs = [choice for choice in combinations(cards, length) if is_run(choice)]
        if runs:
            return length * len(runs)
    return 0


def flush_points(hand, starter, is_crib):
    """Five when all five cards are of one suit, else four for a hand's own four, else nothing."""
    if len({suit_of(card) for card in hand}) > 1:
        return 0  # also when three of the hand and the starter agree: that is no flush
    if suit_of(starter) == suit_of(hand[0]):
        return 5
    return 0 if is_crib else 4


def nobs_points(hand, starter):
    """One for holding the jack of the starter's suit, in a hand or a crib."""
    return NOBS_POINTS if "J" + suit_of(starter) in hand else 0


# ---- scoring in the play ----------------------------------------------------------------


def play_parts(pile):
    """What the last card of the pile earns, item by item, without go and last card.

    Args:
        pile: card texts laid since the last reset, oldest first, count at most 31.
    Returns:
        dict of points: fifteen, thirtyone, pair, run, and their sum, points.
    Source: RULES.md sections 3.1 and 3.2.
    """
    count = count_of(pile)
    parts = {
        "fifteen": FIFTEEN_POINTS if count == 15 else 0,
        "thirtyone": THIRTYONE_POINTS if count == MAX_COUNT else 0,
        "pair": BLOCK_POINTS[cards_of_one_rank_on_top(pile)],
        "run": longest_run_on_top(pile),
    }
    return {**parts, "points": sum(parts.values())}


def cards_of_one_rank_on_top(pile):
    """Length of the longest block of one rank at the end of the pile, 1..4."""
    block = 0
    for card in reversed(pile):
        if rank_of(card) != rank_of(pile[-1]):
            break  # an equal rank further down, with another card between, is no pair
        block += 1
    return block


def longest_run_on_top(pile):
    """Largest number of cards at the end of the pile that are a run, or 0."""
    # A repeated rank spoils only the lengths that contain it, so every length is tried.
    return max([k for k in range(3, len(pile) + 1) if is_run(pile[-k:])], default=0)


def cards_that_fit(held, count):
    """The held cards that may be laid without passing 31, in the order held."""
    return [card for card in held if count + pips_of(card) <= MAX_COUNT]


def must_say_go(held, count):
    """Whether a player holds cards but none that fits. One without cards says nothing."""
    return bool(held) and not cards_that_fit(held, count)


# ---- one deal -----------------------------------------------------------------------------


class OracleGame:
    """One deal from just after the discards: heels, the play, the show.

    A seat that holds cards none of which fits says "go" as an action, once per count.
    Only the seat that laid the last card never says it: when all the others have said go
    or have no cards, and he cannot lay either, the count closes by itself.

    Attributes:
        events: list of dicts phase, seat, points, pegged, score; only acts with points.
        plays: list of dicts, one per card laid, with the keys of the vectors' `plays`.
        scores: list of int, one per side, never above the target.
        over, winner: whether a side has reached the target, and which (else None).
        deal_over: nothing is left to do in this deal; True too when the game is over.
        count, pile: of the running count; 0 and empty just after a reset.
        to_act: the seat to act, None when the deal is over.
        said_go: the seats that have said go in this count, in order.
        hands, held: the four cards kept by each seat, and those of them not yet laid.
    Source: RULES.md sections 2, 3.3 and 3.4.
    """

    def __init__(self, dealer, hands, crib, starter, scores, players=2, target=TARGET_POINTS):
        """Turn the starter, pay heels, and give the lead to the dealer's left.

        Args:
            dealer: seat.
            hands: one list of four card texts per seat.
            crib: four card texts.
            starter: card text.
            scores: one int per side, all below the target.
            players: 2, 3 or 4.
            target: points that win the game.
        Raises:
            ValueError: hands, scores or cards that no such deal can have.
        """
        check_deal(hands, crib, starter, scores, players)
        self.players, self.target, self.dealer = players, target, dealer
        self.hands = [list(hand) for hand in hands]
        self.held = [list(hand) for hand in hands]
        self.crib, self.starter, self.scores = list(crib), starter, list(scores)
        self.events, self.plays, self.pile, self.said_go = [], [], [], []
        self.over, self.deal_over, self.winner, self.to_act = False, False, None, None
        # As if the dealer had laid the last card: the seat on his left leads.
        self.last_seat = dealer
        self._turn_starter()

    @property
    def count(self):
        """Running total of the cards laid since the last reset, 0..30."""
        return count_of(self.pile)

    def legal(self):
        """The cards the seat to act may lay, or ["go"] when it holds cards but none fits."""
        if self.deal_over:
            return []
        return cards_that_fit(self.held[self.to_act], self.count) or ["go"]

    def push(self, text):
        """Lay a card, or say "go", for the seat to act; returns the events this caused.

        Raises:
            ValueError: the text is not legal now; the deal is left as it was.
        """
        if text not in self.legal():
            raise ValueError(f"illegal {text!r} at count {self.count}, seat {self.to_act}: legal are {self.legal()}")
        events_before = len(self.events)
        if text == "go":
            self._say_go()
        else:
            self._lay(text)
        return self.events[events_before:]

    def side_of(self, seat):
        """The side that owns the seat's points: with 4 players seats 0 and 2 are partners."""
        return seat % 2 if self.players == 4 else seat

    # ---- helpers, in the order of the deal ----

    def _turn_starter(self):
        """A jack is heels and pays the dealer at once, which can end the game before a card is laid."""
        if self.starter[0] == "J":
            self._peg("heels", self.dealer, HEELS_POINTS)
        self._pass_turn()

    def _lay(self, card):
        """Lay a card and peg what it earns; 31 closes the count at once."""
        seat = self.to_act
        self.held[seat].remove(card)
        self.pile.append(card)
        self.last_seat = seat
        self.plays.append(
            {"seat": seat, "card": card, "count": self.count, **play_parts(self.pile),
             "go": 0, "last": 0, "gos_after": [], "closes_count": self.count == MAX_COUNT}
        )  # fmt: skip
        self._peg("play", seat, self.plays[-1]["points"])
        if self.count == MAX_COUNT:
            self._reset_count()
        self._pass_turn()

    def _say_go(self):
        """Note the go; if it was the last one missing, the count closes."""
        self.said_go.append(self.to_act)
        self.plays[-1]["gos_after"].append(self.to_act)
        self._pass_turn()

    def _pass_turn(self):
        """Find who acts next; close the count if nobody can, show if no cards are left."""
        if self.over:
            return
        self.to_act = self._next_to_act()
        if self.to_act is None and self.pile:
            self._close_count_below_31()
            self._pass_turn()
        elif self.to_act is None:
            self._show()

    def _next_to_act(self):
        """First seat with something to do, going round once from the left of the last card; or None."""
        for step in range(1, self.players + 1):
            seat = (self.last_seat + step) % self.players
            held = self.held[seat]
            # Going round ends at the player of the last card: he may lay on but never says go.
            his_own_go = seat == self.last_seat and must_say_go(held, self.count)
            if held and seat not in self.said_go and not his_own_go:
                return seat
        return None

    def _close_count_below_31(self):
        """One point to the last card's player: "go" if somebody still holds cards, else "last"."""
        phase = "go" if any(self.held) else "last"
        play = self.plays[-1]
        play[phase] = GO_POINTS
        play["points"] += GO_POINTS
        play["closes_count"] = True
        self._peg(phase, play["seat"], GO_POINTS)
        self._reset_count()

    def _reset_count(self):
        """Start a new count: nothing carries over a reset, neither cards nor gos."""
        self.pile, self.said_go = [], []

    def _show(self):
        """Count the hands, left of the dealer first and dealer last, then the dealer's crib."""
        # The order decides races: at 119-119 a two-point pone hand beats a dealer's 29.
        for step in range(1, self.players + 1):
            seat = (self.dealer + step) % self.players
            self._peg("show_hand", seat, show_parts(self.hands[seat], self.starter, False)["total"])
        self._peg("show_crib", self.dealer, show_parts(self.crib, self.starter, True)["total"])
        self.deal_over = True

    def _peg(self, phase, seat, points):
        """Add points to a side's score; the only way a score changes and the only way a game ends."""
        if self.over or points == 0:
            return
        side = self.side_of(seat)
        pegged = min(points, self.target - self.scores[side])
        self.scores[side] += pegged
        score = self.scores[side]
        self.events.append({"phase": phase, "seat": seat, "points": points, "pegged": pegged, "score": score})
        if score == self.target:
            self.over, self.deal_over, self.winner, self.to_act = True, True, side, None


def check_deal(hands, crib, starter, scores, players):
    """Refuse what cannot be a deal just after the discards, so that a test's slip is seen at once."""
    sides = 2 if players == 4 else players
    if len(hands) != players or len(scores) != sides:
        raise ValueError(
            f"{players} players need {players} hands and {sides} scores, got {len(hands)} and {len(scores)}"
        )
    if any(len(cards) != CARDS_KEPT for cards in [*hands, crib]):
        raise ValueError(f"every hand and the crib need {CARDS_KEPT} cards, got {hands} and crib {crib}")
    cards = [card for hand in hands for card in hand] + list(crib) + [starter]
    if len(set(cards)) != len(cards):
        raise ValueError(f"a card appears twice in {sorted(cards)}")


# ---- whole games ----------------------------------------------------------------------------


def full_game(deals, first_dealer, choose_discards, choose_play, target=TARGET_POINTS, players=2):
    """Play deal after deal, the deal passing left, until a side reaches the target.

    Args:
        deals: iterable of dicts: "hands", the full hands dealt, one list per seat (6 cards
            for 2 players, else 5); "starter"; and for 3 players "crib", the list of the one
            card dealt straight to the crib.
        first_dealer: seat.
        choose_discards: function (seat, hand) -> list of the cards to lay in the crib; asked
            from the dealer's left round to the dealer.
        choose_play: function (OracleGame) -> one of its legal() texts; "go" is asked for too.
    Returns:
        The list of OracleGame, one per deal begun; the last one has `over`, `winner` and the
        final `scores`. Not over if the deals ran out first.
    """
    sides = 2 if players == 4 else players
    games, scores, dealer = [], [0] * sides, first_dealer
    for deal in deals:
        hands, crib = discard(deal, dealer, choose_discards, players)
        game = OracleGame(dealer, hands, crib, deal["starter"], scores, players, target)
        games.append(game)
        while not game.deal_over:
            game.push(choose_play(game))
        if game.over:
            break
        scores, dealer = game.scores, (dealer + 1) % players
    return games


def discard(deal, dealer, choose_discards, players):
    """Ask every seat for its discards; returns the hands kept, in the order dealt, and the crib."""
    hands, crib = [list(hand) for hand in deal["hands"]], list(deal.get("crib", []))
    for step in range(1, players + 1):
        seat = (dealer + step) % players
        laid_away = list(choose_discards(seat, list(hands[seat])))
        if len(laid_away) != DISCARDS_EACH[players]:
            raise ValueError(f"seat {seat} lays away {DISCARDS_EACH[players]} cards, got {laid_away}")
        for card in laid_away:
            hands[seat].remove(card)
        crib += laid_away
    return hands, crib
