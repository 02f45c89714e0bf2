"""/jobs/{j}/series and /jobs/{j}/figures/{name}."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query

from ..fields import MAX_RANKS
from ..figures.palette import ThemeName
from ..figures.schemas import Figure, FigureName
from ..jobs import access
from ..jobs.endpoints import JobId
from ..work import Work, reading
from . import figures, service
from .schemas import Axis, Metric, Series

Smooth = Annotated[
    float, Query(ge=0, le=0.5, allow_inf_nan=False, description="window of means smoothed, as a share of what is shown")
]
router = APIRouter(tags=["series"])


@router.get("/jobs/{job}/series")
async def get_series(
    job: JobId,
    work: Annotated[Work, reading("read")],
    metric: Annotated[Metric, Query()],
    x: Annotated[Axis, Query(description="steps, tokens of the run, or Unix seconds")] = "step",
    low: Annotated[float | None, Query(alias="from", allow_inf_nan=False, ge=-1e15, le=1e15)] = None,
    high: Annotated[float | None, Query(alias="to", allow_inf_nan=False, ge=-1e15, le=1e15)] = None,
    max_points: Annotated[int, Query(ge=1, le=2000)] = 300,
    attempt: Annotated[UUID | None, Query(description="one attempt's whole line")] = None,
    rank: Annotated[int | None, Query(ge=0, lt=MAX_RANKS)] = None,
) -> Series:
    """A metric over steps, tokens or time, in at most `max_points` buckets that keep their extremes."""
    query = service.Query(axis=x, low=low, high=high, max_points=max_points, attempt=attempt, rank=rank)
    return await service.series(work, await access.find_job(work, job), metric, query)


@router.get("/jobs/{job}/figures/{name}")
async def get_figure(
    job: JobId,
    name: Annotated[FigureName, Path()],
    work: Annotated[Work, reading("read")],
    x: Annotated[Axis, Query(description="steps, tokens of the run, or time")] = "step",
    theme: Annotated[ThemeName, Query()] = "light",
    low: Annotated[float | None, Query(alias="from", allow_inf_nan=False, ge=-1e15, le=1e15)] = None,
    high: Annotated[float | None, Query(alias="to", allow_inf_nan=False, ge=-1e15, le=1e15)] = None,
    max_points: Annotated[int, Query(ge=1, le=2000)] = 300,
    attempt: Annotated[UUID | None, Query(description="one attempt's whole line")] = None,
    rank: Annotated[int | None, Query(ge=0, lt=MAX_RANKS, description="of one rank, where it is one's own")] = None,
    smooth: Smooth = 0.0,
    width_px: Annotated[int, Query(ge=100, le=10_000, description="about how wide: marks' labels need room")] = 1000,
) -> Figure:
    """A chart as Plotly draws it, with its description, its marks and the same numbers as a table."""
    query = service.Query(axis=x, low=low, high=high, max_points=max_points, attempt=attempt, rank=rank)
    drawing = figures.Drawing(theme=theme, smooth=smooth, width_px=width_px)
    return await figures.build(work, await access.find_job(work, job), name, query, drawing)
