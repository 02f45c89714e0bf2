"""/session/methods and /session/oidc: there and back again. All public: who comes here is not signed in yet."""

import html
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from ..auth.cookies import COOKIE, set_session
from ..errors import HeadraceError
from ..settings import Settings
from ..work import runtime_of
from . import service
from .attempt import LASTS_S
from .schemas import ProviderLink, SignInMethods

router = APIRouter(tags=["auth"])
ATTEMPT_COOKIE = "headrace_login"
PATH = "/api/v1/session/oidc"
_TO: dict[int | str, dict[str, Any]] = {303: {"description": "to the provider, or to the dashboard"}}


def _redirect_uri(request: Request, settings: Settings) -> str:
    """Where the provider sends the browser back to; the Host was checked against the allow-list."""
    scheme = "https" if settings.secure_cookie else request.url.scheme
    return f"{scheme}://{request.headers['host']}{PATH}/callback"


def _problem_page(request: Request, error: HeadraceError) -> Response:
    """An error for a browser that was sent here; a script gets the problem document."""
    if "text/html" not in request.headers.get("accept", ""):
        raise error
    title, detail = html.escape(error.title), html.escape(error.detail)
    return HTMLResponse(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><h1>{title}</h1>'
        f'<p>{detail}</p><p>Request {request.state.request_id}</p><p><a href="/">Back to the login</a></p></html>',
        status_code=error.status,
    )


def _forget_attempt(response: Response, settings: Settings) -> Response:
    response.delete_cookie(ATTEMPT_COOKIE, path=PATH, httponly=True, samesite="lax", secure=settings.secure_cookie)
    return response


@router.get("/session/methods")
async def list_sign_in_methods(request: Request) -> SignInMethods:
    """How people can sign in here, besides a user name and a password."""
    settings = runtime_of(request).settings
    link = ProviderLink(name=settings.oidc_display_name, url=f"{PATH}/login") if settings.oidc_issuer else None
    return SignInMethods(provider=link)


@router.get("/session/oidc/login", status_code=303, response_class=RedirectResponse, responses=_TO)
async def begin_provider_login(
    request: Request,
    wanted: Annotated[str | None, Query(alias="next", max_length=4096, description="a page of the dashboard")] = None,
) -> Response:
    """Send the browser to the provider; afterwards it goes on to ``next``, if that is a page of the dashboard."""
    runtime = runtime_of(request)
    try:
        attempt, url = await service.begin(runtime, _redirect_uri(request, runtime.settings), wanted)
    except HeadraceError as error:
        return _problem_page(request, error)
    response = RedirectResponse(url, status_code=303)
    # Lax: the way back begins at the provider, and a strict cookie would stay behind.
    response.set_cookie(
        ATTEMPT_COOKIE,
        attempt.cookie,
        max_age=LASTS_S,
        path=PATH,
        httponly=True,
        samesite="lax",
        secure=runtime.settings.secure_cookie,
    )
    return response


@router.get("/session/oidc/callback", status_code=303, response_class=RedirectResponse, responses=_TO)
async def finish_provider_login(
    request: Request,
    state: Annotated[str | None, Query(max_length=200)] = None,
    code: Annotated[str | None, Query(max_length=4096)] = None,
    iss: Annotated[str | None, Query(max_length=2048)] = None,
    error: Annotated[str | None, Query(max_length=2048)] = None,
) -> Response:
    """Where the provider sends the browser back to: opens a session and leads to the dashboard, never elsewhere."""
    runtime = runtime_of(request)
    try:
        token, next_path = await service.finish(
            runtime,
            cookie=request.cookies.get(ATTEMPT_COOKIE),
            state=state,
            code=code,
            issuer=iss,
            refusal=error,
            redirect_uri=_redirect_uri(request, runtime.settings),
            request_id=request.state.request_id,
            replaces=request.cookies.get(COOKIE),
        )
    except HeadraceError as refused:
        return _forget_attempt(_problem_page(request, refused), runtime.settings)
    response = RedirectResponse(next_path, status_code=303)
    set_session(response, runtime.settings, token)
    return _forget_attempt(response, runtime.settings)
