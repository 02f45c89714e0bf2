"""Training loss by source."""

from collections.abc import Sequence

from ..series.schemas import SourceSeries
from .by_source import lines, table
from .canvas import Style, finish, y_axis
from .schemas import Figure

TITLE = "Loss by source"


def build(sources: Sequence[SourceSeries], style: Style) -> Figure:
    """``sources`` are series of the metric loss, in job order."""
    about = "Mean training loss of the sequences of each source, as the training loop observed it."
    last = ", ".join(f"{s.name} {s.points[-1].last:.3f}" for s in sources if s.points)
    description = f"{about} Last: {last}." if last else f"{about} No loss observed yet."
    columns, rows = table(style, sources, unit="")
    axes = {"yaxis": y_axis(style, "loss")}
    traces = lines(style, sources, hover="%{y:.4f}")
    return finish(style, "loss", TITLE, description, traces, axes, columns, rows)
