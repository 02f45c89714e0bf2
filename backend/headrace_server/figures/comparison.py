"""One measure of several jobs on one axis, a line a job."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import plotly.graph_objects as go

from ..series.schemas import SeriesPoint
from .canvas import Style, Trace, finish, rounded, text, x_axis, y_axis
from .palette import SOURCE_COLORS
from .schemas import Cell, ComparisonName, Extent, Figure, FigureTable, TableColumn

Axis = Literal["step", "tokens", "elapsed"]
Metric = Literal["tokens_per_s", "wait_share", "loss", "share"]

# Longer than this (seconds) and time is told in hours.
_LONG_S = 2 * 3600


@dataclass(frozen=True)
class Line:
    """A job's name and its points; ``x`` of a point is a step, tokens, or seconds since the job first started."""

    name: str
    points: Sequence[SeriesPoint]


@dataclass(frozen=True)
class _Measure:
    """How a metric is drawn; ``scale`` takes its values to its unit in the table."""

    name: ComparisonName
    title: str
    about: str
    axis_title: str
    unit: str
    scale: float
    hover: str
    layout: Mapping[str, Any]


_MEASURES: dict[Metric, _Measure] = {
    "tokens_per_s": _Measure(
        "compare-throughput",
        "Throughput",
        "Trained tokens per second, summed over ranks, of each job",
        "tokens/s",
        "tokens/s",
        1,
        "%{y:.4s} tokens/s",
        {"tickformat": "~s", "rangemode": "tozero"},
    ),
    "wait_share": _Measure(
        "compare-wait",
        "Data wait",
        "Share of time that the ranks of each job waited for data, mean over ranks",
        "share of time (%)",
        "%",
        100,
        "%{y:.2%}",
        {"tickformat": "~%", "rangemode": "tozero"},
    ),
    "loss": _Measure(
        "compare-loss",
        "Loss",
        "Mean training loss of each job, as its training loop observed it",
        "loss",
        "",
        1,
        "%{y:.4f}",
        {},
    ),
    "share": _Measure(
        "compare-share",
        "Realised share",
        "Share of sequences delivered from the source in each job",
        "share of sequences (%)",
        "%",
        100,
        "%{y:.1%}",
        {"tickformat": "~%", "rangemode": "tozero"},
    ),
}


@dataclass(frozen=True)
class _Scale:
    """How x is told: its title, its unit, and how many of what points have make one of it."""

    title: str
    unit: str
    per: float

    def x(self, value: float) -> float:
        return int(value) if self.per == 1 else float(f"{value / self.per:.7g}")


_OVER: dict[Axis, str] = {
    "step": "over steps",
    "tokens": "over the tokens it has trained on",
    "elapsed": "over the time since it first started, pauses included",
}


def _scale(axis: Axis, longest_s: float) -> _Scale:
    if axis == "elapsed":
        return _Scale("time since start", "h", 3600) if longest_s > _LONG_S else _Scale("time since start", "min", 60)
    return _Scale("step", "", 1) if axis == "step" else _Scale("tokens", "tokens", 1)


def _x_axis(style: Style, axis: Axis, scale: _Scale) -> dict[str, Any]:
    if axis != "elapsed":
        return {"xaxis": x_axis(replace(style, axis=axis))}
    # What is shown is asked and told in seconds, whatever unit it is drawn in.
    return {
        "meta": {"x_unit_s": scale.per},
        "xaxis": {
            "title": {"text": f"{scale.title} ({scale.unit})", "standoff": 6},
            "tickformat": "",
            "hoverformat": ".4~f",
            "unifiedhovertitle": {"text": f"%{{x}} {scale.unit}"},
        },
    }


def _extent(lines: Sequence[Line]) -> Extent | None:
    ends = [x for line in lines if line.points for x in (line.points[0].x, line.points[-1].x)]
    return Extent(low=min(ends), high=max(ends)) if ends else None


def _trace(line: Line, place: int, measure: _Measure, scale: _Scale) -> Trace:
    # Past the palette a dash tells two jobs of one colour apart.
    look = {"color": SOURCE_COLORS[place % len(SOURCE_COLORS)], "width": 2}
    look["dash"] = "solid" if place < len(SOURCE_COLORS) else "dash"
    xs = [scale.x(point.x) for point in line.points]
    arrays: dict[str, list[Any]] = {"x": list(xs), "y": [rounded(point.mean) for point in line.points]}
    scatter = go.Scatter(name=text(line.name), mode="lines", line=look, hovertemplate=measure.hover, legendgroup=place)
    return Trace(scatter, arrays, xs)


def _told(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _description(measure: _Measure, axis: Axis, lines: Sequence[Line], source: str | None) -> str:
    about = f"{measure.about}{'' if source is None else f'; source {source}'}, {_OVER[axis]}."
    unit = f" {measure.unit}" if measure.unit else ""
    last = "; ".join(
        f"{line.name} {_told(line.points[-1].last * measure.scale)}{unit}" for line in lines if line.points
    )
    return f"{about} Last: {last}." if last else f"{about} Nothing reported yet."


def build(
    metric: Metric,
    axis: Axis,
    lines: Sequence[Line],
    style: Style,
    source: str | None = None,
    *,
    longest_s: float = 0.0,
) -> Figure:
    """``lines`` are the jobs' series of the metric, in the order that they are compared in; ``style`` is over steps.

    ``longest_s`` (seconds) chooses the unit of elapsed time, the same for every measure.
    """
    measure, scale = _MEASURES[metric], _scale(axis, longest_s)
    drawn = [_trace(line, place, measure, scale) for place, line in enumerate(lines) if line.points]
    title = measure.title if source is None else f"{measure.title} of {source}"
    axes: dict[str, Any] = {"yaxis": y_axis(style, measure.axis_title, **measure.layout)}
    axes |= _x_axis(style, axis, scale)
    held = [{scale.x(p.x): rounded(p.mean * measure.scale) for p in line.points} for line in lines]
    rows: list[list[Cell]] = [
        [x, *(values.get(x) for values in held)] for x in sorted({x for values in held for x in values})
    ]
    columns = [TableColumn(key=f"job_{i}", label=line.name, unit=measure.unit) for i, line in enumerate(lines)]
    about = _description(measure, axis, lines, source)
    figure = finish(style, measure.name, title, about, drawn, axes, columns, rows)
    x_column = TableColumn(key="x", label=scale.title, unit=scale.unit)
    table = FigureTable(columns=[x_column, *figure.table.columns[1:]], rows=figure.table.rows)
    return figure.model_copy(update={"table": table, "extent": _extent(lines)})
