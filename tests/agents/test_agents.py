"""Players: what each considers, the registry, and that none breaks the rules."""

import numpy as np
import pytest

import agents
from agents.registry import RATINGS
from crib_env import Game
from crib_env.actions import action_cards, action_text
from crib_env.batch import GameBatch
from crib_env.rules import Rules
from crib_env.values import OWN_CRIB, crib_table
from training.arena import checked_actions


def choice(name, game, seed=0):
    """The text of what a player does in a game."""
    g = game
    views = np.array([g.view(g.to_act)])
    masks = np.zeros((1, 20), dtype=np.int8)
    masks[0, g.legal_actions()] = 1
    action = int(agents.make(name).act(views, masks, np.random.default_rng(seed))[0])
    return g.action_text(action)


def position(mine, theirs, dealer=0, laid=(), starter="KS"):
    """A game in the play: seat 1 is pone and leads; `laid` is what has been laid so far."""
    crib = [c for c in ("QC", "QD", "QH", "QS", "9C", "9D", "9H", "9S") if c not in mine + theirs][:4]
    game = Game.from_deal(dealer=dealer, hands=[mine, theirs], crib=crib, starter=starter, scores=[0, 0])
    for card in laid:
        game.push(card)
    return game


@pytest.mark.parametrize("name", agents.SCRIPTED)
@pytest.mark.parametrize("players", [2, 3, 4])
def test_every_scripted_player_finishes_games_of_every_size_legally(name, players):
    """Discards of two or of one, play, go: never an illegal action."""
    agent, rng = agents.make(name), np.random.default_rng(1)
    batch = GameBatch(20, seed=2, rules=Rules(players=players), reward="points", autoreset=False)
    while not batch.ended.all():
        batch.step(checked_actions(agent, batch.views(), batch.masks(), rng))


def test_random_is_uniform_over_the_legal():
    """15,000 draws over 15 discards: each within five sigmas of 1,000."""
    masks = np.zeros((15_000, 20), dtype=np.int8)
    masks[:, :15] = 1
    drawn = agents.make("random").act(np.zeros(15_000), masks, np.random.default_rng(3))
    counts = np.bincount(drawn, minlength=20)
    assert counts[15:].sum() == 0
    assert abs(counts[:15] - 1000).max() < 5 * np.sqrt(1000 * 14 / 15)


def test_greedy_keeps_what_counts_most_now():
    """5 5 J Q beats everything else in 5 5 J Q 2 8: two fifteens each, and the pair."""
    batch = GameBatch(1)
    view, mask = batch.views(), batch.masks()
    view[0]["dealt"] = sorted([16, 17, 41, 46, 6, 31])  # 5C 5D JD QH 2H 8S
    action = int(agents.make("greedy").act(view, mask, np.random.default_rng())[0])
    assert set(action_text(action, view[0]["dealt"], view[0]["kept"]).split()) == {"2H", "8S"}


def test_greedy_takes_the_points_and_lays_high_among_equals():
    """A fifteen when there is one; otherwise the highest card."""
    game = position(["7C", "2D", "JC", "TC"], ["8H", "AD", "3D", "4D"], laid=["8H"])
    assert choice("greedy", game) == "7C"
    assert choice("greedy", position(["7C", "2D", "JC", "TC"], ["8H", "AD", "3D", "4D"])) == "8H"


def test_heuristic_does_not_leave_twenty_one():
    """At 11 a ten-card makes 21, which any of sixteen cards turns into 31."""
    game = position(["KC", "AD", "QC", "9D"], ["8H", "2H", "4D", "4H"], laid=["8H", "AD", "2H"])
    assert game.count == 11
    assert choice("heuristic", game) == "9D"


def test_heuristic_leads_low_and_never_a_five():
    """A lead of four or less cannot be made fifteen; a five invites sixteen cards."""
    assert choice("heuristic", position(["KC", "7D", "QC", "JC"], ["5H", "4H", "JD", "KH"])) == "4H"


def test_heuristic_feeds_its_own_crib_and_starves_the_others():
    """The same 2,000 hands, dealing or not: what it lays away is worth far more in its own crib."""
    batch = GameBatch(2000, seed=8)
    views, masks = batch.views(), batch.masks()
    own = np.empty((2, 2000))
    for role in range(2):
        views["dealer"] = role
        actions = agents.make("heuristic").act(views, masks, np.random.default_rng())
        for i, action in enumerate(actions):
            a, b = (int(c) for c in action_cards(int(action), views[i]["dealt"], views[i]["kept"]))
            own[role, i] = crib_table()[OWN_CRIB, a >> 2, b >> 2, int(a % 4 == b % 4)]
    assert own[0].mean() - own[1].mean() > 0.5


def test_make_takes_what_people_write(tmp_path):
    """Names, functions, module:function, agents as they are; errors list what there is."""
    first = agents.make(lambda views, masks, rng: masks.argmax(axis=1))
    assert (first.act(np.zeros(2), np.eye(20, dtype=np.int8)[:2], None) == [0, 1]).all()
    assert agents.make(first) is first
    assert agents.make("agents.greedy:GreedyAgent").name == "greedy"
    for bad in ("gredy", "agents.greedy:Nothing", "no.module:thing", str(tmp_path / "none.safetensors"), 3, None):
        with pytest.raises(ValueError, match="agent"):
            agents.make(bad)
    with pytest.raises(ValueError, match="holds no policy"):
        agents.make(str(tmp_path))


def test_register_adds_a_name():
    """A user's own player plays under its name."""
    agents.register("mine", lambda: agents.make("greedy"))
    assert agents.make("mine").name == "greedy"
    with pytest.raises(ValueError, match="plain word"):
        agents.register("a/b", lambda: agents.make("greedy"))


def test_the_ladder_rises():
    """Every scripted player has a measured rating, each above the one before."""
    ratings = [RATINGS[name] for name in agents.SCRIPTED]
    assert ratings == sorted(ratings)
    assert set(RATINGS) == set(agents.SCRIPTED)
