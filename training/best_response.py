"""The exact best response in the play to a fixed strategy: how far from solved the solved play is.

The strategy plays one role. The responder plays the other: he knows his four ranks, every card and
go in order, and how likely the other was to keep each hand, and he lays what earns most net points
on average. What he gains over the strategy's own play of the same hands, summed over the roles, is
what a perfect opponent of the play takes a deal; an equilibrium of the play leaves him nothing.
Where one hand is empty, nothing is hidden and nobody answers, and either side lays its best order.
May import: crib_env, agents.

Usage:
    python -m training.best_response STRATEGY_FILE [--hands N] [--seed S] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit
from rich.progress import track

from agents.discards import count_out, removal
from agents.files import write_text
from agents.pegging import (
    DEALER,
    MAX_CHOICES,
    MAX_LINE,
    N_HANDS,
    NOBODY,
    PONE,
    POSITION,
    all_hands,
    choices,
    hand_numbers,
    open_points,
    place_at,
    rank_at,
    step,
    write_opening,
)
from agents.pegging import LEVEL as OPEN_LEVEL
from agents.tables.deal import DEAL_FILE, deal_tables, load_tables
from agents.tables.play import chances_at, solved_play
from crib_env.cards import N_RANKS

PROGRAM = "training.best_response"
ROLE_NAMES = ("pone", "dealer")

# A hand that the strategy may hold at a node.
HOLD = np.dtype(
    [
        ("hand", "i8"),  # packed ranks still held
        ("reach", "f8"),  # chance that it was dealt and kept, and all that was laid laid from it
        ("next", "i8"),  # the node's next in `holds`; NONE after the last
    ]
)
# A public history. What follows are sums over its hands, weighed by reach, for the responder.
NODE = np.dtype(
    [
        ("card", "i8"),  # rank that led here
        ("net", "f8"),  # what it pegged
        ("first", "i8"),  # its first hand in `holds`
        ("best", "f8"),  # points from that card on, the responder at his best
        ("followed", "f8"),  # the same, the responder playing the strategy
        ("met", "f8"),  # decisions of the strategy on the best response's way
        ("unknown", "f8"),  # those in information sets it does not know
    ]
)
NONE = -1
# What a card leads to depends on a hidden hand only in whether that has a card that fits: two nodes
# a rank, and one place to try the next position in.
MAX_NODES = 2 * N_RANKS + 1
# All nodes after the same parent, and the one of them that is being looked at.
LEVEL = np.dtype(
    [
        ("spots", POSITION, (MAX_NODES,)),  # of each node, with one of its hidden hands
        ("nodes", NODE, (MAX_NODES,)),
        ("n", "i8"),
        ("at", "i8"),
        ("holds", HOLD, (MAX_CHOICES * N_HANDS,)),
        ("held", "i8"),
        ("chances", "f8", (MAX_CHOICES,)),
    ]
)


class Response(NamedTuple):
    """A best response with one hand, in net points a deal for the responder."""

    value: float
    followed: float  # what the strategy itself makes of that hand there
    unknown: float  # share of the strategy's decisions that meet information sets it does not know


@dataclass(frozen=True)
class Gain:
    """What the best response in one role wins over the strategy's own play, in points a deal."""

    role: str
    hands: int
    value: float
    followed: float
    gain: float
    error: float  # standard error of the gain
    unknown: float


@dataclass(frozen=True)
class Exploitability:
    """Both roles, and their sum: net points in two deals, one in each role."""

    roles: tuple[Gain, Gain]
    gain: float
    error: float


def exploitability(
    strategy: np.ndarray, prior: np.ndarray, hands: int, seed: int, progress: bool = False
) -> Exploitability:
    """How much best responses gain, over own hands drawn from the prior.

    Args:
        strategy: ENTRY[2**k].
        prior: float64[2, 1820], see `discards.kept_odds`.
        hands: how many are drawn in each role, at least 2.
        seed: decides which; the same ones for every strategy.
        progress: show a bar.
    """
    if hands < 2:
        raise ValueError(f"{hands} hands: a standard error takes at least 2 in each role")
    rng = np.random.default_rng(seed)
    gains = []
    for role in (PONE, DEALER):
        drawn = all_hands()[rng.choice(N_HANDS, hands, p=prior[role])].tolist()
        shown = track(drawn, ROLE_NAMES[role], disable=not progress, transient=True)
        gains.append(_summarise(role, [best_response(strategy, prior, role, hand) for hand in shown]))
    return Exploitability((gains[0], gains[1]), sum(g.gain for g in gains), math.hypot(*(g.error for g in gains)))


def _summarise(role: int, responses: list[Response]) -> Gain:
    values, followed, unknown = np.array(responses).T
    gains = values - followed
    return Gain(
        ROLE_NAMES[role],
        len(responses),
        float(values.mean()),
        float(followed.mean()),
        float(gains.mean()),
        float(gains.std(ddof=1) / math.sqrt(len(gains))),
        float(unknown.mean()),
    )


def best_response(strategy: np.ndarray, prior: np.ndarray, role: int, hand: int) -> Response:
    """The best that can be made of a hand against the strategy in the other role.

    Args:
        strategy: ENTRY[2**k]; plays evenly where it knows nothing.
        prior: float64[2, 1820], how often each hand is kept, by role; the other's is weighed by card removal.
        role: PONE or DEALER, the responder's.
        hand: his, packed.
    Raises:
        ValueError: no such role or hand, or no hand in the prior that the other can hold.
    """
    _check(prior, role, hand)
    levels = np.zeros(MAX_LINE, dtype=LEVEL)
    write_root(levels[0], prior[1 - role], all_hands(), role, hand)
    if levels[0]["held"] == 0:
        raise ValueError(f"the prior has no {ROLE_NAMES[1 - role]}'s hand that leaves the cards of {hand:#x}")
    search(strategy, levels, role, np.zeros(MAX_LINE, dtype=POSITION), np.zeros(MAX_LINE, dtype=OPEN_LEVEL))
    root = levels[0]["nodes"][0]
    unknown = root["unknown"] / root["met"] if root["met"] > 0 else 0.0
    return Response(float(root["best"]), float(root["followed"]), float(unknown))


def _check(prior: np.ndarray, role: int, hand: int) -> None:
    if role not in (PONE, DEALER):
        raise ValueError(f"role {role}: {PONE} is the pone, {DEALER} the dealer")
    numbers = hand_numbers()
    if not 0 <= hand < len(numbers) or numbers[hand] < 0:
        raise ValueError(f"hand {hand:#x} is not four packed ranks, the lowest in the lowest bits: see pegging.pack")
    if prior.shape != (2, N_HANDS):
        raise ValueError(f"a prior of shape {prior.shape} came; it is [role, number of the hand], {(2, N_HANDS)}")


@njit(cache=True)
def write_root(level, prior, hands, me, hand):
    """The node before the lead: every hand that the prior and the responder's cards allow, reaches summing to one.

    Args:
        level: LEVEL record, zeroed.
        prior: float64[1820], the other's.
        hands: `all_hands()`.
        me: the responder's role.
        hand: his, packed.
    """
    unseen = np.empty(N_RANKS)
    count_out(hand, unseen)
    total = 0.0
    for i in range(len(hands)):
        total += prior[i] * removal(hands[i], unseen)
    start_node(level, NONE, 0)
    for i in range(len(hands)):
        reach = prior[i] * removal(hands[i], unseen)
        if reach > 0:
            if me == PONE:
                write_opening(level.spots[0], hand, hands[i])
            else:
                write_opening(level.spots[0], hands[i], hand)
            add_hold(level, 0, hands[i], reach / total)


@njit(cache=True)
def search(strategy, levels, me, line, thoughts):
    """Fill in the root's values: every public history once, depth first, a level a card.

    Args:
        strategy: ENTRY[2**k].
        levels: LEVEL[MAX_LINE], the root written.
        me: the responder's role.
        line: POSITION[MAX_LINE], scratch for what is left when one hand is empty.
        thoughts: `pegging.LEVEL`[MAX_LINE], likewise.
    """
    d = np.int64(0)  # a plain 0 would compile what it is passed to twice
    while True:
        if open_node(strategy, levels, d, me, line, thoughts):
            d += 1
            continue
        while d > 0 and levels[d].at + 1 == levels[d].n:
            d -= 1
            close_node(strategy, levels, d, me)
        if d == 0:
            return
        levels[d].at += 1


@njit(cache=True)
def open_node(strategy, levels, d, me, line, thoughts):
    """Write what may follow a node to the level below; False, and its values final, if that is decided."""
    s = levels[d].spots[levels[d].at]
    if s.turn == NOBODY:
        return False
    if s.hand[PONE] == 0 or s.hand[DEALER] == 0:
        play_alone(levels[d], me, line, thoughts)
        return False
    expand(strategy, levels[d], levels[d + 1], me)
    return True


@njit(cache=True)
def play_alone(level, me, line, thoughts):
    """Add what the one player left with cards makes of them."""
    node = level.nodes[level.at]
    line[0] = level.spots[level.at]
    i = node.first
    while i != NONE:
        hold = level.holds[i]
        line[0].hand[1 - me] = hold.hand
        value = hold.reach * for_me(open_points(line, thoughts, 0), me)
        node.best += value
        node.followed += value
        i = hold.next


@njit(cache=True)
def expand(strategy, here, below, me):
    """Lay every card from every hand of a node that may be laid."""
    node = here.nodes[here.at]
    s = here.spots[here.at]
    below.n, below.at, below.held = 0, 0, 0
    i = node.first
    while i != NONE:
        hold = here.holds[i]
        s.hand[1 - me] = hold.hand
        places, m = choices(s)
        if s.turn == me:
            here.chances[:] = 1
        elif not write_chances(strategy, s, m, here.chances):
            node.unknown += hold.reach
        if s.turn != me and m > 1:
            node.met += hold.reach
        for a in range(m):
            if here.chances[a] > 0:
                lay(s, place_at(places, a), below, hold.reach * here.chances[a], me)
        i = hold.next


@njit(cache=True)
def write_chances(strategy, s, m, chances):
    """`chances_at`, for positions without a choice too."""
    if m == 1:
        chances[0] = 1.0
        return True
    return chances_at(strategy, s, m, chances)


@njit(cache=True)
def lay(s, k, below, reach, me):
    """Lay the k-th card in `s`; the hidden hand goes to the node of those with the same public outcome."""
    card = rank_at(s.hand[s.turn], k)
    after = below.spots[below.n]
    net = for_me(step(s, k, after), me)
    j = 0
    while j < below.n and not (below.nodes[j].card == card and looks_alike(below.spots[j], after, 1 - me)):
        j += 1
    if j == below.n:
        start_node(below, card, net)
    add_hold(below, j, after.hand[1 - me], reach)


@njit(cache=True, inline="always")
def looks_alike(s, t, hidden):
    """Whether two positions after the same card differ in nothing but a hidden hand: points follow."""
    return s.turn == t.turn and s.count == t.count and s.passed == t.passed and s.denied[hidden] == t.denied[hidden]


@njit(cache=True, inline="always")
def for_me(net, me):
    """The pone's net points, or the dealer's."""
    return net if me == PONE else -net


@njit(cache=True)
def start_node(level, card, net):
    """One node more, its position written already, without hands."""
    node = level.nodes[level.n]
    level.n += 1
    node.card = card
    node.net = net
    node.first = NONE
    node.best, node.followed, node.met, node.unknown = 0.0, 0.0, 0.0, 0.0


@njit(cache=True)
def add_hold(level, j, hand, reach):
    """One hidden hand more at the j-th node."""
    node = level.nodes[j]
    hold = level.holds[level.held]
    hold.hand = hand
    hold.reach = reach
    hold.next = node.first
    node.first = level.held
    level.held += 1
    node.best += reach * node.net
    node.followed += reach * node.net


@njit(cache=True)
def close_node(strategy, levels, d, me):
    """Add what follows a node to it: the responder's best card, all that the strategy may lay."""
    here, below = levels[d], levels[d + 1]
    s = here.spots[here.at]
    node = here.nodes[here.at]
    if s.turn != me:
        best, followed, met, unknown = sum_nodes(below, NONE)
        node.followed += followed
    else:
        places, m = choices(s)
        write_chances(strategy, s, m, here.chances)
        best, met, unknown = -np.inf, 0.0, 0.0
        for a in range(m):
            value, followed, meets, lacks = sum_nodes(below, rank_at(s.hand[me], place_at(places, a)))
            node.followed += here.chances[a] * followed
            if value > best:
                best, met, unknown = value, meets, lacks
    node.best += best
    node.met += met
    node.unknown += unknown


@njit(cache=True)
def sum_nodes(level, card):
    """best, followed, choices and unknown of the nodes that a card leads to, added up; NONE for any card."""
    best, followed, met, unknown = 0.0, 0.0, 0.0, 0.0
    for j in range(level.n):
        node = level.nodes[j]
        if card in (NONE, node.card):
            best += node.best
            followed += node.followed
            met += node.met
            unknown += node.unknown
    return best, followed, met, unknown


def main(argv: Sequence[str] | None = None) -> int:
    """The command; the exit status: 2 if the file could not be read or the figures not written."""
    parser = argparse.ArgumentParser(prog=PROGRAM, description="What a perfect opponent of the play gains a deal.")
    parser.add_argument("strategy", type=Path, metavar="STRATEGY_FILE", help="what training.solve_play wrote")
    parser.add_argument("--hands", type=int, default=60, help="hands drawn in each role (default 60)")
    parser.add_argument("--seed", type=int, default=0, help="decides which (default 0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    args = parser.parse_args(argv)
    try:
        strategy = solved_play(args.strategy)
        prior = read_prior(args.strategy.with_name(DEAL_FILE))
        found = exploitability(strategy, prior, args.hands, args.seed, progress=sys.stdout.isatty())
        show(found)
        if args.json:
            write_text(args.json, json.dumps(asdict(found), indent=1))
    except (ValueError, OSError) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 2
    return 0


def read_prior(path: Path) -> np.ndarray:
    """How often each hand is kept, float64[2, 1820]: the deal's tables beside a solution, or the package's."""
    tables = load_tables(path) if path.exists() else deal_tables()
    return tables.kept.astype(np.float64)


def show(found: Exploitability) -> None:
    """The figures on the terminal, net points a deal, standard errors behind +-."""
    for g in found.roles:
        print(
            f"{g.role:7} {g.hands} hands: {g.value:+.4f} at best, {g.followed:+.4f} by the strategy: "
            f"gains {g.gain:.4f} +- {g.error:.4f}, unknown {g.unknown:.2%}"
        )
    print(f"both    gains {found.gain:.4f} +- {found.error:.4f} points in two deals, one in each role")


if __name__ == "__main__":
    sys.exit(main())
