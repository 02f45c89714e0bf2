"""What a rank holds ready and in memory: batches in its queue, and its resident memory."""

from collections.abc import Sequence
from typing import Any, Literal

from ..series.schemas import SeriesPoint
from .canvas import Style, finish, line, rounded, y_axis
from .palette import SOURCE_COLORS, translucent
from .schemas import Cell, Figure, TableColumn

_GIB = 2**30


def _build(
    name: Literal["queue", "memory"], title: str, about: str, unit: str, points: Sequence[SeriesPoint], style: Style
) -> Figure:
    color = SOURCE_COLORS[0]
    xs = [point.x for point in points]
    edge: dict[str, Any] = {"line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    band: dict[str, Any] = {"fill": "tonexty", "fillcolor": translucent(color, 0.2)}
    traces = [
        line(style, xs, [point.min for point in points], name="least", **edge),
        line(style, xs, [point.max for point in points], name="most", **band, **edge),
        line(
            style,
            xs,
            [point.mean for point in points],
            name="mean",
            line={"color": color, "width": 2},
            customdata=[[rounded(point.min), rounded(point.max)] for point in points],
            hovertemplate=f"%{{y:.3g}} {unit} (%{{customdata[0]:.3g}} to %{{customdata[1]:.3g}})",
        ),
    ]
    last = f" Last: {points[-1].last:.3g} {unit}." if points else " Nothing reported yet."
    columns = [
        TableColumn(key=key, label=label, unit=unit)
        for key, label in (("mean", "mean"), ("min", "least"), ("max", "most"))
    ]
    rows: list[list[Cell]] = [[style.x(p.x), rounded(p.mean), rounded(p.min), rounded(p.max)] for p in points]
    axes = {"yaxis": y_axis(style, unit, rangemode="tozero")}
    drawn = traces if points else []
    return finish(style, name, title, about + last, drawn, axes, columns, rows, points=points)


def build_queue(points: Sequence[SeriesPoint], style: Style) -> Figure:
    """``points`` are the series queue_depth."""
    about = "Batches that lie ready for the training loop; at 0 it waits. The band is the range inside each point."
    return _build("queue", "Queue depth", about, "batches", points, style)


def _gib(point: SeriesPoint) -> SeriesPoint:
    held = {of: getattr(point, of) / _GIB for of in ("min", "max", "mean", "last")}
    return point.model_copy(update=held)


def build_memory(points: Sequence[SeriesPoint], style: Style) -> Figure:
    """``points`` are the series rss_bytes."""
    about = "Resident memory of the training process. The band is the range inside each point."
    return _build("memory", "Memory", about, "GiB", [_gib(point) for point in points], style)
