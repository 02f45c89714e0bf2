"""/jobs/{j}/trace."""

from typing import Annotated

from fastapi import APIRouter, Query

from ..fields import Step
from ..jobs import access
from ..jobs.endpoints import JobId
from ..work import Work, reading
from . import service
from .schemas import StepTrace

router = APIRouter(tags=["trace"])


@router.get("/jobs/{job}/trace")
async def get_trace(job: JobId, step: Annotated[Step, Query()], work: Annotated[Work, reading("read")]) -> StepTrace:
    """What the global batch of a step took from each source, of which mix, and how sure the record of it is."""
    return await service.trace(work, await access.find_job(work, job), step)
