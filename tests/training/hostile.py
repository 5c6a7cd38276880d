"""Players that misbehave, and a program from outside that tosses coins; found as "hostile:Name"."""

import os
import sys
import time

import numpy as np

from agents.greedy import GreedyAgent
from crib_env.cards import JACK
from crib_env.state import DISCARD
from training.arena import MatchResult


class Late(GreedyAgent):
    """Plays as greedy until the third deal; `misbehave` then takes over."""

    def act(self, views, masks, rng):
        if (views["deal"] >= 2).any():
            return self.misbehave(views, masks, rng)
        return super().act(views, masks, rng)


class FearsJacks(GreedyAgent):
    """Raises whenever a jack is the starter."""

    name = "fears-jacks"

    def act(self, views, masks, rng):
        if ((views["phase"] != DISCARD) & (views["starter"] // 4 == JACK)).any():
            raise ZeroDivisionError("a\njack")
        return super().act(views, masks, rng)


class Raises(Late):
    name = "raises"

    def misbehave(self, views, masks, rng):
        raise ZeroDivisionError("on\npurpose")


class Quits(Late):
    name = "quits"

    def misbehave(self, views, masks, rng):
        sys.exit("enough")


class Interrupts(Late):
    name = "interrupts"

    def misbehave(self, views, masks, rng):
        raise KeyboardInterrupt


class NotANumber(Late):
    name = "nan"

    def misbehave(self, views, masks, rng):
        return np.full(len(views), np.nan)


class WrongShape(Late):
    name = "shape"

    def misbehave(self, views, masks, rng):
        return np.zeros((len(views), 2), dtype=np.int64)


class EditsMasks(Late):
    """Makes everything legal, and goes."""

    name = "edits"

    def misbehave(self, views, masks, rng):
        masks[:] = 1
        return np.full(len(views), 19)


class Sleeps(Late):
    name = "sleeps"

    def misbehave(self, views, masks, rng):
        time.sleep(3600)


class Exits(Late):
    name = "exits"

    def misbehave(self, views, masks, rng):
        os._exit(3)


class ExitsAtOnce:
    name = "exits at once"

    def __init__(self):
        os._exit(3)

    def act(self, views, masks, rng):
        raise AssertionError


class Coins:
    """Deals its own cards, and wins six games in ten."""

    name = "coins"

    def play_games(self, opponent, games, seed, rules, seconds=None):
        rng = np.random.default_rng(seed)
        return MatchResult(
            won=rng.random((games, 1)) < 0.4,
            loser_scores=np.full((games, 1), 80, dtype=np.int16),
            first_dealer=rng.random((games, 1)) < 0.5,
            points=np.array([[9, 5, 3, 1], [8, 4, 2, 0]]) * games,
            deals=games,
            target=rules.target,
            forfeits=np.zeros((games, 1), dtype=np.int8),
        )
