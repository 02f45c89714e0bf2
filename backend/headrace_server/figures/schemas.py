"""A figure as others see it: the picture, what it says, and the same numbers as a table."""

from typing import Any, Literal

from ..fields import Reply

MarkKind = Literal["attempt", "mix"]
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


class FigureMark(Reply):
    """A moment that a figure marks: ``number`` is the attempt's or the version's, ``label`` the annotation it is in.

    ``x`` is in the axis's units, times in Unix seconds. Close marks share an annotation.
    """

    kind: MarkKind
    number: int
    x: float
    label: int
    about: str


class Extent(Reply):
    """From the first x to the last, in the units of the axis; times in Unix seconds."""

    low: float
    high: float


class Figure(Reply):
    """A chart of a job, or of several.

    ``extent`` is where there is data, null where there is none; forecasts reach further.
    """

    name: FigureName | ComparisonName
    title: str
    description: str
    figure: PlotlyFigure
    table: FigureTable
    extent: Extent | None
    marks: list[FigureMark]
