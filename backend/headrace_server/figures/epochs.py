"""How often each source has been read, and will have been by the end of the run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..series.schemas import SourceSeries
from .by_source import every_point, lines, table
from .canvas import Style, Trace, finish, line, rounded, text, y_axis
from .palette import SOURCE_COLORS, SOURCE_SYMBOLS, source_color
from .schemas import Cell, Figure

TITLE = "Epochs by source"


@dataclass(frozen=True)
class Forecast:
    """Epochs of each source at the end of the run, at the newest weights; empty when the end is unknown.

    ``last_x`` is the x of the run's last step; None where that is not known, as over time.
    """

    last_x: float | None = None
    epochs: Mapping[str, float | None] = field(default_factory=dict)


def _forecast_lines(style: Style, sources: Sequence[SourceSeries], forecast: Forecast) -> list[Trace]:
    traces = []
    for i, source in enumerate(sources[: len(SOURCE_COLORS)]):
        end = forecast.epochs.get(source.name)
        if forecast.last_x is None or end is None or not source.points:
            continue
        now = source.points[-1]
        if now.x < forecast.last_x:
            traces.append(
                line(
                    style,
                    [now.x, forecast.last_x],
                    [now.last, end],
                    name=text(f"{source.name} forecast"),
                    legendgroup=f"source {i}",
                    showlegend=False,
                    is_data=False,
                    meta="forecast",
                    mode="lines+markers",
                    line={"color": source_color(i), "width": 2, "dash": "dash"},
                    marker={"symbol": SOURCE_SYMBOLS[i], "size": [0, 9], "color": source_color(i)},
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
    if len(parts) > len(SOURCE_COLORS):
        parts = [*parts[: len(SOURCE_COLORS)], f"and {len(parts) - len(SOURCE_COLORS)} more"]
    return f"{about} Now: {'; '.join(parts)}." if parts else f"{about} Nothing delivered yet."


def build(sources: Sequence[SourceSeries], forecast: Forecast, style: Style) -> Figure:
    """``sources`` are series of the metric epoch, in job order. The forecast is drawn over steps and tokens."""
    columns, rows = table(style, sources, unit="epochs")
    traces = lines(style, sources, hover="%{y:.3f}")
    traces += _forecast_lines(style, sources, forecast)
    points = every_point(sources)
    if rows and forecast.last_x is not None and points[-1].x < forecast.last_x:
        ends = (forecast.epochs.get(source.name) for source in sources)
        cells: list[Cell] = [style.x(forecast.last_x), *(None if end is None else rounded(end) for end in ends)]
        rows.append(cells)
    axes = {"yaxis": y_axis(style, "epochs", rangemode="tozero")}
    return finish(style, "epochs", TITLE, _description(sources, forecast), traces, axes, columns, rows, points=points)
