"""Training loss by source."""

from collections.abc import Sequence

from ..series.schemas import SourceSeries
from .by_source import every_point, lines, table
from .canvas import Style, finish, y_axis
from .palette import SOURCE_COLORS
from .schemas import Figure
from .smoothing import method

TITLE = "Loss by source"


def build(sources: Sequence[SourceSeries], style: Style) -> Figure:
    """``sources`` are series of the metric loss, in job order."""
    about = "Mean training loss of the sequences of each source, as the training loop observed it."
    told = [f"{s.name} {s.points[-1].last:.3f}" for s in sources if s.points]
    last = ", ".join(told[: len(SOURCE_COLORS)]) + (
        f", and {len(told) - len(SOURCE_COLORS)} more" if len(told) > len(SOURCE_COLORS) else ""
    )
    description = f"{about} Last: {last}." if last else f"{about} No loss observed yet."
    if last:
        description += method(style.smooth)
    columns, rows = table(style, sources, unit="", smooth=style.smooth)
    axes = {"yaxis": y_axis(style, "loss")}
    traces = lines(style, sources, hover="%{y:.4f}", smooth=style.smooth)
    points = every_point(sources)
    return finish(style, "loss", TITLE, description, traces, axes, columns, rows, points=points)
