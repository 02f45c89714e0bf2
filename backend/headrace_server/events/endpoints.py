"""GET /events."""

from collections.abc import AsyncIterable
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent

from ..middleware.authentication import identify
from ..principal import Principal
from ..work import calling, runtime_of
from . import service

router = APIRouter(tags=["events"])


@router.get("/events", response_class=EventSourceResponse)
async def stream_events(
    request: Request,
    principal: Annotated[Principal, calling("read")],
    job: Annotated[list[UUID] | None, Query(max_length=200)] = None,
) -> AsyncIterable[ServerSentEvent]:
    """Server-sent events: `snapshot` first, then `job`, `mix`, `activation` as they happen, `ping` every 15 s."""
    runtime = runtime_of(request)

    async def still_welcome() -> Principal:
        return await identify(runtime, request.headers, request.cookies)

    wanted = None if job is None else frozenset(job)
    async for event in service.stream(runtime, principal, wanted, still_welcome):
        yield ServerSentEvent(event=event.name, raw_data=event.data)
