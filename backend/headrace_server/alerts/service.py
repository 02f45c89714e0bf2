"""Reading alerts, acknowledging them, and keeping rules and jobs quiet for a while."""

import uuid
from collections.abc import Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from ..audit import service as audit
from ..errors import ConflictError, NotFoundError
from ..jobs import access
from ..models import AlertMute as AlertMuteRow
from ..models import Job, Project
from ..paging import decode_cursor, encode_cursor
from ..work import Work
from . import raising, repository, rules
from .kinds import Kind
from .schemas import (
    Acknowledgement,
    Alert,
    AlertCount,
    AlertMute,
    AlertMuteCreate,
    AlertMuteList,
    AlertPage,
    AlertStateName,
)

MAX_MUTES = 200
_ELSEWHERE = ("id", "project", "job", "job_name", "attempt", "rule")


def describe(row: repository.Described) -> Alert:
    """An alert as others see it."""
    alert, project, job, job_name, number, _ = row
    fields = {name: getattr(alert, name) for name in Alert.model_fields if name not in _ELSEWHERE}
    where = {
        "id": alert.uuid,
        "project": project,
        "job": job,
        "job_name": job_name,
        "attempt": number,
        "rule": alert.rule_id,
    }
    return Alert.model_validate({**fields, **where})


async def page(
    work: Work,
    *,
    project: Project | None,
    job: Job | None,
    states: Sequence[AlertStateName],
    kinds: Sequence[Kind] = (),
    cursor: str | None,
    limit: int,
) -> AlertPage:
    """A page of alerts, newest first: of one project, or of all that the caller may read."""
    rows = await repository.page(
        work.session,
        projects=work.projects if project is None else frozenset({project.id}),
        job_id=None if job is None else job.id,
        job_name=work.principal.job,
        states=states,
        kinds=kinds,
        before_id=decode_cursor(cursor),
        limit=limit + 1,
    )
    items = [describe(row) for row in rows[:limit]]
    return AlertPage(items=items, next_cursor=encode_cursor(rows[limit - 1][0].id) if len(rows) > limit else None)


async def count(work: Work) -> AlertCount:
    """How many alerts that the caller may read are open."""
    found = await repository.num_by_state(work.session, work.projects, work.principal.job)
    return AlertCount(firing=found.get("firing", 0), acknowledged=found.get("acknowledged", 0))


async def looked_at(session: AsyncSession) -> float | None:
    """When any process last looked at the rules (Unix seconds); None before the first look."""
    clock = await repository.clock(session)
    return None if clock is None else clock.looked_at


async def num_open(session: AsyncSession, projects: frozenset[int] | None) -> Sequence[tuple[str, str, int]]:
    """(project, kind, number) of the alerts that are not resolved, in these projects or in all for None."""
    return [(row[0], row[1], row[2]) for row in await repository.num_open(session, projects)]


async def find(work: Work, alert_id: uuid.UUID, *, lock: bool = False) -> repository.Described:
    """The alert with this id. Raises NotFoundError for unknown ids and for other projects' alerts alike."""
    row = await repository.alert(work.session, alert_id, lock=lock)
    if row is None:
        raise NotFoundError(f"no alert {alert_id}")
    work.admit(row[0].project_id, f"alert {alert_id}", job=row[3])
    return row


async def acknowledge(work: Work, alert_id: uuid.UUID, body: Acknowledgement) -> Alert:
    """Say that somebody looks into an open alert; again replaces the comment. Raises NotFoundError, ConflictError."""
    row = await find(work, alert_id, lock=True)
    alert = row[0]
    if alert.state == "resolved":
        raise ConflictError(f"the alert was resolved ({alert.resolution}); only an open one can be acknowledged")
    alert.state, alert.acknowledged_at = "acknowledged", work.now
    alert.acknowledged_by, alert.comment = work.principal.label, body.comment
    raising.moved(work.session, alert)
    audit.record(
        work,
        "alert.acknowledge",
        project_id=alert.project_id,
        job_id=alert.job_id,
        after={"alert": str(alert.uuid), "rule": alert.rule_name, "message": alert.message},
        reason=body.comment,
    )
    if alert.announced:
        await raising.tell(work.session, [alert], work.now)
    await work.session.flush()
    return describe(row)


def _describe_mute(row: AlertMuteRow, job: uuid.UUID | None) -> AlertMute:
    fields = {name: getattr(row, name) for name in AlertMute.model_fields if name not in ("rule", "job")}
    return AlertMute.model_validate({**fields, "rule": row.rule_id, "job": job})


def _shown(mute: AlertMute) -> dict[str, Any]:
    return mute.model_dump(mode="json", include={"rule", "job", "until"})


async def mutes(work: Work, project: Project) -> AlertMuteList:
    """The project's mutes in force, the one that ends first at the top."""
    rows = await repository.mutes_of(work.session, project.id, work.now)
    return AlertMuteList(items=[_describe_mute(row, job) for row, job in rows])


async def mute(work: Work, project: Project, body: AlertMuteCreate) -> AlertMute:
    """Keep a rule or a job quiet. Raises NotFoundError, and ConflictError when there are too many mutes."""
    num = len(await repository.mutes_of(work.session, project.id, work.now))
    if num >= MAX_MUTES:
        raise ConflictError(f"project {project.name!r} has {num} mutes; at most {MAX_MUTES} are possible")
    job = None if body.job is None else await access.find_job(work, str(body.job))
    if job is not None and job.project_id != project.id:
        raise NotFoundError(f"project {project.name!r} has no job {body.job}")
    if body.rule is not None:
        await rules.find(work, project, body.rule)
    row = AlertMuteRow(
        id=uuid.uuid4(),
        project_id=project.id,
        rule_id=body.rule,
        job_id=None if job is None else job.id,
        until=work.now + body.for_s,
        reason=body.reason,
        created_by=work.principal.label,
        created_at=work.now,
    )
    work.session.add(row)
    await work.session.flush()
    made = _describe_mute(row, body.job)
    audit.record(work, "alert.mute", project_id=project.id, job_id=row.job_id, after=_shown(made), reason=body.reason)
    return made


async def unmute(work: Work, project: Project, mute_id: uuid.UUID) -> None:
    """End a mute now; what still fires is told of at the next look. Raises NotFoundError."""
    row = await repository.mute(work.session, project.id, mute_id)
    if row is None:
        raise NotFoundError(f"no mute {mute_id} in project {project.name!r}")
    shown = {"rule": None if row.rule_id is None else str(row.rule_id), "reason": row.reason}
    audit.record(work, "alert.unmute", project_id=project.id, job_id=row.job_id, before=shown)
    await work.session.delete(row)
