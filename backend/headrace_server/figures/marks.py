"""Attempts and edits of the mix as labelled lines. Labels that would print over each other become one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .schemas import FigureMark, MarkKind

MAX_MARKS = 40
LABEL_PX = 64
"""Room that a label needs."""
_MARGINS_PX = 88
_MAX_ABOUT = 12


@dataclass(frozen=True)
class Mark:
    """An attempt's start or an edit of the mix. ``x`` is a step, tokens or Unix seconds; ``number`` says which."""

    x: float
    label: str
    about: str
    kind: MarkKind
    number: int = 0


@dataclass(frozen=True)
class Group:
    """Marks that share a label, in order; ``leftward``: it stands left of the first one's line, for want of room."""

    marks: Sequence[Mark]
    leftward: bool = False


def grouped(marks: Sequence[Mark], low: float, high: float, width_px: int) -> list[Group]:
    """Marks between ``low`` and ``high``, the newest only; those without room for a label of their own with others."""
    room = LABEL_PX / max(1, width_px - _MARGINS_PX) * (high - low)
    held: list[list[Mark]] = []
    for mark in sorted(marks, key=lambda mark: mark.x)[-MAX_MARKS:]:
        if held and mark.x - held[-1][0].x < room:
            held[-1].append(mark)
        else:
            held.append([mark])
    # A label that stands left of its line needs the room of two there.
    if len(held) > 1 and held[-1][0].x > high - room and held[-1][0].x - held[-2][0].x < 2 * room:
        held[-2:] = [held[-2] + held[-1]]
    return [Group(found, leftward=high > low and found[0].x > high - room) for found in held]


def _label(group: Sequence[Mark]) -> str:
    return group[0].label if len(group) == 1 else f"{group[0].label} +{len(group) - 1}"


def _about(group: Sequence[Mark]) -> str:
    lines = [mark.about for mark in group[:_MAX_ABOUT]]
    rest = len(group) - len(lines)
    return "\n".join([*lines, f"and {rest} more"] if rest else lines)


def layout(
    groups: Sequence[Group], color: str, x_of: Callable[[float], Any], text: Callable[[str], str]
) -> dict[str, Any]:
    """A line for every mark, solid for attempts and dotted for edits, and a label for every group."""
    shapes: list[dict[str, Any]] = [
        {"type": "line", "xref": "x", "yref": "paper", "x0": x_of(mark.x), "x1": x_of(mark.x), "y0": 0, "y1": 1}
        | {"line": {"color": color, "width": 1, "dash": "solid" if mark.kind == "attempt" else "dot"}}
        for group in groups
        for mark in group.marks
    ]
    annotations: list[dict[str, Any]] = [
        {"xref": "x", "yref": "paper", "x": x_of(group.marks[0].x), "y": 1, "text": text(_label(group.marks))}
        | {"hovertext": text(_about(group.marks)).replace("\n", "<br>"), "captureevents": True, "showarrow": False}
        | {"xanchor": "right" if group.leftward else "left", "yanchor": "bottom", "font": {"size": 11, "color": color}}
        for group in groups
    ]
    return {"shapes": shapes, "annotations": annotations}


def told(groups: Sequence[Group]) -> list[FigureMark]:
    """The marks as data, each with the place of its annotation."""
    return [
        FigureMark(kind=mark.kind, number=mark.number, x=mark.x, label=label, about=mark.about)
        for label, group in enumerate(groups)
        for mark in group.marks
    ]
