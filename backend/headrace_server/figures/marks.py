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


def grouped(marks: Sequence[Mark], x_range: float, width_px: int) -> list[list[Mark]]:
    """Marks in order, those without room for a label of their own with the one before them."""
    room = LABEL_PX / max(1, width_px - _MARGINS_PX) * x_range
    groups: list[list[Mark]] = []
    for mark in sorted(marks, key=lambda mark: mark.x)[-MAX_MARKS:]:
        if groups and mark.x - groups[-1][0].x < room:
            groups[-1].append(mark)
        else:
            groups.append([mark])
    return groups


def _label(group: Sequence[Mark]) -> str:
    return group[0].label if len(group) == 1 else f"{group[0].label} +{len(group) - 1}"


def _about(group: Sequence[Mark]) -> str:
    lines = [mark.about for mark in group[:_MAX_ABOUT]]
    rest = len(group) - len(lines)
    return "\n".join([*lines, f"and {rest} more"] if rest else lines)


def layout(
    groups: Sequence[Sequence[Mark]], color: str, x_of: Callable[[float], Any], text: Callable[[str], str]
) -> dict[str, Any]:
    """A line for every mark, solid for attempts and dotted for edits, and a label for every group."""
    shapes: list[dict[str, Any]] = [
        {"type": "line", "xref": "x", "yref": "paper", "x0": x_of(mark.x), "x1": x_of(mark.x), "y0": 0, "y1": 1}
        | {"line": {"color": color, "width": 1, "dash": "solid" if mark.kind == "attempt" else "dot"}}
        for group in groups
        for mark in group
    ]
    annotations: list[dict[str, Any]] = [
        {"xref": "x", "yref": "paper", "x": x_of(group[0].x), "y": 1, "text": text(_label(group))}
        | {"hovertext": text(_about(group)).replace("\n", "<br>"), "captureevents": True, "showarrow": False}
        | {"xanchor": "left", "yanchor": "bottom", "font": {"size": 11, "color": color}}
        for group in groups
    ]
    return {"shapes": shapes, "annotations": annotations}


def told(groups: Sequence[Sequence[Mark]]) -> list[FigureMark]:
    """The marks as data, each with the place of its annotation."""
    return [
        FigureMark(kind=mark.kind, number=mark.number, x=mark.x, label=label, about=mark.about)
        for label, group in enumerate(groups)
        for mark in group
    ]
