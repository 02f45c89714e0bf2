"""Lines and tables with one column a source."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from ..series.schemas import SourceSeries
from .canvas import Style, line, rounded, text
from .palette import source_color
from .schemas import Cell, TableColumn


def lines(style: Style, sources: Sequence[SourceSeries], *, hover: str, **more: Any) -> list[go.Scatter]:
    """A line of means for each source that has points; past the palette they share the grey."""
    return [
        line(
            style,
            [point.x for point in source.points],
            [point.mean for point in source.points],
            name=text(source.name),
            legendgroup=f"source {i}",
            line={"color": source_color(i), "width": 2},
            hovertemplate=hover,
            **more,
        )
        for i, source in enumerate(sources)
        if source.points
    ]


def table(style: Style, sources: Sequence[SourceSeries], *, unit: str) -> tuple[list[TableColumn], list[list[Cell]]]:
    """The same means: a row for each x, a column for each source, null where a source has none."""
    columns = [TableColumn(key=f"source_{i}", label=source.name, unit=unit) for i, source in enumerate(sources)]
    held = [{point.x: rounded(point.mean) for point in source.points} for source in sources]
    xs = sorted({x for values in held for x in values})
    return columns, [[style.x(x), *(values.get(x) for values in held)] for x in xs]
