"""The lines of several jobs, each the job's own series, and the figure of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import InvalidError
from ..figures import comparison
from ..figures.canvas import Style
from ..figures.comparison import Axis, Line, Metric
from ..figures.palette import ThemeName
from ..figures.schemas import Figure
from ..ingest import ranks
from ..jobs import access
from ..models import Job
from ..series import repository as series_repository
from ..series import service as series
from ..series.minutes import Minutes
from ..series.schemas import SeriesPoint
from ..series.service import Query
from ..work import Work
from . import repository

MAX_JOBS = 10


@dataclass(frozen=True, kw_only=True)
class View:
    """What part of the jobs is drawn, and how finely; ``low`` and ``high`` in the axis's units, elapsed in seconds."""

    axis: Axis = "step"
    low: float | None = None
    high: float | None = None
    max_points: int = 300

    def of(self, start: float) -> Query:
        """The part of a job that first started at ``start`` (Unix seconds; 0 where that doesn't matter)."""
        low, high = (None if end is None else end + start for end in (self.low, self.high))
        return Query(
            axis="time" if self.axis == "elapsed" else self.axis, low=low, high=high, max_points=self.max_points
        )


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
    view: View,
    source: str | None,
    theme: ThemeName,
) -> Figure:
    """One measure of the jobs. Raises InvalidError for a share of no source, or a source with what has none."""
    if metric == "share" and source is None:
        raise InvalidError("metric is share, which is of one source; give source=")
    if metric in ("tokens_per_s", "wait_share") and source is not None:
        raise InvalidError(f"source is {source!r}, but {metric} is of the whole job; leave it out")
    names = [job.name for job in compared]
    starts = {job.id: await _first_start(work, job) for job in compared} if view.axis == "elapsed" else {}
    lines = []
    for job in compared:
        start = starts.get(job.id, 0.0)
        points = await _points(work, job, metric, view.of(start), source)
        if start:
            points = [point.model_copy(update={"x": point.x - start}) for point in points]
        # Jobs of two projects may share a name.
        name = job.name if names.count(job.name) == 1 else f"{job.name} ({str(job.uuid)[:8]})"
        lines.append(Line(name, points))
    style = Style(theme=theme, low=view.low, high=view.high)
    return comparison.build(metric, view.axis, lines, style, source, longest_s=await _longest_s(work, compared, starts))


async def _first_start(work: Work, job: Job) -> float:
    return min((attempt.started_at for attempt in await access.attempts(work, job)), default=0.0)


async def _longest_s(work: Work, compared: Sequence[Job], starts: Mapping[int, float]) -> float:
    """From the first start of a job to its last report, of the job where that is longest (seconds)."""
    if not starts:
        return 0.0
    attempts = await access.newest_attempts(work.session, [job.id for job in compared])
    heard = await ranks.totals(work.session, work.runtime, list(attempts.values()), work.now)
    ends = {job_id: heard[attempt.id].received_at for job_id, attempt in attempts.items() if attempt.id in heard}
    return max((end - starts[job_id] for job_id, end in ends.items()), default=0.0)


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
    query, column, line = await series.by_column(work, job, query)
    span = await series.span_of(work, segments, query, column)
    rows = await series_repository.rank_buckets(
        work.session,
        repository.total_loss(segments, span if isinstance(span, Minutes) else None),
        column,
        low=query.low,
        high=query.high,
        max_points=query.max_points,
    )
    points = [series.point(row) for row in rows]
    return points if line is None else series.over_tokens(points, line)
