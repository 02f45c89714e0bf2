"""Registering, changing and listing jobs; starting and ending attempts."""

import uuid
from datetime import UTC, datetime

from ..audit import service as audit
from ..db import announce
from ..errors import ConflictError, InvalidError
from ..events.announcements import JobChanged
from ..mix import service as mix
from ..mix import versions
from ..models import Attempt as AttemptRow
from ..models import Job as JobRow
from ..models import JobSource as JobSourceRow
from ..models import Project
from ..paging import decode_cursor, encode_cursor
from ..webhooks import outbox
from ..work import Work
from . import access, listing, repository, summary
from .schemas import (
    Attempt,
    AttemptBeginning,
    AttemptCreate,
    AttemptList,
    AttemptPatch,
    Beginning,
    Job,
    JobCreate,
    JobPage,
    JobPatch,
    JobQuery,
    JobSource,
    JobSourceReply,
    JobSummary,
)

# How many jobs are looked through at once when filtering by state, which is derived.
_SCAN = 100
# And how many times for one page.
_MAX_SCANS = 20


async def register(work: Work, project: Project, body: JobCreate) -> Job:
    """The project's job of this name, made if need be; its size and its end are brought up to date.

    Raises NotFoundError for a key that is for another job.
    """
    work.admit(project.id, f"job {body.name!r}", job=body.name)
    made = await repository.insert_if_new(
        work.session,
        {
            "uuid": uuid.uuid4(),
            "project_id": project.id,
            "owner": work.principal.label,
            "archived": False,
            "created_at": work.now,
            **body.model_dump(exclude={"sources"}),
        },
    )
    job = await repository.by_name(work.session, project.id, body.name)
    if made:
        await _first_sources(work, job, body)
    else:
        job.total_steps = body.total_steps
        await _refresh_sources(work, job, body.sources)
    announce(work.session, JobChanged(job.id))
    await work.session.flush()
    return await describe(work, job)


async def _first_sources(work: Work, job: JobRow, body: JobCreate) -> None:
    for position, source in enumerate(body.sources):
        work.session.add(JobSourceRow(job_id=job.id, position=position, **source.model_dump()))
    await work.session.flush()
    audit.record(work, "job.create", project_id=job.project_id, job_id=job.id, after={"name": job.name})
    change = versions.Change(
        weights_ppm={source.name: source.weight_ppm for source in body.sources},
        author="config",
        reason="configured weights",
        origin="config",
    )
    await versions.add(work, job, None, change, "mix.configure")


async def _refresh_sources(work: Work, job: JobRow, given: list[JobSource]) -> None:
    held = {source.name: source for source in await access.sources(work, job)}
    added = [source for source in given if source.name not in held]
    for source in given:
        if source.name in held:
            row = held[source.name]
            row.num_documents, row.num_tokens = source.num_documents, source.num_tokens
            row.num_shards, row.end_ordinal = source.num_shards, source.end_ordinal
    for position, source in enumerate(added, start=len(held)):
        values = {**source.model_dump(), "weight_ppm": 0}
        work.session.add(JobSourceRow(job_id=job.id, position=position, **values))
    await work.session.flush()
    newest = await mix.newest(work, job)
    gone = set(held) - {source.name for source in given}
    dropped = sorted(name for name in gone if newest.weights_ppm.get(name))
    if not added and not dropped:
        return
    # The loader made a mix of the sources that it has now; one that is gone keeps its place, paused.
    weights = dict.fromkeys(held, 0) | {source.name: source.weight_ppm for source in given}
    names = ", ".join([*(f"+{source.name}" for source in added), *(f"−{name}" for name in dropped)])
    change = versions.Change(
        weights_ppm=weights, author="config", reason=f"the run has other sources: {names}"[:500], origin="config"
    )
    await versions.add(work, job, newest, change, "mix.configure")


async def describe(work: Work, job: JobRow) -> Job:
    """A job in full."""
    [short] = await summary.summarise(work.session, work.runtime, [job], work.now)
    sources = [
        JobSourceReply.model_validate({name: getattr(row, name) for name in JobSourceReply.model_fields})
        for row in await access.sources(work, job)
    ]
    return Job(
        **short.model_dump(exclude={"pending_change", "mix"}),
        pending_change=short.pending_change,
        mix=short.mix,
        seq_len=job.seq_len,
        global_batch_size=job.global_batch_size,
        seed=job.seed,
        packing=job.packing,
        sources=sources,
    )


def _tag(text: str) -> tuple[str, str | None]:
    name, equals, value = text.partition("=")
    return name, value if equals else None


def _seconds(moment: datetime | None) -> float | None:
    if moment is None:
        return None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


async def page(work: Work, project: Project, wanted: JobQuery) -> JobPage:
    """A page of a project's jobs, newest first.

    A state is derived, not stored, so jobs are looked through for it; a page ends where enough were, and may then hold
    fewer than ``limit`` though there are more.
    """
    stored = repository.Filter(
        archived=wanted.archived,
        search=wanted.search,
        owner=wanted.owner,
        tags=[_tag(tag) for tag in wanted.tags],
        created_from=_seconds(wanted.created_from),
        created_to=_seconds(wanted.created_to),
    )
    found: list[tuple[int, JobSummary]] = []
    before_id, limit = decode_cursor(wanted.cursor), wanted.limit
    size = limit + 1 if wanted.state is None else _SCAN
    for number in range(_MAX_SCANS):
        jobs = await repository.page(work.session, project.id, stored, before_id=before_id, limit=size)
        summaries = await summary.summarise(work.session, work.runtime, jobs, work.now)
        both = zip(jobs, summaries, strict=True)
        found += [(job.id, short) for job, short in both if wanted.state in (None, short.state)]
        if len(found) > limit or len(jobs) < size:
            break
        before_id = jobs[-1].id
        if number == _MAX_SCANS - 1:
            return JobPage(items=await listing.listed(work.session, found), next_cursor=encode_cursor(before_id))
    shown = found[:limit]
    return JobPage(
        items=await listing.listed(work.session, shown),
        next_cursor=encode_cursor(shown[-1][0]) if len(found) > limit else None,
    )


async def change(work: Work, job: JobRow, body: JobPatch) -> Job:
    """Change what the body names; the rest stays."""
    after = body.model_dump(exclude_unset=True)
    nulls = [name for name in ("tags", "archived") if name in after and after[name] is None]
    if nulls:
        raise InvalidError(f"{nulls[0]} is null; leave it out to keep it")
    before = {name: getattr(job, name) for name in after}
    if before != after:
        for name, value in after.items():
            setattr(job, name, value)
        audit.record(work, "job.change", project_id=job.project_id, job_id=job.id, before=before, after=after)
        announce(work.session, JobChanged(job.id))
        await work.session.flush()
    return await describe(work, job)


def _describe_attempt(row: AttemptRow) -> Attempt:
    fields = {name: getattr(row, name) for name in Attempt.model_fields if name != "id"}
    return Attempt.model_validate({**fields, "id": row.uuid})


async def start_attempt(work: Work, job: JobRow, body: AttemptCreate) -> Attempt:
    """Register a start, once by its id, and supersede the live one. ``job`` must be locked. Raises ConflictError.

    A start before the newest one, which a node tells of when it delivers what was left behind, is superseded at birth.
    """
    held = await repository.attempt_by_uuid(work.session, body.id)
    if held is not None:
        if held.job_id != job.id:
            raise ConflictError(f"attempt id {body.id} is taken; every start needs a new UUID")
        return _describe_attempt(held)
    newest = await access.newest_attempt(work, job)
    late = newest is not None and body.started_at < newest.started_at
    if not late:
        await repository.supersede_live(work.session, job.id, work.now)
    row = AttemptRow(
        uuid=body.id,
        job_id=job.id,
        number=1 + await repository.last_number(work.session, job.id),
        state="superseded" if late else "live",
        state_reason=None,
        created_at=work.now,
        ended_at=work.now if late else None,
        **body.model_dump(exclude={"id"}),
    )
    work.session.add(row)
    await work.session.flush()
    shown = {"attempt": str(row.uuid), "number": row.number, "world_size": row.world_size}
    audit.record(work, "attempt.start", project_id=job.project_id, job_id=job.id, after=shown)
    announce(work.session, JobChanged(job.id))
    return _describe_attempt(row)


async def attempts(work: Work, job: JobRow) -> AttemptList:
    """Every attempt, oldest first."""
    rows = await repository.attempts_of(work.session, job.id)
    return AttemptList(items=[_describe_attempt(row) for row in rows])


async def beginning(work: Work, attempt: AttemptRow) -> AttemptBeginning:
    """What an attempt went on from."""
    held = await repository.beginning_of(work.session, attempt.id)
    return AttemptBeginning(beginning=None if held is None else Beginning.model_validate(held))


async def end_attempt(work: Work, job: JobRow, attempt: AttemptRow, body: AttemptPatch) -> Attempt:
    """Say how an attempt ended; a superseded one stays superseded, and the first end stands."""
    if attempt.state == "live":
        attempt.state, attempt.state_reason, attempt.ended_at = body.state, body.reason, work.now
        shown = {"attempt": str(attempt.uuid), "number": attempt.number, "state": body.state}
        audit.record(
            work,
            "attempt.end",
            project_id=job.project_id,
            job_id=job.id,
            after=shown,
            reason=body.reason,
        )
        announce(work.session, JobChanged(job.id))
        because = f": {body.reason}" if body.reason else ""
        said = f"attempt {attempt.number} {body.state}{because}"
        facts = {"attempt": {"id": str(attempt.uuid), "number": attempt.number, "state": body.state}}
        await outbox.put_about_job(work.session, job, "attempt.ended", said=said, facts=facts, now=work.now)
        await work.session.flush()
    return _describe_attempt(attempt)
