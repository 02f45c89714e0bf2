"""The realised mix as stacked bands, the weights asked for as dashed boundaries."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from ..series.schemas import SourceSeries
from .by_source import every_point
from .canvas import Style, finish, line, rounded, text, y_axis
from .palette import OTHER_COLOR, SOURCE_COLORS, other, source_color, translucent
from .schemas import Cell, Figure, TableColumn

TITLE = "Target and realised mix"
_LABEL_CHARS = 24
_TOLD = len(SOURCE_COLORS)


class _Grid:
    """Realised and target shares of every source at every x that any of them has."""

    def __init__(self, sources: Sequence[SourceSeries]) -> None:
        self.names = [source.name for source in sources]
        self.realised = [{point.x: point.mean for point in source.points} for source in sources]
        self.target = [
            dict(zip((point.x for point in source.points), source.target or [], strict=True)) for source in sources
        ]
        self.xs = sorted({x for held in self.realised for x in held})

    def bands(self) -> list[tuple[str, str, list[float], list[float]]]:
        """(name, colour, realised, target) of each band; sources past the palette are one."""
        shown = len(SOURCE_COLORS)
        bands = [
            (name, source_color(i), self._row(self.realised[i : i + 1]), self._row(self.target[i : i + 1]))
            for i, name in enumerate(self.names[:shown])
        ]
        if len(self.names) > shown:
            bands.append(
                (
                    other(len(self.names) - shown),
                    OTHER_COLOR,
                    self._row(self.realised[shown:]),
                    self._row(self.target[shown:]),
                )
            )
        return bands

    def _row(self, held: Sequence[dict[float, float]]) -> list[float]:
        return [sum(shares.get(x, 0.0) for shares in held) for x in self.xs]


def _description(grid: _Grid) -> str:
    about = "Share of sequences delivered from each source (bands) against the weights asked for (dashed)."
    if not grid.xs:
        return f"{about} Nothing delivered yet."
    x = grid.xs[-1]
    last = ", ".join(
        f"{name} {realised.get(x, 0.0):.1%} (target {target.get(x, 0.0):.1%})"
        for name, realised, target in zip(grid.names[:_TOLD], grid.realised, grid.target, strict=False)
    )
    rest = len(grid.names) - _TOLD
    return f"{about} Last: {last}{f', and {rest} more' if rest > 0 else ''}."


_LABEL_SHARE = 0.06
"""A band thinner than this at its end has no room for its name; the legend has it."""


def _names(
    style: Style, last_x: float, bands: Sequence[tuple[str, str, list[float], list[float]]]
) -> list[dict[str, Any]]:
    """The name of each band, inside it at its end: what tells the bands apart without colour."""
    notes, below = [], 0.0
    for name, _, realised, _ in bands:
        share = realised[-1]
        if share >= _LABEL_SHARE:
            short = name if len(name) <= _LABEL_CHARS else f"{name[: _LABEL_CHARS - 1]}…"
            notes.append(
                {
                    "xref": "x",
                    "yref": "y",
                    "x": style.x(last_x),
                    "y": below + share / 2,
                    "text": text(short),
                    "showarrow": False,
                }
                | {"xanchor": "right", "yanchor": "middle", "bgcolor": style.colors.surface, "opacity": 0.9}
                | {"font": {"size": 11, "color": style.colors.text}, "borderpad": 2}
            )
        below += share
    return notes


def build(sources: Sequence[SourceSeries], style: Style) -> Figure:
    """``sources`` are series of the metric share, in job order."""
    grid = _Grid(sources)
    bands = grid.bands() if grid.xs else []
    traces = [
        line(
            style,
            grid.xs,
            realised,
            name=text(name),
            stackgroup="mix",
            customdata=[rounded(share) for share in target],
            hovertemplate="%{y:.1%} (target %{customdata:.1%})",
            fillcolor=translucent(color, 0.75),
            line={"color": color, "width": 1, "shape": "vh"},
        )
        for name, color, realised, target in bands
    ]
    # The last boundary is always 100 %.
    sums = zip(*(accumulate(column) for column in zip(*(band[3] for band in bands), strict=True)), strict=True)
    for i, boundary in enumerate(list(sums)[:-1]):
        traces.append(
            line(
                style,
                grid.xs,
                list(boundary),
                name="target",
                legendgroup="target",
                showlegend=i == 0,
                hoverinfo="skip",
                line={"color": style.colors.text, "width": 1.5, "dash": "dash", "shape": "vh"},
            )
        )
    columns = [
        TableColumn(key=f"{kind}_{i}", label=f"{name} {kind}", unit="%")
        for i, name in enumerate(grid.names)
        for kind in ("target", "realised")
    ]
    rows = [_row(grid, x, style) for x in grid.xs]
    axes = {"yaxis": y_axis(style, "share of sequences (%)", tickformat=".0%", range=[0, 1])}
    return finish(
        style,
        "mix",
        TITLE,
        _description(grid),
        traces,
        axes,
        columns,
        rows,
        points=every_point(sources),
        notes=_names(style, grid.xs[-1], bands) if bands else [],
    )


def _row(grid: _Grid, x: float, style: Style) -> list[Cell]:
    cells: list[Cell] = [style.x(x)]
    for realised, target in zip(grid.realised, grid.target, strict=True):
        cells += [None if x not in held else rounded(100 * held[x]) for held in (target, realised)]
    return cells
