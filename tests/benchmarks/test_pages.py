"""README.md, docs/benchmarks.md and their figures say what the results say."""

import json

import pytest

from benchmarks.loaders.entries import LIMITS, LOADERS
from benchmarks.loaders.pages import RESULTS, ROOT, blocks
from benchmarks.loaders.pictures import FIGURES, THEMES
from benchmarks.tables import put

FOUND = json.loads(RESULTS.read_text())


@pytest.mark.parametrize("page", ["README.md", "docs/benchmarks.md"])
def test_a_page_shows_the_results(page: str) -> None:
    written = (ROOT / page).read_text(encoding="utf-8")
    expected = put(written, "loaders", [blocks(FOUND)[page]])
    assert written == expected, f"{page} is not what the results say: python -m benchmarks.loaders.pages"


def test_the_results_say_on_what_and_when_and_hold_every_loader() -> None:
    assert {"date", "commit", "machine", "versions", "settings", "figures"} <= set(FOUND)
    assert FOUND["settings"]["command"].startswith("make bench")
    assert FOUND["settings"]["rounds"] >= 5
    assert {entry.name for entry in (*LIMITS, *LOADERS)} <= set(FOUND["figures"])


def test_figures_of_every_theme_are_there() -> None:
    for name, _, _ in FIGURES:
        for theme in THEMES:
            drawn = (ROOT / "docs" / "images" / f"{name}-{theme.name}.svg").read_text(encoding="utf-8")
            assert drawn.startswith("<svg")
            assert "headrace" in drawn
