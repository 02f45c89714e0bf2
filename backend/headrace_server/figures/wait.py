"""How long ranks waited for data: times above, the share of the whole below."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..series.schemas import SeriesPoint
from .canvas import Style, finish, line, rounded, y_axis
from .palette import SOURCE_COLORS
from .schemas import Cell, Figure, TableColumn

TITLE = "Data wait"


@dataclass(frozen=True)
class WaitSeries:
    """The four series of waiting, over the same buckets."""

    p50_ms: Sequence[SeriesPoint]
    p99_ms: Sequence[SeriesPoint]
    max_ms: Sequence[SeriesPoint]
    share: Sequence[SeriesPoint]


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


def build(wait: WaitSeries, style: Style) -> Figure:
    """The worst rank shows in p99 and max; a spike in a bucket survives."""
    lines = [
        ("p50", [(point.x, point.mean) for point in wait.p50_ms], 2, "y", "%{y:.3g} ms"),
        ("p99", [(point.x, point.max) for point in wait.p99_ms], 1, "y", "%{y:.3g} ms"),
        ("max", [(point.x, point.max) for point in wait.max_ms], 5, "y", "%{y:.3g} ms"),
        ("share of time", [(point.x, point.mean) for point in wait.share], 0, "y2", "%{y:.2%}"),
    ]
    traces = [
        line(
            style,
            [x for x, _ in points],
            [y for _, y in points],
            name=name,
            yaxis=axis,
            line={"color": SOURCE_COLORS[color], "width": 2 if name != "max" else 1},
            hovertemplate=hover,
        )
        for name, points, color, axis, hover in lines
        if points
    ]
    columns = [
        TableColumn(key=key, label=label, unit=unit)
        for key, label, unit in (
            ("p50", "median", "ms"),
            ("p99", "99th percentile", "ms"),
            ("max", "longest", "ms"),
            ("share", "share of time", "%"),
        )
    ]
    rows: list[list[Cell]] = [
        [style.x(p50.x), rounded(p50.mean), rounded(p99.max), rounded(longest.max), rounded(100 * share.mean)]
        for p50, p99, longest, share in zip(wait.p50_ms, wait.p99_ms, wait.max_ms, wait.share, strict=True)
    ]
    axes = {
        "xaxis": {"anchor": "y2"},
        "yaxis": y_axis(style, "wait (ms)", domain=[0.38, 1], rangemode="tozero"),
        "yaxis2": y_axis(style, "share (%)", domain=[0, 0.28], rangemode="tozero", tickformat="~%"),
        "hoversubplots": "axis",
    }
    return finish(style, "wait", TITLE, _description(wait, style), traces, axes, columns, rows)
