"""/projects/{p}/jobs, /jobs/{j} and /jobs/{j}/attempts."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from ..idempotency.route import RepeatableRoute
from ..projects import service as projects
from ..projects.endpoints import ProjectName
from ..work import Work, reading, writing
from . import access, service
from .schemas import (
    Attempt,
    AttemptBeginning,
    AttemptCreate,
    AttemptList,
    AttemptPatch,
    Job,
    JobCreate,
    JobPage,
    JobPatch,
    JobQuery,
)

router = APIRouter(tags=["jobs"], route_class=RepeatableRoute)
JobId = Annotated[str, Path(max_length=64, description="the job's id (a UUID)")]


@router.post("/projects/{project}/jobs")
async def create_job(project: ProjectName, body: JobCreate, work: Annotated[Work, writing("ingest")]) -> Job:
    """Register a job; the same name gives the same job, however many call at once."""
    return await service.register(work, await projects.find(work, project), body)


@router.get("/projects/{project}/jobs")
async def list_jobs(
    project: ProjectName,
    work: Annotated[Work, reading("read")],
    wanted: Annotated[JobQuery, Query()],
) -> JobPage:
    """Jobs of a project, newest first; a page may be short before the last one when asked for a state."""
    return await service.page(work, await projects.find(work, project), wanted)


@router.get("/jobs/{job}")
async def get_job(job: JobId, work: Annotated[Work, reading("read", "ingest")]) -> Job:
    """One job."""
    return await service.describe(work, await access.find_job(work, job))


@router.patch("/jobs/{job}")
async def change_job(job: JobId, body: JobPatch, work: Annotated[Work, writing("operate")]) -> Job:
    """Change a job's end, tags or archived flag."""
    return await service.change(work, await access.find_job(work, job, lock=True), body)


@router.post("/jobs/{job}/attempts")
async def start_attempt(job: JobId, body: AttemptCreate, work: Annotated[Work, writing("ingest")]) -> Attempt:
    """Register a start of the job; it supersedes the live attempt."""
    return await service.start_attempt(work, await access.find_job(work, job, lock=True), body)


@router.get("/jobs/{job}/attempts")
async def list_attempts(job: JobId, work: Annotated[Work, reading("read", "ingest")]) -> AttemptList:
    """The job's starts, oldest first."""
    return await service.attempts(work, await access.find_job(work, job))


@router.get("/jobs/{job}/attempts/{attempt}/beginning")
async def get_attempt_beginning(
    job: JobId,
    attempt: Annotated[str, Path(max_length=64)],
    work: Annotated[Work, reading("read", "ingest")],
) -> AttemptBeginning:
    """What an attempt went on from, where the run's steps were not all alike: enough to name every step of it."""
    return await service.beginning(work, await access.find_attempt(work, await access.find_job(work, job), attempt))


@router.patch("/jobs/{job}/attempts/{attempt}")
async def end_attempt(
    job: JobId,
    attempt: Annotated[str, Path(max_length=64)],
    body: AttemptPatch,
    work: Annotated[Work, writing("ingest")],
) -> Attempt:
    """Say how an attempt ended."""
    row = await access.find_job(work, job, lock=True)
    return await service.end_attempt(work, row, await access.find_attempt(work, row, attempt), body)
