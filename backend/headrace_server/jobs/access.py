"""Finding a job for a caller: what the caller may not see does not exist."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from ..errors import NotFoundError
from ..models import Attempt, Job, JobSource
from ..work import Work
from . import repository


def _uuid(text: str, what: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise NotFoundError(f"no {what} {text[:64]!r}") from error


async def find_job(work: Work, job: str, *, lock: bool = False) -> Job:
    """The job with this id. Raises NotFoundError for unknown ids and for other projects' jobs alike, ForbiddenError."""
    job_uuid = _uuid(job, "job")
    if work.job is not None and work.job.uuid == job_uuid and not lock:
        return work.job
    found = await repository.find(work.session, job_uuid, lock=lock)
    what = f"job {job[:64]!r}"
    if found is None:
        raise NotFoundError(f"no {what}")
    work.admit(found.project_id, what, job=found.name)
    return found


async def find_attempt(work: Work, job: Job, attempt: str | UUID) -> Attempt:
    """The job's attempt with this id. Raises NotFoundError."""
    attempt_uuid = attempt if isinstance(attempt, UUID) else _uuid(attempt, "attempt")
    found = await repository.attempt_by_uuid(work.session, attempt_uuid)
    if found is None or found.job_id != job.id:
        raise NotFoundError(f"job {job.name!r} has no attempt {attempt_uuid}; register it with POST /attempts")
    return found


async def sources(work: Work, job: Job) -> list[JobSource]:
    """The job's sources in job order."""
    return (await repository.sources_of(work.session, [job.id]))[job.id]


async def sources_of(session: AsyncSession, job_ids: Sequence[int]) -> dict[int, list[JobSource]]:
    """The sources of each job (by row id), in job order."""
    return await repository.sources_of(session, job_ids)


async def newest_attempts(session: AsyncSession, job_ids: Sequence[int]) -> dict[int, Attempt]:
    """The newest attempt of each job (by row id) that has one."""
    return await repository.newest_attempts(session, job_ids)


async def by_ids(session: AsyncSession, job_ids: Sequence[int]) -> Sequence[Job]:
    """Jobs by row id, newest first."""
    return await repository.by_ids(session, job_ids)


async def ids_in_progress(session: AsyncSession) -> Sequence[int]:
    """Row ids of jobs with a live attempt."""
    return await repository.ids_in_progress(session)


async def newest_attempt(work: Work, job: Job) -> Attempt | None:
    """The job's newest attempt, whatever its state."""
    return (await repository.newest_attempts(work.session, [job.id])).get(job.id)


async def attempts(work: Work, job: Job) -> Sequence[Attempt]:
    """Every attempt of the job, oldest first."""
    return await repository.attempts_of(work.session, job.id)
