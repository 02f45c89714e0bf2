"""Webhooks and their deliveries as administrators see them. A URL and a secret go in, and never come out."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from ..fields import Name, Reply, Request, Timestamp
from .kinds import EventKind, SubscribedKind
from .payloads import Format

Url = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
Kinds = Annotated[list[SubscribedKind], Field(min_length=1, max_length=10)]
DeliveryState = Literal["pending", "delivered", "given_up"]


class WebhookCreate(Request):
    """Where to send a project's events, as signed JSON or in the shape that Slack takes."""

    name: Name
    format: Format = "json"
    url: Url
    kinds: Kinds = Field(default=["alert.firing", "alert.resolved"])
    enabled: bool = True


class WebhookPatch(Request):
    """What may be changed of a webhook; a field left out stays. For another URL make another webhook."""

    name: Name | None = None
    kinds: Kinds | None = None
    enabled: bool | None = None


class Webhook(Reply):
    """A webhook; ``shown_url`` leaves out path and query, which may be secrets."""

    id: UUID
    name: str
    format: Format
    shown_url: str
    kinds: list[SubscribedKind]
    enabled: bool
    signed: bool
    created_by: str
    created_at: Timestamp


class NewWebhook(Webhook):
    """A webhook just made; the only reply that has its secret (null for Slack, which checks no signature)."""

    secret: str | None


class WebhookList(Reply):
    """Every webhook of a project, the oldest first."""

    items: list[Webhook]


class WebhookDelivery(Reply):
    """One event on its way to a webhook: how often it was tried, what came of the last try, when the next one is."""

    id: UUID
    kind: EventKind
    text: str
    state: DeliveryState
    tries: int
    created_at: Timestamp
    tried_at: Timestamp | None
    next_at: Timestamp | None
    status: int | None
    error: str | None
    ended_at: Timestamp | None


class WebhookDeliveryPage(Reply):
    """Newest first; ``next_cursor`` is null on the last page."""

    items: list[WebhookDelivery]
    next_cursor: str | None
