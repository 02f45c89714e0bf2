"""Making, changing and deleting webhooks, trying one out, and looking at what became of deliveries."""

import secrets
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from ..audit import service as audit
from ..errors import ConflictError, InvalidError, NotFoundError
from ..models import Project
from ..models import Webhook as WebhookRow
from ..models import WebhookDelivery as DeliveryRow
from ..paging import decode_cursor, encode_cursor
from ..work import Work
from . import outbox, repository
from .schemas import (
    NewWebhook,
    Webhook,
    WebhookCreate,
    WebhookDelivery,
    WebhookDeliveryPage,
    WebhookList,
    WebhookPatch,
)
from .sealing import seal
from .sender import RefusedError
from .urls import parse_url

MAX_WEBHOOKS = 20
SECRET_MARK = "hrw_"


def describe(row: WebhookRow) -> Webhook:
    """A webhook without its secrets."""
    fields = {name: getattr(row, name) for name in Webhook.model_fields if name != "signed"}
    return Webhook.model_validate({**fields, "signed": row.secret is not None})


def _shown(row: WebhookRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("name", "format", "shown_url", "kinds", "enabled")}


@dataclass(frozen=True)
class Backlog:
    """What waits to be delivered, since when the oldest (Unix seconds), and what was given up lately."""

    num_webhooks: int
    num_pending: int
    oldest_pending_at: float | None
    num_given_up: int


async def backlog(session: AsyncSession, given_up_since: float) -> Backlog:
    """How far deliveries are, in all projects together."""
    num, oldest, given_up = await repository.backlog(session, given_up_since)
    return Backlog(await repository.num_webhooks(session), num, oldest, given_up)


async def num_deliveries(session: AsyncSession, projects: frozenset[int] | None) -> Sequence[tuple[str, str, int]]:
    """(project, state, number) of the deliveries that are kept, in these projects or in all for None."""
    return [(row[0], row[1], row[2]) for row in await repository.num_deliveries(session, projects)]


async def find(work: Work, project: Project, webhook_id: uuid.UUID) -> WebhookRow:
    """The project's webhook with this id. Raises NotFoundError."""
    row = await repository.find(work.session, project.id, webhook_id)
    if row is None:
        raise NotFoundError(f"no webhook {webhook_id} in project {project.name!r}")
    return row


async def listing(work: Work, project: Project) -> WebhookList:
    """The project's webhooks, the oldest first."""
    return WebhookList(items=[describe(row) for row in await repository.of_project(work.session, project.id)])


def _shown_url(work: Work, url: str) -> str:
    try:
        target = parse_url(url)
        work.runtime.sender.check_named(target)
    except (ValueError, RefusedError) as error:
        raise InvalidError(f"url: {error}", errors=[{"loc": ["body", "url"], "msg": str(error)}]) from error
    return target.shown


async def create(work: Work, project: Project, body: WebhookCreate) -> NewWebhook:
    """Make a webhook; the reply is the only place its secret is shown.

    Raises InvalidError for a URL that can't be reached, ConflictError when the name is taken or there are too many.
    """
    shown_url, taken_in = _shown_url(work, body.url), project.name
    num = len(await repository.of_project(work.session, project.id))
    if num >= MAX_WEBHOOKS:
        raise ConflictError(f"project {taken_in!r} has {num} webhooks; at most {MAX_WEBHOOKS} are possible")
    key = work.runtime.settings.sealing_key
    secret = SECRET_MARK + secrets.token_urlsafe(32) if body.format == "json" else None
    row = WebhookRow(
        id=uuid.uuid4(),
        project_id=project.id,
        name=body.name,
        format=body.format,
        enabled=body.enabled,
        kinds=sorted(set(body.kinds)),
        url=seal(body.url, key),
        shown_url=shown_url,
        secret=None if secret is None else seal(secret, key),
        created_by=work.principal.label,
        created_at=work.now,
    )
    work.session.add(row)
    await _flush(work, taken_in, body.name)
    audit.record(work, "webhook.create", project_id=project.id, after=_shown(row))
    return NewWebhook(**describe(row).model_dump(), secret=secret)


async def _flush(work: Work, project: str, name: str) -> None:
    try:
        await work.session.flush()
    except IntegrityError as error:
        raise ConflictError(f"project {project!r} already has a webhook {name!r}") from error


async def change(work: Work, project: Project, webhook_id: uuid.UUID, body: WebhookPatch) -> Webhook:
    """Change what the body names; the rest stays. What was still to be sent to one that is switched off is given up.

    Raises NotFoundError, InvalidError, ConflictError.
    """
    row = await find(work, project, webhook_id)
    given = body.model_dump(exclude_unset=True)
    nulls = [name for name, value in given.items() if value is None]
    if nulls:
        raise InvalidError(f"{nulls[0]} is null; leave it out to keep it")
    if "kinds" in given:
        given["kinds"] = sorted(set(given["kinds"]))
    before = _shown(row)
    if {**before, **given} != before:
        for name, value in given.items():
            setattr(row, name, value)
        await _flush(work, project.name, given.get("name", before["name"]))
        if before["enabled"] and not row.enabled:
            await repository.give_up_all(work.session, row.id, "the webhook was switched off", work.now)
        audit.record(work, "webhook.change", project_id=project.id, before=before, after=_shown(row))
    return describe(row)


async def delete(work: Work, project: Project, webhook_id: uuid.UUID) -> None:
    """Delete a webhook with what was still to be sent to it. Raises NotFoundError."""
    row = await find(work, project, webhook_id)
    audit.record(work, "webhook.delete", project_id=project.id, before=_shown(row))
    await work.session.delete(row)
    await work.session.flush()


def _describe_delivery(row: DeliveryRow) -> WebhookDelivery:
    own = ("id", "text", "next_at")
    fields = {name: getattr(row, name) for name in WebhookDelivery.model_fields if name not in own}
    next_at = row.next_at if row.state == "pending" else None
    return WebhookDelivery.model_validate({**fields, "id": row.uuid, "text": row.payload["text"], "next_at": next_at})


async def send_test(work: Work, project: Project, webhook_id: uuid.UUID) -> WebhookDelivery:
    """Put a test event into the outbox, for a webhook that is on. Raises NotFoundError, ConflictError."""
    row = await find(work, project, webhook_id)
    if not row.enabled:
        raise ConflictError(f"webhook {row.name!r} is off; switch it on to send to it")
    delivery = outbox.delivery_of(
        row,
        "test",
        subject=f"test {uuid.uuid4()}",
        text=f"Test of webhook {row.name} of project {project.name}, asked for by {work.principal.label}",
        facts={"project": project.name},
        now=work.now,
    )
    work.session.add(delivery)
    audit.record(work, "webhook.test", project_id=project.id, after={"name": row.name})
    await work.session.flush()
    return _describe_delivery(delivery)


async def deliveries(
    work: Work, project: Project, webhook_id: uuid.UUID, *, cursor: str | None, limit: int
) -> WebhookDeliveryPage:
    """A page of a webhook's deliveries, newest first. Raises NotFoundError."""
    row = await find(work, project, webhook_id)
    rows = await repository.page(work.session, row.id, before_id=decode_cursor(cursor), limit=limit + 1)
    return WebhookDeliveryPage(
        items=[_describe_delivery(delivery) for delivery in rows[:limit]],
        next_cursor=encode_cursor(rows[limit - 1].id) if len(rows) > limit else None,
    )
