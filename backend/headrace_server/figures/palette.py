"""Colours. One palette for both themes, so a source keeps its colour everywhere.

The eight were searched for in OKLCH: contrast of at least 3:1 on both themes' surfaces (WCAG 1.4.11), and the largest
least distance in OKLab to normal sight, protanopia and deuteranopia (0.086 at severity 1.0, 0.16 to normal sight).
"""

from dataclasses import dataclass
from typing import Literal

ThemeName = Literal["light", "dark"]

SOURCE_COLORS = ("#2569a8", "#e9622e", "#4d9d61", "#8d4dde", "#816020", "#bf1c7f", "#4b8efe", "#b27ead")
OTHER_COLOR = "#7f8894"
SOURCE_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "triangle-down", "cross", "star")
"""Marks on the lines, so that they are told apart without colour; dashes say forecast and target."""


@dataclass(frozen=True)
class Theme:
    """Colours of what is not data; the surface itself is the page's, the figure is transparent."""

    surface: str
    text: str
    dim: str
    grid: str
    hover: str


THEMES: dict[ThemeName, Theme] = {
    "light": Theme(surface="#ffffff", text="#1a1f26", dim="#566170", grid="#dce0e6", hover="#ffffff"),
    "dark": Theme(surface="#151a21", text="#e4e8ed", dim="#9aa5b3", grid="#29313b", hover="#1d242d"),
}


def source_color(position: int) -> str:
    """The colour of the source at this place in the job's order; grey from the ninth on."""
    return SOURCE_COLORS[position] if position < len(SOURCE_COLORS) else OTHER_COLOR


def other(num_sources: int) -> str:
    """What the sources past the palette are called together."""
    return f"Other ({num_sources} source{'' if num_sources == 1 else 's'})"


def translucent(color: str, alpha: float) -> str:
    """A colour at an opacity of ``alpha`` (0 to 1)."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"
