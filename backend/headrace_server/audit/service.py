"""Recording changes, and reading them back."""

from dataclasses import dataclass
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


@dataclass(frozen=True, kw_only=True)
class Search:
    """What to look for, None for anything: who did it, what was done, a text, between which times (Unix seconds)."""

    actor: str | None = None
    action: str | None = None
    text: str | None = None
    since: float | None = None
    until: float | None = None


async def page(
    work: Work, *, project_id: int | None, job_id: int | None, search: Search, cursor: str | None, limit: int
) -> AuditPage:
    """A page of the log, newest first: of one project, or of all that the caller may read.

    What belongs to no project, such as logins, is for administrators of the server. A search that looks at events one
    by one may end a page early, and says how far back it has looked.
    """
    wanted = repository.Wanted(
        projects=work.projects if project_id is None else frozenset({project_id}),
        job_id=job_id,
        actor=search.actor,
        action=search.action,
        text=search.text,
        since=search.since,
        until=search.until,
        before_id=decode_cursor(cursor),
    )
    rows = await repository.page(work.session, wanted, limit + 1)
    items = [_describe(row) for row in rows[:limit]]
    if len(rows) > limit:
        return AuditPage(items=items, next_cursor=encode_cursor(items[-1].id), searched_back_to=None)
    stopped = await repository.looked_back_to(work.session, wanted) if wanted.needs_looking else None
    if stopped is None:
        return AuditPage(items=items, next_cursor=None, searched_back_to=None)
    oldest_id, oldest_at = stopped
    return AuditPage.model_validate(
        {"items": items, "next_cursor": encode_cursor(oldest_id), "searched_back_to": oldest_at}
    )


def _describe(row: repository.Row) -> AuditEvent:
    event, project, job = row
    fields = {name: getattr(event, name) for name in AuditEvent.model_fields if name not in ("project", "job")}
    return AuditEvent.model_validate({**fields, "project": project, "job": job})
