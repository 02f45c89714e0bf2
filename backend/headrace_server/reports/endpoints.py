"""/jobs/{j}/report.html."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, StreamingResponse

from ..exports.admission import admitted
from ..exports.naming import content_disposition, file_name
from ..jobs import access
from ..jobs.endpoints import JobId
from ..series.schemas import Axis
from ..work import Work, reading
from . import service
from .page import policy, render

router = APIRouter(tags=["exports"])


@router.get("/jobs/{job}/report.html", response_class=HTMLResponse)
async def get_report(
    job: JobId,
    _: Annotated[None, admitted()],
    work: Annotated[Work, reading("read")],
    x: Annotated[Axis, Query(description="steps, or time")] = "step",
    download: Annotated[bool, Query(description="as a file to keep instead of a page to look at")] = False,
) -> StreamingResponse:
    """The job on one page that needs nothing else, from a disk too: its facts and figures, about 5 MB of plotly.js."""
    row = await access.find_job(work, job)
    report = await service.build(work, row, x)
    headers = {"content-security-policy": f"{policy()}; frame-ancestors 'none'"}
    if download:
        headers["content-disposition"] = content_disposition(file_name(row.name, "report", "html"))
    return StreamingResponse(render(report), media_type="text/html; charset=utf-8", headers=headers)
