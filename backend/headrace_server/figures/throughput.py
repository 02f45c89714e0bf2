"""Tokens per second over all ranks, with the range inside each bucket."""

from collections.abc import Sequence
from typing import Any

from ..series.schemas import SeriesPoint
from .canvas import Style, finish, line, rounded, y_axis
from .palette import SOURCE_COLORS, translucent
from .schemas import Cell, Figure, TableColumn
from .smoothing import method, smoothed

TITLE = "Throughput"
_COLOR = SOURCE_COLORS[0]
_THIN: dict[str, Any] = {"line": {"color": _COLOR, "width": 1}}


def build(points: Sequence[SeriesPoint], style: Style) -> Figure:
    """``points`` are the series tokens_per_s."""
    xs = [point.x for point in points]
    means = smoothed(points, style.smooth)
    edge: dict[str, Any] = {"line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    traces = [
        line(style, xs, [point.min for point in points], name="least", **edge),
        line(
            style,
            xs,
            [point.max for point in points],
            name="most",
            fill="tonexty",
            fillcolor=translucent(_COLOR, 0.2),
            **edge,
        ),
        line(
            style,
            xs,
            means,
            name="all ranks" if style.rank is None else f"rank {style.rank}",
            line={"color": _COLOR, "width": 2},
            customdata=[[rounded(point.min), rounded(point.max)] for point in points],
            hovertemplate="%{y:.4s} tokens/s (%{customdata[0]:.4s} to %{customdata[1]:.4s})",
        ),
    ]
    whose = "summed over ranks" if style.rank is None else "of this rank"
    about = f"Trained tokens per second, {whose}; the band is the range inside each point."
    last = f" Last: {points[-1].last:,.0f} tokens/s.{method(style.smooth)}" if points else " Nothing reported yet."
    columns = [
        TableColumn(key=key, label=label, unit="tokens/s")
        for key, label in (("mean", "mean"), ("min", "least"), ("max", "most"))
    ]
    rows: list[list[Cell]] = [[style.x(p.x), rounded(p.mean), rounded(p.min), rounded(p.max)] for p in points]
    if style.smooth > 0:
        traces[2:2] = [line(style, xs, [point.mean for point in points], name="raw", opacity=0.4, **(edge | _THIN))]
        columns.append(TableColumn(key="smoothed", label="smoothed", unit="tokens/s"))
        rows = [[*row, rounded(mean)] for row, mean in zip(rows, means, strict=True)]
    axes = {"yaxis": y_axis(style, "tokens/s", tickformat="~s", rangemode="tozero")}
    drawn = traces if points else []
    return finish(style, "throughput", TITLE, about + last, drawn, axes, columns, rows, points=points)
