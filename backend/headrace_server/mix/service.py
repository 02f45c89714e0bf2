"""Reading the mix, and what an edit, a revert, a pause and a return make of it."""

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from ..db import announce
from ..errors import ConflictError, InvalidError, MixConflictError, NotFoundError
from ..events.announcements import JobChanged
from ..jobs import access
from ..models import Job, JobSource, MixActivation
from ..models import MixVersion as MixVersionRow
from ..paging import decode_cursor, encode_cursor
from ..runtime import Runtime
from ..work import Work
from . import life, repository, versions
from .schemas import Kind, MixEdit, MixPause, MixRevert, MixVersion, MixVersionPage
from .weights import PPM, WeightError, weights_to_ppm


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


async def describe_one(session: AsyncSession, runtime: Runtime, job_id: int, number: int) -> MixVersion | None:
    """A version with its life now; None when there is no such version."""
    row = await repository.by_number(session, job_id, number)
    if row is None:
        return None
    sources = await access.sources_of(session, [job_id])
    return (await life.describe(session, runtime, [row], sources, await access.newest_attempts(session, [job_id])))[0]


async def newest(work: Work, job: Job) -> MixVersionRow:
    """The newest version; every job has one."""
    return (await repository.newest(work.session, [job.id]))[job.id]


async def by_numbers(work: Work, job: Job, numbers: Collection[int]) -> dict[int, MixVersionRow]:
    """Versions of one job by number; those there are."""
    rows = await repository.by_numbers(work.session, job.id, numbers) if numbers else []
    return {row.version: row for row in rows}


async def describe(work: Work, job: Job, rows: Sequence[MixVersionRow]) -> list[MixVersion]:
    """Versions of one job as others see them."""
    sources = {job.id: await access.sources(work, job)}
    attempt = await access.newest_attempt(work, job)
    return await life.describe(work.session, work.runtime, rows, sources, {} if attempt is None else {job.id: attempt})


async def current(work: Work, job: Job) -> MixVersion:
    """The newest version with its life."""
    return (await describe(work, job, [await newest(work, job)]))[0]


async def note_polls(session: AsyncSession, polls: Mapping[int, float]) -> None:
    """Write when leaders, by job row id, last asked for the mix (Unix seconds)."""
    if polls:
        await repository.note_polls(session, polls)


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


async def matched(work: Work, job: Job, if_match: int | None) -> MixVersionRow:
    """The newest version, which must be the one that was edited; None takes whichever it is. Raises MixConflictError.

    ``job`` must be locked.
    """
    newest_row = await newest(work, job)
    if if_match is not None and newest_row.version != if_match:
        shown = (await describe(work, job, [newest_row]))[0]
        raise MixConflictError(
            f"you edited version {if_match}, but version {newest_row.version} by {newest_row.author} is the newest; "
            "look at it and edit that one",
            extra={"current": shown.model_dump(mode="json")},
        )
    return newest_row


async def make(work: Work, job: Job, parent: MixVersionRow, change: versions.Change, kind: Kind) -> MixVersion:
    """The version after ``parent``; the audit log calls it ``mix.<kind>``."""
    row = await versions.add(work, job, parent, change, f"mix.{kind}")
    return (await describe(work, job, [row]))[0]


async def edited(work: Work, job: Job, body: MixEdit) -> versions.Change:
    """What an edit wants. Raises InvalidError."""
    return versions.Change(
        weights_ppm=normalised(body.weights, await access.sources(work, job)),
        author=work.principal.label,
        reason=body.reason,
        origin="service",
        from_step=body.from_step,
        ramp_steps=body.ramp_steps,
    )


async def reverted(work: Work, job: Job, number: int, body: MixRevert) -> versions.Change:
    """What going back to version ``number`` wants. Raises NotFoundError."""
    older = await repository.by_number(work.session, job.id, number)
    if older is None:
        raise NotFoundError(f"job {job.name!r} has no mix version {number}; GET …/mix/versions lists them")
    return versions.Change(
        weights_ppm=life.ordered(older.weights_ppm, await access.sources(work, job)),
        author=work.principal.label,
        reason=body.reason,
        origin="service",
        reverts=number,
    )


async def paused(work: Work, job: Job, held: MixVersionRow, body: MixPause) -> versions.Change:
    """What stopping a source wants: the others share its weight in proportion. Raises ConflictError, InvalidError."""
    weights = await _weights_with(work, job, held, body.source)
    if weights[body.source] == 0:
        raise ConflictError(f"{body.source!r} is paused already, since version {held.version} at the latest")
    rest = {**weights, body.source: 0}
    if not any(rest.values()):
        raise ConflictError(f"{body.source!r} is the only source with any weight; give another one some before")
    return await _rebalanced(work, job, rest, body)


async def resumed(work: Work, job: Job, held: MixVersionRow, body: MixPause) -> versions.Change:
    """What a source's return wants: its former weight, the others less in proportion. Raises ConflictError."""
    weights = await _weights_with(work, job, held, body.source)
    back = (held.paused or {}).get(body.source)
    if weights[body.source] > 0 or back is None:
        raise ConflictError(f"{body.source!r} is not paused with a weight to return to; edit the weights instead")
    if back == PPM:
        raise ConflictError(f"{body.source!r} had the whole mix, which pauses all others; edit the weights instead")
    # Integers, so that the former weight comes back exactly.
    return await _rebalanced(
        work, job, {name: ppm * (PPM - back) for name, ppm in weights.items()} | {body.source: back * PPM}, body
    )


async def _weights_with(work: Work, job: Job, held: MixVersionRow, source: str) -> dict[str, int]:
    weights = life.ordered(held.weights_ppm, await access.sources(work, job))
    if source not in weights:
        message = f"unknown source {source!r}; the job has {list(weights)}"
        raise InvalidError(message, errors=[{"loc": ["body", "source"], "msg": "unknown source", "value": source}])
    return weights


async def _rebalanced(work: Work, job: Job, weights: Mapping[str, int], body: MixPause) -> versions.Change:
    return versions.Change(
        weights_ppm=normalised(weights, await access.sources(work, job)),
        author=work.principal.label,
        reason=body.reason,
        origin="service",
    )


async def history(work: Work, job: Job, *, cursor: str | None, limit: int) -> MixVersionPage:
    """A page of versions, newest first."""
    rows = await repository.page(work.session, job.id, before=decode_cursor(cursor), limit=limit + 1)
    items = await describe(work, job, rows[:limit])
    return MixVersionPage(items=items, next_cursor=encode_cursor(items[-1].version) if len(rows) > limit else None)


async def activation_rows(work: Work, job: Job) -> Sequence[tuple[MixActivation, UUID]]:
    """Every activation of the job with its attempt's id, by step."""
    rows = await repository.activations(work.session, job.id, lineage=None, from_step=None)
    return [(row, attempt) for row, attempt in rows]
