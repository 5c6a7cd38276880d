"""Search: its hands of the other, its open play, and what it lays in positions worked by hand."""

import numpy as np
import pytest

import agents
from agents.belief import draw_hands, list_hands
from agents.pegging import (
    LEVEL,
    MAX_LINE,
    N_HANDS,
    NOBODY,
    PONE,
    POSITION,
    choices,
    hand_numbers,
    open_points,
    pack,
    place_at,
    rank_at,
    size_of,
    step,
    write_opening,
)
from agents.search import SearchAgent, worth_keeping
from crib_env import Game
from crib_env.batch import GameBatch
from crib_env.cards import pip_of, rank_of
from training.arena import play_match


def packed(cards):
    """Card ids as a packed hand."""
    return pack(np.array(sorted(rank_of(c) for c in cards), dtype=np.int64), len(cards))


def deal(mine, theirs, laid=()):
    """A game in the play: seat 1 is pone and leads; `laid` is what has been laid so far."""
    crib = [c for c in ("QD", "QH", "9C", "9H", "9S", "3S", "JS", "JC") if c not in mine + theirs][:4]
    game = Game.from_deal(dealer=0, hands=[mine, theirs], crib=crib, starter="6S", scores=[0, 0])
    for card in laid:
        game.push(card)
    return game


def choice(game, denied=0):
    """What search lays, and nothing else over five draws; `denied` is what the other's gos would say."""
    views = np.array([game.view(game.to_act)] * 5)
    views["denied"][:, 1] = denied
    masks = np.zeros((5, 20), dtype=np.int8)
    masks[:, game.legal_actions()] = 1
    actions = agents.make("search").act(views, masks, np.random.default_rng(1))
    assert len(set(actions.tolist())) == 1
    return game.action_text(int(actions[0]))


def views_of_play(seed, games=40):
    """Views, masks and the true other hand (packed) of plays in games of random legal moves."""
    batch, rng = GameBatch(games, seed=seed, skip_forced=True), np.random.default_rng(seed)
    views, masks, truths = [], [], []
    for _ in range(60):
        at, legal = batch.views(), batch.masks()
        for i in np.flatnonzero(at["phase"] == 1):
            g = batch.games[i]
            other = 1 - batch.to_act[i]
            truths.append(packed([int(c) for k, c in enumerate(g["kept"][other]) if not g["laid"][other] >> k & 1]))
            views.append(at[i].copy())
            masks.append(legal[i].copy())
        batch.step(agents.make("random").act(at, legal, rng))
    return np.array(views), np.array(masks), truths


def test_hands_are_of_unseen_cards_that_the_gos_allow():
    """Every hand, listed or drawn, fits what was seen; the true one is among them, and no hand comes twice."""
    hands, weights = np.empty(N_HANDS, np.int64), np.empty(N_HANDS)
    denied = 0
    for view, _, truth in zip(*views_of_play(3), strict=True):
        n = list_hands(view, worth_keeping(), hand_numbers(), hands, weights)
        assert truth in hands[:n]
        assert len(set(hands[:n].tolist())) == n
        assert (weights[:n] > 0).all()
        unseen = [4] * 13
        theirs = [int(e) % 64 for e in view["log"][: view["n_log"]] if e >= 64 and e != 64 + 52]
        for card in [*(int(c) for c in view["dealt"]), int(view["starter"]), *theirs]:
            unseen[rank_of(card)] -= 1
        n = draw_hands(n, 25, 0.5, hands, weights)
        assert abs(weights[:n].sum() - 25) <= 1
        for drawn in hands[:n]:
            ranks = [rank_at(drawn, k) for k in range(size_of(drawn))]
            assert len(ranks) == view["cards_left"][1]
            assert all(ranks.count(r) <= unseen[r] and pip_of(r) > view["denied"][1] for r in ranks)
        denied += view["denied"][1] > 0
    assert denied > 100


def test_a_lead_weighs_every_hand_by_its_ways_and_its_points():
    """A 2 3 4 and two kings in hand, six up: 5 5 5 5 has one way and 20 points, 8 T K K sixteen and 2."""
    view = deal(["KC", "KD", "TC", "TD"], ["AC", "2C", "3C", "4C"]).view(1)
    view["dealt"] = [0, 4, 8, 12, 48, 49]
    hands, weights = np.empty(N_HANDS, np.int64), np.empty(N_HANDS)
    n = list_hands(view, worth_keeping(), hand_numbers(), hands, weights)
    found = dict(zip(hands[:n].tolist(), weights[:n].tolist(), strict=True))
    fives, kings = found[packed([16, 17, 18, 19])], found[packed([28, 36, 48, 49])]
    assert fives / kings == pytest.approx(np.exp((20 - 2) / 2.5) / 16)
    assert packed([0, 48, 48, 48]) not in found


def test_draws_come_as_often_as_weights_say():
    """Three hands of 1, 2 and 7 parts: ten draws meet them 1, 2 and 7 times wherever the marks begin."""
    for draw in (0.0, 0.3, 0.999):
        hands, weights = np.array([11, 12, 13]), np.array([1.0, 2.0, 7.0])
        assert draw_hands(3, 10, draw, hands, weights) == 3
        assert weights.tolist() == [1, 2, 7]
    hands, weights = np.array([11, 12, 13]), np.array([1.0, 2.0, 7.0])
    assert draw_hands(3, 1, 0.5, hands, weights) == 1
    assert hands[0] == 13


def plain_minimax(s):
    """Pone's net points with all cards open, every line tried."""
    if s["turn"] == NOBODY:
        return 0
    places, m = choices(s)
    results = []
    for a in range(m):
        after = np.zeros(1, POSITION)[0]
        net = step(s, place_at(places, a), after)
        results.append(net + plain_minimax(after))
    return max(results) if s["turn"] == PONE else min(results)


def test_open_play_is_minimax():
    """60 random deals of three cards each: alpha-beta finds what trying every line finds."""
    rng = np.random.default_rng(5)
    line, levels = np.zeros(MAX_LINE, POSITION), np.zeros(MAX_LINE, LEVEL)
    for _ in range(60):
        cards = [int(c) for c in rng.permutation(52)[:6]]
        write_opening(line[1], packed(cards[:3]), packed(cards[3:]))
        assert open_points(line, levels, 1) == plain_minimax(line[1])


def test_takes_a_pair_royal():
    """The third eight makes six, and 24 leaves no room for a fourth."""
    assert choice(deal(["8H", "KC", "4D", "2C"], ["8C", "8D", "TH", "5H"], ["8C", "8H"])) == "8D"


def test_never_leads_a_five():
    """Of a five and three cards that make nothing with it."""
    assert choice(deal(["8H", "KC", "4D", "2C"], ["5C", "2D", "9D", "KH"])) != "5C"


def test_makes_thirty_one_rather_than_thirty():
    """At 21 the king pegs two at once."""
    assert choice(deal(["KC", "9D", "4C", "2S"], ["7H", "TH", "AH", "AD"], ["7H", "4C", "TH"])) == "KC"


def test_keeps_the_ace_to_finish_on_thirty_one():
    """At 22 the eight leaves room for nothing but an ace, and the own ace then makes 31."""
    assert choice(deal(["AC", "8D", "QC", "KS"], ["TH", "2H", "7D", "4D"], ["TH", "QC", "2H"])) == "8D"


def test_leaves_no_twenty_one_to_one_who_holds_but_tens():
    """At 11, gos having denied all below ten: a ten-card is 31 for the other, the nine is not."""
    game = deal(["KC", "AD", "QC", "9D"], ["8H", "2H", "TD", "TH"], ["8H", "AD", "2H"])
    assert game.count == 11
    assert choice(game, denied=9) == "9D"


def test_a_batch_plays_as_its_views_one_by_one():
    """One number is drawn a view and nothing else: the same actions from the same generator."""
    views, masks, _ = views_of_play(7, games=5)
    agent, one = agents.make("search"), np.random.default_rng(2)
    together = agent.act(views, masks, np.random.default_rng(2))
    assert together.tolist() == [int(agent.act(v[None], m[None], one)[0]) for v, m in zip(views, masks, strict=True)]


def test_samples_are_checked():
    """No sample, no thought."""
    with pytest.raises(ValueError, match="samples=0"):
        SearchAgent(samples=0)


def test_pegs_more_than_heuristic():
    """150 pairs, seed 6, about 2,600 deals; 0.3 points a deal expected, sigma about 0.06: four sigmas."""
    result = play_match(agents.make("search"), agents.make("heuristic"), 150, seed=6)
    pegged = result.points[:, 2] / result.deals
    assert pegged[0] - pegged[1] > 0.05
