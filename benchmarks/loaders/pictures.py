"""The figures of the comparison, drawn by Plotly in a headless Chromium, each as SVG in a light and a dark theme."""

from __future__ import annotations

import html
import json
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from benchmarks.loaders.table import Loaders, at
from tests.e2e.browser import NoBrowserError, find_browser

__all__ = ["NoBrowserError", "dots_of", "draw"]

WIDTH, ROW_PX = 760, 26
_BROWSER_S = 60


@dataclass(frozen=True)
class Theme:
    """Colours: of letters, lines, Headrace's dots, those of others and of the limits."""

    name: str
    paper: str
    ink: str
    line: str
    ours: str
    others: str
    limits: str


THEMES = (
    Theme("light", "#ffffff", "#1f2328", "#d8dee4", "#0b7285", "#868e96", "#ced4da"),
    Theme("dark", "#0d1117", "#e6edf3", "#30363d", "#3bc9db", "#868e96", "#495057"),
)
FIGURES = (
    ("loaders-rate", "workers_0.tokens_per_s", "M tokens/s, no workers; logarithmic"),
    ("loaders-memory", "memory.own_bytes", "MB beyond torch after 10,000 sequences; logarithmic"),
)
"""Name of the file, what is drawn, and what its axis says."""


def dots_of(loaders: Loaders, path: str, axis: str, theme: Theme) -> go.Figure:
    """A dot for each loader that has the figure, the largest on top, in millions."""
    found = {name: value / 1e6 for name, told in loaders.items() if (value := at(told, path)) is not None}
    names = sorted(found, key=lambda name: found[name])
    values = [found[name] for name in names]
    figure = go.Figure(
        go.Scatter(
            x=values,
            y=names,
            mode="markers+text",
            marker={"color": [_colour(name, theme) for name in names], "size": 12},
            text=[f"  {value:,.0f}" if value >= 10 else f"  {value:,.1f}" for value in values],
            textposition="middle right",
            cliponaxis=False,
        )
    )
    figure.update_layout(
        template="none",
        width=WIDTH,
        height=ROW_PX * len(names) + 70,
        margin={"l": 215, "r": 70, "t": 10, "b": 50},
        paper_bgcolor=theme.paper,
        plot_bgcolor=theme.paper,
        font={"family": "system-ui, sans-serif", "size": 13, "color": theme.ink},
        showlegend=False,
    )
    title = {"text": axis, "font": {"size": 13}, "standoff": 8}
    figure.update_xaxes(type="log", title=title, gridcolor=theme.line, zeroline=False, dtick=1)
    figure.update_yaxes(ticksuffix="  ", gridcolor=theme.line, range=[-0.6, len(names) - 0.4])
    return figure


def _colour(name: str, theme: Theme) -> str:
    if name.startswith("headrace"):
        return theme.ours
    return theme.limits if name.startswith("mapped") else theme.others


def draw(loaders: Loaders, folder: Path) -> None:
    """Write each figure in each theme to `folder`. Raises NoBrowserError where there is no browser."""
    browser = find_browser(Path(__file__).parents[2] / "tests" / "e2e")
    for name, path, axis in FIGURES:
        for theme in THEMES:
            figure = dots_of(loaders, path, axis, theme)
            (folder / f"{name}-{theme.name}.svg").write_text(_svg(browser, figure) + "\n", encoding="utf-8")


def _svg(browser: Path, figure: go.Figure) -> str:
    """What Plotly draws, as one SVG."""
    layout = figure.layout
    page = (
        f"<meta charset=utf-8><script>{get_plotlyjs()}</script><div id=figure></div><pre id=drawn></pre><script>"
        f"Plotly.toImage({figure.to_json()}, {{format: 'svg', width: {layout.width}, height: {layout.height}}})"
        ".then((url) => decodeURIComponent(url.slice(url.indexOf(',') + 1)))"
        ".then((svg) => { document.getElementById('drawn').textContent = svg })</script>"
    )
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        Path(folder, "page.html").write_text(page, encoding="utf-8")
        command = [str(browser), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile"]
        command += ["--virtual-time-budget=20000", "--dump-dom", f"file://{folder}/page.html"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_BROWSER_S)
    drawn = re.search(r'<pre id="drawn">(.+?)</pre>', done.stdout, re.DOTALL)
    if drawn is None:
        raise NoBrowserError(f"{browser} drew nothing: {json.dumps(done.stderr[-400:])}")
    return html.unescape(drawn.group(1))
