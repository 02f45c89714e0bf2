"""How often each source has been read, and will have been by the end of the run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..durations import span
from ..series.schemas import SourceSeries
from .by_source import every_point, lines, table
from .canvas import Style, Trace, finish, line, rounded, text, y_axis
from .palette import SOURCE_COLORS, SOURCE_SYMBOLS, source_color
from .schemas import Cell, Figure

TITLE = "Epochs by source"


@dataclass(frozen=True)
class Forecast:
    """Epochs of each source at the end of the run, at the newest weights; empty when the end is unknown.

    ``last_x`` is the x of the run's last step; None where that is not known. Over time it is where the run ends
    ``in_s`` seconds from now, at ``steps_per_s``; both None where the run has no pace now.
    """

    last_x: float | None = None
    in_s: float | None = None
    steps_per_s: float | None = None
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


def _about(style: Style, forecast: Forecast) -> str:
    read = "How many times each source has been read"
    if style.axis != "time":
        return f"{read}; dashed: where it will be at the newest weights."
    if forecast.in_s is None or forecast.steps_per_s is None:
        unknown = " Nothing is dashed to the end: the run has no pace now that says when that will be."
        return f"{read}.{unknown if forecast.epochs else ''}"
    assumed = f"the present pace of {forecast.steps_per_s:.3g} steps/s, which ends the run in {span(forecast.in_s)}"
    return f"{read}; dashed: where it will be at the newest weights. That assumes {assumed}."


def _description(sources: Sequence[SourceSeries], forecast: Forecast, style: Style) -> str:
    about = _about(style, forecast)
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
    """``sources`` are series of the metric epoch, in job order. The forecast is drawn where its x is known."""
    columns, rows = table(style, sources, unit="epochs")
    traces = lines(style, sources, hover="%{y:.3f}")
    traces += _forecast_lines(style, sources, forecast)
    points = every_point(sources)
    if rows and forecast.last_x is not None and points[-1].x < forecast.last_x:
        ends = (forecast.epochs.get(source.name) for source in sources)
        cells: list[Cell] = [style.x(forecast.last_x), *(None if end is None else rounded(end) for end in ends)]
        rows.append(cells)
    axes = {"yaxis": y_axis(style, "epochs", rangemode="tozero")}
    return finish(
        style, "epochs", TITLE, _description(sources, forecast, style), traces, axes, columns, rows, points=points
    )
