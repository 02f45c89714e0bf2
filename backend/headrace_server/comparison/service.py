"""The lines of several jobs, each the job's own series, and the figure of them."""

from collections.abc import Sequence

from ..errors import InvalidError
from ..figures import comparison
from ..figures.canvas import Style
from ..figures.comparison import Axis, Line, Metric
from ..figures.palette import ThemeName
from ..figures.schemas import Figure
from ..jobs import access
from ..models import Job
from ..series import repository as series_repository
from ..series import service as series
from ..series.minutes import Minutes
from ..series.schemas import Column, SeriesPoint
from ..series.service import Query
from ..work import Work
from . import repository

MAX_JOBS = 10


async def jobs(work: Work, first: Job, others: Sequence[str]) -> list[Job]:
    """The jobs to compare, each once. Raises NotFoundError for one that the caller may not see, InvalidError."""
    found = {first.id: first}
    for other in others:
        job = await access.find_job(work, other)
        found.setdefault(job.id, job)
    if len(found) > MAX_JOBS:
        raise InvalidError(f"{len(found)} jobs are given; at most {MAX_JOBS} are compared at once")
    return list(found.values())


async def figure(
    work: Work,
    compared: Sequence[Job],
    metric: Metric,
    *,
    axis: Axis,
    source: str | None,
    theme: ThemeName,
    max_points: int,
) -> Figure:
    """One measure of the jobs. Raises InvalidError for a share of no source, or a source with what has none."""
    if metric == "share" and source is None:
        raise InvalidError("metric is share, which is of one source; give source=")
    if metric in ("tokens_per_s", "wait_share") and source is not None:
        raise InvalidError(f"source is {source!r}, but {metric} is of the whole job; leave it out")
    query = Query(axis="step" if axis == "step" else "time", max_points=max_points)
    lines = []
    names = [job.name for job in compared]
    for job in compared:
        points = await _points(work, job, metric, query, source)
        if axis == "elapsed":
            start = await _first_start(work, job)
            points = [point.model_copy(update={"x": point.x - start}) for point in points]
        # Jobs of two projects may share a name.
        name = job.name if names.count(job.name) == 1 else f"{job.name} ({str(job.uuid)[:8]})"
        lines.append(Line(name, points))
    return comparison.build(metric, axis, lines, Style(theme=theme), source)


async def _first_start(work: Work, job: Job) -> float:
    return min((attempt.started_at for attempt in await access.attempts(work, job)), default=0.0)


async def _points(work: Work, job: Job, metric: Metric, query: Query, source: str | None) -> Sequence[SeriesPoint]:
    if metric == "loss" and source is None:
        return await _total_loss(work, job, query)
    found = await series.series(work, job, metric, query)
    if found.sources is None:
        return found.points
    return next((each.points for each in found.sources if each.name == source), [])


async def _total_loss(work: Work, job: Job, query: Query) -> Sequence[SeriesPoint]:
    segments = await series.line(work, job)
    if not segments:
        return []
    column: Column = "time" if query.axis == "time" else "step"
    span = await series.span_of(work, segments, query, column)
    rows = await series_repository.rank_buckets(
        work.session,
        repository.total_loss(segments, span if isinstance(span, Minutes) else None),
        column,
        low=query.low,
        high=query.high,
        max_points=query.max_points,
    )
    return [series.point(row) for row in rows]
