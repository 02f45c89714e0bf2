"""What every figure shares: axes, marks, hover, configuration, and turning traces into a figure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from typing import Any, Literal

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs_version

from .palette import THEMES, Theme, ThemeName
from .schemas import Cell, ComparisonName, Figure, FigureName, FigureTable, PlotlyFigure, TableColumn

# Zoom, pan and hidden traces survive new data as long as this stays the same.
UI_REVISION = "headrace"
MAX_MARKS = 40
LABEL_ROOM = 0.04
"""Share of the x range that a mark's label needs."""
# No logo, and no button that sends a run's data to somebody's cloud (on by default in plotly.js 4).
CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "showSendToCloud": False,
    "plotlyServerURL": "",
    "responsive": True,
    "modeBarButtonsToRemove": ["select2d", "lasso2d"],
}
_FONT = "-apple-system, BlinkMacSystemFont, Segoe UI, Roboto, Helvetica, Arial, sans-serif"


@dataclass(frozen=True)
class Mark:
    """A labelled moment: an attempt's start or an edit of the mix. ``x`` is a step or Unix seconds."""

    x: float
    label: str
    about: str
    kind: Literal["attempt", "mix"]


@dataclass(frozen=True)
class Style:
    """How to draw: which theme, what x is, the marks, and the rank whose figure it is; None for all of them."""

    theme: ThemeName = "light"
    axis: Literal["step", "time"] = "step"
    marks: Sequence[Mark] = field(default_factory=tuple)
    rank: int | None = None

    @property
    def colors(self) -> Theme:
        """The theme's colours."""
        return THEMES[self.theme]

    def x(self, value: float) -> float | str:
        """An x as Plotly takes it: the step, or the time in UTC."""
        if self.axis == "step":
            return int(value)
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def text(name: str) -> str:
    """A name as Plotly shows it literally: Plotly reads HTML in its labels."""
    return escape(name, quote=False)


def rounded(value: float) -> float:
    """Six significant digits: all a chart can show, at half the bytes."""
    return float(f"{value:.6g}")


@dataclass(frozen=True)
class Trace:
    """How a trace looks, which plotly checks, and its long arrays, which it would check number by number."""

    look: go.Scatter
    arrays: dict[str, list[Any]]
    xs: Sequence[float]


def line(style: Style, xs: Sequence[float], ys: Sequence[float | None], **more: Any) -> Trace:
    """A line; a null is a gap."""
    more.setdefault("mode", "lines")
    arrays: dict[str, list[Any]] = {
        "x": [style.x(x) for x in xs],
        "y": [None if y is None else rounded(y) for y in ys],
    }
    for name in ("customdata", "text"):
        if isinstance(more.get(name), Sequence) and not isinstance(more[name], str):
            arrays[name] = list(more.pop(name))
    return Trace(go.Scatter(**more), arrays, xs)


def y_axis(style: Style, title: str, **more: Any) -> dict[str, Any]:
    """A y axis with its unit in the title."""
    return {
        "title": {"text": title, "standoff": 8},
        "gridcolor": style.colors.grid,
        "zerolinecolor": style.colors.grid,
        "automargin": True,
        **more,
    }


def _range(traces: Sequence[Trace]) -> float:
    """How far the x values of all traces reach."""
    ends = [x for trace in traces if len(trace.xs) for x in (trace.xs[0], trace.xs[-1])]
    return max(ends) - min(ends) if ends else 0.0


def _mark_layout(style: Style, x_range: float) -> dict[str, Any]:
    """A line for every mark, and a label where there is room beside the one before; hovering shows each."""
    marks = sorted(style.marks, key=lambda mark: mark.x)[-MAX_MARKS:]
    shapes, annotations = [], []
    labelled = -math.inf
    for mark in marks:
        dash = "solid" if mark.kind == "attempt" else "dot"
        stroke = {"color": style.colors.dim, "width": 1, "dash": dash}
        shapes.append(
            {"type": "line", "xref": "x", "yref": "paper", "x0": style.x(mark.x), "x1": style.x(mark.x)}
            | {"y0": 0, "y1": 1, "line": stroke}
        )
        has_room = mark.x - labelled >= LABEL_ROOM * x_range
        labelled = mark.x if has_room else labelled
        annotations.append(
            {"xref": "x", "yref": "paper", "x": style.x(mark.x), "y": 1, "text": text(mark.label) if has_room else "·"}
            | {"hovertext": text(mark.about), "showarrow": False, "xanchor": "left", "yanchor": "bottom"}
            | {"font": {"size": 11, "color": style.colors.dim}}
        )
    return {"shapes": shapes, "annotations": annotations}


def _layout(style: Style, axes: dict[str, Any], x_range: float) -> dict[str, Any]:
    colors = style.colors
    x_axis = {
        "title": {"text": "step" if style.axis == "step" else "time (UTC)", "standoff": 6},
        "type": "linear" if style.axis == "step" else "date",
        "gridcolor": colors.grid,
        "zeroline": False,
        "automargin": True,
    }
    if style.axis == "step":
        x_axis |= {"tickformat": ",d", "hoverformat": ",d", "unifiedhovertitle": {"text": "step %{x}"}}
    layout = {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": _FONT, "size": 12, "color": colors.text},
        "margin": {"l": 56, "r": 16, "t": 24, "b": 76},
        "hovermode": "x unified",
        "hoverlabel": {"bgcolor": colors.hover, "bordercolor": colors.grid, "font": {"color": colors.text}},
        "legend": {
            "orientation": "h",
            "x": 0,
            "yref": "container",
            "y": 0,
            "yanchor": "bottom",
            "traceorder": "normal",
        },
        "uirevision": UI_REVISION,
        **axes,
        "xaxis": x_axis | axes.get("xaxis", {}),
        **_mark_layout(style, x_range),
    }
    return layout


def finish(
    style: Style,
    name: FigureName | ComparisonName,
    title: str,
    description: str,
    traces: Sequence[Trace],
    axes: dict[str, Any],
    columns: Sequence[TableColumn],
    rows: Sequence[Sequence[Cell]],
) -> Figure:
    """Put a figure together and let plotly check every property of it but the arrays."""
    layout = go.Layout(**_layout(style, axes, _range(traces)), template=None)
    figure = go.Figure(data=[trace.look for trace in traces], layout=layout, skip_invalid=False).to_plotly_json()
    for drawn, trace in zip(figure["data"], traces, strict=True):
        drawn.update(trace.arrays)
    figure["layout"].pop("template", None)
    x_column = TableColumn(key="x", label=style.axis, unit="UTC" if style.axis == "time" else "")
    return Figure(
        name=name,
        title=title if style.rank is None else f"{title}, rank {style.rank}",
        description=description,
        figure=PlotlyFigure(data=figure["data"], layout=figure["layout"], config=CONFIG),
        table=FigureTable(columns=[x_column, *columns], rows=[list(row) for row in rows]),
    )


def plotlyjs_version() -> str:
    """The plotly.js that the plotly package was made for; the dashboard's bundle must be the same."""
    version: str = get_plotlyjs_version()
    return version
