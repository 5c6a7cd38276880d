"""The play in ranks against the engine, and what an information set may leave out."""

import numpy as np
import pytest

from agents.pegging import (
    CARD_BITS,
    DEALER,
    LEVEL,
    MAX_LINE,
    NOBODY,
    PONE,
    POSITION,
    all_hands,
    choices,
    hand_numbers,
    live_tail,
    lone_choice,
    pack,
    place_at,
    rank_at,
    size_of,
    step,
    with_rank,
    without,
    write_opening,
)
from crib_env import Game
from crib_env.actions import FIRST_PLAY, GO
from crib_env.cards import RANKS, card_text, pip_of, rank_of
from crib_env.rules import MAX_COUNT
from crib_env.scoring import peg_points


def hand(text):
    """A packed hand from ranks in text: "5J4" ."""
    return pack(np.array(sorted(RANKS.index(c) for c in text)), len(text))


def ranks_of(packed):
    return [rank_at(packed, k) for k in range(size_of(packed))]


def test_packing_keeps_ranks_sorted():
    """Taking and adding a card is what it is for sorted lists."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        ranks = sorted(rng.integers(0, 13, 4))
        packed = pack(np.array(ranks), 4)
        k = int(rng.integers(4))
        fewer = without(packed, k)
        assert ranks_of(fewer) == ranks[:k] + ranks[k + 1 :]
        added = int(rng.integers(13))
        assert ranks_of(with_rank(fewer, added)) == sorted([*ranks_of(fewer), added])


def test_every_hand_has_its_number():
    """1,820 multisets, each found again."""
    hands = all_hands()
    assert len(set(hands.tolist())) == 1820
    assert (hand_numbers()[hands] == np.arange(1820)).all()


def opening(pone, dealer):
    """A line of positions that starts with the pone's lead."""
    line = np.zeros(MAX_LINE, dtype=POSITION).view(np.recarray)
    write_opening(line[0], pone, dealer)
    return line


def walk(line, d, pone):
    """Number of ways to play on from line[d], and the pone's net points summed over them."""
    if line[d].turn == NOBODY:
        return 1, pone
    places, m = choices(line[d])
    ways = total = 0
    for a in range(m):
        net = step(line[d], place_at(places, a), line[d + 1])
        w, t = walk(line, d + 1, pone + net)
        ways, total = ways + w, total + t
    return ways, total


def test_every_way_to_play_two_hands():
    """Published: 416 ways; summed over them the dealer pegs 1,488 and the pone 994."""
    assert walk(opening(hand("6J47"), hand("5426")), 0, 0) == (416, 994 - 1488)


@pytest.mark.parametrize("seed", range(4))
def test_the_play_in_ranks_is_the_engines(seed):
    """100 random deals: same player to move, same choices, same count, same points."""
    rng = np.random.default_rng(seed)
    for _ in range(100):
        cards = [int(c) for c in rng.permutation(52)[:13]]
        hands = [sorted(cards[:4]), sorted(cards[4:8])]
        texts = [[card_text(c) for c in part] for part in (*hands, cards[8:12])]
        g = Game.from_deal(dealer=DEALER, hands=texts[:2], crib=texts[2], starter=card_text(cards[12]), scores=[0, 0])
        line = opening(*(pack(np.array([rank_of(c) for c in h]), 4) for h in hands))
        s, net, d = line[0], 0, 0
        while g.phase == "play":
            legal = g.legal_actions()
            if legal == [GO]:
                g.push(GO)
                continue
            by_rank = {rank_of(hands[g.to_act][a - FIRST_PLAY]): a for a in legal}
            places, m = choices(s)
            found = [place_at(places, a) for a in range(m)]
            assert (g.to_act, g.count) == (s.turn, s.count)
            assert sorted(by_rank) == [rank_at(s.hand[s.turn], k) for k in found]
            place = found[int(rng.integers(m))]
            g.push(by_rank[rank_at(s.hand[s.turn], place)])
            net += step(line[d], place, line[d + 1])
            d += 1
            s = line[d]
        told = [e for e in g.events if e["phase"] in ("play", "go", "last")]
        assert net == sum(e["points"] if e["seat"] == PONE else -e["points"] for e in told)
        assert s.turn == NOBODY


@pytest.mark.parametrize("seed", range(3))
def test_what_a_tail_leaves_out_never_scores(seed):
    """1,000 random piles: from the tail alone every continuation pegs what the whole pile pegs."""
    rng = np.random.default_rng(seed)
    for _ in range(1000):
        pile, count = [], 0
        for _ in range(int(rng.integers(1, 6))):
            fitting = [r for r in range(13) if count + pip_of(r) < MAX_COUNT]
            pile.append(int(rng.choice(fitting[: 1 + int(rng.integers(len(fitting)))])))
            count += pip_of(pile[-1])
            if count > MAX_COUNT - 2:
                break
        packed = 0
        for rank in pile:
            packed = packed << CARD_BITS | (rank + 1)
        left = 3
        tail = list(reversed(ranks_of(live_tail(packed, count, left))))
        assert tail == pile[len(pile) - len(tail) :]
        for _ in range(20):
            more, total = [], count
            for _ in range(left):
                fitting = [r for r in range(13) if total + pip_of(r) <= MAX_COUNT]
                if not fitting:
                    break
                more.append(int(rng.choice(fitting)))
                total += pip_of(more[-1])
                whole, short = np.array(pile + more), np.array(tail + more)
                assert peg_points(whole, len(whole), total) == peg_points(short, len(short), total), (pile, more)


def test_alone_the_best_order_is_found():
    """100 times three cards against none: what trying every order finds."""
    rng = np.random.default_rng(6)
    levels = np.zeros(MAX_LINE, dtype=LEVEL).view(np.recarray)
    for role in (PONE, DEALER):
        for _ in range(50):
            line = opening(0, 0)
            line[0].turn = role
            line[0].hand[role] = pack(np.sort(rng.integers(0, 13, 3)), 3)
            best = max(lone_points(line, 0, place) for place in range(3))
            chosen = place_at(choices(line[0])[0], lone_choice(line, levels, 0))
            assert lone_points(line, 0, chosen) == best


def lone_points(line, d, place):
    """Points of whoever moves at line[d] if he lays this card and goes on as well as can be."""
    net = step(line[d], place, line[d + 1])
    points = net if line[d].turn == PONE else -net
    if line[d + 1].turn == NOBODY:
        return points
    left = range(size_of(line[d + 1].hand[line[d].turn]))
    fitting = {place_at(choices(line[d + 1])[0], a) for a in range(choices(line[d + 1])[1])}
    return points + max(lone_points(line, d + 1, k) for k in left if k in fitting)
