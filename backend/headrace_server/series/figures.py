"""The figures of a job: what each needs, and the marks that all of them carry."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from ..figures import depth, epochs, loss, mix, throughput, wait
from ..figures.canvas import Style
from ..figures.marks import Mark
from ..figures.palette import ThemeName
from ..figures.schemas import Figure, FigureName
from ..jobs import access
from ..jobs.pace import paces
from ..mix import preview
from ..mix import service as mixes
from ..models import Job
from ..work import Work
from . import repository, service
from .schemas import Axis, Metric, RankMetric, SeriesPoint, SourceSeries
from .service import Query


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """How a figure is drawn: its colours, the smoothing window (a share of what is shown) and about how wide."""

    theme: ThemeName = "light"
    smooth: float = 0.0
    width_px: int = 1000


# More points than this over all sources make a figure slow to send and to draw.
_MAX_SOURCE_POINTS = 24_000
# A pace that leads farther than this (seconds: ten years) says nothing of an end.
_FARTHEST_S = 10 * 365 * 86_400.0


async def build(work: Work, job: Job, name: FigureName, query: Query, drawing: Drawing) -> Figure:
    """A figure of the job, or of one rank where it has its own. Raises NotFoundError for an unknown attempt,
    InvalidError for what is of all ranks only.
    """
    style = Style(
        theme=drawing.theme,
        axis=query.axis,
        marks=await _marks(work, job, query.axis),
        low=query.low,
        high=query.high,
        smooth=drawing.smooth,
        width_px=drawing.width_px,
        rank=query.rank,
    )
    if name == "mix":
        return mix.build(await _sources(work, job, "share", query), style)
    if name == "loss":
        return loss.build(await _sources(work, job, "loss", query), style)
    if name == "epochs":
        return epochs.build(await _sources(work, job, "epoch", query), await _forecast(work, job, query), style)
    if name == "wait":
        return wait.build(await _waits(work, job, query), style)
    metric, draw = _ONE_LINE[name]
    return draw(await _points(work, job, metric, query), style)


_ONE_LINE: dict[str, tuple[RankMetric, Callable[[Sequence[SeriesPoint], Style], Figure]]] = {
    "throughput": ("tokens_per_s", throughput.build),
    "queue": ("queue_depth", depth.build_queue),
    "memory": ("rss_bytes", depth.build_memory),
}


async def _waits(work: Work, job: Job, query: Query) -> wait.WaitSeries:
    return wait.WaitSeries(
        p50_ms=await _points(work, job, "wait_p50_ms", query),
        p99_ms=await _points(work, job, "wait_p99_ms", query),
        max_ms=await _points(work, job, "wait_max_ms", query),
        share=await _points(work, job, "wait_share", query),
    )


async def _points(work: Work, job: Job, metric: RankMetric, query: Query) -> list[SeriesPoint]:
    return (await service.series(work, job, metric, query)).points


async def _sources(work: Work, job: Job, metric: Metric, query: Query) -> list[SourceSeries]:
    num_sources = len(await access.sources(work, job))
    max_points = min(query.max_points, max(20, _MAX_SOURCE_POINTS // max(1, num_sources)))
    return (await service.series(work, job, metric, replace(query, max_points=max_points))).sources or []


async def _forecast(work: Work, job: Job, query: Query) -> epochs.Forecast:
    if job.total_steps is None:
        return epochs.Forecast()
    ends = await preview.epochs_by_end(work, job)
    if query.axis == "time":
        return await _forecast_over_time(work, job, job.total_steps, ends)
    last: float | None = job.total_steps - 1
    if query.axis == "tokens":
        line = await service.token_line(work, job)
        last = None if line is None else line.before(job.total_steps)
    return epochs.Forecast(last_x=last, epochs=ends)


async def _forecast_over_time(
    work: Work, job: Job, total_steps: int, ends: Mapping[str, float | None]
) -> epochs.Forecast:
    """The end of the run where its present pace leads; without one, nobody can say when it will be."""
    pace = (await paces(work.session, work.runtime, [job])).get(job.id)
    if pace is None or pace.ended or pace.step is None or not pace.steps_per_s:
        return epochs.Forecast(epochs=ends)
    in_s = max(0, total_steps - 1 - pace.step) / pace.steps_per_s
    if in_s > _FARTHEST_S:
        return epochs.Forecast(epochs=ends)
    return epochs.Forecast(last_x=work.now + in_s, in_s=in_s, steps_per_s=pace.steps_per_s, epochs=ends)


async def _marks(work: Work, job: Job, axis: Axis) -> list[Mark]:
    over_time = axis == "time"
    line = await service.token_line(work, job) if axis == "tokens" else None

    def x_of(step: int, at: float) -> float:
        return at if over_time else float(step) if line is None else line.before(step)

    marks = []
    for attempt in await repository.attempts_with_reports(work.session, job.id):
        if attempt.number > 1:
            resumed = attempt.resumed_from_step
            about = f"attempt {attempt.number}, " + (
                "from the start" if resumed is None else f"resumed from step {resumed}"
            )
            x = x_of(resumed or 0, attempt.started_at)
            marks.append(Mark(x, f"start {attempt.number}", about, "attempt", attempt.number))
    told: set[tuple[int, int | UUID]] = set()
    for activation, attempt_uuid in await mixes.activation_rows(work, job):
        # A resumed attempt seals the same version at the same step again: one mark over steps.
        key = (activation.version, attempt_uuid if over_time else activation.step)
        if key not in told and not activation.revision.startswith("config:"):
            told.add(key)
            about = f"mix version {activation.version} from step {activation.step}"
            x = x_of(activation.step, activation.at)
            marks.append(Mark(x, f"v{activation.version}", about, "mix", activation.version))
    return marks
