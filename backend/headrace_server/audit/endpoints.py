"""GET /audit."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import StringConstraints

from ..fields import PLAIN, Name, unix_seconds
from ..jobs import access
from ..projects import service as projects
from ..work import Work, reading
from . import service
from .schemas import AuditPage

router = APIRouter(tags=["audit"])
Words = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=PLAIN)]
Action = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[a-z_]+(\.[a-z_]+)*$")]


@router.get("/audit")
async def list_audit_events(
    work: Annotated[Work, reading("read")],
    project: Annotated[Name | None, Query()] = None,
    job: Annotated[str | None, Query(max_length=64)] = None,
    actor: Annotated[Words | None, Query(description="who did it, exactly as the log has it")] = None,
    action: Annotated[Action | None, Query(description="one, such as `mix.edit`, or a family, such as `mix`")] = None,
    q: Annotated[Words | None, Query(description="a text in reason, actor, action, before or after")] = None,
    low: Annotated[datetime | None, Query(alias="from", description="ISO 8601, or Unix seconds; inclusive")] = None,
    high: Annotated[datetime | None, Query(alias="to", description="ISO 8601, or Unix seconds; inclusive")] = None,
    cursor: Annotated[str | None, Query(max_length=64)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> AuditPage:
    """Changes, newest first, of one project or one job, all or those that were asked for."""
    project_id = (await projects.find(work, project)).id if project is not None else None
    job_id = (await access.find_job(work, job)).id if job is not None else None
    search = service.Search(actor=actor, action=action, text=q, since=unix_seconds(low), until=unix_seconds(high))
    return await service.page(work, project_id=project_id, job_id=job_id, search=search, cursor=cursor, limit=limit)
