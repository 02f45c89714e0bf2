"""SQL of jobs, their sources and their attempts."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from .. import models
from ..db import dialect_of, insert_into
from ..ingest.records import MINUTE_S

_LINE_ATTEMPTS = 3


async def find(session: AsyncSession, job_uuid: UUID, *, lock: bool) -> models.Job | None:
    """The job with this id; ``lock`` makes other changes of it wait, and reads it anew once they are done."""
    query = sa.select(models.Job).where(models.Job.uuid == job_uuid)
    if lock:
        query = query.with_for_update().execution_options(populate_existing=True)
    return await session.scalar(query)


async def find_with_archiving(session: AsyncSession, job_uuid: UUID) -> sa.Row[models.Job, float | None] | None:
    """The job with this id, and when its project was archived."""
    query = sa.select(models.Job, models.Project.archived_at).where(models.Job.uuid == job_uuid)
    query = query.join(models.Project, models.Project.id == models.Job.project_id)
    return (await session.execute(query)).one_or_none()


async def insert_if_new(session: AsyncSession, values: dict[str, Any]) -> bool:
    """Make a job unless the project has one of this name; says whether it did. Waits for one being made."""
    insert = insert_into(session, models.Job).values(values)
    insert = insert.on_conflict_do_nothing(index_elements=["project_id", "name"])
    return (await session.execute(insert.returning(models.Job.id))).one_or_none() is not None


async def by_name(session: AsyncSession, project_id: int, name: str) -> models.Job:
    """The job of this name, locked; it must be there."""
    query = sa.select(models.Job).where(models.Job.project_id == project_id, models.Job.name == name)
    return (await session.scalars(query.with_for_update())).one()


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Which jobs: archived or not; whose name contains ``search`` (any case); of an owner; made in a time range.

    ``tags`` are (name, value); a value of None is any. All must hold. Times are Unix seconds, inclusive.
    """

    archived: bool = False
    search: str | None = None
    owner: str | None = None
    tags: Sequence[tuple[str, str | None]] = ()
    created_from: float | None = None
    created_to: float | None = None


def _tagged(dialect: str, name: str, value: str | None) -> sa.ColumnElement[bool]:
    # As rows, not by a path: a tag may be called anything, quotes included.
    each = sa.func.json_each if dialect == "sqlite" else sa.func.json_each_text
    tag = each(models.Job.tags).table_valued("key", "value")
    held = tag.c.key == name
    return sa.exists().select_from(tag).where(held if value is None else sa.and_(held, tag.c.value == value))


def _matching(dialect: str, wanted: Filter) -> Iterator[sa.ColumnElement[bool]]:
    job = models.Job
    yield job.archived == wanted.archived
    if wanted.search:
        yield job.name.icontains(wanted.search, autoescape=True)
    if wanted.owner is not None:
        yield job.owner == wanted.owner
    if wanted.created_from is not None:
        yield job.created_at >= wanted.created_from
    if wanted.created_to is not None:
        yield job.created_at <= wanted.created_to
    for name, value in wanted.tags:
        yield _tagged(dialect, name, value)


async def page(
    session: AsyncSession, project_id: int, wanted: Filter, *, before_id: int | None, limit: int
) -> Sequence[models.Job]:
    """Jobs of a project, newest first.

    In the order of row ids, which nothing changes: whatever is renamed, tagged or archived meanwhile, a job that
    matches throughout is on exactly one page.
    """
    job = models.Job
    query = sa.select(job).where(job.project_id == project_id, *_matching(dialect_of(session), wanted))
    if before_id is not None:
        query = query.where(job.id < before_id)
    return (await session.scalars(query.order_by(job.id.desc()).limit(limit))).all()


async def by_ids(session: AsyncSession, job_ids: Sequence[int]) -> Sequence[models.Job]:
    """Jobs by row id, newest first."""
    query = sa.select(models.Job).where(models.Job.id.in_(job_ids)).order_by(models.Job.id.desc())
    return (await session.scalars(query)).all()


async def visible_ids(
    session: AsyncSession, *, projects: frozenset[int] | None, job_uuids: Sequence[UUID] | None, limit: int
) -> Sequence[int]:
    """Row ids of the newest jobs that are not archived, narrowed to projects (None: all) or to named jobs."""
    job = models.Job
    query = sa.select(job.id).order_by(job.id.desc()).limit(limit)
    if projects is not None:
        query = query.where(job.project_id.in_(projects))
    query = query.where(~job.archived if job_uuids is None else job.uuid.in_(job_uuids))
    return (await session.scalars(query)).all()


async def ids_in_progress(session: AsyncSession) -> Sequence[int]:
    """Row ids of jobs with a live attempt."""
    query = sa.select(models.Attempt.job_id).where(models.Attempt.state == "live").distinct()
    return (await session.scalars(query)).all()


async def project_names(session: AsyncSession, project_ids: Sequence[int]) -> dict[int, str]:
    """Names of projects by row id."""
    query = sa.select(models.Project.id, models.Project.name).where(models.Project.id.in_(project_ids))
    return {row.id: row.name for row in await session.execute(query)}


async def sources_of(session: AsyncSession, job_ids: Sequence[int]) -> dict[int, list[models.JobSource]]:
    """The sources of each job, in job order."""
    source = models.JobSource
    query = sa.select(source).where(source.job_id.in_(job_ids)).order_by(source.job_id, source.position)
    found: dict[int, list[models.JobSource]] = {job_id: [] for job_id in job_ids}
    for row in await session.scalars(query):
        found[row.job_id].append(row)
    return found


async def newest_attempts(session: AsyncSession, job_ids: Sequence[int]) -> dict[int, models.Attempt]:
    """The newest attempt of each job that has one: the last to start, whenever it was registered."""
    attempt = models.Attempt
    place = sa.func.row_number().over(
        partition_by=attempt.job_id, order_by=(attempt.started_at.desc(), attempt.number.desc())
    )
    ranked = sa.select(attempt.id, place.label("place")).where(attempt.job_id.in_(job_ids)).subquery()
    query = sa.select(attempt).join(ranked, ranked.c.id == attempt.id).where(ranked.c.place == 1)
    return {row.job_id: row for row in await session.scalars(query)}


async def last_number(session: AsyncSession, job_id: int) -> int:
    """The number of the attempt that was registered last; 0 before the first."""
    query = sa.select(sa.func.max(models.Attempt.number)).where(models.Attempt.job_id == job_id)
    return await session.scalar(query) or 0


async def attempts_of(session: AsyncSession, job_id: int) -> Sequence[models.Attempt]:
    """Every attempt of a job, oldest first."""
    query = sa.select(models.Attempt).where(models.Attempt.job_id == job_id)
    return (await session.scalars(query.order_by(models.Attempt.number))).all()


async def attempt_by_uuid(session: AsyncSession, attempt_uuid: UUID) -> models.Attempt | None:
    """The attempt with this nonce, of any job."""
    return await session.scalar(sa.select(models.Attempt).where(models.Attempt.uuid == attempt_uuid))


async def beginning_of(session: AsyncSession, attempt_id: int) -> dict[str, Any] | None:
    """What an attempt went on from."""
    found: dict[str, Any] | None = await session.scalar(
        sa.select(models.Attempt.beginning).where(models.Attempt.id == attempt_id)
    )
    return found


async def supersede_live(session: AsyncSession, job_id: int, now: float) -> None:
    """End every live attempt of a job in favour of the one about to be added."""
    attempt = models.Attempt
    await session.execute(
        sa.update(attempt)
        .where(attempt.job_id == job_id, attempt.state == "live")
        .values(state="superseded", ended_at=now)
    )


async def minutes_of(session: AsyncSession, job_ids: Sequence[int], *, limit: int) -> Sequence[sa.Row[Any]]:
    """Rows (job_id, minute, tokens_per_s_mean) of the last ``limit`` minutes of each job, by minute and attempt.

    Of its newest few attempts: a run that starts again goes on with its line.
    """
    attempt, rollup, other = models.Attempt, models.JobRollup, aliased(models.JobRollup)
    place = sa.func.row_number().over(
        partition_by=attempt.job_id, order_by=(attempt.started_at.desc(), attempt.number.desc())
    )
    ranked = sa.select(attempt.id, attempt.job_id, place.label("place")).where(attempt.job_id.in_(job_ids)).subquery()
    # The last minute of an attempt is one look into the primary key, however long it ran.
    last = sa.select(sa.func.max(other.minute)).where(other.attempt_id == ranked.c.id).scalar_subquery()
    ends = sa.select(ranked, last.label("last")).where(ranked.c.place <= _LINE_ATTEMPTS).subquery().c
    of_job = sa.func.max(ends.last).over(partition_by=ends.job_id)
    lines = sa.select(ends.id, ends.job_id, ends.place, of_job.label("last")).subquery().c
    query = (
        sa.select(lines.job_id, rollup.minute, rollup.tokens_per_s_mean)
        .join(rollup, sa.and_(rollup.attempt_id == lines.id, rollup.minute > lines.last - limit * MINUTE_S))
        .order_by(lines.job_id, rollup.minute, lines.place.desc())
    )
    return (await session.execute(query)).all()


async def changes_waiting(session: AsyncSession, job_ids: Sequence[int], states: Collection[str]) -> dict[int, int]:
    """How many changes of each job's mix are in one of these states."""
    change = models.MixChange
    query = (
        sa.select(change.job_id, sa.func.count().label("num"))
        .where(change.job_id.in_(job_ids), change.state.in_(states))
        .group_by(change.job_id)
    )
    return {row.job_id: row.num for row in await session.execute(query)}
