"""Raising, resolving and telling: the alert, the state of its rule and the outbox change in one transaction."""

import uuid
from collections.abc import Iterable

from sqlalchemy.ext.asyncio import AsyncSession

from ..db import announce
from ..events.announcements import AlertMoved
from ..models import AlertEvent, AlertRule, Attempt, Job, Json
from ..webhooks import outbox
from ..webhooks.kinds import EventKind
from . import repository
from .readings import Reading

_VERBS: dict[str, str] = {"firing": "", "acknowledged": "acknowledged: ", "resolved": "resolved: "}


def raised(rule: AlertRule, job: Job, attempt: Attempt, reading: Reading, step: int | None, now: float) -> AlertEvent:
    """A new alert with the figures as they are, not announced yet."""
    assert reading.value is not None
    return AlertEvent(
        uuid=uuid.uuid4(),
        project_id=job.project_id,
        job_id=job.id,
        attempt_id=attempt.id,
        rule_id=rule.id,
        rule_name=rule.name,
        kind=rule.kind,
        state="firing",
        step=step,
        value=reading.value,
        threshold=rule.threshold,
        message=reading.words,
        announced=False,
        fired_at=now,
        acknowledged_at=None,
        acknowledged_by=None,
        comment=None,
        resolved_at=None,
        resolution=None,
    )


def resolve(alert: AlertEvent, resolution: str, now: float) -> None:
    """Resolve an alert that is open; ``resolution`` says why."""
    alert.state, alert.resolved_at, alert.resolution = "resolved", now, resolution


def moved(session: AsyncSession, alert: AlertEvent) -> None:
    """Announce the state that an alert has come to."""
    announce(session, AlertMoved(alert.job_id, alert.uuid, alert.state))


def facts_of(row: repository.Described) -> Json:
    """An alert as receivers of webhooks get it."""
    alert, project, job_uuid, job_name, number, attempt_uuid = row
    return {
        "project": project,
        "job": {"id": str(job_uuid), "name": job_name},
        "attempt": {"id": str(attempt_uuid), "number": number},
        "alert": {
            "id": str(alert.uuid),
            "rule": alert.rule_name,
            "kind": alert.kind,
            "state": alert.state,
            "step": alert.step,
            "value": alert.value,
            "threshold": alert.threshold,
            "message": alert.message,
            "resolution": alert.resolution,
            "acknowledged_by": alert.acknowledged_by,
            "comment": alert.comment,
        },
    }


def sentence(row: repository.Described) -> str:
    """An alert in one line for people."""
    alert, project, _, job_name, number, _ = row
    said = alert.message
    if alert.state == "resolved":
        said = alert.resolution or "resolved"
    elif alert.state == "acknowledged":
        said = f"by {alert.acknowledged_by}: {alert.comment}" if alert.comment else f"by {alert.acknowledged_by}"
    step = "" if alert.step is None else f", step {alert.step}"
    return f"{alert.rule_name}: {_VERBS[alert.state]}{job_name} ({project}), attempt {number}{step}: {said}"


async def tell(session: AsyncSession, alerts: Iterable[AlertEvent], now: float) -> None:
    """Put what these alerts have come to into the outbox."""
    wanted = list(alerts)
    if not wanted:
        return
    await session.flush()
    rows = await repository.described(session, [alert.id for alert in wanted])
    kinds: dict[str, EventKind] = {
        "firing": "alert.firing",
        "acknowledged": "alert.acknowledged",
        "resolved": "alert.resolved",
    }
    for alert in wanted:
        row = rows[alert.id]
        await outbox.put(
            session,
            alert.project_id,
            kinds[alert.state],
            subject=str(alert.uuid),
            text=sentence(row),
            facts=facts_of(row),
            now=now,
        )
