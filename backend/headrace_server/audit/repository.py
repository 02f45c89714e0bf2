"""SQL of the audit log: append and read, nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from .. import models

Row = sa.Row[models.AuditEvent, str, UUID]
# A search that no index answers looks at this many events at most for one page; the next page goes on from there.
MAX_LOOKED_AT = 20_000


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which events: None means any. Times are Unix seconds, inclusive; ``action`` is one action or a family of them."""

    projects: frozenset[int] | None = None
    job_id: int | None = None
    actor: str | None = None
    action: str | None = None
    text: str | None = None
    since: float | None = None
    until: float | None = None
    before_id: int | None = None

    @property
    def needs_looking(self) -> bool:
        """Whether events have to be looked at one by one."""
        return self.action is not None or self.text is not None


def append(session: AsyncSession, event: models.AuditEvent) -> None:
    """Add an event to the transaction."""
    session.add(event)


async def page(session: AsyncSession, wanted: Wanted, limit: int) -> Sequence[Row]:
    """Events newest first as (event, project name, job uuid), of the newest MAX_LOOKED_AT that indexes answer for."""
    event = models.AuditEvent
    query = (
        sa.select(event, models.Project.name, models.Job.uuid)
        .outerjoin(models.Project, models.Project.id == event.project_id)
        .outerjoin(models.Job, models.Job.id == event.job_id)
        .order_by(event.id.desc())
        .limit(limit)
    )
    if not wanted.needs_looking:
        return (await session.execute(query.where(*_indexed(wanted)))).all()
    looked_at = _looked_at(wanted)
    query = query.join(looked_at, looked_at.c.id == event.id).where(*_looked_up(wanted))
    return (await session.execute(query)).all()


async def looked_back_to(session: AsyncSession, wanted: Wanted) -> tuple[int, float] | None:
    """The id and the time of the oldest event that a search looked at; None where it looked at all there are."""
    looked_at = _looked_at(wanted)
    query = sa.select(sa.func.count(), sa.func.min(looked_at.c.id), sa.func.min(looked_at.c.at)).select_from(looked_at)
    num, oldest_id, oldest_at = (await session.execute(query)).one()
    return None if num < MAX_LOOKED_AT else (oldest_id, oldest_at)


def _looked_at(wanted: Wanted) -> sa.Subquery:
    event = models.AuditEvent
    found = sa.select(event.id, event.at).where(*_indexed(wanted)).order_by(event.id.desc())
    return found.limit(MAX_LOOKED_AT).subquery()


def _indexed(wanted: Wanted) -> list[sa.ColumnElement[bool]]:
    event = models.AuditEvent
    conditions: list[sa.ColumnElement[bool] | None] = [
        None if wanted.projects is None else event.project_id.in_(wanted.projects),
        None if wanted.job_id is None else event.job_id == wanted.job_id,
        None if wanted.actor is None else event.actor == wanted.actor,
        None if wanted.since is None else event.at >= wanted.since,
        None if wanted.until is None else event.at <= wanted.until,
        None if wanted.before_id is None else event.id < wanted.before_id,
    ]
    return [condition for condition in conditions if condition is not None]


def _looked_up(wanted: Wanted) -> list[sa.ColumnElement[bool]]:
    event = models.AuditEvent
    found: list[sa.ColumnElement[bool]] = []
    if wanted.action is not None:
        family = event.action.startswith(f"{wanted.action}.", autoescape=True)
        found.append(sa.or_(event.action == wanted.action, family))
    if wanted.text is not None:
        searched: list[Any] = [event.reason, event.actor, event.action, models.Project.name]
        searched += [sa.cast(event.before, sa.Text), sa.cast(event.after, sa.Text)]
        found.append(sa.or_(*(column.icontains(wanted.text, autoescape=True) for column in searched)))
    return found
