"""/session and /me: signing in and out, and one's own password."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from ..principal import Principal
from ..users.schemas import PasswordChange
from ..work import Work, calling, reading, runtime_of, writing
from . import sessions
from .cookies import COOKIE, clear_session, set_session
from .schemas import Credentials, SessionReply

router = APIRouter(tags=["auth"])


def address_of(request: Request) -> str:
    """Where the request comes from: through proxies only as far as they are trusted (FORWARDED_ALLOW_IPS)."""
    return request.client.host if request.client else ""


@router.post("/session")
async def sign_in(body: Credentials, request: Request, response: Response) -> SessionReply:
    """Sign in; sets the session cookie. Repeated failures are slowed down (429)."""
    runtime = runtime_of(request)
    reply, token = await sessions.sign_in(
        runtime,
        body,
        address=address_of(request),
        request_id=request.state.request_id,
        replaces=request.cookies.get(COOKIE),
    )
    set_session(response, runtime.settings, token)
    return reply


@router.get("/session")
async def get_session(work: Annotated[Work, reading("person")]) -> SessionReply:
    """Who is signed in, what they may do, and the CSRF token for writes."""
    return await sessions.current(work)


@router.delete("/session", status_code=204)
async def sign_out(work: Annotated[Work, writing("person")], response: Response) -> None:
    """End the session."""
    await sessions.sign_out(work)
    clear_session(response, work.runtime.settings)


@router.delete("/me/sessions", status_code=204)
async def sign_out_everywhere(
    work: Annotated[Work, writing("person")],
    response: Response,
    others: Annotated[bool, Query(description="keep this one")] = False,
) -> None:
    """End all of one's own sessions, on every device; this one too unless only ``others`` are to end."""
    await sessions.sign_out_everywhere(work, but_here=others)
    if not others:
        clear_session(response, work.runtime.settings)


@router.put("/me/password", status_code=204)
async def change_password(
    body: PasswordChange, request: Request, principal: Annotated[Principal, calling("person")]
) -> None:
    """Change one's own password; ends one's other sessions. Repeated failures are slowed down (429)."""
    await sessions.change_own_password(
        runtime_of(request), principal, body, address=address_of(request), request_id=request.state.request_id
    )
