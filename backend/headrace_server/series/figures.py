"""The figures of a job: what each needs, and the marks that all of them carry."""

from collections.abc import Callable, Sequence
from uuid import UUID

from ..figures import depth, epochs, loss, mix, throughput, wait
from ..figures.canvas import Mark, Style
from ..figures.palette import ThemeName
from ..figures.schemas import Figure, FigureName
from ..mix import preview
from ..mix import service as mixes
from ..models import Job
from ..work import Work
from . import repository, service
from .schemas import Axis, Metric, RankMetric, SeriesPoint, SourceSeries
from .service import Query


async def build(work: Work, job: Job, name: FigureName, query: Query, theme: ThemeName) -> Figure:
    """A figure of the job, or of one rank where it has its own. Raises NotFoundError for an unknown attempt,
    InvalidError for what is of all ranks only.
    """
    style = Style(theme=theme, axis=query.axis, marks=await _marks(work, job, query.axis), rank=query.rank)
    if name == "mix":
        return mix.build(await _sources(work, job, "share", query), style)
    if name == "loss":
        return loss.build(await _sources(work, job, "loss", query), style)
    if name == "epochs":
        return epochs.build(await _sources(work, job, "epoch", query), await _forecast(work, job), style)
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
    return (await service.series(work, job, metric, query)).sources or []


async def _forecast(work: Work, job: Job) -> epochs.Forecast:
    ends = await preview.epochs_by_end(work, job)
    if job.total_steps is None:
        return epochs.Forecast()
    return epochs.Forecast(last_step=job.total_steps - 1, epochs=ends)


async def _marks(work: Work, job: Job, axis: Axis) -> list[Mark]:
    by_step = axis == "step"
    marks = []
    for attempt in await repository.attempts_with_reports(work.session, job.id):
        if attempt.number > 1:
            resumed = attempt.resumed_from_step
            about = f"attempt {attempt.number}, " + (
                "from the start" if resumed is None else f"resumed from step {resumed}"
            )
            x = float(resumed or 0) if by_step else attempt.started_at
            marks.append(Mark(x, f"start {attempt.number}", about, "attempt"))
    told: set[tuple[int, int | UUID]] = set()
    for activation, attempt_uuid in await mixes.activation_rows(work, job):
        # A resumed attempt seals the same version at the same step again: one mark over steps.
        key = (activation.version, activation.step if by_step else attempt_uuid)
        if key not in told and not activation.revision.startswith("config:"):
            told.add(key)
            about = f"mix version {activation.version} from step {activation.step}"
            x = float(activation.step) if by_step else activation.at
            marks.append(Mark(x, f"v{activation.version}", about, "mix"))
    return marks
