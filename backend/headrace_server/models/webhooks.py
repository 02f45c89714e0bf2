"""Webhooks, and the outbox of what is to be sent to them."""

from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from .base import Base, Json, parent, row_id


class Webhook(Base):
    """Where a project's events are sent. ``url`` and ``secret`` are sealed when the server has a key for that."""

    __tablename__ = "webhook"
    __table_args__ = (sa.UniqueConstraint("project_id", "name"),)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    project_id: Mapped[int] = parent("project.id")
    name: Mapped[str]
    format: Mapped[str]
    enabled: Mapped[bool]
    kinds: Mapped[list[str]]
    url: Mapped[str]
    shown_url: Mapped[str]
    secret: Mapped[str | None]
    created_by: Mapped[str]
    created_at: Mapped[float]


class WebhookDelivery(Base):
    """One event on its way to one webhook; ``uuid`` is what receivers tell repeats by.

    Deliveries of one ``subject`` to one webhook go out in the order of their ids.
    """

    __tablename__ = "webhook_delivery"
    __table_args__ = (
        sa.Index(None, "state", "next_at"),
        sa.Index(None, "webhook_id", "id"),
        sa.Index(None, "webhook_id", "state", "subject"),
    )
    id: Mapped[int] = row_id()
    uuid: Mapped[UUID] = mapped_column(unique=True)
    webhook_id: Mapped[UUID] = mapped_column(sa.ForeignKey("webhook.id", ondelete="CASCADE"))
    kind: Mapped[str]
    subject: Mapped[str]
    payload: Mapped[Json]
    state: Mapped[str]
    tries: Mapped[int]
    created_at: Mapped[float]
    next_at: Mapped[float]
    claimed_until: Mapped[float | None]
    tried_at: Mapped[float | None]
    status: Mapped[int | None]
    error: Mapped[str | None]
    ended_at: Mapped[float | None]
