"""GameBatch: the same games at any size, zero-sum rewards worked by hand, errors that touch nothing."""

import numpy as np
import pytest

from crib_env import Game, Rules
from crib_env.batch import GameBatch
from crib_env.bench import draw_legal
from crib_env.rewards import skunk_level
from crib_env.rng import deal_cards
from crib_env.scoring import show_points
from crib_env.state import check_invariants

MIX = np.uint64(0x9E3779B97F4A7C15)


def choose(views, masks):
    """A legal action from what is seen alone: the same view always gives the same one."""
    seen = views.view(np.uint8).reshape(len(views), -1).astype(np.uint64)
    weights = np.arange(1, seen.shape[1] + 1, dtype=np.uint64) * MIX
    draws = ((seen * weights).sum(axis=1, dtype=np.uint64) >> np.uint64(33)).astype(np.int64)
    upto = masks.astype(np.int64).cumsum(axis=1)
    return (upto > (draws % upto[:, -1])[:, None]).argmax(axis=1)


def advance(batch):
    return batch.step(choose(batch.views(), batch.masks()))


def as_bytes(batch):
    names = ("episodes", "ended", "tally", "deals_ended", "to_act", "rewards", "dones")
    return [batch.games.tobytes(), *(getattr(batch, name).tobytes() for name in names)]


def test_game_7_is_the_same_in_a_batch_of_1_and_of_4096():
    many = GameBatch(4096, seed=2, autoreset=False)
    one = GameBatch(1, seed=2, first_game=7, autoreset=False)
    while not one.ended[0]:
        assert many.games[7].tobytes() == one.games[0].tobytes()
        advance(many), advance(one)
    assert many.games[7].tobytes() == one.games[0].tobytes() and many.ended[7]


def test_slots_go_on_with_games_of_their_own():
    batch = GameBatch(3, seed=4, first_game=10, start_scores=(110, 110))
    for _ in range(200):
        advance(batch)
        assert (batch.games["game"] == 10 + np.arange(3) + 3 * batch.episodes).all()
    assert batch.episodes.min() >= 3


def test_a_batch_deals_what_deal_cards_and_game_deal():
    batch = GameBatch(2, seed=8)
    game = Game(seed=8, game=1)
    assert batch.games["deck"][1, :13].tolist() == deal_cards(8, 1, 0)[:13].tolist()
    assert [int(s) for s in batch.games["dealt"][1].ravel() if s >= 0] == game.record["dealt"][
        game.record["dealt"] >= 0
    ].tolist()
    assert batch.games["dealer"][1] == game.dealer


@pytest.mark.parametrize("reward", ["win", "points", "match"])
def test_rewards_add_up_to_what_the_game_was_worth(reward):
    batch = GameBatch(256, seed=6, reward=reward, autoreset=False)
    total = np.zeros(batch.n)
    while not batch.ended.all():
        rewards, _ = advance(batch)
        total += rewards
    winner, score = batch.games["winner"].astype(int), batch.games["score"].astype(int)
    loser = score[np.arange(batch.n), 1 - winner]
    sign = np.where(winner == 0, 1, -1)
    worth = {
        "win": sign,
        "points": score[:, 0] - score[:, 1],
        "match": sign * np.where(loser <= 60, 4, np.where(loser <= 90, 2, 1)),
    }
    assert (total == worth[reward]).all()
    assert len(set(sign)) == 2


def test_skunks_by_hand():
    # ACC 1.6: 90 is a skunk and 91 is not, 60 a double skunk and 61 not; at 61 a lurch below 31.
    assert [skunk_level(s, 121) for s in (91, 90, 61, 60, 0)] == [0, 1, 1, 2, 2]
    assert [skunk_level(s, 61) for s in (31, 30)] == [0, 1]
    assert skunk_level(0, 100) == 0


@pytest.mark.parametrize("shaping", [0.5, 2.0])
def test_shaping_leaves_the_sum_of_a_game_as_it_was(shaping):
    batch = GameBatch(32, seed=1, shaping=shaping, autoreset=False)
    total = np.zeros(batch.n)
    between = 0.0
    while not batch.ended.all():
        rewards, dones = advance(batch)
        between += np.abs(rewards[~dones]).sum()
        total += rewards
    assert total == pytest.approx(np.where(batch.games["winner"] == 0, 1, -1), abs=1e-4)
    assert between > 0


def test_a_deal_episode_ends_with_its_show():
    batch = GameBatch(16, seed=3, episode="deal", reward="points", autoreset=False)
    total = np.zeros(batch.n)
    while not batch.ended.all():
        total += advance(batch)[0]
    assert (batch.games["deal"] == 1).all()
    assert (total == batch.games["score"][:, 0] - batch.games["score"][:, 1]).all()
    kinds = batch.games["events"]["kind"]
    assert batch.games["n_events"].min() >= 2 and kinds.max() == 5  # the crib was shown last


def test_skipping_forced_moves_plays_the_same_games():
    asked = GameBatch(64, seed=7, autoreset=False)
    skipped = GameBatch(64, seed=7, autoreset=False, skip_forced=True)
    steps = []
    for batch in (asked, skipped):
        n = 0
        while not batch.ended.all():
            masks = batch.masks()
            if batch.skip_forced:
                assert (masks.sum(axis=1)[~batch.ended] > 1).all()
            n += int((~batch.ended).sum())
            # First of the legal ones: the choice must not depend on whether forced moves were asked for.
            batch.step(masks.argmax(axis=1))
        steps.append(n)
    assert (asked.games["score"] == skipped.games["score"]).all()
    assert (asked.games["log"] == skipped.games["log"]).all()
    assert steps[1] < steps[0]


def test_start_scores_and_dealers_are_taken():
    batch = GameBatch(4, seed=1, start_scores=(95, 102), dealer=1)
    assert (batch.games["score"][:, :2] == (95, 102)).all() and (batch.games["dealer"] == 1).all()
    batch.reset_slots(np.array([2]), np.array([[7, 9]]))
    assert batch.games["score"][2, :2].tolist() == [7, 9]
    assert batch.games["game"].tolist() == [0, 1, 6, 3]


def test_masks_observe_and_views_agree():
    batch = GameBatch(64, seed=9)
    for _ in range(60):
        _, masks = batch.observe("raw")
        assert (masks == batch.masks()).all()
        slots = np.array([5, 3])
        assert batch.views(slots).tobytes() == batch.views()[slots].tobytes()
        advance(batch)
    for g in batch.games:
        check_invariants(g)


def test_observe_writes_into_what_it_is_given():
    batch = GameBatch(8, seed=9)
    out, masks = batch.observe("rich")
    again = batch.observe("rich", out, masks)
    assert again[0] is out and again[1] is masks


@pytest.mark.parametrize(
    "actions, said",
    [
        (np.full(4, 17), "illegal action 17 .lay card 3 of the four. in slot 0 at deal 1, count 0, seat . to act"),
        (np.array([0, 0, -1, 0]), "illegal action -1 .no action. in slot 2"),
        (np.array([0, 0, 0, 64]), "illegal action 64"),
        (np.array([0, 0, 2**40, 0]), "in slot 2"),
        (np.zeros(3, dtype=int), "whole numbers .4."),
        (np.zeros((4, 1), dtype=int), "whole numbers .4."),
        (np.zeros(4), "float64.4. came"),
    ],
)
def test_errors_leave_everything_unchanged(actions, said):
    batch = GameBatch(4, seed=1)
    before = as_bytes(batch)
    with pytest.raises(ValueError, match=said):
        batch.step(actions)
    assert as_bytes(batch) == before


@pytest.mark.parametrize(
    "settings, said",
    [
        ({"n": 0}, "at least one"),
        ({"n": 1, "episode": "match"}, "allowed are game, deal"),
        ({"n": 1, "reward": "money"}, "allowed are win, points, match"),
        ({"n": 1, "dealer": 2}, "seats 0..1"),
        ({"n": 1, "start_scores": (121, 0)}, "0..120"),
        ({"n": 1, "start_scores": (1, 2, 3)}, "keep 2 scores"),
    ],
)
def test_settings_outside_the_allowed_are_named(settings, said):
    with pytest.raises(ValueError, match=said):
        GameBatch(**settings)


def test_a_snapshot_goes_on_the_same_way():
    batch, other = GameBatch(16, seed=3, start_scores=(100, 100)), GameBatch(16, seed=3, start_scores=(100, 100))
    for _ in range(40):
        advance(batch)
    other.restore(batch.snapshot())
    for _ in range(40):
        advance(batch), advance(other)
    assert as_bytes(batch) == as_bytes(other)


def test_three_and_four_players_play_to_the_end():
    for players in (3, 4):
        batch = GameBatch(8, seed=1, rules=Rules(players=players), autoreset=False)
        for step in range(2_000):
            batch.step(draw_legal(batch.masks(), step))
            if batch.ended.all():
                break
        assert batch.ended.all()
        assert (batch.games["score"].max(axis=1) == 121).all()


def play_deals(n, seed, **how):
    """Net points of `n` single deals for seat 0, both seats discarding and laying by first legal action."""
    batch = GameBatch(n, seed, episode="deal", reward="points", autoreset=False, **how)
    net = np.zeros(n)
    while not batch.ended.all():
        net += batch.step(batch.masks().argmax(axis=1))[0]
    return net


def test_mean_show_pays_the_average_over_every_starter():
    """By hand: 40 starters, four cards each, the dealer's crib and heels; and the play as it fell."""
    batch = GameBatch(1, seed=11, episode="deal", reward="points", mean_show=True, dealer=0)
    paid = [float(batch.step(np.array([a]))[0][0]) for a in (0, 14)]
    g = batch.games[0]
    hands, crib = g["kept"][:2].tolist(), g["crib"].tolist()
    starters = [c for c in range(52) if c not in hands[0] + hands[1] + crib]
    net = [
        show_points(hands[0], s, False)
        - show_points(hands[1], s, False)
        + show_points(crib, s, True)
        + 2 * (s >> 2 == 10)
        for s in starters
    ]
    assert len(net) == 40
    assert paid == [0.0, pytest.approx(np.mean(net))]
    laid = float(batch.step(batch.masks().argmax(axis=1))[0][0])
    assert laid == 0.0  # a first card pegs nothing, and the show is not paid again


def test_mean_show_is_points_without_the_luck_of_the_cut():
    """Same mean over 20,000 deals (five sigmas of the difference), and less spread."""
    plain, steady = play_deals(20_000, 5), play_deals(20_000, 5, mean_show=True)
    difference = plain - steady
    assert abs(difference.mean()) < 5 * difference.std() / np.sqrt(20_000)
    assert steady.var() < 0.92 * plain.var()


def test_mean_show_is_for_points_and_two_players():
    """Anything else says so."""
    with pytest.raises(ValueError, match="mean_show goes with"):
        GameBatch(1, reward="win", mean_show=True)


@pytest.mark.parametrize("players", [3, 4])
@pytest.mark.parametrize("shaping", [0.0, 0.5])
def test_a_game_of_many_pays_its_winner_and_sums_to_zero(players, shaping):
    """Winner +1; the loser -1, or each of two losers -1/2; the shaping cancels out over the game."""
    batch = GameBatch(32, seed=2, rules=Rules(players=players), shaping=shaping, autoreset=False)
    sides = batch.rules.sides
    totals = np.zeros((32, sides))
    while not batch.ended.all():
        rewards, _ = batch.step(batch.masks().argmax(axis=1))
        assert (batch.side_rewards[:, 0] == rewards).all()
        assert np.abs(batch.side_rewards.sum(axis=1)).max() < 1e-6
        totals += batch.side_rewards
    wins = batch.games["winner"][:, None] == np.arange(sides)
    assert totals == pytest.approx(np.where(wins, 1, -1 / (sides - 1)), abs=1e-5)
    assert len(np.unique(batch.games["winner"])) == sides


@pytest.mark.parametrize("players", [2, 3, 4])
def test_points_are_each_sides_less_the_mean_of_the_others(players):
    batch = GameBatch(16, seed=2, rules=Rules(players=players), reward="points", autoreset=False)
    totals = np.zeros((16, batch.rules.sides))
    while not batch.ended.all():
        batch.step(batch.masks().argmax(axis=1))
        totals += batch.side_rewards
    scores = batch.games["score"][:, : batch.rules.sides].astype(float)
    others = (scores.sum(axis=1, keepdims=True) - scores) / (batch.rules.sides - 1)
    assert totals == pytest.approx(scores - others)


def test_three_sides_know_no_match_points():
    with pytest.raises(ValueError, match="match points are known for two"):
        GameBatch(1, rules=Rules(players=3), reward="match")


def test_slots_cannot_be_started_past_the_end():
    """A score at or above the target would never win."""
    batch = GameBatch(2)
    before = batch.games.tobytes()
    with pytest.raises(ValueError, match="score of side 0"):
        batch.reset_slots(np.array([0]), np.array([[121, 0]]))
    assert batch.games.tobytes() == before


def test_strided_actions_are_taken_and_compile_nothing_new():
    """A view of every second action is as good as a copy."""
    batch, other = GameBatch(4), GameBatch(4)
    actions = np.arange(8) % 15
    batch.step(actions[::2])
    other.step(actions[::2].copy())
    assert batch.games.tobytes() == other.games.tobytes()


def test_a_snapshot_goes_on_as_the_batch_would():
    """Restored into another batch made alike: the same games from there on."""
    batch, other = GameBatch(8, seed=1), GameBatch(8, seed=1)
    for _ in range(30):
        batch.step(batch.masks().argmax(axis=1))
    other.restore(batch.snapshot())
    for _ in range(200):
        batch.step(batch.masks().argmax(axis=1))
        other.step(other.masks().argmax(axis=1))
    assert batch.games.tobytes() == other.games.tobytes()
    assert (batch.tally == other.tally).all()
    with pytest.raises(ValueError, match="snapshot"):
        GameBatch(9, seed=1).restore(batch.snapshot())
