"""Recording changes, and reading them back."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from .. import models
from ..paging import decode_cursor, encode_cursor
from ..work import Work
from . import repository
from .schemas import AuditEvent, AuditPage


def record(
    work: Work,
    action: str,
    *,
    project_id: int | None,
    job_id: int | None = None,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    reason: str | None = None,
    actor: str | None = None,
) -> None:
    """Record a change in the same transaction that makes it; ``actor`` is the caller unless given."""
    record_as(
        work.session,
        actor or work.principal.label,
        action,
        now=work.now,
        request_id=work.request_id,
        project_id=project_id,
        job_id=job_id,
        before=before,
        after=after,
        reason=reason,
    )


def record_as(
    session: AsyncSession,
    actor: str,
    action: str,
    *,
    now: float,
    request_id: str,
    project_id: int | None,
    job_id: int | None = None,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    reason: str | None = None,
) -> None:
    """The same, for what happens outside a request (the command line, the first start)."""
    repository.append(
        session,
        models.AuditEvent(
            at=now,
            actor=actor,
            action=action,
            project_id=project_id,
            job_id=job_id,
            before=before,
            after=after,
            reason=reason,
            request_id=request_id,
        ),
    )


async def page(work: Work, *, project_id: int | None, job_id: int | None, cursor: str | None, limit: int) -> AuditPage:
    """A page of the log, newest first: of one project, or of all that the caller may read.

    What belongs to no project, such as logins, is for administrators of the server.
    """
    rows = await repository.page(
        work.session,
        projects=work.projects if project_id is None else frozenset({project_id}),
        job_id=job_id,
        before_id=decode_cursor(cursor),
        limit=limit + 1,
    )
    items = [
        AuditEvent.model_validate(
            {
                **{name: getattr(event, name) for name in AuditEvent.model_fields if name not in ("project", "job")},
                "project": project,
                "job": job,
            }
        )
        for event, project, job in rows[:limit]
    ]
    return AuditPage(items=items, next_cursor=encode_cursor(items[-1].id) if len(rows) > limit else None)
