"""/jobs/{j}/report.html."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, StreamingResponse

from ..exports.admission import admitted
from ..exports.naming import content_disposition, file_name
from ..figures.schemas import FigureName
from ..jobs import access
from ..jobs.endpoints import JobId
from ..series.endpoints import Smooth
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
    x: Annotated[Axis, Query(description="steps, tokens of the run, or time")] = "step",
    figure: Annotated[FigureName | None, Query(description="this chart alone, instead of the whole job")] = None,
    low: Annotated[float | None, Query(alias="from", allow_inf_nan=False, ge=-1e15, le=1e15)] = None,
    high: Annotated[float | None, Query(alias="to", allow_inf_nan=False, ge=-1e15, le=1e15)] = None,
    smooth: Smooth = 0.0,
    download: Annotated[bool, Query(description="as a file to keep instead of a page to look at")] = False,
) -> StreamingResponse:
    """The job on one page that needs nothing else, from a disk too: its facts and figures, about 5 MB of plotly.js."""
    row = await access.find_job(work, job)
    shown = service.Shown(figure=figure, axis=x, low=low, high=high, smooth=smooth)
    report = await service.build(work, row, shown)
    headers = {"content-security-policy": f"{policy()}; frame-ancestors 'none'"}
    if download:
        headers["content-disposition"] = content_disposition(file_name(row.name, figure or "report", "html"))
    return StreamingResponse(render(report), media_type="text/html; charset=utf-8", headers=headers)
