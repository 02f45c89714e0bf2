"""/jobs/{j}/mix, its versions, previews, reverts and pauses, and /jobs/{j}/activations."""

import re
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Header, Path, Query, Request, Response

from ..changes import service as changes
from ..changes.schemas import MixChange
from ..errors import InvalidError, PreconditionMissingError
from ..fields import MAX_STEP
from ..idempotency.route import RepeatableRoute
from ..jobs import access
from ..jobs.endpoints import JobId
from ..work import Work, reading, runtime_of, writing
from . import activation, preview, service
from .schemas import (
    Activation,
    ActivationCreate,
    ActivationList,
    MixEdit,
    MixPause,
    MixPreview,
    MixPreviewRequest,
    MixProblem,
    MixRevert,
    MixVersion,
    MixVersionPage,
)

router = APIRouter(tags=["mix"], route_class=RepeatableRoute)
IfMatch = Annotated[str | None, Header(description='the ETag that was edited, such as "v3"')]
Reader = Annotated[Work, reading("read", "operate", "ingest")]
Operator = Annotated[Work, writing("operate")]
STALE: dict[int | str, dict[str, Any]] = {
    412: {"model": MixProblem, "description": "somebody else changed the mix first"}
}
WAITS: dict[int | str, dict[str, Any]] = {202: {"model": MixChange, "description": "waits for an approval"}}
_ETAG = re.compile(r'^(?:W/)?"v(\d{1,9})"$')


def etag(version: int) -> str:
    """The entity tag of a version."""
    return f'"v{version}"'


def matched_version(if_match: str | None) -> int:
    """The version that If-Match names. Raises PreconditionMissingError, InvalidError."""
    if if_match is None or if_match.strip() in ("", "*"):
        raise PreconditionMissingError('send If-Match with the ETag you edited, such as "v3" (GET …/mix has it)')
    found = _ETAG.match(if_match.strip())
    if found is None:
        raise InvalidError(
            f'If-Match is {if_match[:80]!r}; it must be one ETag such as "v3"',
            errors=[{"loc": ["header", "If-Match"], "msg": 'must look like "v3"', "value": if_match[:80]}],
        )
    return int(found[1])


def _answer(response: Response, made: MixVersion | MixChange) -> MixVersion:
    if isinstance(made, MixChange):
        return Response(made.model_dump_json(), 202, media_type="application/json")  # type: ignore[return-value]
    response.headers["etag"] = etag(made.version)
    return made


@router.get("/jobs/{job}/mix", responses={304: {"description": "unchanged"}})
async def get_mix(
    job: JobId,
    request: Request,
    response: Response,
    work: Reader,
    if_none_match: Annotated[str | None, Header()] = None,
) -> MixVersion:
    """The newest version, with its ETag; 304 when If-None-Match already has it."""
    row = await access.find_job(work, job)
    current = await service.current(work, row)
    by_loader = not work.principal.is_user and "ingest" in work.principal.scopes_in(row.project_id)
    if by_loader:
        runtime_of(request).leader_polls[row.id] = work.now
    if by_loader and current.life.state == "proposed" and current.life.total_ranks:
        async with runtime_of(request).database.write() as session:
            await service.leader_saw(session, row, current.version, work.now)
    tag = etag(current.version)
    if if_none_match is not None and tag in [held.strip().removeprefix("W/") for held in if_none_match.split(",")]:
        return Response(status_code=304, headers={"etag": tag})  # type: ignore[return-value]
    response.headers["etag"] = tag
    return current


@router.put("/jobs/{job}/mix", responses=STALE | WAITS)
async def edit_mix(
    job: JobId, body: MixEdit, response: Response, work: Operator, if_match: IfMatch = None
) -> MixVersion:
    """Change the mix. Of two who edit the same version exactly one wins; the other gets 412 with the winner's.

    Where the project requires an approval: 202 with the change that waits for it.
    """
    base = matched_version(if_match)
    row = await access.find_job(work, job, lock=True)
    parent = await service.matched(work, row, base)
    wanted = await service.edited(work, row, body)
    return _answer(response, await changes.submit(work, row, parent, wanted, "edit", body.replaces))


@router.post("/jobs/{job}/mix/pause")
async def pause_source(
    job: JobId, body: MixPause, response: Response, work: Operator, if_match: IfMatch = None
) -> MixVersion:
    """Stop a source at once, whoever else edits, and without an approval; the others share its weight in proportion."""
    row = await access.find_job(work, job, lock=True)
    parent = await service.matched(work, row, None if if_match is None else matched_version(if_match))
    made = await service.make(work, row, parent, await service.paused(work, row, parent, body), "pause")
    response.headers["etag"] = etag(made.version)
    return made


@router.post("/jobs/{job}/mix/resume", responses=WAITS)
async def resume_source(
    job: JobId, body: MixPause, response: Response, work: Operator, if_match: IfMatch = None
) -> MixVersion:
    """Return a paused source to its former weight; the others make room in proportion."""
    row = await access.find_job(work, job, lock=True)
    parent = await service.matched(work, row, None if if_match is None else matched_version(if_match))
    wanted = await service.resumed(work, row, parent, body)
    return _answer(response, await changes.submit(work, row, parent, wanted, "resume"))


@router.post("/jobs/{job}/mix/preview")
async def preview_mix(job: JobId, body: MixPreviewRequest, work: Reader) -> MixPreview:
    """What weights would mean by the end of the run; changes nothing."""
    return await preview.preview(work, await access.find_job(work, job), body)


@router.get("/jobs/{job}/mix/versions")
async def list_mix_versions(
    job: JobId,
    work: Reader,
    cursor: Annotated[str | None, Query(max_length=64)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> MixVersionPage:
    """Versions, newest first."""
    return await service.history(work, await access.find_job(work, job), cursor=cursor, limit=limit)


@router.post("/jobs/{job}/mix/versions/{version}/revert", responses=STALE | WAITS)
async def revert_mix(
    job: JobId,
    version: Annotated[int, Path(ge=1, le=2**31 - 1)],
    body: MixRevert,
    response: Response,
    work: Operator,
    if_match: IfMatch = None,
) -> MixVersion:
    """Make a new version with an older one's weights, or a change that waits for an approval."""
    base = matched_version(if_match)
    row = await access.find_job(work, job, lock=True)
    parent = await service.matched(work, row, base)
    wanted = await service.reverted(work, row, version, body)
    return _answer(response, await changes.submit(work, row, parent, wanted, "revert"))


@router.post("/jobs/{job}/activations")
async def record_activation(job: JobId, body: ActivationCreate, work: Annotated[Work, writing("ingest")]) -> Activation:
    """The leader sealed a revision; local ones become versions. Superseded attempts get 409."""
    return await activation.record(work, await access.find_job(work, job, lock=True), body)


@router.get("/jobs/{job}/activations")
async def list_activations(
    job: JobId,
    work: Reader,
    lineage: Annotated[UUID | None, Query()] = None,
    from_step: Annotated[int | None, Query(ge=0, le=MAX_STEP)] = None,
) -> ActivationList:
    """Activations in the order they take effect."""
    return await activation.listing(work, await access.find_job(work, job), lineage=lineage, from_step=from_step)
