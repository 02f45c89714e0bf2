"""A figure as others see it: the picture, what it says, and the same numbers as a table."""

from typing import Any, Literal

from ..fields import Reply

FigureName = Literal["mix", "throughput", "wait", "loss", "epochs", "queue", "memory"]
ComparisonName = Literal["compare-throughput", "compare-wait", "compare-loss", "compare-share"]
Cell = float | int | str | None


class PlotlyFigure(Reply):
    """What Plotly.react takes; traces are of the basic bundle (scatter)."""

    data: list[dict[str, Any]]
    layout: dict[str, Any]
    config: dict[str, Any]


class TableColumn(Reply):
    """A column of the twin; ``unit`` is empty where there is none."""

    key: str
    label: str
    unit: str


class FigureTable(Reply):
    """The figure's numbers."""

    columns: list[TableColumn]
    rows: list[list[Cell]]


class Figure(Reply):
    """A chart of a job, or of several."""

    name: FigureName | ComparisonName
    title: str
    description: str
    figure: PlotlyFigure
    table: FigureTable
