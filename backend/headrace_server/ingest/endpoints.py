"""/jobs/{j}/reports and /jobs/{j}/ranks."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from ..fields import MAX_RANKS
from ..jobs import access
from ..jobs.endpoints import JobId
from ..work import Work, reading, writing
from . import service
from .admission import admitted
from .schemas import RankDetail, RankList, ReportBatchBody, ReportReply

router = APIRouter(tags=["ingest"])

_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{ReportBatchBody.__name__}"}}},
    }
}


@router.post("/jobs/{job}/reports", status_code=202, openapi_extra=_BODY)
async def post_reports(
    job: JobId, request: Request, _: Annotated[None, admitted()], work: Annotated[Work, writing("ingest")]
) -> ReportReply:
    """Take a batch of reports; each record is checked on its own, and a repeated one is counted once.

    429 with Retry-After when the server has its hands full.
    """
    # Read raw: the records are validated one by one, so that a bad one never takes the others with it.
    return await service.accept(work, await access.find_job(work, job), await request.body())


@router.get("/jobs/{job}/ranks", response_model=RankList)
async def list_ranks(
    job: JobId,
    work: Annotated[Work, reading("read")],
    cursor: Annotated[str | None, Query(max_length=64)] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 10_000,
) -> Response:
    """The latest of each rank of the newest attempt, by rank."""
    page = await service.rank_list(work, await access.find_job(work, job), cursor=cursor, limit=limit)
    return Response(page, media_type="application/json")


@router.get("/jobs/{job}/ranks/{rank}")
async def get_rank(
    job: JobId, rank: Annotated[int, Path(ge=0, lt=MAX_RANKS)], work: Annotated[Work, reading("read")]
) -> RankDetail:
    """The latest of one rank of the newest attempt."""
    return await service.rank_detail(work, await access.find_job(work, job), rank)
