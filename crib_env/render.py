"""A board drawn from a VIEW as text: what one seat may know, and nothing else.

Plain ASCII, no colour codes, at most 80 columns.
May import: cards, rules, actions, state, view.
"""

from __future__ import annotations

from textwrap import wrap

import numpy as np

from crib_env.cards import card_text, cards_text
from crib_env.state import DISCARD, GO_CARD, LOG_SEAT, OVER

HOLES_A_ROW = 60  # once round the board
HOLES_A_GROUP = 10
FRONT_PEG, BACK_PEG, HOLE = "O", "o", "."
FACE_DOWN = "##"
WIDTH = 80
LABEL = 10  # columns of the words at the left
TIE = "\N{NO-BREAK SPACE}"  # keeps two words on one line while text is wrapped

# By place: 0 is the looker, 1 the next to his left.
PLAYER_NAMES = {2: ("you", "they"), 3: ("you", "left", "right"), 4: ("you", "left", "partner", "right")}
SIDE_NAMES = {2: ("you", "they"), 3: ("you", "left", "right"), 4: ("we", "they")}


def board_text(view: np.void) -> str:
    """The table as one seat sees it: pegs, cards on the table, the deal so far, own cards.

    Args:
        view: one VIEW record.
    Returns:
        Lines of at most 80 columns, without a newline at the end.
    """
    lines = [heading(view), ""]
    for side, name in enumerate(SIDE_NAMES[int(view["players"])]):
        lines += track_lines(name, int(view["scores"][side]), int(view["backs"][side]), int(view["target"]))
    lines += ["", *table_lines(view), *own_lines(view), "", turn_line(view)]
    return "\n".join(line.rstrip() for line in lines)


def heading(view: np.void) -> str:
    """Which deal it is, and whose crib."""
    dealer = player_name(view, int(view["dealer"]))
    verb = "deal" if dealer in ("you", "they") else "deals"
    return f"Cribbage to {view['target']}, deal {view['deal'] + 1}: {dealer} {verb}"


def track_lines(name: str, score: int, back: int, target: int) -> list[str]:
    """One side's pegging track, a row each time round, and its game hole.

    The front peg stands on the score, the back peg on the score before the last gain; a peg
    on 0 has not entered the board.
    """
    pegs = {back: BACK_PEG, score: FRONT_PEG}
    rows = []
    for first in range(1, target, HOLES_A_ROW):
        holes = [pegs.get(hole, HOLE) for hole in range(first, min(first + HOLES_A_ROW, target))]
        groups = ["".join(holes[i : i + HOLES_A_GROUP]) for i in range(0, len(holes), HOLES_A_GROUP)]
        rows.append(" " * LABEL + " ".join(groups))
    rows = rows or [" " * LABEL]  # a game to 1 has its game hole alone
    rows[0] = f"{name:{LABEL - 4}}{score:3} " + rows[0][LABEL:]
    rows[-1] += f" ({pegs.get(target, HOLE)})"
    return rows


def table_lines(view: np.void) -> list[str]:
    """What lies before everybody: starter, count, pile, cards face down, and the deal so far."""
    starter = card_text(int(view["starter"])) if view["starter"] >= 0 else FACE_DOWN
    lines = labelled("starter", starter)
    for place in range(1, int(view["players"])):
        lines += labelled(player_name(view, place), " ".join([FACE_DOWN] * cards_held(view, place)))
    lines += labelled("played", ", ".join(log_texts(view)))
    return lines + labelled("pile", f"{' '.join(pile_cards(view)) or '-'}   count {view['count']}")


def own_lines(view: np.void) -> list[str]:
    """My cards: as dealt, or those I still hold and those I laid to the crib."""
    if view["kept"][0] < 0:
        return labelled("you hold", cards_text(view["dealt"]))
    held = [int(card) for k, card in enumerate(view["kept"]) if not view["laid"] >> k & 1]
    return labelled("you hold", cards_text(held)) + labelled("to crib", cards_text(view["discards"]))


def turn_line(view: np.void) -> str:
    """Who is to do what, or who has won."""
    if view["phase"] == OVER:
        sides = SIDE_NAMES[int(view["players"])]
        won = [name for side, name in enumerate(sides) if view["scores"][side] == view["target"]]
        return f"The game is over: {won[0]} won."
    mine = view["to_act"] == 0
    if view["phase"] == DISCARD:
        return "Your turn: choose what to lay to the crib." if mine else "The others choose what to lay to the crib."
    return "Your turn to play." if mine else f"{player_name(view, int(view['to_act'])).capitalize()} to play."


def labelled(label: str, text: str) -> list[str]:
    """A line with a label at its left, wrapped to the width; `-` where there is nothing to say."""
    rows = wrap(text, WIDTH - LABEL) or ["-"]
    return [f"{'' if i else label:{LABEL}}{row.replace(TIE, ' ')}" for i, row in enumerate(rows)]


def player_name(view: np.void, place: int) -> str:
    """What the looker calls the player at a place."""
    return PLAYER_NAMES[int(view["players"])][place]


def cards_held(view: np.void, place: int) -> int:
    """How many cards another player holds; before the starter is turned, as many as were dealt."""
    dealt = sum(card >= 0 for card in view["dealt"])
    return dealt if view["phase"] == DISCARD else int(view["cards_left"][place])


def pile_cards(view: np.void) -> list[str]:
    """Texts of the cards laid since the count was last reset, oldest first."""
    laid = [int(entry) % LOG_SEAT for entry in view["log"][: view["n_log"]]]
    texts = [card_text(card) for card in laid if card != GO_CARD]
    return texts[len(texts) - int(view["n_pile"]) :]


def log_texts(view: np.void) -> list[str]:
    """Every card laid and every go of this deal, with who did it."""
    texts = []
    for entry in view["log"][: view["n_log"]]:
        place, card = divmod(int(entry), LOG_SEAT)
        texts.append(f"{player_name(view, place)}{TIE}{'go' if card == GO_CARD else card_text(card)}")
    return texts
