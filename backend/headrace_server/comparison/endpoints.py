"""/jobs/{j}/comparison/{metric}."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field

from ..fields import Name
from ..figures.comparison import Axis, Metric
from ..figures.palette import ThemeName
from ..figures.schemas import Figure
from ..jobs import access
from ..jobs.endpoints import JobId
from ..work import Work, reading
from . import service

router = APIRouter(tags=["comparison"])
Others = Annotated[
    list[Annotated[str, Field(max_length=64)]],
    Query(alias="with", max_length=service.MAX_JOBS, description="ids of the other jobs, nine at most"),
]


@router.get("/jobs/{job}/comparison/{metric}")
async def compare_jobs(
    job: JobId,
    metric: Annotated[Metric, Path()],
    work: Annotated[Work, reading("read")],
    others: Others = [],  # noqa: B006
    x: Annotated[Axis, Query(description="steps, tokens, or the time since each job first started")] = "step",
    low: Annotated[float | None, Query(alias="from", allow_inf_nan=False, ge=-1e15, le=1e15)] = None,
    high: Annotated[float | None, Query(alias="to", allow_inf_nan=False, ge=-1e15, le=1e15)] = None,
    source: Annotated[Name | None, Query(description="of which source: share needs one, loss may have one")] = None,
    theme: Annotated[ThemeName, Query()] = "light",
    max_points: Annotated[int, Query(ge=1, le=2000)] = 300,
) -> Figure:
    """One measure of several jobs as a chart, a line a job; a part of the time since start is given in seconds."""
    compared = await service.jobs(work, await access.find_job(work, job), others)
    view = service.View(axis=x, low=low, high=high, max_points=max_points)
    return await service.figure(work, compared, metric, view=view, source=source, theme=theme)
