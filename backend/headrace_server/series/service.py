"""A job's series: stitched over attempts, bucketed in SQL; over tokens, by the steps that tokens follow from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Any, get_args
from uuid import UUID

from typing_extensions import TypeIs

from ..db import dialect_of
from ..errors import InvalidError
from ..ingest import ranks
from ..ingest.records import MINUTE_S
from ..jobs import access
from ..models import Job
from ..rollups import repository as rollups_repository
from ..rollups import service as rollups
from ..work import Work
from . import minutes, repository
from .schemas import UNITS, Axis, Column, Metric, RankMetric, Series, SeriesPoint, SourceMetric, SourceSeries
from .segments import Segment, Start, stitch, whole
from .tokens import TokenLine, pieces

# A realised share is measured over at least this many sequences, so that whole sequences show as 1 % at most.
_SHARE_SEQUENCES = 100
# A round of reports is drawn once it is complete, or after this many report intervals.
_COMPLETE_INTERVALS = 2
# A range with more reports than this (of all ranks, or of the one asked for) is drawn from one-minute rollups.
MAX_REPORTS = 50_000
# A minute that ended longer ago than this should be rolled up (seconds); if it isn't, that is made up for.
_LATE_S = rollups.SETTLE_S + 2 * rollups.TICK_S


@dataclass(frozen=True, kw_only=True)
class Query:
    """Which part of a series, and how finely. ``low`` and ``high`` are steps, tokens or Unix seconds, inclusive."""

    axis: Axis = "step"
    low: float | None = None
    high: float | None = None
    max_points: int = 300
    attempt: UUID | None = None
    rank: int | None = None


async def _segments(work: Work, job: Job, attempt: UUID | None) -> list[Segment]:
    if attempt is not None:
        row = await access.find_attempt(work, job, attempt)
        return [whole(Start(row.id, row.resumed_from_step))]
    rows = await repository.attempts_with_reports(work.session, job.id)
    return stitch([Start(row.id, row.resumed_from_step) for row in rows])


async def line(work: Work, job: Job) -> list[Segment]:
    """Which steps of which attempts make up the job's line."""
    return await _segments(work, job, None)


def _is_of_sources(metric: Metric) -> TypeIs[SourceMetric]:
    return metric in get_args(SourceMetric)


def point(row: Any, scale: float = 1.0) -> SeriesPoint:
    """A bucket as others see it, its values times ``scale``."""
    return SeriesPoint(
        x=row.x,
        step=int(row.step),
        peak_step=int(row.peak_step),
        min=row.min * scale,
        max=row.max * scale,
        mean=row.mean * scale,
        last=row.last * scale,
        count=int(row.count),
    )


async def token_line(work: Work, job: Job, attempt: UUID | None = None) -> TokenLine | None:
    """Tokens by step of the job's line, or of one attempt; None before the first report."""
    rows = await repository.attempts_with_reports(work.session, job.id)
    starts = [Start(row.id, row.resumed_from_step) for row in rows]
    held = pieces(starts, await repository.reached(work.session, job.id), job.global_batch_size * job.seq_len)
    return TokenLine.of(await _segments(work, job, attempt), held)


async def by_column(work: Work, job: Job, query: Query) -> tuple[Query, Column, TokenLine | None]:
    """The query as rows are asked: over tokens by step, with the line that then takes points back to tokens."""
    if query.axis != "tokens":
        return query, query.axis, None
    line = await token_line(work, job, query.attempt)
    if line is None:
        return query, "step", None
    low = None if query.low is None else line.first_step(query.low)
    high = None if query.high is None else line.last_step(query.high)
    return replace(query, low=low, high=high), "step", line


def over_tokens(points: Sequence[SeriesPoint], line: TokenLine) -> list[SeriesPoint]:
    """Points over steps as points over tokens."""
    return [point.model_copy(update={"x": line.through(point.step)}) for point in points]


async def series(work: Work, job: Job, metric: Metric, query: Query) -> Series:
    """A metric of the job. Raises NotFoundError for an unknown attempt, InvalidError for a rank with a source's."""
    stepped, column, line = await by_column(work, job, query)
    found = await _series(work, job, metric, stepped, column)
    if line is None:
        return found
    sources = found.sources and [s.model_copy(update={"points": over_tokens(s.points, line)}) for s in found.sources]
    return found.model_copy(update={"points": over_tokens(found.points, line), "sources": sources})


async def _series(work: Work, job: Job, metric: Metric, query: Query, column: Column) -> Series:
    segments = await _segments(work, job, query.attempt)
    if _is_of_sources(metric):
        if query.rank is not None:
            raise InvalidError(f"{metric} is per source over all ranks; leave out rank={query.rank}")
        sources = await _source_series(work, job, metric, segments, query, column)
        return Series(metric=metric, unit=UNITS[metric], x=query.axis, points=[], sources=sources)
    points = await _rank_series(work, job, metric, segments, query, column)
    return Series(metric=metric, unit=UNITS[metric], x=query.axis, points=points)


async def span_of(
    work: Work, segments: list[Segment], query: Query, column: Column
) -> repository.Span | minutes.Minutes | None:
    """Where a range's reports are; Minutes where they are too many or no longer there, None where it isn't known."""
    # First what waits: what is rolled up meanwhile is then found there too, and not in neither.
    due = await rollups_repository.minutes_due(work.session, [segment.attempt_id for segment in segments])
    waiting = list(rollups_repository.stretches(due))
    found = await minutes.extent(work.session, column, segments, query.low, query.high)
    if found.first_minute is None:
        return repository.Span(begin=0.0, end=0.0, waiting=waiting) if waiting else None
    num_reports = found.num_reports if query.rank is None else found.num_rounds
    if num_reports > MAX_REPORTS or found.first_minute < work.now - work.runtime.settings.keep_reports_s:
        late = [(attempt_id, minute) for attempt_id, minute in due if minute + MINUTE_S + _LATE_S <= work.now]
        return minutes.Minutes(dialect_of(work.session), list(rollups_repository.stretches(late)))
    return repository.Span(
        begin=found.first_minute - MINUTE_S if query.low is not None else 0.0,
        end=found.last_minute + 2 * MINUTE_S if query.high is not None else inf,
        waiting=waiting,
    )


async def _rank_series(
    work: Work, job: Job, metric: RankMetric, segments: list[Segment], query: Query, column: Column
) -> list[SeriesPoint]:
    if not segments:
        return []
    span = await span_of(work, segments, query, column)
    if isinstance(span, minutes.Minutes):
        rounds = minutes.rank_rounds(metric, segments, query.rank, span)
    else:
        interval_s = ranks.interval_of(work.runtime, await access.newest_attempt(work, job))
        rounds = repository.rank_rounds(
            metric,
            segments,
            query.rank,
            complete_before=work.now - _COMPLETE_INTERVALS * interval_s,
            span=span,
        )
    rows = await repository.rank_buckets(
        work.session, rounds, column, low=query.low, high=query.high, max_points=query.max_points
    )
    return [point(row) for row in rows]


async def _source_series(
    work: Work, job: Job, metric: SourceMetric, segments: list[Segment], query: Query, column: Column
) -> list[SourceSeries]:
    sources = await access.sources(work, job)
    points: dict[int, list[SeriesPoint]] = {source.id: [] for source in sources}
    targets: dict[int, list[float]] = {source.id: [] for source in sources}
    scales = {
        source.id: job.seq_len / source.num_tokens if metric == "epoch" and source.num_tokens else 1.0
        for source in sources
    }
    if segments:
        span = await span_of(work, segments, query, column)
        rows = await repository.source_buckets(
            work.session,
            minutes.source_rows(metric, span) if isinstance(span, minutes.Minutes) else repository.source_rows(),
            metric,
            column,
            segments,
            low=query.low,
            high=query.high,
            max_points=query.max_points,
            window_steps=max(1, ceil(_SHARE_SEQUENCES / job.global_batch_size)),
        )
        for row in rows:
            points[row.source_id].append(point(row, scales[row.source_id]))
            targets[row.source_id].append(row.target_ppm / 1_000_000)
    return [
        SourceSeries(
            name=source.name,
            points=points[source.id],
            target=targets[source.id] if metric == "share" else None,
        )
        for source in sources
    ]
