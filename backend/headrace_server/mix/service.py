"""Reading, editing, reverting and previewing the mix."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from ..db import announce
from ..errors import InvalidError, MixConflictError, NotFoundError
from ..events.announcements import JobChanged
from ..ingest import ranks
from ..jobs import access
from ..models import Job, JobSource, MixActivation
from ..models import MixVersion as MixVersionRow
from ..paging import decode_cursor, encode_cursor
from ..work import Work
from . import forecast, life, repository, versions
from .schemas import (
    MixEdit,
    MixPreview,
    MixPreviewRequest,
    MixPreviewWarning,
    MixRevert,
    MixVersion,
    MixVersionPage,
)
from .weights import WeightError, weights_to_ppm


async def newest_of(session: AsyncSession, job_ids: Sequence[int]) -> dict[int, MixVersionRow]:
    """The newest version of each job, by the job's row id."""
    return await repository.newest(session, job_ids)


async def versions_in_force(session: AsyncSession, revisions: dict[int, str]) -> dict[int, int]:
    """The version that the revision in force in each job (by row id) is; ``service:3`` is version 3."""
    found = {
        job_id: int(name.removeprefix("service:"))
        for job_id, name in revisions.items()
        if name.startswith("service:") and name.removeprefix("service:").isdecimal()
    }
    others = {job_id: name for job_id, name in revisions.items() if job_id not in found}
    return found | (await repository.versions_of_revisions(session, others) if others else {})


async def describe_one(session: AsyncSession, job_id: int, number: int) -> MixVersion | None:
    """A version with its life now; None when there is no such version."""
    row = await repository.by_number(session, job_id, number)
    if row is None:
        return None
    sources = await access.sources_of(session, [job_id])
    return (await life.describe(session, [row], sources, await access.newest_attempts(session, [job_id])))[0]


async def newest(work: Work, job: Job) -> MixVersionRow:
    """The newest version; every job has one."""
    return (await repository.newest(work.session, [job.id]))[job.id]


async def describe(work: Work, job: Job, rows: Sequence[MixVersionRow]) -> list[MixVersion]:
    """Versions of one job as others see them."""
    sources = {job.id: await access.sources(work, job)}
    attempt = await access.newest_attempt(work, job)
    return await life.describe(work.session, rows, sources, {} if attempt is None else {job.id: attempt})


async def current(work: Work, job: Job) -> MixVersion:
    """The newest version with its life."""
    return (await describe(work, job, [await newest(work, job)]))[0]


async def leader_saw(session: AsyncSession, job: Job, version: int, now: float) -> None:
    """A leader fetched ``version``: it counts as seen, if it is still the newest."""
    row = (await repository.newest(session, [job.id]))[job.id]
    if row.version == version and life.mark_seen(session, row, now):
        announce(session, JobChanged(job.id))


def normalised(weights: Mapping[str, float], sources: Sequence[JobSource]) -> dict[str, int]:
    """Weights in ppm. Raises InvalidError naming the source."""
    try:
        return weights_to_ppm(weights, [source.name for source in sources])
    except WeightError as error:
        loc: list[str | int] = ["body", "weights", *([error.source] if error.source is not None else [])]
        raise InvalidError(str(error), errors=[{"loc": loc, "msg": str(error), "value": error.value}]) from error


async def _parent(work: Work, job: Job, if_match: int) -> MixVersionRow:
    parent = await newest(work, job)
    if parent.version != if_match:
        shown = (await describe(work, job, [parent]))[0]
        raise MixConflictError(
            f"you edited version {if_match}, but version {parent.version} by {parent.author} is the newest; "
            "look at it and edit that one",
            extra={"current": shown.model_dump(mode="json")},
        )
    return parent


async def edit(work: Work, job: Job, if_match: int, body: MixEdit) -> MixVersion:
    """Make a new version from an operator's weights. Raises MixConflictError, InvalidError."""
    parent = await _parent(work, job, if_match)
    change = versions.Change(
        weights_ppm=normalised(body.weights, await access.sources(work, job)),
        author=work.principal.label,
        reason=body.reason,
        origin="service",
        from_step=body.from_step,
        ramp_steps=body.ramp_steps,
    )
    row = await versions.add(work, job, parent, change, "mix.edit")
    return (await describe(work, job, [row]))[0]


async def revert(work: Work, job: Job, if_match: int, number: int, body: MixRevert) -> MixVersion:
    """Make a new version with an older one's weights. Raises MixConflictError, NotFoundError."""
    parent = await _parent(work, job, if_match)
    older = await repository.by_number(work.session, job.id, number)
    if older is None:
        raise NotFoundError(f"job {job.name!r} has no mix version {number}; the newest is {parent.version}")
    change = versions.Change(
        weights_ppm=life.ordered(older.weights_ppm, await access.sources(work, job)),
        author=work.principal.label,
        reason=body.reason,
        origin="service",
        reverts=number,
    )
    row = await versions.add(work, job, parent, change, "mix.revert")
    return (await describe(work, job, [row]))[0]


async def history(work: Work, job: Job, *, cursor: str | None, limit: int) -> MixVersionPage:
    """A page of versions, newest first."""
    rows = await repository.page(work.session, job.id, before=decode_cursor(cursor), limit=limit + 1)
    items = await describe(work, job, rows[:limit])
    return MixVersionPage(items=items, next_cursor=encode_cursor(items[-1].version) if len(rows) > limit else None)


async def preview(work: Work, job: Job, body: MixPreviewRequest) -> MixPreview:
    """What the weights would mean, changing nothing. Raises InvalidError."""
    sources = await access.sources(work, job)
    wanted = normalised(body.weights, sources)
    held = life.ordered((await newest(work, job)).weights_ppm, sources)
    outlooks, steps_left = await outlook(work, job, sources, wanted)
    epochs = _epochs(job, outlooks, steps_left, body.ramp_steps)
    found = forecast.warnings_for(outlooks, epochs, job.global_batch_size)
    return MixPreview(
        weights_ppm=wanted,
        delta_ppm={name: ppm - held[name] for name, ppm in wanted.items()},
        epochs_at_end=epochs,
        warnings=[MixPreviewWarning(code=w.code, source=w.source, message=w.message) for w in found],
    )


async def epochs_by_end(work: Work, job: Job) -> dict[str, float | None]:
    """Epochs of each source by the end of the run, at the newest weights."""
    sources = await access.sources(work, job)
    version = await newest(work, job)
    outlooks, steps_left = await outlook(work, job, sources, life.ordered(version.weights_ppm, sources))
    return _epochs(job, outlooks, steps_left, version.ramp_steps if life.is_open(version) else 0)


def _epochs(
    job: Job, outlooks: Sequence[forecast.SourceOutlook], steps_left: int | None, ramp_steps: int
) -> dict[str, float | None]:
    return {
        source.name: forecast.epochs_at_end(
            source, steps_left=steps_left, global_batch_size=job.global_batch_size, ramp_steps=ramp_steps
        )
        for source in outlooks
    }


async def outlook(
    work: Work, job: Job, sources: Sequence[JobSource], wanted: Mapping[str, int]
) -> tuple[list[forecast.SourceOutlook], int | None]:
    """Each source now and under ``wanted``, and how many steps are left (None when the end is unknown)."""
    attempt = await access.newest_attempt(work, job)
    standing = None
    if attempt is not None:
        standing = (await ranks.standings(work.session, [attempt])).get(attempt.id)
    held = life.ordered((await newest(work, job)).weights_ppm, sources)
    outlooks = []
    for source in sources:
        now = None if standing is None else standing.sources.get(source.name)
        outlooks.append(
            forecast.SourceOutlook(
                name=source.name,
                delivered_sequences=0 if now is None else now.ordinal,
                epoch_sequences=source.num_tokens / job.seq_len,
                before_ppm=held[source.name] if now is None else now.target_ppm,
                after_ppm=wanted[source.name],
            )
        )
    if job.total_steps is None:
        return outlooks, None
    done = 0 if standing is None else standing.step + 1
    return outlooks, max(0, job.total_steps - done)


async def activation_rows(work: Work, job: Job) -> Sequence[tuple[MixActivation, UUID]]:
    """Every activation of the job with its attempt's id, by step."""
    rows = await repository.activations(work.session, job.id, lineage=None, from_step=None)
    return [(row, attempt) for row, attempt in rows]
