"""The solved play: what `python -m training.solve_play` found, compact on disk, a hash table in memory.

A strategy says for every information set of the play (`pegging.key_of`) how often each of the
cards that fit is laid. On disk the keys are sorted and stored as differences, the chances in
eighths, both compressed: about two bytes an information set.
May import: crib_env, agents.pegging, agents.files.
"""

from __future__ import annotations

import io
import lzma
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np
from numba import njit

from agents.files import write_atomically
from agents.pegging import (
    LEVEL,
    MAX_CHOICES,
    MAX_LINE,
    NOBODY,
    POSITION,
    choices,
    key_of,
    open_points,
    place_at,
    step,
)
from crib_env.rng import draw_unit, mix64

SOLVER = "python -m training.solve_play"
PLAY_FILE = "solved_play.xz"
FORMAT = 1
PARTS = 8  # chances are stored in eighths
# One information set in memory; a strategy is an array of them, its length a power of two.
ENTRY = np.dtype([("key", "u8"), ("chance", "f4", (MAX_CHOICES,))])  # key 0 where there is none
# What playing a position out writes on.
PLAYER = np.dtype(
    [
        ("line", POSITION, (MAX_LINE,)),
        ("levels", LEVEL, (MAX_LINE,)),
        ("chances", "f8", (MAX_CHOICES,)),
        ("chance", "u8"),  # state of the generator
    ]
)
UNREACHED = 1000  # points nobody pegs in a deal
# Every way to share eight eighths among four choices: uint8[165, 4]; a stored byte is a place here.
SHARES = np.array([s for s in product(range(PARTS + 1), repeat=MAX_CHOICES) if sum(s) == PARTS], dtype=np.uint8)


@njit(cache=True)
def chances_at(strategy, s, m, chances):
    """Write the chances of the m choices at a position; False, and even chances, if it is not known.

    Args:
        strategy: ENTRY[2**k].
        s: POSITION record with a choice against hidden cards.
        m: number of choices.
        chances: float[>= m], written.
    """
    e = strategy[place_of_key(strategy, key_of(s))]
    if e.key == 0:
        for a in range(m):
            chances[a] = 1.0 / m
        return False
    for a in range(m):
        chances[a] = e.chance[a]
    return True


@njit(cache=True)
def place_of_key(table, key):
    """Where the key stands, or the free place where it would.

    `table` is an open-addressed hash table: records with a field `key`, 0 where free, a power of two of them.
    """
    mask = np.uint64(len(table) - 1)
    i = mix64(key) & mask
    while table[i].key != key and table[i].key != 0:
        i = (i + np.uint64(1)) & mask
    return np.int64(i)


@njit(cache=True)
def draw_choice(chances, m, w):
    """One of m choices, drawn by its chance; `w.chance` is the generator's state."""
    x = draw_unit(w)
    a = 0
    while a < m - 1 and x >= chances[a]:
        x -= chances[a]
        a += 1
    return a


@njit(cache=True)
def play_out(strategy, p, d, pone_needs, dealer_needs):
    """Play from p.line[d] to the end, both sides by the strategy; where it is silent, any card.

    A player whose other has no cards left lays his in the best order. The first to peg what he needs ends it.

    Args:
        strategy: ENTRY[2**k].
        p: PLAYER record; its line is overwritten after d.
        d: place in the line.
        pone_needs: points.
        dealer_needs: points.
    Returns:
        Points the pone and the dealer peg.
    """
    pone = dealer = 0
    while p.line[d].turn != NOBODY and pone < pone_needs and dealer < dealer_needs:
        s = p.line[d]
        if s.hand[1 - s.turn] == 0:
            net = open_points(p.line, p.levels, d)
            return pone + max(net, 0), dealer + max(-net, 0)
        places, m = choices(s)
        a = 0
        if m > 1:
            chances_at(strategy, s, m, p.chances)
            a = draw_choice(p.chances, m, p)
        net = step(s, place_at(places, a), p.line[d + 1])
        pone += max(net, 0)
        dealer += max(-net, 0)
        d += 1
    return pone, dealer


def make_strategy(keys: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """The hash table of some information sets.

    Args:
        keys: uint64[N], distinct.
        chances: float32[N, 4], rows summing to one.
    Returns:
        ENTRY[2**k], at most seven in ten in use.
    """
    size = 1 << max(4, int(len(keys) / 0.7).bit_length())
    strategy = np.zeros(size, dtype=ENTRY)
    _fill(strategy, keys, np.ascontiguousarray(chances, dtype=np.float32))
    return strategy


@njit(cache=True)
def _fill(strategy, keys, chances):
    for i in range(len(keys)):
        e = strategy[place_of_key(strategy, keys[i])]
        e.key = keys[i]
        e.chance[:] = chances[i]


def in_eighths(chances: np.ndarray, least: float) -> np.ndarray:
    """Chances rounded to eighths as bytes: uint8[N], places in SHARES.

    Args:
        chances: float[N, 4], rows summing to one.
        least: smaller chances are dropped, unless none would be left, and the rest scaled up.
    """
    top = chances.max(axis=1, keepdims=True)
    kept = np.where((chances >= least) | (chances == top), chances, 0)
    kept = kept / kept.sum(axis=1, keepdims=True) * PARTS
    parts = np.floor(kept).astype(np.int64)
    # Largest remainders take what rounding down left over.
    for _ in range(MAX_CHOICES):
        short = parts.sum(axis=1) < PARTS
        best = np.argmax(kept - parts, axis=1)
        parts[short, best[short]] += 1
    radix = (PARTS + 1) ** np.arange(MAX_CHOICES)[::-1]
    number = np.full((PARTS + 1) ** MAX_CHOICES, -1, dtype=np.int16)
    number[SHARES.astype(np.int64) @ radix] = np.arange(len(SHARES))
    return number[parts @ radix].astype(np.uint8)


def save_play(path: Path, keys: np.ndarray, codes: np.ndarray) -> None:
    """Write a strategy's file.

    Args:
        path: where to.
        keys: uint64[N], any order.
        codes: uint8[N], see `in_eighths`.
    """
    order = np.argsort(keys)
    buffer = io.BytesIO()
    buffer.write(np.array([FORMAT, len(keys)], dtype="<u8").tobytes())
    steps = np.diff(keys[order], prepend=np.uint64(0)).astype("<u8")
    # Byte by byte in columns: the high bytes of most steps are zero.
    buffer.write(np.ascontiguousarray(steps.view(np.uint8).reshape(-1, 8).T).tobytes())
    buffer.write(codes[order].tobytes())
    packed = lzma.compress(buffer.getvalue(), preset=6)
    write_atomically(path, lambda file: _write(file, packed))


def _write(file: str, data: bytes) -> None:
    Path(file).write_bytes(data)


def load_play(data: bytes, source: str) -> tuple[np.ndarray, np.ndarray]:
    """Keys uint64[N] and codes uint8[N] from the bytes of a file.

    Raises:
        ValueError: not such a file, or of another format; names `source`.
    """
    try:
        raw = lzma.decompress(data)
        version, n = (int(x) for x in np.frombuffer(raw, dtype="<u8", count=2))
        body = np.frombuffer(raw, dtype=np.uint8, offset=16)
    except (lzma.LZMAError, ValueError) as error:
        raise ValueError(
            f"{source} is no solved play ({error}): make it again with python -m training.solve_play"
        ) from None
    if version != FORMAT or len(body) != 9 * n:
        raise ValueError(f"{source} has format {version} or is cut short; this code reads format {FORMAT}: "
                         f"make it again with {SOLVER}")  # fmt: skip
    steps = np.ascontiguousarray(body[: 8 * n].reshape(8, n).T).view("<u8").ravel()
    return np.cumsum(steps, dtype=np.uint64), body[8 * n :]


def strategy_of(keys: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The hash table, ENTRY[2**k], of a strategy as it is stored: keys uint64[N], codes uint8[N]."""
    return make_strategy(keys, SHARES[codes] / np.float32(PARTS))


def solved_play(path: Path | None = None) -> np.ndarray:
    """The solved play that comes with the package, or another file of the kind.

    Returns:
        ENTRY[2**k], read-only.
    Raises:
        ValueError: no such file, or not of this format.
    """
    return _shipped_play() if path is None else _read_play(path)


@lru_cache(maxsize=1)
def _shipped_play() -> np.ndarray:
    return _read_play(Path(__file__).with_name(PLAY_FILE))


def _read_play(path: Path) -> np.ndarray:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"no solved play at {path} ({error}): make one with {SOLVER}") from None
    strategy = strategy_of(*load_play(data, str(path)))
    strategy.setflags(write=False)
    return strategy
