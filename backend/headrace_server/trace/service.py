"""What a step took from each source, of which mix, and whose record says so."""

import asyncio
from collections.abc import Sequence

from ..jobs import access
from ..mix import service as mixes
from ..models import Attempt, Job, JobSource
from ..series import service as series
from ..series.segments import Segment
from ..work import Work
from . import repository
from .allocation import Counts
from .batch import Found, Run, batch_of, epoch_at
from .repository import Standing
from .revisions import Begun, Revision, Sealed, Weights, log_of, revision_at
from .schemas import StepTrace, TraceAttempt, TraceMix, TraceSource


async def trace(work: Work, job: Job, step: int) -> StepTrace:
    """The global batch of a step by sources: of the line that counts, where attempts trained it more than once."""
    sources = await access.sources(work, job)
    attempts = await access.attempts(work, job)
    last_steps = await repository.last_steps(work.session, job.id)
    segments = await series.line(work, job)
    last_step = last_steps.get(segments[-1].attempt_id) if segments else None
    log = await _log(work, job, attempts)
    before = await repository.nearest(work.session, segments, step, "before")
    after = await repository.nearest(work.session, segments, step, "from")
    run = Run(
        names=[source.name for source in sources],
        global_batch_size=job.global_batch_size,
        ends=[source.end_ordinal for source in sources],
        log=log,
    )
    known = _counts(before, sources)
    if known is None and segments and segments[0].fresh:
        known = Counts(0, (0,) * len(sources))
    found = await asyncio.to_thread(batch_of, run, step, known, _counts(after, sources), last_step)
    revision = revision_at(log, step)
    return StepTrace(
        step=step,
        last_step=last_step,
        num_sequences=None if found.after is None else sum(found.after) - sum(found.before or ()),
        certainty=found.certainty,
        statement=found.statement,
        attempts=_attempts(attempts, segments, last_steps, step),
        mix=None if revision is None else _mix(revision, step),
        sources=_parts(job, sources, run, step, found, before, after),
    )


async def _log(work: Work, job: Job, attempts: Sequence[Attempt]) -> list[Revision]:
    by_id = {attempt.uuid: attempt.number for attempt in attempts}
    begun = {
        attempt.number: Begun(
            str(attempt.lineage), None if attempt.parent_lineage is None else str(attempt.parent_lineage)
        )
        for attempt in attempts
    }
    sealed = [
        Sealed(
            Revision(row.revision, row.version, row.step, row.weights_ppm, row.ramp_steps),
            str(row.lineage),
            by_id[attempt],
        )
        for row, attempt in await mixes.activation_rows(work, job)
    ]
    return log_of(sealed, begun)


def _counts(standing: Standing | None, sources: Sequence[JobSource]) -> Counts | None:
    if standing is None:
        return None
    # A source that wasn't there yet has given nothing; the sum of all is checked.
    return Counts(standing.step + 1, tuple(standing.at.get(source.id, (0, 0))[0] for source in sources))


def _attempts(
    attempts: Sequence[Attempt], segments: Sequence[Segment], last_steps: dict[int, int], step: int
) -> list[TraceAttempt]:
    holding = next(
        (part.attempt_id for part in segments if part.first <= step and (part.end is None or step < part.end)), None
    )
    return [
        TraceAttempt(
            id=attempt.uuid,
            number=attempt.number,
            holds=attempt.id == holding,
            first_step=attempt.resumed_from_step or 0,
            last_step=last_steps[attempt.id],
        )
        for attempt in attempts
        if attempt.id in last_steps and (attempt.resumed_from_step or 0) <= step <= last_steps[attempt.id]
    ]


def _mix(revision: Revision, step: int) -> TraceMix:
    return TraceMix(
        version=revision.version,
        revision=revision.id,
        from_step=revision.from_step,
        ramp_steps=revision.ramp_steps,
        ramp_done=min(step - revision.from_step, revision.ramp_steps),
    )


def _parts(
    job: Job,
    sources: Sequence[JobSource],
    run: Run,
    step: int,
    found: Found,
    before: Standing | None,
    after: Standing | None,
) -> list[TraceSource]:
    has_mix = bool(run.log) and run.log[0].from_step <= step
    weights: Sequence[int | None] = Weights(run.log, run.names).at(step) if has_mix else [None] * len(sources)
    return [_part(job, source, weights[k], _span(found, k), before, after) for k, source in enumerate(sources)]


def _span(found: Found, k: int) -> tuple[int, int] | None:
    """The ordinals of a source in the step: from the first to before the second."""
    return None if found.before is None or found.after is None else (found.before[k], found.after[k])


def _part(
    job: Job,
    source: JobSource,
    weight_ppm: int | None,
    span: tuple[int, int] | None,
    before: Standing | None,
    after: Standing | None,
) -> TraceSource:
    given = None if span is None or span[0] == span[1] else (span[0], span[1] - 1)
    epochs = None if given is None else [_epoch(job, source, ordinal, before, after) for ordinal in given]
    return TraceSource(
        source=source.name,
        weight_ppm=weight_ppm,
        num_sequences=None if span is None else span[1] - span[0],
        first_ordinal=None if given is None else given[0],
        last_ordinal=None if given is None else given[1],
        first_epoch=None if epochs is None else epochs[0],
        last_epoch=None if epochs is None else epochs[1],
    )


def _epoch(job: Job, source: JobSource, ordinal: int, before: Standing | None, after: Standing | None) -> int | None:
    known = None
    if after is not None and source.id in after.at:
        start = (0, 0) if before is None else before.at.get(source.id, (0, 0))
        known = (start[1], after.at[source.id][1])
    ends_by_tokens = job.packing == "concat" and source.num_tokens > 0
    return epoch_at(ordinal * job.seq_len // source.num_tokens if ends_by_tokens else None, known)
