"""Colours: contrast in both themes, and told apart by every kind of sight."""

import itertools
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from headrace_server.figures.palette import (
    OTHER_COLOR,
    SOURCE_COLORS,
    THEMES,
    ThemeName,
    source_color,
    translucent,
)

Color = npt.NDArray[np.float64]

# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB.
SIGHT = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
_TO_LMS = np.array([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566]])
_TO_LMS = np.vstack([_TO_LMS, [0.0883024619, 0.2817188376, 0.6299787005]])
_TO_LAB = np.array([[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099]])
_TO_LAB = np.vstack([_TO_LAB, [0.0259040371, 0.7827717662, -0.8086757660]])


def linear(color: str) -> Color:
    channels = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(a: str, b: str) -> float:
    lights = sorted(float(linear(color) @ [0.2126, 0.7152, 0.0722]) + 0.05 for color in (a, b))
    return lights[1] / lights[0]


def oklab(color: Color) -> Color:
    found: Color = _TO_LAB @ np.cbrt(_TO_LMS @ np.clip(color, 0, 1))
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_data_and_text_stand_out_from_the_surface(theme: ThemeName) -> None:
    colors = THEMES[theme]
    for color in (*SOURCE_COLORS, OTHER_COLOR):
        assert contrast(color, colors.surface) >= 3.0, color
    for color in (colors.text, colors.dim):
        assert contrast(color, colors.surface) >= 4.5, color
    assert contrast(colors.text, colors.hover) >= 4.5


@pytest.mark.parametrize(("sight", "least"), [("normal", 0.16), ("protanopia", 0.085), ("deuteranopia", 0.085)])
def test_sources_are_told_apart(sight: str, least: float) -> None:
    seen = [oklab(SIGHT[sight] @ linear(color)) for color in SOURCE_COLORS]
    assert min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(seen, 2)) >= least


def test_the_dashboard_has_the_same_colours_in_the_same_order() -> None:
    text = (Path(__file__).parents[3] / "frontend/src/lib/source-colors.ts").read_text()
    assert re.findall(r"#[0-9a-f]{6}", text) == [*SOURCE_COLORS, OTHER_COLOR]


def test_a_source_keeps_its_colour_and_the_rest_are_grey() -> None:
    assert [source_color(i) for i in range(8)] == list(SOURCE_COLORS)
    assert {source_color(i) for i in range(8, 60)} == {OTHER_COLOR}
    assert translucent("#2569a8", 0.75) == "rgba(37,105,168,0.75)"
