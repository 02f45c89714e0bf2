"""Putting an event into the outbox, in the transaction that makes it true: what is committed is told, at least once."""

import uuid
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from ..models import Job, Json, Webhook, WebhookDelivery
from . import repository
from .kinds import EventKind


def delivery_of(
    webhook: Webhook, kind: EventKind, *, subject: str, text: str, facts: Json, now: float
) -> WebhookDelivery:
    """An event on its way to a webhook, due at once. ``text`` is the event in a sentence, ``facts`` are its fields."""
    made = uuid.uuid4()
    at = datetime.fromtimestamp(now, UTC).isoformat().replace("+00:00", "Z")
    return WebhookDelivery(
        uuid=made,
        webhook_id=webhook.id,
        kind=kind,
        subject=subject,
        payload={"id": str(made), "event": kind, "at": at, "text": text, **facts},
        state="pending",
        tries=0,
        created_at=now,
        next_at=now,
        claimed_until=None,
        tried_at=None,
        status=None,
        error=None,
        ended_at=None,
    )


async def put(
    session: AsyncSession, project_id: int, kind: EventKind, *, subject: str, text: str, facts: Json, now: float
) -> None:
    """Put an event into the outbox, once for each enabled webhook of the project that wants its kind.

    To one webhook, events of one ``subject`` are sent in the order they were put.
    """
    for webhook in await _wanting(session, project_id, kind):
        session.add(delivery_of(webhook, kind, subject=subject, text=text, facts=facts, now=now))


async def put_about_job(
    session: AsyncSession, job: Job, kind: EventKind, *, said: str, facts: Json, now: float
) -> None:
    """The same for what happened to a job, whose events are sent in order; ``said`` follows its name and project's."""
    webhooks = await _wanting(session, job.project_id, kind)
    if not webhooks:
        return
    project = await repository.project_name(session, job.project_id)
    whole = {"project": project, "job": {"id": str(job.uuid), "name": job.name}, **facts}
    text = f"{job.name} ({project}): {said}"
    for webhook in webhooks:
        session.add(delivery_of(webhook, kind, subject=str(job.uuid), text=text, facts=whole, now=now))


async def _wanting(session: AsyncSession, project_id: int, kind: EventKind) -> list[Webhook]:
    return [webhook for webhook in await repository.enabled(session, project_id) if kind in webhook.kinds]
