"""What a seat may know, and what a network sees of it: no leak, named slices, exact values."""

import itertools

import numpy as np
import pytest
from hidden import shuffle_unseen
from hypothesis import given, settings
from hypothesis import strategies as st

from crib_env import Game, Rules
from crib_env.actions import DISCARD_PLACES, KEEP_PLACES, N_ACTIONS, write_mask
from crib_env.batch import GameBatch
from crib_env.bench import draw_legal
from crib_env.cards import N_CARDS, N_RANKS, card_id
from crib_env.duel import OBSERVATION_RANGE
from crib_env.encoding import ENCODING_VERSION, ENCODINGS, NEAR, encode, feature, features, n_features
from crib_env.engine import bits_one
from crib_env.render import board_text
from crib_env.scoring import show_points
from crib_env.state import DISCARD, GO_CARD, LOG_SEAT, OVER, check_invariants, starter_in_deck
from crib_env.values import crib_table, expected_hands, expected_hands_of_five
from crib_env.view import VIEW, look_many, new_views

GAMES, STEPS = 64, 150


def random_positions(players):
    """GAME[...]: a few thousand positions of random games, from all over the board."""
    batch = GameBatch(GAMES, seed=5, rules=Rules(players=players))
    found = []
    for step in range(STEPS):
        found.append(batch.games.copy())
        batch.step(draw_legal(batch.masks(), step))
    return np.concatenate(found)


@pytest.fixture(scope="module")
def positions():
    return random_positions(2)


@pytest.fixture(scope="module")
def positions_of():
    """The same for each number of players."""
    return {players: random_positions(players) for players in (2, 3, 4)}


def see(games, seat):
    """View, both encodings and, if the seat is to act, its mask, as bytes."""
    views = new_views(1)
    look_many(games, np.array([seat]), views)
    seen = [views.tobytes(), *(encode(views, e).tobytes() for e in ENCODINGS), board_text(views[0]).encode()]
    if int(games["to_act"][0]) == seat:
        mask = np.zeros(N_ACTIONS, dtype=np.int8)
        write_mask(bits_one(games, 0), mask)
        seen.append(mask.tobytes())
    return seen


@settings(max_examples=400, deadline=None)
@given(place=st.integers(0, GAMES * STEPS - 1), seat=st.integers(0, 1), seed=st.integers(0, 2**32 - 1))
def test_hidden_cards_never_change_what_a_seat_sees(positions, place, seat, seed):
    games = positions[place : place + 1].copy()
    shuffled = shuffle_unseen(games, seat, np.random.default_rng(seed))
    check_invariants(shuffled[0])
    assert see(games, seat) == see(shuffled, seat)


@settings(max_examples=400, deadline=None)
@given(
    players=st.sampled_from((3, 4)),
    place=st.integers(0, GAMES * STEPS - 1),
    seat=st.integers(0, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_hidden_cards_never_change_what_one_of_many_sees(positions_of, players, place, seat, seed):
    games = positions_of[players][place : place + 1].copy()
    shuffled = shuffle_unseen(games, seat % players, np.random.default_rng(seed))
    check_invariants(shuffled[0])
    assert see(games, seat % players) == see(shuffled, seat % players)


def test_the_shuffle_of_hidden_cards_does_shuffle(positions):
    rng = np.random.default_rng(0)
    changed = sum(
        shuffle_unseen(positions[i : i + 1], 0, rng)["dealt"][0, 1].tolist() != positions["dealt"][i, 1].tolist()
        for i in range(0, len(positions), 50)
    )
    assert changed > 0.9 * len(positions) / 50


def test_the_other_seats_discard_stays_hidden_until_the_starter_is_turned():
    game = Game(seed=3)
    waiting = 1 - game.to_act
    before = game.view(waiting).tobytes()
    game.push(game.legal_actions()[0])
    assert game.view(waiting).tobytes() == before


def test_a_view_knows_all_cards_laid_and_both_roles(positions):
    views = new_views(2)
    for i in range(0, len(positions), 37):
        g = positions[i]
        look_many(positions[[i, i]], np.array([0, 1]), views)
        assert views["dealer"][0] == 1 - views["dealer"][1]
        assert views["scores"][0, :2].tolist() == views["scores"][1, 1::-1].tolist() == g["score"][:2].tolist()
        assert views["n_log"][0] == g["n_log"]
        ours, theirs = (views["log"][s, : g["n_log"]].astype(int) for s in (0, 1))
        assert (ours % LOG_SEAT == theirs % LOG_SEAT).all() and (ours // LOG_SEAT + theirs // LOG_SEAT == 1).all()
        assert starter_in_deck(g) not in views["dealt"]


@pytest.mark.parametrize("players", [2, 3, 4])
def test_observations_lie_in_their_box(positions_of, players):
    positions = positions_of[players]
    views = new_views(len(positions))
    for seat in range(players):
        look_many(positions, np.full(len(positions), seat), views)
        low, high = OBSERVATION_RANGE
        rows = encode(views, "rich")
        assert rows.shape[1] == n_features("rich", players)
        assert rows.min() >= low and rows.max() <= high and np.isfinite(rows).all()
        # The raw encoding is the front of the rich one.
        assert (encode(views, "raw") == rows[:, : n_features("raw", players)]).all()


@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_features_are_named_once_and_leave_no_gap(encoding, players):
    found = features(encoding, players)
    assert len({f.name for f in found}) == len(found)
    assert [f.start for f in found] == [0, *itertools.accumulate(f.size for f in found)][:-1]


def test_the_two_player_observation_keeps_its_length():
    """Saved networks were trained on it."""
    assert (n_features("raw"), n_features("rich"), ENCODING_VERSION) == (424, 463, 1)


# Pone is seat 1. What its slices must be, worked out by hand.
HANDS = [["TC", "TD", "9H", "2S"], ["5H", "4C", "JH", "5S"]]
CRIB = ["AC", "AD", "KC", "KD"]  # seat 0 laid the aces, seat 1 the kings


def ranks(*texts):
    return [card_id(t) // 4 for t in texts]


def one_hot(place, size):
    return [float(k == place) for k in range(size)]


def joined(lists):
    return list(itertools.chain.from_iterable(lists))


def counts(*texts):
    return [float(ranks(*texts).count(rank)) for rank in range(N_RANKS)]


def observe(game, seat):
    row = encode(np.array([game.view(seat)], dtype=VIEW), "rich")[0]
    return {f.name: row[f.slice].tolist() for f in features("rich")}


def test_slices_of_a_lead_worked_by_hand():
    game = Game.from_deal(dealer=0, hands=HANDS, crib=CRIB, starter="AH", scores=[100, 118])
    seen = observe(game, 1)
    assert seen["phase"] == [0, 1] and seen["i_deal"] == [0]
    assert seen["held"] == joined(one_hot(r, N_RANKS) for r in ranks("4C", "5H", "5S", "JH"))
    assert seen["discards"] == counts("KC", "KD")
    assert seen["starter"] == counts("AH")
    left = dict.fromkeys(range(N_RANKS), 4)
    for rank in ranks("4C", "5H", "5S", "JH", "KC", "KD", "AH"):
        left[rank] -= 1
    assert seen["unseen"] == [left[rank] / 4 for rank in range(N_RANKS)]
    assert seen["count"] == one_hot(0, 31)
    assert seen["cards_left"] == one_hot(4, 5) * 2
    assert seen["go"] == [0, 0] and not any(seen["denied"]) and not any(seen["log"]) and not any(seen["dealt"])
    assert seen["scores"] == pytest.approx([118 / 121, 100 / 121])
    assert seen["gains"] == [0, 0]
    assert seen["near"] == [float(n >= 3) for n in NEAR] + [float(n >= 21) for n in NEAR]
    assert seen["peg_now"] == [0, 0, 0, 0]
    # Replies among 45 unseen cards. To the four: a pair with 3. To a five: a pair with 2 fives, fifteen with
    # 4 tens, 3 jacks, 4 queens and 2 kings. To the jack: a pair with 3, fifteen with 2 fives.
    points = [2 * 3, 2 * 2 + 2 * 13, 2 * 2 + 2 * 13, 2 * 3 + 2 * 2]
    assert seen["reply"] == pytest.approx([p / 45 / 4 for p in points])
    # 5H J, 5S J, A 4 J, A 4 5 5: eight; the pair two; his nobs one.
    assert seen["my_show"] == pytest.approx([1.1])


def test_slices_after_cards_and_a_go_worked_by_hand():
    game = Game.from_deal(dealer=0, hands=HANDS, crib=CRIB, starter="AH", scores=[0, 0])
    for text in ("JH", "TC", "5H", "2S"):
        game.push(text)
    seen = observe(game, 1)  # 27 on the table: J T 5 2; pone holds 4C 5S
    assert seen["count"] == one_hot(27, 31)
    assert seen["held"] == one_hot(3, N_RANKS) + [0.0] * N_RANKS + one_hot(4, N_RANKS) + [0.0] * N_RANKS
    assert seen["mine_laid"] == counts("JH", "5H") and seen["theirs_laid"] == counts("TC", "2S")
    log = [
        [*one_hot(rank, N_RANKS), mine, 1.0]
        for rank, mine in zip(ranks("2S", "5H", "TC", "JH"), (0, 1, 0, 1), strict=True)
    ]
    assert seen["log"] == joined(log) + [0.0] * 15 * 3
    assert seen["cards_left"] == one_hot(2, 5) * 2
    assert seen["peg_now"] == [0.5, 0, 0, 0]  # 4C makes 31: two points, four as 1
    assert seen["reply"] == [0, 0, 0, 0]  # nothing follows 31, and 5S does not fit
    game.push("4C")  # 31: the dealer leads, and has shown nothing by it
    game.push("9H")
    seen = observe(game, 1)
    assert seen["gains"] == pytest.approx([0.2, 0.0])
    assert seen["log"][:15] == [*one_hot(8, N_RANKS), 0, 1]
    assert seen["log"][15:30] == [*one_hot(3, N_RANKS), 1, 0]  # before the reset: not in the present count
    assert not any(seen["go"])


def test_a_go_shows_what_it_proves():
    hands = [["KC", "KD", "9H", "8S"], ["QH", "QS", "2C", "3D"]]
    game = Game.from_deal(dealer=0, hands=hands, crib=["AC", "AD", "6C", "6D"], starter="AH", scores=[0, 0])
    for text in ("QH", "KC", "2C", "8S"):
        game.push(text)
    assert game.count == 30 and game.to_act == 1  # pone holds a queen and a three
    game.push("go")
    # 31 was out of reach with a card of value 1: the dealer knows it of pone. The dealer could not go on
    # either, which closed the count, so both know as much of each other.
    for seat in (0, 1):
        assert observe(game, seat)["denied"] == ([1.0] + [0.0] * 9) * 2
        assert observe(game, seat)["go"] == [0, 0]  # a new count has begun


@pytest.mark.parametrize("seed", range(12))
def test_expected_hands_are_the_mean_over_46_starters(seed):
    dealt = np.sort(np.random.default_rng(seed).permutation(N_CARDS)[:6]).astype(np.int8)
    values = np.zeros(15, dtype=np.float32)
    expected_hands(dealt, values)
    starters = [c for c in range(N_CARDS) if c not in dealt]
    for action in range(15):
        hand = [int(dealt[p]) for p in KEEP_PLACES[action]]
        mean = sum(show_points(hand, s, False) for s in starters) / 46
        assert values[action] == pytest.approx(mean, abs=1e-5), action


@pytest.mark.parametrize("seed", range(12))
def test_expected_hands_of_five_are_the_mean_over_47_starters(seed):
    dealt = np.sort(np.random.default_rng(seed).permutation(N_CARDS)[:5]).astype(np.int8)
    check_hands_of_five(dealt)


@pytest.mark.parametrize("text", ["AH 5H 9H JH KH", "JC JD JH JS 5C", "2C 2D 3H 4H 4S"])
def test_expected_hands_of_five_know_flushes_nobs_and_runs(text):
    check_hands_of_five(np.sort([card_id(t) for t in text.split()]).astype(np.int8))


def check_hands_of_five(dealt):
    values = np.zeros(5, dtype=np.float32)
    expected_hands_of_five(dealt, values)
    starters = [c for c in range(N_CARDS) if c not in dealt]
    for away in range(5):
        hand = [int(c) for k, c in enumerate(dealt) if k != away]
        mean = sum(show_points(hand, s, False) for s in starters) / 47
        assert values[away] == pytest.approx(mean, abs=1e-5), away


@pytest.mark.parametrize("dealer", [0, 1])
def test_discard_slices_give_cards_hands_and_signed_crib(dealer):
    game = Game(seed=9, dealer=dealer)
    seen = observe(game, 0)
    cards = [card_id(t) for t in game.dealt(0)]
    assert seen["phase"] == [1, 0] and seen["i_deal"] == [float(dealer == 0)]
    assert seen["dealt"] == joined(one_hot(c // 4, 13) + one_hot(c % 4, 4) for c in cards)
    hands = np.zeros(15, dtype=np.float32)
    expected_hands(np.array(cards, dtype=np.int8), hands)
    assert seen["hand_values"] == pytest.approx((hands / 10).tolist())
    for action, places in enumerate(DISCARD_PLACES):
        a, b = (cards[p] for p in places)
        worth = crib_table()[int(dealer != 0), a // 4, b // 4, int(a % 4 == b % 4)]
        assert seen["crib_values"][action] == pytest.approx((1 if dealer == 0 else -1) * worth / 10, rel=1e-5)
    assert not any(seen["peg_now"] + seen["reply"] + seen["my_show"] + seen["held"] + seen["starter"])


def test_a_finished_game_is_encoded_as_it_stands(positions):
    over = positions[positions["phase"] == OVER]
    discarding = positions[positions["phase"] == DISCARD]
    assert len(over) == 0 and len(discarding) > 100  # autoreset: a batch never rests in a finished game
    game = Game.from_deal(dealer=0, hands=HANDS, crib=CRIB, starter="JC", scores=[119, 0])
    assert game.over
    assert observe(game, 0)["scores"] == [1, 0]


def test_wrong_names_and_player_counts_are_named():
    with pytest.raises(ValueError, match="allowed are raw, rich"):
        features("richer")
    with pytest.raises(KeyError, match="has no feature 'hand'"):
        feature("raw", "hand")
    with pytest.raises(ValueError, match="allowed are 2, 3 and 4"):
        n_features("raw", 5)
    views = new_views(2)
    views["players"] = (3, 2)
    with pytest.raises(ValueError, match=r"\[2, 3\] players"):
        encode(views, "raw")


# Three and four players.

THREE = [["TC", "KC", "9H", "2S"], ["5H", "4C", "JH", "5S"], ["AC", "6D", "8D", "QD"]]
THREE_CRIB = ["7C", "KH", "QH", "3H"]  # the last is the pack's


def observe_places(game, seat):
    row = encode(np.array([game.view(seat)], dtype=VIEW), "rich")[0]
    return {f.name: row[f.slice].tolist() for f in features("rich", game.rules.players)}


def test_slices_of_three_players_worked_by_hand():
    rules = Rules(players=3)
    game = Game.from_deal(dealer=0, hands=THREE, crib=THREE_CRIB, starter="AH", scores=[100, 118, 7], rules=rules)
    for text in ("JH", "QD", "9H"):
        game.push(text)
    assert (game.to_act, game.count) == (1, 29)
    game.push("go")  # seat 1 holds 4C 5H 5S: nothing of a value up to 2
    seen = observe_places(game, 2)  # AC 6D 8D left; seat 0 is its left, seat 1 the next
    assert seen["phase"] == [0, 1] and seen["dealer"] == one_hot(1, 3)
    assert seen["held"] == joined([one_hot(0, 13), one_hot(5, 13), one_hot(7, 13), [0.0] * 13])
    assert seen["discards"] == counts("QH") and seen["starter"] == counts("AH")
    assert seen["laid"] == counts("QD") + counts("9H") + counts("JH")
    left = dict.fromkeys(range(N_RANKS), 4)
    for rank in ranks("AC", "6D", "8D", "QD", "QH", "AH", "JH", "9H"):
        left[rank] -= 1
    assert seen["unseen"] == [left[rank] / 4 for rank in range(N_RANKS)]
    log = [[*one_hot(r, 13), *one_hot(p, 3), 1.0] for r, p in zip(ranks("9H", "QD", "JH"), (1, 0, 2), strict=True)]
    assert seen["log"] == joined(log) + [0.0] * 17 * 8
    assert seen["count"] == one_hot(29, 31)
    assert seen["cards_left"] == one_hot(3, 5) * 3
    assert seen["go"] == [0, 0, 1] and seen["denied"] == [0.0] * 20 + [1.0] * 2 + [0.0] * 8
    assert seen["scores"] == pytest.approx([7 / 121, 100 / 121, 118 / 121]) and not any(seen["gains"])
    assert seen["near"] == [0.0] * 15 + [float(n >= 21) for n in NEAR] + [float(n >= 3) for n in NEAR]
    assert seen["peg_now"] == [0, 0, 0, 0]
    # After AC the count is 30. The next player with cards who has said no go is seat 0: one of the two aces
    # unseen pairs and makes 31, four points, among 44 cards.
    assert seen["reply"] == pytest.approx([2 * 4 / 44 / 4, 0, 0, 0])
    # The pair of aces two, 6 8 A fifteen with either ace four.
    assert seen["my_show"] == pytest.approx([0.6])


def test_partners_share_a_score_in_the_slices_of_four():
    game = Game(seed=4, rules=Rules(players=4), dealer=3, scores=[30, 60])
    for seat in range(4):
        seen = observe_places(game, seat)
        assert seen["scores"] == pytest.approx([[30, 60], [60, 30]][seat % 2] / np.array(121))
        assert seen["dealer"] == one_hot((3 - seat) % 4, 4)
        cards = [card_id(t) for t in game.dealt(seat)]
        assert seen["dealt"] == joined(one_hot(c // 4, 13) + one_hot(c % 4, 4) for c in cards)
        hands = np.zeros(5, dtype=np.float32)
        expected_hands_of_five(np.array(cards, dtype=np.int8), hands)
        assert seen["hand_values"] == pytest.approx((hands / 10).tolist())


@pytest.mark.parametrize("players", [3, 4])
def test_every_card_laid_is_in_the_log_with_its_place(positions_of, players):
    """All but the first card of a finished deal; the totals by place have that too."""
    size = N_RANKS + players + 1
    positions = positions_of[players]
    views = new_views(len(positions))
    look_many(positions, positions["to_act"].astype(np.int64), views)
    rows = encode(views, "raw")
    for view, row in zip(views[::7], rows[::7], strict=True):
        laid = [divmod(int(e), LOG_SEAT) for e in view["log"][: view["n_log"]] if e % LOG_SEAT != GO_CARD]
        items = row[feature("raw", "log", players).slice].reshape(-1, size)
        told = [(int(i[N_RANKS:-1].argmax()), int(i[:N_RANKS].argmax())) for i in items if i.any()]
        assert told == [(place, card // 4) for place, card in reversed(laid)]


@pytest.mark.parametrize("players", [3, 4])
def test_a_batch_shows_what_encode_does(players):
    batch = GameBatch(16, seed=3, rules=Rules(players=players))
    for step in range(40):
        observations, masks = batch.observe("rich")
        assert (observations == encode(batch.views(), "rich")).all() and (masks == batch.masks()).all()
        batch.step(draw_legal(masks, step))
