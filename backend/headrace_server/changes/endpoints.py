"""/jobs/{j}/mix/changes: scheduled changes and approvals."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from ..fields import Reason
from ..idempotency.route import RepeatableRoute
from ..jobs import access
from ..jobs.endpoints import JobId
from ..mix import service as mix
from ..mix.endpoints import STALE, IfMatch, Operator, matched_version
from ..work import Work, reading, writing
from . import service
from .schemas import ChangeDecision, ChangeRejection, ChangeState, MixChange, MixChangeCreate, MixChangePage

router = APIRouter(tags=["mix"], route_class=RepeatableRoute)
Reader = Annotated[Work, reading("read", "operate")]
Approver = Annotated[Work, writing("approve")]


@router.post("/jobs/{job}/mix/changes", status_code=201, responses=STALE)
async def schedule_mix_change(job: JobId, body: MixChangeCreate, work: Operator, if_match: IfMatch = None) -> MixChange:
    """Have the mix change at a step or at a time, if it is still the one named by If-Match then."""
    row = await access.find_job(work, job, lock=True)
    return await service.schedule(work, row, await mix.matched(work, row, matched_version(if_match)), body)


@router.get("/jobs/{job}/mix/changes")
async def list_mix_changes(
    job: JobId,
    work: Reader,
    state: Annotated[list[ChangeState] | None, Query(max_length=9)] = None,
    cursor: Annotated[str | None, Query(max_length=64)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> MixChangePage:
    """Changes that wait and what became of earlier ones, newest first; of some states where any are named."""
    return await service.page(work, await access.find_job(work, job), states=state, cursor=cursor, limit=limit)


@router.get("/jobs/{job}/mix/changes/{change}")
async def get_mix_change(job: JobId, change: UUID, work: Reader) -> MixChange:
    """One change; while it needs attention with the three sides of the conflict."""
    return await service.get(work, await access.find_job(work, job), change)


@router.delete("/jobs/{job}/mix/changes/{change}")
async def withdraw_mix_change(
    job: JobId, change: UUID, work: Operator, reason: Annotated[Reason | None, Query()] = None
) -> MixChange:
    """Cancel a change that waits, or dismiss one that needs attention."""
    return await service.withdraw(work, await access.find_job(work, job, lock=True), change, reason)


@router.post("/jobs/{job}/mix/changes/{change}/approve")
async def approve_mix_change(job: JobId, change: UUID, body: ChangeDecision, work: Approver) -> MixChange:
    """Let a change have its way; only a person may, and never the one whose change it is."""
    return await service.approve(work, await access.find_job(work, job, lock=True), change, body.reason)


@router.post("/jobs/{job}/mix/changes/{change}/reject")
async def reject_mix_change(job: JobId, change: UUID, body: ChangeRejection, work: Approver) -> MixChange:
    """Refuse a change for good."""
    return await service.reject(work, await access.find_job(work, job, lock=True), change, body.reason)
