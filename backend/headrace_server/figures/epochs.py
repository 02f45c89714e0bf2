"""How often each source has been read, and will have been by the end of the run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import plotly.graph_objects as go

from ..series.schemas import SourceSeries
from .by_source import lines, table
from .canvas import Style, finish, line, rounded, text, y_axis
from .palette import source_color
from .schemas import Cell, Figure

TITLE = "Epochs by source"


@dataclass(frozen=True)
class Forecast:
    """Epochs of each source at ``last_step``, the run's last, at the newest weights; empty when the end is unknown."""

    last_step: int | None = None
    epochs: Mapping[str, float | None] = field(default_factory=dict)


def _forecast_lines(style: Style, sources: Sequence[SourceSeries], forecast: Forecast) -> list[go.Scatter]:
    traces = []
    for i, source in enumerate(sources):
        end = forecast.epochs.get(source.name)
        if forecast.last_step is None or end is None or not source.points:
            continue
        now = source.points[-1]
        if now.x < forecast.last_step:
            traces.append(
                line(
                    style,
                    [now.x, forecast.last_step],
                    [now.last, end],
                    name=text(f"{source.name} forecast"),
                    legendgroup=f"source {i}",
                    showlegend=False,
                    line={"color": source_color(i), "width": 2, "dash": "dash"},
                    hovertemplate="%{y:.2f} (forecast)",
                )
            )
    return traces


def _description(sources: Sequence[SourceSeries], forecast: Forecast) -> str:
    about = "How many times each source has been read; dashed: where it will be at the newest weights."
    parts = []
    for source in sources:
        if source.points:
            end = forecast.epochs.get(source.name)
            ahead = "" if end is None else f", {end:.2f} by the end"
            parts.append(f"{source.name} {source.points[-1].last:.2f}{ahead}")
    return f"{about} Now: {'; '.join(parts)}." if parts else f"{about} Nothing delivered yet."


def build(sources: Sequence[SourceSeries], forecast: Forecast, style: Style) -> Figure:
    """``sources`` are series of the metric epoch, in job order. The forecast is drawn over steps only."""
    columns, rows = table(style, sources, unit="epochs")
    traces = lines(style, sources, hover="%{y:.3f}")
    if style.axis == "step":
        traces += _forecast_lines(style, sources, forecast)
    if rows and forecast.last_step is not None and style.axis == "step":
        ends = (forecast.epochs.get(source.name) for source in sources)
        cells: list[Cell] = [forecast.last_step, *(None if end is None else rounded(end) for end in ends)]
        rows.append(cells)
    axes = {"yaxis": y_axis(style, "epochs", rangemode="tozero")}
    return finish(style, "epochs", TITLE, _description(sources, forecast), traces, axes, columns, rows)
