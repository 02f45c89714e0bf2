"""Where a request acts: the project and the job that its path names, found before anything else is looked at.

A project or job that the caller may not see does not exist for it (404); where it may see but not do, it is refused
(403). A route has to do nothing for this but call its path parameters ``project`` and ``job``.
"""

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from .errors import ConflictError, NotFoundError
from .fields import is_name
from .jobs import repository as jobs
from .models import Job
from .principal import Principal, Scope
from .projects import repository as projects


async def admit(
    session: AsyncSession,
    principal: Principal,
    scopes: tuple[Scope, ...],
    path_params: Mapping[str, object],
    *,
    write: bool,
) -> Job | None:
    """The job that the path names, if it does.

    Raises NotFoundError or ForbiddenError, and ConflictError for a change in an archived project.
    """
    archived_at, job = None, None
    if "project" in path_params:
        archived_at = await _admit_to_project(session, principal, scopes, str(path_params["project"]))
    if "job" in path_params:
        job, archived_at = await _admit_to_job(session, principal, scopes, str(path_params["job"]))
    if write and archived_at is not None and "administer" not in scopes:
        raise ConflictError("the project is archived and takes no changes; an admin of it can restore it")
    return job


async def _admit_to_project(
    session: AsyncSession, principal: Principal, scopes: tuple[Scope, ...], name: str
) -> float | None:
    row = await projects.by_name(session, name) if is_name(name) else None
    if row is None:
        raise NotFoundError(f"no project {name[:200]!r}")
    principal.admit(scopes, row.id, f"project {name!r}")
    return row.archived_at


async def _admit_to_job(
    session: AsyncSession, principal: Principal, scopes: tuple[Scope, ...], given: str
) -> tuple[Job, float | None]:
    what = f"job {given[:64]!r}"
    try:
        found = await jobs.find_with_archiving(session, UUID(given))
    except ValueError as error:
        raise NotFoundError(f"no {what}") from error
    if found is None:
        raise NotFoundError(f"no {what}")
    job, archived_at = found
    principal.admit(scopes, job.project_id, what, job=job.name)
    return job, archived_at
