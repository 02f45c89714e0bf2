"""Lines and tables with one column a source."""

from collections.abc import Sequence
from typing import Any

from ..series.schemas import SeriesPoint, SourceSeries
from .canvas import Style, Trace, line, rounded, text
from .palette import OTHER_COLOR, SOURCE_COLORS, SOURCE_SYMBOLS, other, source_color, translucent
from .schemas import Cell, TableColumn
from .smoothing import smoothed

_MAX_SYMBOLS = 12
"""Symbols on a line: enough to follow it, not so many that they are the line."""


def every_point(sources: Sequence[SourceSeries]) -> list[SeriesPoint]:
    """A point for each x that any source has, in order."""
    found = {point.x: point for source in sources for point in source.points}
    return [found[x] for x in sorted(found)]


def lines(style: Style, sources: Sequence[SourceSeries], *, hover: str, smooth: float = 0.0) -> list[Trace]:
    """A line of means for each source that has points, with a symbol of its own; those past the palette are one band.

    Smoothed, the means themselves stay, faint behind.
    """
    shown = len(SOURCE_COLORS)
    traces = _rest(style, sources[shown:])
    for i, source in enumerate(sources[:shown]):
        if source.points:
            traces += _line(style, source, i, hover, smooth)
    return traces


def _line(style: Style, source: SourceSeries, i: int, hover: str, smooth: float) -> list[Trace]:
    xs, color = [point.x for point in source.points], source_color(i)
    common: dict[str, Any] = {"legendgroup": f"source {i}"}
    faint = line(
        style,
        xs,
        [point.mean for point in source.points],
        name=text(source.name),
        showlegend=False,
        opacity=0.45,
        hoverinfo="skip",
        line={"color": color, "width": 1},
        **common,
    )
    drawn = line(
        style,
        xs,
        smoothed(source.points, smooth),
        name=text(source.name),
        mode="lines+markers",
        line={"color": color, "width": 2},
        marker={"symbol": SOURCE_SYMBOLS[i], "size": 7, "color": color, "maxdisplayed": _MAX_SYMBOLS},
        hovertemplate=hover,
        **common,
    )
    return [faint, drawn] if smooth > 0 else [drawn]


def _rest(style: Style, sources: Sequence[SourceSeries]) -> list[Trace]:
    """The range of all other sources, each where it was last."""
    held: dict[int, float] = {}
    points = sorted(((p.x, i, p.mean) for i, source in enumerate(sources) for p in source.points))
    low: dict[float, float] = {}
    high: dict[float, float] = {}
    for x, i, value in points:
        held[i] = value
        low[x], high[x] = min(held.values()), max(held.values())
    if not low:
        return []
    edge: dict[str, Any] = {"line": {"color": OTHER_COLOR, "width": 1}, "legendgroup": "other"}
    name = other(len(sources))
    return [
        line(style, list(low), list(low.values()), name=name, showlegend=False, hoverinfo="skip", **edge),
        line(
            style,
            list(high),
            list(high.values()),
            name=f"{name}, least to most",
            fill="tonexty",
            fillcolor=translucent(OTHER_COLOR, 0.3),
            customdata=[rounded(value) for value in low.values()],
            hovertemplate="%{customdata:.4g} to %{y:.4g}",
            **edge,
        ),
    ]


def table(
    style: Style, sources: Sequence[SourceSeries], *, unit: str, smooth: float = 0.0
) -> tuple[list[TableColumn], list[list[Cell]]]:
    """The same means: a row for each x, a column for each source (two where smoothed), null where a source has none."""
    columns: list[TableColumn] = []
    held: list[dict[float, float]] = []
    for i, source in enumerate(sources):
        columns.append(TableColumn(key=f"source_{i}", label=source.name, unit=unit))
        held.append({point.x: rounded(point.mean) for point in source.points})
        if smooth > 0:
            columns.append(TableColumn(key=f"source_{i}_smoothed", label=f"{source.name} smoothed", unit=unit))
            values = smoothed(source.points, smooth)
            held.append({point.x: rounded(y) for point, y in zip(source.points, values, strict=True)})
    xs = sorted({x for values in held for x in values})
    return columns, [[style.x(x), *(values.get(x) for values in held)] for x in xs]
