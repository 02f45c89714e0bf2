"""/session and /projects/{p}/keys."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Request, Response

from ..fields import Name
from ..middleware.authentication import COOKIE
from ..principal import Principal
from ..projects import service as projects
from ..work import Work, calling, reading, runtime_of, writing
from . import service
from .schemas import ApiKeyList, Credentials, KeyCreate, NewApiKey, SessionReply

router = APIRouter(tags=["auth"])
ProjectName = Annotated[Name, Path()]


@router.post("/session")
async def sign_in(body: Credentials, request: Request, response: Response) -> SessionReply:
    """Sign in; sets the session cookie. Repeated failures are slowed down (429)."""
    runtime = runtime_of(request)
    reply, token = await service.sign_in(
        runtime,
        body,
        address=request.client.host if request.client else "",
        request_id=request.state.request_id,
    )
    response.set_cookie(
        COOKIE,
        token,
        max_age=int(runtime.settings.session_lifetime_s),
        httponly=True,
        samesite="strict",
        secure=runtime.settings.secure_cookie,
        path="/",
    )
    return reply


@router.get("/session")
async def get_session(principal: Annotated[Principal, calling("person")]) -> SessionReply:
    """Who is signed in, and the CSRF token for writes."""
    assert principal.username is not None and principal.session_token is not None
    return service.describe_session(principal.username, principal.session_token)


@router.delete("/session", status_code=204)
async def sign_out(work: Annotated[Work, writing("person")], response: Response) -> None:
    """End the session."""
    await service.sign_out(work)
    response.delete_cookie(COOKIE, path="/")


@router.get("/projects/{project}/keys")
async def list_keys(project: ProjectName, work: Annotated[Work, reading("read", "operate")]) -> ApiKeyList:
    """The project's keys, without the keys themselves."""
    return await service.project_keys(work, await projects.find(work, project))


@router.post("/projects/{project}/keys")
async def create_key(project: ProjectName, body: KeyCreate, work: Annotated[Work, writing("administer")]) -> NewApiKey:
    """Make a key; it is shown in this reply and never again."""
    return await service.create_project_key(work, await projects.find(work, project), body)


@router.delete("/projects/{project}/keys/{key_id}", status_code=204)
async def revoke_key(project: ProjectName, key_id: UUID, work: Annotated[Work, writing("administer")]) -> None:
    """Revoke a key; it stops working at once."""
    await service.revoke_key(work, await projects.find(work, project), key_id)
