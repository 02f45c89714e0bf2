"""SQL of webhooks and their deliveries."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from .. import models

Hook, Delivery = models.Webhook, models.WebhookDelivery


@dataclass(frozen=True)
class Claimed:
    """A delivery that this process is to send now, with its webhook as it was when claimed."""

    id: int
    uuid: UUID
    kind: str
    payload: models.Json
    tries: int
    created_at: float
    format: str
    url: str
    secret: str | None


async def enabled(session: AsyncSession, project_id: int) -> Sequence[models.Webhook]:
    """A project's webhooks that are switched on."""
    query = sa.select(Hook).where(Hook.project_id == project_id, Hook.enabled).order_by(Hook.id)
    return (await session.scalars(query)).all()


async def project_name(session: AsyncSession, project_id: int) -> str:
    """The name of a project."""
    return (await session.scalars(sa.select(models.Project.name).where(models.Project.id == project_id))).one()


async def of_project(session: AsyncSession, project_id: int) -> Sequence[models.Webhook]:
    """A project's webhooks, in the order they were made."""
    query = sa.select(Hook).where(Hook.project_id == project_id).order_by(Hook.created_at, Hook.name)
    return (await session.scalars(query)).all()


async def find(session: AsyncSession, project_id: int, webhook_id: UUID) -> models.Webhook | None:
    """One webhook of a project."""
    return await session.scalar(sa.select(Hook).where(Hook.id == webhook_id, Hook.project_id == project_id))


async def page(
    session: AsyncSession, webhook_id: UUID, *, before_id: int | None, limit: int
) -> Sequence[models.WebhookDelivery]:
    """Deliveries of a webhook, newest first."""
    query = sa.select(Delivery).where(Delivery.webhook_id == webhook_id).order_by(Delivery.id.desc()).limit(limit)
    if before_id is not None:
        query = query.where(Delivery.id < before_id)
    return (await session.scalars(query)).all()


def _claimable(now: float) -> sa.ColumnElement[bool]:
    unclaimed = sa.or_(Delivery.claimed_until.is_(None), Delivery.claimed_until <= now)
    return sa.and_(Delivery.state == "pending", Delivery.next_at <= now, unclaimed)


def _heads(now: float) -> sa.Select[Any]:
    """The delivery of each enabled webhook that comes next.

    A webhook has one on its way at a time; one that waits to be tried again holds back its own subject only.
    """
    earlier, other = sa.orm.aliased(Delivery), sa.orm.aliased(Delivery)
    held_back = sa.exists().where(
        earlier.webhook_id == Delivery.webhook_id,
        earlier.state == "pending",
        earlier.subject == Delivery.subject,
        earlier.id < Delivery.id,
    )
    on_its_way = sa.exists().where(
        other.webhook_id == Delivery.webhook_id, other.state == "pending", other.claimed_until > now
    )
    return (
        sa.select(sa.func.min(Delivery.id))
        .join(Hook, Hook.id == Delivery.webhook_id)
        .where(_claimable(now), Hook.enabled, ~held_back, ~on_its_way)
        .group_by(Delivery.webhook_id)
    )


async def any_due(session: AsyncSession, now: float) -> bool:
    """Whether there is anything to claim."""
    return (await session.scalar(_heads(now).limit(1))) is not None


async def claim(session: AsyncSession, now: float, *, until: float, limit: int) -> list[Claimed]:
    """Take what is due, one of each webhook; until this process says how it went nobody takes it before ``until``.

    What another process is taking at this moment is left to it.
    """
    query = (
        sa.select(Delivery, Hook)
        .join(Hook, Hook.id == Delivery.webhook_id)
        # Asked again of the locked row: whoever held the lock before may have taken it.
        .where(Delivery.id.in_(_heads(now)), _claimable(now))
        .order_by(Delivery.next_at)
        .limit(limit)
        .with_for_update(of=Delivery, skip_locked=True)
    )
    taken = []
    for row, hook in (await session.execute(query)).all():
        row.claimed_until, row.tries, row.tried_at = until, row.tries + 1, now
        taken.append(
            Claimed(
                id=row.id,
                uuid=row.uuid,
                kind=row.kind,
                payload=row.payload,
                tries=row.tries,
                created_at=row.created_at,
                format=hook.format,
                url=hook.url,
                secret=hook.secret,
            )
        )
    return taken


async def finish(session: AsyncSession, delivery_id: int, values: dict[str, Any]) -> None:
    """Write how a delivery went; nothing when it was deleted meanwhile, or delivered by another process."""
    update = sa.update(Delivery).where(Delivery.id == delivery_id, Delivery.state == "pending")
    await session.execute(update.values(claimed_until=None, **values))


async def give_up_all(session: AsyncSession, webhook_id: UUID, why: str, now: float) -> None:
    """Give up what is still to be sent to a webhook."""
    update = sa.update(Delivery).where(Delivery.webhook_id == webhook_id, Delivery.state == "pending")
    await session.execute(update.values(state="given_up", error=why, ended_at=now, claimed_until=None))


async def prune(session: AsyncSession, before: float) -> None:
    """Delete deliveries that ended before a time."""
    await session.execute(sa.delete(Delivery).where(Delivery.ended_at < before))


async def backlog(session: AsyncSession, given_up_since: float) -> tuple[int, float | None, int]:
    """(how many wait to be delivered, when the oldest of them was made, how many were given up since a time)."""
    pending = sa.select(sa.func.count(), sa.func.min(Delivery.created_at)).where(Delivery.state == "pending")
    given_up = sa.select(sa.func.count()).where(Delivery.state == "given_up", Delivery.ended_at >= given_up_since)
    num, oldest = (await session.execute(pending)).one()
    return num, oldest, await session.scalar(given_up) or 0


async def num_webhooks(session: AsyncSession) -> int:
    """How many webhooks there are."""
    return await session.scalar(sa.select(sa.func.count()).select_from(Hook)) or 0


async def num_deliveries(session: AsyncSession, projects: frozenset[int] | None) -> Sequence[sa.Row[str, str, int]]:
    """(project, state, number) of the deliveries that are kept."""
    project = models.Project
    query = (
        sa.select(project.name, Delivery.state, sa.func.count())
        .join(Hook, Hook.id == Delivery.webhook_id)
        .join(project, project.id == Hook.project_id)
        .group_by(project.name, Delivery.state)
        .order_by(project.name, Delivery.state)
    )
    if projects is not None:
        query = query.where(Hook.project_id.in_(projects))
    return (await session.execute(query)).all()
