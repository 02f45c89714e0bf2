"""/projects/{p}/webhooks."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from ..projects import service as projects
from ..projects.endpoints import ProjectName
from ..work import Work, reading, writing
from . import service
from .schemas import (
    NewWebhook,
    Webhook,
    WebhookCreate,
    WebhookDelivery,
    WebhookDeliveryPage,
    WebhookList,
    WebhookPatch,
)

router = APIRouter(tags=["webhooks"])
Reader = Annotated[Work, reading("administer")]
Admin = Annotated[Work, writing("administer")]


@router.get("/projects/{project}/webhooks")
async def list_webhooks(project: ProjectName, work: Reader) -> WebhookList:
    """The project's webhooks, without their URLs and secrets."""
    return await service.listing(work, await projects.find(work, project))


@router.post("/projects/{project}/webhooks")
async def create_webhook(project: ProjectName, body: WebhookCreate, work: Admin) -> NewWebhook:
    """Make a webhook; its secret is shown in this reply and never again."""
    return await service.create(work, await projects.find(work, project), body)


@router.patch("/projects/{project}/webhooks/{webhook}")
async def change_webhook(project: ProjectName, webhook: UUID, body: WebhookPatch, work: Admin) -> Webhook:
    """Change a webhook's name, its kinds of events, or switch it on or off."""
    return await service.change(work, await projects.find(work, project), webhook, body)


@router.delete("/projects/{project}/webhooks/{webhook}", status_code=204)
async def delete_webhook(project: ProjectName, webhook: UUID, work: Admin) -> None:
    """Delete a webhook, with what was still to be sent to it."""
    await service.delete(work, await projects.find(work, project), webhook)


@router.post("/projects/{project}/webhooks/{webhook}/test", status_code=202)
async def test_webhook(project: ProjectName, webhook: UUID, work: Admin) -> WebhookDelivery:
    """Send a test event; the webhook's deliveries say what came of it."""
    return await service.send_test(work, await projects.find(work, project), webhook)


@router.get("/projects/{project}/webhooks/{webhook}/deliveries")
async def list_webhook_deliveries(
    project: ProjectName,
    webhook: UUID,
    work: Reader,
    cursor: Annotated[str | None, Query(max_length=64)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> WebhookDeliveryPage:
    """What was sent to a webhook and what came of it, newest first."""
    found = await projects.find(work, project)
    return await service.deliveries(work, found, webhook, cursor=cursor, limit=limit)
