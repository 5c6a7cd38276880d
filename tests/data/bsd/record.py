"""Records games of an agent against the installed BSD cribbage, as the test data beside this file.

    python tests/data/bsd/record.py greedy 1 tests/data/bsd

writes every game of a match of four with that seed, one file each. A line is a JSON string of what
the program wrote, after "<", or what was typed, after ">".
"""

import json
import sys
from pathlib import Path

from agents.registry import make
from training import bsd


class RecordedTalk(bsd.Talk):
    """A talk that keeps every word said."""

    all: list["RecordedTalk"] = []  # noqa: RUF012

    def __init__(self):
        super().__init__()
        self.words = []
        self.all.append(self)

    def hear(self, data):
        if self.words and self.words[-1][0] == "<":
            self.words[-1][1] += data
        else:
            self.words.append(["<", data])
        keys = super().hear(data)
        if keys:
            self.words.append([">", keys])
        return keys

    def choose(self, action):
        keys = super().choose(action)
        self.words.append([">", keys])
        return keys


def main(name, seed, folder):
    bsd.Talk = RecordedTalk
    result = bsd.BsdCribbage().play(make(name), 4, int(seed))
    print(f"{name} won {result.won.tolist()}, losers' scores {result.loser_scores.tolist()}")
    for game, talk in enumerate(RecordedTalk.all):
        lines = [f"{who} {json.dumps(text.decode('ascii'))}\n" for who, text in talk.words]
        Path(folder, f"{name}_{seed}_{game}.txt").write_text("".join(lines), encoding="ascii")


if __name__ == "__main__":
    main(*sys.argv[1:])
