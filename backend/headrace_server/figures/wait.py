"""How long ranks waited for data: times above, the share of the whole below."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..series.schemas import SeriesPoint
from .canvas import Style, Trace, finish, line, rounded, y_axis
from .palette import SOURCE_COLORS
from .schemas import Cell, Figure, TableColumn
from .smoothing import method, smoothed

TITLE = "Data wait"


@dataclass(frozen=True)
class WaitSeries:
    """The four series of waiting, over the same buckets."""

    p50_ms: Sequence[SeriesPoint]
    p99_ms: Sequence[SeriesPoint]
    max_ms: Sequence[SeriesPoint]
    share: Sequence[SeriesPoint]


@dataclass(frozen=True)
class _Look:
    """How one of the four is drawn; ``is_mean`` ones can be smoothed, the worst of many ranks can't."""

    name: str
    color: str
    axis: str
    hover: str
    is_mean: bool
    dash: str = "solid"


_LOOKS = (
    _Look("median", SOURCE_COLORS[2], "y", "%{y:.3g} ms", True),
    _Look("99th percentile", SOURCE_COLORS[1], "y", "%{y:.3g} ms", False, "dash"),
    _Look("longest", SOURCE_COLORS[5], "y", "%{y:.3g} ms (step %{customdata:,d})", False, "dot"),
    _Look("share of time", SOURCE_COLORS[0], "y2", "%{y:.2%}", True),
)


_OF_ALL = (
    "Time a step waited for its data: the median (mean over ranks), the 99th percentile and the longest wait "
    "(worst rank), and the share of all time spent waiting."
)
_OF_ONE = (
    "Time a step of this rank waited for its data: the median, the 99th percentile and the longest wait, and the share "
    "of all time spent waiting."
)


def _description(wait: WaitSeries, style: Style) -> str:
    about = _OF_ALL if style.rank is None else _OF_ONE
    if not wait.share:
        return f"{about} Nothing reported yet."
    return (
        f"{about} Last: median {wait.p50_ms[-1].last:.3g} ms, 99th percentile {wait.p99_ms[-1].max:.3g} ms, "
        f"longest {wait.max_ms[-1].max:.3g} ms, share {wait.share[-1].last:.2%}."
    )


def _lines(style: Style, look: _Look, points: Sequence[SeriesPoint]) -> list[Trace]:
    xs = [point.x for point in points]
    values = [point.mean if look.is_mean else point.max for point in points]
    stroke: dict[str, Any] = {"color": look.color, "width": 2, "dash": look.dash}
    more: dict[str, Any] = {"name": look.name, "yaxis": look.axis}
    drawn = smoothed(points, style.smooth) if look.is_mean else values
    traces = []
    if look.is_mean and style.smooth > 0:
        faint: dict[str, Any] = {"opacity": 0.35, "showlegend": False, "hoverinfo": "skip"}
        traces.append(line(style, xs, values, line=stroke | {"width": 1}, **more, **faint))
    steps = [point.peak_step for point in points]
    traces.append(line(style, xs, drawn, line=stroke, hovertemplate=look.hover, customdata=steps, **more))
    return traces


def _columns(wait: WaitSeries, style: Style) -> list[tuple[TableColumn, list[Cell]]]:
    def column(key: str, label: str, unit: str, values: Sequence[float]) -> tuple[TableColumn, list[Cell]]:
        return TableColumn(key=key, label=label, unit=unit), [rounded(value) for value in values]

    peaks: list[Cell] = [point.peak_step for point in wait.max_ms]
    found = [
        column("p50", "median", "ms", [point.mean for point in wait.p50_ms]),
        column("p99", "99th percentile", "ms", [point.max for point in wait.p99_ms]),
        column("max", "longest", "ms", [point.max for point in wait.max_ms]),
        (TableColumn(key="trace_step", label="longest at step", unit=""), peaks),
        column("share", "share of time", "%", [100 * point.mean for point in wait.share]),
    ]
    if style.smooth > 0:
        shares = smoothed(wait.share, style.smooth)
        found += [
            column("p50_smoothed", "median smoothed", "ms", smoothed(wait.p50_ms, style.smooth)),
            column("share_smoothed", "share of time smoothed", "%", [100 * share for share in shares]),
        ]
    return found


def build(wait: WaitSeries, style: Style) -> Figure:
    """The worst rank shows in p99 and max; a spike in a bucket survives, and its step is told."""
    series = (wait.p50_ms, wait.p99_ms, wait.max_ms, wait.share)
    traces = [
        trace for look, points in zip(_LOOKS, series, strict=True) if points for trace in _lines(style, look, points)
    ]
    found = _columns(wait, style)
    rows: list[list[Cell]] = [
        [style.x(point.x), *cells] for point, *cells in zip(wait.max_ms, *(cells for _, cells in found), strict=True)
    ]
    axes = {
        "xaxis": {"anchor": "y2"},
        "yaxis": y_axis(style, "wait (ms)", domain=[0.38, 1], rangemode="tozero"),
        "yaxis2": y_axis(style, "share (%)", domain=[0, 0.28], rangemode="tozero", tickformat="~%"),
        "hoversubplots": "axis",
    }
    about = _description(wait, style) + (method(style.smooth) if wait.share else "")
    columns = [column for column, _ in found]
    return finish(style, "wait", TITLE, about, traces, axes, columns, rows, points=wait.max_ms)
