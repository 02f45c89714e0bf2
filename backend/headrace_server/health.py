"""/healthz, /readyz and /metrics."""

from typing import Annotated

import sqlalchemy as sa
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, PlainTextResponse

from .fields import Reply
from .jobs.metrics import render
from .migration import head, revision_of
from .principal import Principal
from .work import calling, runtime_of

router = APIRouter(tags=["system"])


class Health(Reply):
    """The process answers."""

    status: str


class Readiness(Reply):
    """Whether requests can be served; ``reason`` says why not."""

    status: str
    reason: str | None = None


@router.get("/healthz")
async def healthz() -> Health:
    """The process is up."""
    return Health(status="ok")


@router.get("/readyz", responses={503: {"model": Readiness}})
async def readyz(request: Request) -> Readiness:
    """The database answers and is at this server's revision."""
    try:
        revision = await revision_of(runtime_of(request).database)
    except (OSError, sa.exc.SQLAlchemyError):
        return _not_ready("the database does not answer")
    if revision != head():
        return _not_ready("the database is not at this server's revision; run headrace-server migrate")
    return Readiness(status="ready")


def _not_ready(reason: str) -> Readiness:
    body = Readiness(status="unavailable", reason=reason)
    return JSONResponse(body.model_dump(), status_code=503)  # type: ignore[return-value]


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request, principal: Annotated[Principal, calling("read")]) -> PlainTextResponse:
    """Prometheus text; labels are project, job and source, never rank."""
    text = await render(runtime_of(request), principal)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")
