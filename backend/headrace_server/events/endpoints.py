"""GET /events for browsers, and /jobs/{j}/mix/stream for leaders."""

import random
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent

from ..jobs import access
from ..jobs.endpoints import JobId
from ..middleware.authentication import identify
from ..principal import Principal
from ..work import Work, calling, reading, runtime_of
from . import service
from .broker import Event

router = APIRouter(tags=["events"])
# Clients come back at different times after the server has closed (milliseconds).
_RETRY_MS = (500, 2000)


async def _place(request: Request) -> AsyncIterator[None]:
    with runtime_of(request).broker.streaming():
        yield


Leader = Annotated[Work, reading("read", "operate", "ingest")]
Place = Annotated[None, Depends(_place)]
"""A place among the streams, kept until the reply has ended; without one the request is refused before it begins."""


def _identified(request: Request) -> Callable[[], Awaitable[Principal]]:
    async def again() -> Principal:
        return await identify(runtime_of(request), request.headers, request.cookies)

    return again


def _sent(event: Event) -> ServerSentEvent:
    retry_ms = random.randint(*_RETRY_MS) if event.name == "end" else None
    return ServerSentEvent(event=event.name, raw_data=event.data, retry=retry_ms)


@router.get("/events", response_class=EventSourceResponse)
async def stream_events(
    request: Request,
    principal: Annotated[Principal, calling("read")],
    _: Place,
    job: Annotated[list[UUID] | None, Query(max_length=200)] = None,
) -> AsyncIterable[ServerSentEvent]:
    """Server-sent events: `snapshot` first, then `job`, `mix`, `activation`, `change`, `alert` as they happen, `ping`
    every 15 s.

    `end` comes last when the server closes. 503 with Retry-After when it holds no more streams.
    """
    wanted = None if job is None else frozenset(job)
    async for event in service.stream(runtime_of(request), principal, wanted, _identified(request)):
        yield _sent(event)


@router.get("/jobs/{job}/mix/stream", response_class=EventSourceResponse)
async def stream_mix_versions(job: JobId, request: Request, work: Leader, _: Place) -> AsyncIterable[ServerSentEvent]:
    """For a job's leader: `version` with the number of the newest mix version and of each newer one, `ping` every 5 s.

    `end` comes last when the server closes. 503 with Retry-After when it holds no more streams: `GET /jobs/{job}/mix`
    with If-None-Match says the same.
    """
    # The unit of work has ended, and with it its session; the job was found in it.
    found = await access.find_job(work, job)
    async for event in service.follow(work, found, _identified(request)):
        yield _sent(event)
