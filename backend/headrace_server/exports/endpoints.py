"""/jobs/{j}/export."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from ..jobs import access
from ..jobs.endpoints import JobId
from ..work import Work, reading
from . import service
from .admission import admitted
from .naming import content_disposition
from .schemas import MEDIA_TYPES, Format, What

router = APIRouter(tags=["exports"])

_FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "the file; a transfer that is not ended properly is not the whole file",
        "content": {media.partition(";")[0]: {"schema": {"type": "string"}} for media in MEDIA_TYPES.values()},
    }
}


@router.get("/jobs/{job}/export", response_class=StreamingResponse, responses=_FILES)
async def export_job(
    job: JobId,
    _: Annotated[None, admitted()],
    work: Annotated[Work, reading("read")],
    what: Annotated[What, Query()],
    file_format: Annotated[Format, Query(alias="format")] = "csv",
    low: Annotated[datetime | None, Query(alias="from", description="ISO 8601, or Unix seconds; inclusive")] = None,
    high: Annotated[datetime | None, Query(alias="to", description="ISO 8601, or Unix seconds; inclusive")] = None,
    attempt: Annotated[UUID | None, Query(description="rows of one attempt only")] = None,
) -> StreamingResponse:
    """What is kept of a job, as a file of any size.

    An error in the middle breaks the connection off: over HTTP/1.1 the last chunk is missing. 429 with Retry-After when
    as many exports as allowed are under way.
    """
    wanted = service.Query(low=low, high=high, attempt=attempt)
    made = await service.export(work, await access.find_job(work, job), what, file_format, wanted)
    return StreamingResponse(
        made.chunks, media_type=made.media_type, headers={"content-disposition": content_disposition(made.name)}
    )
