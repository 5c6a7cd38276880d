"""The best response against one found plainly: with the engine's games, a public history at a time."""

from functools import cache
from itertools import combinations, product

import numpy as np
import pytest

from agents.discards import count_out, discard_points, kept_hand, kept_odds, removal
from agents.pegging import (
    DEALER,
    MAX_LINE,
    N_HANDS,
    NOBODY,
    PONE,
    POSITION,
    all_hands,
    choices,
    hand_numbers,
    key_of,
    pack,
    place_at,
    rank_at,
    step,
    write_opening,
)
from agents.tables.play import chances_at, in_eighths, make_strategy, save_play
from crib_env import Game
from crib_env.actions import FIRST_PLAY, GO
from crib_env.cards import RANKS, card_text
from crib_env.rng import deal_cards
from crib_env.values import crib_table
from training import best_response as command
from training.best_response import best_response, exploitability
from training.cfr import ROW, average_strategy, new_walk, walk

PONES = ("55JK", "A234", "6678", "9TJQ")
DEALERS = ("5TTQ", "4568", "AA77", "23KK")
EVEN = make_strategy(np.zeros(0, np.uint64), np.zeros((0, 4), np.float32))  # knows nothing
NO_PEG = np.zeros((2, N_HANDS), np.float32)


def hand(text):
    return int(pack(np.array(sorted(RANKS.index(c) for c in text)), 4))


def prior_of(pones, dealers):
    """Even chances for a few hands of each role."""
    prior = np.zeros((2, N_HANDS))
    for role, texts in ((PONE, pones), (DEALER, dealers)):
        prior[role, hand_numbers()[[hand(t) for t in texts]]] = 1 / len(texts)
    return prior


def new_line(pone, dealer):
    line = np.zeros(MAX_LINE, dtype=POSITION).view(np.recarray)
    write_opening(line[0], pone, dealer)
    return line


def decisions(line, d, keys):
    """Add the key of every decision from line[d] on that a strategy may know, with its number of choices."""
    s = line[d]
    if s.turn == NOBODY or s.hand[1 - s.turn] == 0:
        return
    places, m = choices(s)
    if m > 1:
        keys[int(key_of(s))] = m
    for a in range(m):
        step(s, place_at(places, a), line[d + 1])
        decisions(line, d + 1, keys)


@cache
def all_decisions(pones, dealers):
    """What `decisions` finds in every pair of hands."""
    keys = {}
    for pone, dealer in product(pones, dealers):
        decisions(new_line(hand(pone), hand(dealer)), 0, keys)
    return keys


def random_strategy(pones, dealers, rng, known):
    """Some zeros among the chances; a share of the information sets these hands meet is left out."""
    keys = all_decisions(pones, dealers)
    kept = sorted(key for key in keys if rng.random() < known)
    chances = np.zeros((len(kept), 4), np.float32)
    for row, key in zip(chances, kept, strict=True):
        weights = rng.random(keys[key]) * (rng.random(keys[key]) < 0.7)
        row[: keys[key]] = weights / weights.sum() if weights.sum() > 0 else 1 / keys[key]
    return make_strategy(np.array(kept, np.uint64), chances)


class Line:
    """One hidden hand's game on its way, and how likely it is."""

    def __init__(self, game, position, weight):
        self.game, self.position, self.weight = game, position, weight

    def replies(self, strategy):
        """(what everybody sees, chance, net points for the pone, the line after) of each move."""
        legal = self.game.legal_actions()
        if legal == [GO]:
            return [("go", 1.0, *self.after(GO, self.position))]
        places, m = choices(self.position)
        chances = np.ones(1)
        if m > 1:
            chances = np.empty(m)
            chances_at(strategy, self.position, m, chances)
        kept = [RANKS.index(card[0]) for card in self.game.kept(self.game.to_act)]
        action_of = {kept[a - FIRST_PLAY]: a for a in legal}
        assert len(action_of) == m
        found = []
        for k, chance in zip([place_at(places, a) for a in range(m)], chances, strict=True):
            after = np.zeros(1, POSITION).view(np.recarray)[0]
            rank = rank_at(self.position.hand[self.position.turn], k)
            step(self.position, k, after)
            found.append((rank, chance, *self.after(action_of[rank], after)))
        return found

    def after(self, action, position):
        game = self.game.copy()
        told = [e for e in game.push(action) if e["phase"] in ("play", "go", "last")]
        net = sum(e["points"] if e["seat"] == PONE else -e["points"] for e in told)
        return net, Line(game, position, self.weight)


def plain_value(lines, strategy, me, follow):
    """Net points for `me`, summed over lines that look alike to him, weighed."""
    if not lines or lines[0].game.phase != "play":
        return 0.0
    (seat,) = {line.game.to_act for line in lines}
    alone = lines[0].position.hand[1 - seat] == 0
    if alone and seat != me and len(lines) > 1:
        return sum(plain_value([line], strategy, me, follow) for line in lines)
    seen, chance_of = {}, {}
    for line in lines:
        for public, chance, net, after in line.replies(strategy):
            chance_of[public] = chance
            after.weight *= 1 if seat == me or alone else chance
            if after.weight > 0:
                seen.setdefault(public, []).append((after, net if me == PONE else -net))
    worth = {
        public: sum(a.weight * net for a, net in group) + plain_value([a for a, _ in group], strategy, me, follow)
        for public, group in seen.items()
    }
    if alone:
        return max(worth.values()) if seat == me else min(worth.values())
    if seat != me:
        return sum(worth.values())
    return sum(chance_of[p] * worth[p] for p in worth) if follow else max(worth.values())


def plain_ways(theirs, mine):
    """Card removal by counting: ways to hold their ranks beside my cards over ways to hold them alone."""

    def ways(taken):
        cards = [c for c in range(52) if card_text(c)[0] in theirs and c not in taken]
        return sum(sorted(card_text(c)[0] for c in four) == sorted(theirs) for four in combinations(cards, 4))

    return ways(suited(mine, set())) / ways(set())


def suited(text, taken):
    """Card ids of these ranks, of the first suits that are free."""
    cards = set()
    for r in text:
        cards.add(next(c for c in range(52) if card_text(c)[0] == r and c not in taken | cards))
    return cards


def plain_response(strategy, theirs, me, mine):
    """(best, followed) from even chances of a few hidden hands."""
    lines = []
    for text in theirs:
        weight = plain_ways(text, mine)
        if weight == 0:
            continue
        held = [sorted(suited(mine, set()))]
        held.append(sorted(suited(text, set(held[0]))))
        rest = [c for c in range(52) if c not in held[0] + held[1]]
        hands = held if me == PONE else held[::-1]
        texts = [[card_text(c) for c in part] for part in (*hands, rest[:4])]
        game = Game.from_deal(dealer=DEALER, hands=texts[:2], crib=texts[2], starter=card_text(rest[4]), scores=[0, 0])
        pone, dealer = (mine, text) if me == PONE else (text, mine)
        lines.append(Line(game, new_line(hand(pone), hand(dealer))[0], weight))
    total = sum(line.weight for line in lines)
    for line in lines:
        line.weight /= total
    return plain_value(lines, strategy, me, False), plain_value(lines, strategy, me, True)


@pytest.mark.parametrize(
    ("me", "mine", "theirs"),
    [
        (PONE, "5678", ("5566", "TJQK", "A456")),  # runs; removal changes the odds
        (DEALER, "AAKK", ("99JJ", "2345", "AATT")),  # gos on both sides
        (DEALER, "5555", ("5JQK", "78TT", "TTTT")),  # one of them impossible
    ],
)
def test_equals_a_plain_search_of_the_engines_games(me, mine, theirs):
    """Even strategy and a random one that knows most: best and followed to the last digit."""
    rng = np.random.default_rng(len(mine) + me)
    pones, dealers = ((mine,), theirs) if me == PONE else (theirs, (mine,))
    for strategy in (EVEN, random_strategy(pones, dealers, rng, 0.8)):
        found = best_response(strategy, prior_of(pones, dealers), me, hand(mine))
        assert found[:2] == pytest.approx(plain_response(strategy, theirs, me, mine), abs=1e-6)


def test_a_certain_hand_of_one_rank_is_an_open_problem():
    """Pone K K K K has no choice. By hand, dealer 5 Q Q Q: 5 for 15 (2), pone's go, go (1), last (1): 3 at best."""
    found = best_response(EVEN, prior_of(("KKKK",), DEALERS), DEALER, hand("5QQQ"))
    assert found.value == pytest.approx(3)
    assert found.followed < 3
    assert found.unknown == 0


@pytest.mark.parametrize("seed", range(3))
def test_nobody_plays_a_hand_better_than_its_best_response(seed):
    """Random strategies, every hand; a strategy that knows less meets more that is unknown."""
    rng = np.random.default_rng(seed)
    prior = prior_of(PONES, DEALERS)
    for role, mine in ((PONE, PONES), (DEALER, DEALERS)):
        for known, least, most in ((1.0, 0, 0), (0.5, 0.01, 0.99), (0.0, 1, 1)):
            strategy = random_strategy(PONES, DEALERS, rng, known)
            found = [best_response(strategy, prior, role, hand(text)) for text in mine]
            assert all(r.value >= r.followed - 1e-9 for r in found)
            assert max(r.value - r.followed for r in found) > 0.1  # random play leaves much to gain
            assert all(least <= r.unknown <= most for r in found)


def mean_gain(strategy, prior):
    """Exactly, over all hands of the prior: in these two sets nobody holds the other's ranks."""
    gains = 0.0
    for role in (PONE, DEALER):
        for number in np.flatnonzero(prior[role]):
            r = best_response(strategy, prior, role, int(all_hands()[number]))
            gains += prior[role, number] * (r.value - r.followed)
    return gains


def walk_both(rows, w):
    """Each role learns once; a later deal weighs more."""
    w["weight"] += 1
    for explorer in (PONE, DEALER):
        w["explorer"] = explorer
        walk(rows, w)


def test_walks_take_the_gain_away():
    """Four hands against four: what is left to gain falls towards nothing (3.04, 0.34, 0.04)."""
    pones, dealers = ("A357", "33JJ", "577J", "A55J"), ("2468", "44TT", "668T", "2288")
    prior = prior_of(pones, dealers)
    rows, walks = np.zeros(1 << 16, ROW), new_walk(5)
    rng = np.random.default_rng(5)
    gains = []
    for n in (30, 1000, 30_000):
        for pone, dealer in rng.integers(4, size=(n, 2)):
            write_opening(walks["line"][0, 0], hand(pones[pone]), hand(dealers[dealer]))
            walk_both(rows, walks[0])
        gains.append(mean_gain(make_strategy(*average_strategy(rows)), prior))
    assert gains[0] > 3 * gains[1] > 9 * gains[2]
    assert gains[2] < 0.06


def test_removal_counts_the_ways_to_hold_the_cards():
    """Counted one by one."""
    for theirs, mine in (("5566", "5678"), ("KKKK", "AKQJ"), ("2345", "2222"), ("7778", "7888"), ("A234", "5678")):
        unseen = np.empty(13)
        count_out(hand(mine), unseen)
        assert removal(hand(theirs), unseen) == pytest.approx(plain_ways(theirs, mine))


def test_the_prior_counts_what_both_keep():
    """200 deals again, one at a time: the pone's six cards first."""
    deals, seed = 200, 8
    prior = kept_odds(crib_table(), NO_PEG, deals, seed)
    counts = np.zeros((2, N_HANDS))
    values = np.empty(15, np.float32)
    for deal in range(deals):
        cards = deal_cards(seed, 0, deal)
        for role, six in ((PONE, cards[:6]), (DEALER, cards[6:12])):
            dealt = np.sort(six)
            discard_points(dealt, role, crib_table(), NO_PEG, hand_numbers(), values)
            counts[role, hand_numbers()[kept_hand(dealt, values.argmax())]] += 1
    assert prior == pytest.approx(counts / deals)


def test_drawn_hands_come_from_the_prior_and_their_seed():
    """The same hands for the same seed; one hand in the prior leaves no spread."""
    prior = prior_of(PONES, DEALERS)
    assert exploitability(EVEN, prior, 3, 1) == exploitability(EVEN, prior, 3, 1)
    certain = exploitability(EVEN, prior_of(PONES[:1], DEALERS[:1]), 2, 1)
    assert certain.error == pytest.approx(0)
    expected = best_response(EVEN, prior_of(PONES[:1], DEALERS[:1]), PONE, hand(PONES[0]))
    assert certain.roles[PONE].value == pytest.approx(expected.value)
    assert certain.gain == pytest.approx(sum(g.value - g.followed for g in certain.roles))


def test_what_cannot_be_answered_says_why():
    prior = prior_of(("5555",), DEALERS)
    with pytest.raises(ValueError, match="role 2"):
        best_response(EVEN, prior, 2, hand("A234"))
    with pytest.raises(ValueError, match="not four packed ranks"):
        best_response(EVEN, prior, PONE, 0x1234)
    with pytest.raises(ValueError, match="no pone's hand"):
        best_response(EVEN, prior, DEALER, hand("5678"))
    with pytest.raises(ValueError, match="shape"):
        best_response(EVEN, prior[0], PONE, hand("5678"))
    with pytest.raises(ValueError, match="at least 2"):
        exploitability(EVEN, prior, 1, 0)


def test_the_command_reads_a_file_and_writes_its_figures(tmp_path, monkeypatch, capsys):
    """From the file a solve writes; a file that is none, or missing, ends with its name and status 2."""
    monkeypatch.setattr(command, "read_prior", lambda _: prior_of(PONES, DEALERS))
    strategy = random_strategy(PONES, DEALERS, np.random.default_rng(1), 1.0)
    used = strategy[strategy["key"] != 0]
    path, out = tmp_path / "play.xz", tmp_path / "out.json"
    save_play(path, used["key"], in_eighths(used["chance"].astype(float), 0))
    assert command.main([str(path), "--hands", "3", "--seed", "2", "--json", str(out)]) == 0
    assert '"gain"' in out.read_text()
    assert "pone" in capsys.readouterr().out
    path.write_bytes(b"not one")
    assert command.main([str(path)]) == 2
    assert command.main([str(tmp_path / "none.xz")]) == 2
    assert capsys.readouterr().err.count("play.xz is no solved play") == 1
