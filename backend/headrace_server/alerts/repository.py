"""SQL of rules, alerts and mutes, and of what a look at the live jobs reads and writes."""

from collections.abc import Iterable, Sequence
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from .. import models
from ..db import dialect_of, insert_into
from .decision import Clock

# The number is arbitrary but fixed: who holds it is the one that looks.
_LOCK = 4242008407
OPEN = ("firing", "acknowledged")


async def lead(session: AsyncSession) -> bool:
    """Whether this transaction is the only one that decides, until it ends; never waits."""
    if dialect_of(session) == "sqlite":
        return True  # a writing transaction of SQLite is alone anyway
    return bool(await session.scalar(sa.select(sa.func.pg_try_advisory_xact_lock(_LOCK))))


async def clock(session: AsyncSession) -> Clock | None:
    """When rules were last looked at; None before the first look."""
    row = models.AlertClock
    found = (await session.execute(sa.select(row.looked_at, row.suspended_until).where(row.id == 1))).one_or_none()
    return None if found is None else Clock(found.looked_at, found.suspended_until)


async def set_clock(session: AsyncSession, to: Clock) -> None:
    """Say that rules were looked at."""
    values = {"looked_at": to.looked_at, "suspended_until": to.suspended_until}
    insert = insert_into(session, models.AlertClock).values(id=1, **values)
    await session.execute(insert.on_conflict_do_update(index_elements=["id"], set_=values))


async def projects_without_defaults(session: AsyncSession) -> Sequence[int]:
    """Row ids of projects that were never given rules."""
    given = sa.exists().where(models.AlertDefault.project_id == models.Project.id)
    return (await session.scalars(sa.select(models.Project.id).where(~given))).all()


async def claim_defaults(session: AsyncSession, project_id: int, now: float) -> bool:
    """Note that the project is given its rules; says whether nobody had done so before."""
    insert = insert_into(session, models.AlertDefault).values(project_id=project_id, made_at=now)
    insert = insert.on_conflict_do_nothing(index_elements=["project_id"])
    return (await session.execute(insert.returning(models.AlertDefault.project_id))).one_or_none() is not None


async def rule_names(session: AsyncSession, project_id: int) -> set[str]:
    """Names of a project's rules."""
    rule = models.AlertRule
    return set((await session.scalars(sa.select(rule.name).where(rule.project_id == project_id))).all())


async def rules_of(session: AsyncSession, project_id: int) -> Sequence[models.AlertRule]:
    """A project's rules, in the order they were made."""
    rule = models.AlertRule
    query = sa.select(rule).where(rule.project_id == project_id).order_by(rule.created_at, rule.name)
    return (await session.scalars(query)).all()


async def rule(session: AsyncSession, project_id: int, rule_id: UUID) -> models.AlertRule | None:
    """One rule of a project, locked."""
    row = models.AlertRule
    query = sa.select(row).where(row.id == rule_id, row.project_id == project_id)
    return await session.scalar(query.with_for_update())


async def enabled_rules(session: AsyncSession, *, hold: bool) -> Sequence[models.AlertRule]:
    """Every rule that is switched on; ``hold`` keeps them from being deleted until the transaction ends."""
    query = sa.select(models.AlertRule).where(models.AlertRule.enabled).order_by(models.AlertRule.id)
    return (await session.scalars(query.with_for_update(read=True, key_share=True) if hold else query)).all()


async def live_jobs(session: AsyncSession) -> Sequence[sa.Row[models.Job, models.Attempt]]:
    """Jobs with their live attempt, where neither the job nor its project is archived."""
    job, attempt, project = models.Job, models.Attempt, models.Project
    query = sa.select(job, attempt).join(attempt, attempt.job_id == job.id).join(project, project.id == job.project_id)
    query = query.where(attempt.state == "live", ~job.archived, project.archived_at.is_(None))
    return (await session.execute(query.order_by(job.id))).all()


async def live_attempts(session: AsyncSession, attempt_ids: Sequence[int]) -> set[int]:
    """Which of the attempts are live."""
    attempt = models.Attempt
    query = sa.select(attempt.id).where(attempt.id.in_(attempt_ids), attempt.state == "live")
    return set((await session.scalars(query)).all())


async def attempts(session: AsyncSession, attempt_ids: Iterable[int]) -> dict[int, models.Attempt]:
    """Attempts by row id."""
    query = sa.select(models.Attempt).where(models.Attempt.id.in_(list(attempt_ids)))
    return {row.id: row for row in await session.scalars(query)}


async def states(session: AsyncSession) -> Sequence[sa.Row[models.AlertState, models.AlertEvent | None]]:
    """How far each rule is with each job that anything holds for, with the open alert."""
    state, alert = models.AlertState, models.AlertEvent
    query = sa.select(state, alert).outerjoin(alert, alert.id == state.alert_id)
    return [(row[0], row[1]) for row in await session.execute(query)]  # type: ignore[misc]


async def drop_states(session: AsyncSession, rule_id: UUID) -> None:
    """Forget how far a rule is."""
    await session.execute(sa.delete(models.AlertState).where(models.AlertState.rule_id == rule_id))


async def open_alerts(session: AsyncSession, rule_id: UUID) -> Sequence[models.AlertEvent]:
    """Alerts of a rule that are not resolved, locked."""
    alert = models.AlertEvent
    query = sa.select(alert).where(alert.rule_id == rule_id, alert.state.in_(OPEN)).order_by(alert.id)
    return (await session.scalars(query.with_for_update())).all()


async def active_mutes(session: AsyncSession, now: float) -> Sequence[sa.Row[UUID | None, int | None]]:
    """(rule, job) of the mutes in force; one of the two is None."""
    mute = models.AlertMute
    return (await session.execute(sa.select(mute.rule_id, mute.job_id).where(mute.until > now))).all()


async def drop_old_mutes(session: AsyncSession, before: float) -> None:
    """Delete mutes that ended before a time."""
    await session.execute(sa.delete(models.AlertMute).where(models.AlertMute.until < before))


async def mutes_of(
    session: AsyncSession, project_id: int, now: float
) -> Sequence[sa.Row[models.AlertMute, UUID | None]]:
    """A project's mutes in force with their job's id, the one that ends first at the top."""
    mute = models.AlertMute
    query = sa.select(mute, models.Job.uuid).outerjoin(models.Job, models.Job.id == mute.job_id)
    query = query.where(mute.project_id == project_id, mute.until > now)
    return (await session.execute(query.order_by(mute.until, mute.id))).all()


async def mute(session: AsyncSession, project_id: int, mute_id: UUID) -> models.AlertMute | None:
    """One mute of a project."""
    row = models.AlertMute
    return await session.scalar(sa.select(row).where(row.id == mute_id, row.project_id == project_id))


Described = sa.Row[models.AlertEvent, str, UUID, str, int, UUID]


def _described() -> sa.Select[models.AlertEvent, str, UUID, str, int, UUID]:
    alert, job, attempt = models.AlertEvent, models.Job, models.Attempt
    return (
        sa.select(alert, models.Project.name, job.uuid, job.name, attempt.number, attempt.uuid)
        .join(models.Project, models.Project.id == alert.project_id)
        .join(job, job.id == alert.job_id)
        .join(attempt, attempt.id == alert.attempt_id)
    )


async def page(
    session: AsyncSession,
    *,
    projects: frozenset[int] | None,
    job_id: int | None,
    job_name: str | None,
    states: Iterable[str],
    kinds: Iterable[str],
    before_id: int | None,
    limit: int,
) -> Sequence[Described]:
    """Alerts newest first, with the names and ids of where they belong; a None filter means any."""
    alert = models.AlertEvent
    query = _described().order_by(alert.id.desc()).limit(limit)
    if projects is not None:
        query = query.where(alert.project_id.in_(projects))
    if job_id is not None:
        query = query.where(alert.job_id == job_id)
    if job_name is not None:
        query = query.where(models.Job.name == job_name)
    if before_id is not None:
        query = query.where(alert.id < before_id)
    for column, given in ((alert.state, list(states)), (alert.kind, list(kinds))):
        if given:
            query = query.where(column.in_(given))
    return (await session.execute(query)).all()


async def num_by_state(session: AsyncSession, projects: frozenset[int] | None, job_name: str | None) -> dict[str, int]:
    """How many alerts are open, by state; a None filter means any."""
    alert = models.AlertEvent
    query = sa.select(alert.state, sa.func.count()).where(alert.state.in_(OPEN)).group_by(alert.state)
    if projects is not None:
        query = query.where(alert.project_id.in_(projects))
    if job_name is not None:
        query = query.join(models.Job, models.Job.id == alert.job_id).where(models.Job.name == job_name)
    return {row[0]: row[1] for row in await session.execute(query)}


async def alert(session: AsyncSession, alert_uuid: UUID, *, lock: bool) -> Described | None:
    """One alert with the names and ids of where it belongs."""
    query = _described().where(models.AlertEvent.uuid == alert_uuid)
    if lock:
        query = query.with_for_update(of=models.AlertEvent)
    return (await session.execute(query)).one_or_none()


async def described(session: AsyncSession, alert_ids: Sequence[int]) -> dict[int, Described]:
    """Alerts by row id, with the names and ids of where they belong."""
    rows = await session.execute(_described().where(models.AlertEvent.id.in_(alert_ids)))
    return {row[0].id: row for row in rows}


async def num_open(session: AsyncSession, projects: frozenset[int] | None) -> Sequence[sa.Row[str, str, int]]:
    """(project, kind, number) of alerts that are not resolved."""
    alert, project = models.AlertEvent, models.Project
    query = sa.select(project.name, alert.kind, sa.func.count()).join(project, project.id == alert.project_id)
    query = query.where(alert.state.in_(OPEN))
    if projects is not None:
        query = query.where(alert.project_id.in_(projects))
    return (await session.execute(query.group_by(project.name, alert.kind).order_by(project.name, alert.kind))).all()
