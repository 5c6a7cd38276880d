"""A folder that keeps the finished chunks of a tournament, so that it can go on after being stopped.

One file a chunk, written whole or not at all; its header says what was played. May import: agents.files, arena.
"""

from __future__ import annotations

import json
import re
import zipfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from agents.files import write_atomically
from training.arena import MatchResult
from training.ledger import Notes
from training.workers import Chunk

FORMAT = "crib-env chunk 1"
_NOTES = "notes."


class Store:
    """Chunks by what was played.

    Args:
        folder: where they lie; made when the first is kept.
        fingerprints: what tells each player from a later one of its name, by place.
    """

    def __init__(self, folder: Path, fingerprints: list[str]) -> None:
        self._folder = folder
        self._fingerprints = fingerprints

    def keep(self, chunk: Chunk, result: MatchResult) -> None:
        """Write a chunk's result."""
        arrays = {"header": np.array(json.dumps(self._header(chunk)))} | _arrays_of(result)
        write_atomically(self._path(chunk), lambda file: _save(file, arrays))

    def find(self, chunk: Chunk) -> MatchResult | None:
        """A chunk's result, or None if it was not played yet.

        Raises:
            ValueError: what lies there is damaged, or was played by others or with other settings.
        """
        path = self._path(chunk)
        if not path.exists():
            return None
        try:
            with np.load(path, allow_pickle=False) as arrays:
                header = json.loads(str(arrays["header"]))
                result = _result_from(dict(arrays))
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} is damaged ({error}): remove it, and it is played again") from None
        for key, wanted in self._header(chunk).items():
            if header.get(key) != wanted:
                raise ValueError(
                    f"{path} was played with {key} {header.get(key)!r}, now it is {wanted!r}: "
                    "choose another folder for --resume"
                )
        return result

    def _header(self, chunk: Chunk) -> dict[str, Any]:
        i, j = chunk.match
        return {
            "format": FORMAT,
            "a": chunk.names[0],
            "b": chunk.names[1],
            "fingerprint of a": self._fingerprints[i],
            "fingerprint of b": self._fingerprints[j],
            "seed": chunk.seed,
            "target": chunk.rules.target,
        }

    def _path(self, chunk: Chunk) -> Path:
        a, b = map(slug, chunk.names)
        return self._folder / f"{a}-v-{b}-{chunk.first:07}-{chunk.n}.npz"


def slug(name: str) -> str:
    """A player's name as part of a file's."""
    return re.sub(r"[^\w.-]+", "_", name)


def _save(file: str, arrays: dict[str, np.ndarray]) -> None:
    with open(file, "wb") as opened:
        np.savez_compressed(opened, **arrays)  # type: ignore[arg-type]


def _arrays_of(result: MatchResult) -> dict[str, np.ndarray]:
    arrays = {f.name: np.asarray(getattr(result, f.name)) for f in fields(MatchResult) if f.name != "notes"}
    if result.notes is not None:
        arrays |= {_NOTES + f.name: getattr(result.notes, f.name) for f in fields(Notes)}
    return arrays


def _result_from(arrays: dict[str, np.ndarray]) -> MatchResult:
    notes = {name.removeprefix(_NOTES): array for name, array in arrays.items() if name.startswith(_NOTES)}
    plain = {name: array for name, array in arrays.items() if name != "header" and not name.startswith(_NOTES)}
    values: dict[str, Any] = {name: array if array.ndim else array.item() for name, array in plain.items()}
    return MatchResult(**values, notes=Notes(**notes) if notes else None)
