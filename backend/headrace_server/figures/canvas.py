"""What every figure shares: axes, marks, hover, configuration, and turning traces into a figure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from math import ceil
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs_version

from ..series.schemas import Axis, SeriesPoint
from . import marks
from .marks import Mark
from .palette import THEMES, Theme, ThemeName
from .schemas import Cell, ComparisonName, Extent, Figure, FigureName, FigureTable, PlotlyFigure, TableColumn

# Zoom, pan and hidden traces survive new data as long as this stays the same.
UI_REVISION = "headrace"
_THIN_SPACE = "\u202f"
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
class Style:
    """How to draw: which theme, what x is and from where to where, the marks, and how much is smoothed.

    ``low`` and ``high`` bound what is shown, None where the data does; ``smooth`` is the window, 0 to 1 of that.
    ``width_px`` is about how wide it will be drawn, for the labels of marks. ``rank`` is whose figure it is; None for
    that of all of them.
    """

    theme: ThemeName = "light"
    axis: Axis = "step"
    marks: Sequence[Mark] = field(default_factory=tuple)
    low: float | None = None
    high: float | None = None
    smooth: float = 0.0
    width_px: int = 1000
    rank: int | None = None

    @property
    def colors(self) -> Theme:
        """The theme's colours."""
        return THEMES[self.theme]

    def x(self, value: float) -> float | str:
        """An x as Plotly takes it: the step, the tokens, or the time in UTC."""
        return moment(value) if self.axis == "time" else int(value)


def moment(value: float) -> str:
    """Unix seconds as Plotly takes a time, in UTC."""
    return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def text(name: str) -> str:
    """A name as Plotly shows it literally: Plotly reads HTML in its labels."""
    return escape(name, quote=False)


def rounded(value: float) -> float:
    """Six significant digits: all a chart can show, at half the bytes."""
    return float(f"{value:.6g}")


@dataclass(frozen=True)
class Trace:
    """How a trace looks, which plotly checks, and its long arrays, which it would check number by number.

    ``is_data``: not a forecast, so that it counts for how far the figure reaches.
    """

    look: go.Scatter
    arrays: dict[str, list[Any]]
    xs: Sequence[float]
    is_data: bool = True


def line(style: Style, xs: Sequence[float], ys: Sequence[float | None], *, is_data: bool = True, **more: Any) -> Trace:
    """A line; a null is a gap."""
    more.setdefault("mode", "lines")
    arrays: dict[str, list[Any]] = {
        "x": [style.x(x) for x in xs],
        "y": [None if y is None else rounded(y) for y in ys],
    }
    for name in ("customdata", "text"):
        if isinstance(more.get(name), Sequence) and not isinstance(more[name], str):
            arrays[name] = list(more.pop(name))
    return Trace(go.Scatter(**more), arrays, xs, is_data)


def y_axis(style: Style, title: str, **more: Any) -> dict[str, Any]:
    """A y axis with its unit in the title."""
    return {
        "title": {"text": title, "standoff": 8},
        "gridcolor": style.colors.grid,
        "zerolinecolor": style.colors.grid,
        # A drag is a zoom into x: what is shown there sets the range of y.
        "fixedrange": True,
        **more,
    }


def _extent(traces: Sequence[Trace]) -> Extent | None:
    """From the first to the last x of all data."""
    ends = [x for trace in traces if trace.is_data and len(trace.xs) for x in (trace.xs[0], trace.xs[-1])]
    return Extent(low=min(ends), high=max(ends)) if ends else None


def _where(style: Style, points: Sequence[SeriesPoint]) -> Trace:
    """Nothing to see: says which step it is where the x axis doesn't."""
    shown = "step %{customdata[0]:,d}" + (" · %{customdata[1]} UTC" if style.axis == "time" else "")
    at = [[point.step, moment(point.x)[11:19]] if style.axis == "time" else [point.step] for point in points]
    return line(
        style,
        [point.x for point in points],
        [point.mean for point in points],
        name="step",
        opacity=0,
        showlegend=False,
        customdata=at,
        hovertemplate=f"{shown}<extra></extra>",
    )


_MARGIN = {"l": 72, "r": 16, "t": 24}
_TITLES: dict[Axis, str] = {"step": "step", "tokens": "tokens", "time": "time (UTC)"}


def x_axis(style: Style) -> dict[str, Any]:
    """The x axis of every figure over the same."""
    axis: dict[str, Any] = {
        "title": {"text": _TITLES[style.axis], "standoff": 6},
        "type": "date" if style.axis == "time" else "linear",
        "gridcolor": style.colors.grid,
        "zeroline": False,
    }
    if style.axis == "step":
        axis |= {"tickformat": ",d", "hoverformat": ",d", "unifiedhovertitle": {"text": "step %{x}"}}
    if style.axis == "tokens":
        axis |= {"tickformat": "~s", "hoverformat": ",d", "unifiedhovertitle": {"text": "%{x} tokens"}}
    return axis


def _legend_px(style: Style, traces: Sequence[Trace]) -> int:
    """How high the legend will be: its entries have one width, and wrap."""
    names = [trace.look.name or "" for trace in traces if trace.look.showlegend is not False]
    widest = 50 + 7 * max(map(len, names), default=0)
    in_row = max(1, (style.width_px - _MARGIN["l"] - _MARGIN["r"]) // widest)
    return 19 * max(1, ceil(len(names) / in_row))


def _layout(
    style: Style,
    axes: dict[str, Any],
    drawn_marks: dict[str, Any],
    notes: list[dict[str, Any]],
    legend_px: int,
) -> Any:
    colors = style.colors
    return {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": _FONT, "size": 12, "color": colors.text},
        # The same for every figure: under each other, their x axes are one.
        "margin": _MARGIN | {"b": 57 + legend_px},
        "separators": f".{_THIN_SPACE}",
        "dragmode": "zoom",
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
        "xaxis": x_axis(style) | axes.get("xaxis", {}),
        "shapes": drawn_marks["shapes"],
        # Those of marks come first: a mark's ``label`` is a place in this list.
        "annotations": [*drawn_marks["annotations"], *notes],
    }


def finish(
    style: Style,
    name: FigureName | ComparisonName,
    title: str,
    description: str,
    traces: Sequence[Trace],
    axes: dict[str, Any],
    columns: Sequence[TableColumn],
    rows: Sequence[Sequence[Cell]],
    *,
    points: Sequence[SeriesPoint] = (),
    notes: Sequence[dict[str, Any]] = (),
) -> Figure:
    """Put a figure together and let plotly check every property of it but the arrays.

    ``points`` say which step each x is, for hovering and the table where x is no step; ``notes`` are more annotations.
    """
    extent = _extent(traces)
    low = style.low if style.low is not None or extent is None else extent.low
    high = style.high if style.high is not None or extent is None else extent.high
    shown = [
        m for m in style.marks if (style.low is None or m.x >= style.low) and (style.high is None or m.x <= style.high)
    ]
    groups = marks.grouped(shown, low or 0.0, high or 0.0, style.width_px)
    drawn_marks = marks.layout(groups, style.colors.dim, style.x, text)
    if style.axis != "step" and traces:
        traces = [*traces, _where(style, points)]
    layout = go.Layout(**_layout(style, axes, drawn_marks, list(notes), _legend_px(style, traces)), template=None)
    figure = go.Figure(data=[trace.look for trace in traces], layout=layout, skip_invalid=False).to_plotly_json()
    for drawn, trace in zip(figure["data"], traces, strict=True):
        drawn.update(trace.arrays)
    figure["layout"].pop("template", None)
    return Figure(
        name=name,
        title=title if style.rank is None else f"{title}, rank {style.rank}",
        description=description,
        figure=PlotlyFigure(data=figure["data"], layout=figure["layout"], config=CONFIG),
        table=_table(style, columns, rows, points),
        extent=extent,
        marks=marks.told(groups),
    )


_UNITS: dict[Axis, str] = {"step": "", "tokens": "tokens", "time": "UTC"}


def _table(
    style: Style, columns: Sequence[TableColumn], rows: Sequence[Sequence[Cell]], points: Sequence[SeriesPoint]
) -> FigureTable:
    """The numbers by x, and by step too where x is something else."""
    first = TableColumn(key="x", label=style.axis, unit=_UNITS[style.axis])
    if style.axis == "step":
        return FigureTable(columns=[first, *columns], rows=[list(row) for row in rows])
    steps = {style.x(point.x): point.step for point in points}
    return FigureTable(
        columns=[first, TableColumn(key="step", label="step", unit=""), *columns],
        rows=[[row[0], None if row[0] is None else steps.get(row[0]), *row[1:]] for row in rows],
    )


def plotlyjs_version() -> str:
    """The plotly.js that the plotly package was made for; the dashboard's bundle must be the same."""
    version: str = get_plotlyjs_version()
    return version
