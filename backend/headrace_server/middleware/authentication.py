"""Deny by default: a request without a valid key or session goes no further, whatever route it is for.

Public are the probes, the login (with a provider too) and the dashboard's files; nothing else, so a new route is closed
until it says who may call it.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..auth import sessions
from ..auth.cookies import COOKIE, set_session
from ..errors import CsrfRefusedError, UnauthenticatedError
from ..keys import service as keys
from ..principal import Principal
from ..runtime import Runtime
from ..security import csrf_matches
from ..settings import Settings
from ..site import is_site_path

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
PUBLIC = frozenset(
    {
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("POST", "/api/v1/session"),
        ("GET", "/api/v1/session/methods"),
        ("GET", "/api/v1/session/oidc/login"),
        ("GET", "/api/v1/session/oidc/callback"),
    }
)


def is_public(method: str, path: str) -> bool:
    """Whether anybody may call this without a key or a session."""
    return (method, path) in PUBLIC or (method in ("GET", "HEAD") and is_site_path(path))


def refuse_foreign_origin(headers: Headers) -> None:
    """Raise CsrfRefusedError when a browser says that the request comes from another site."""
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower():
        raise CsrfRefusedError(f"Origin {origin[:200]!r} is not this server")
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise CsrfRefusedError("the browser says that this request comes from another site")


async def identify(runtime: Runtime, headers: Headers, cookies: Mapping[str, str]) -> Principal:
    """Who sends a key or a session cookie; a key wins. Raises UnauthenticatedError."""
    return (await _find(runtime, headers, cookies))[0]


async def _find(
    runtime: Runtime, headers: Headers, cookies: Mapping[str, str]
) -> tuple[Principal, sessions.Found | None]:
    authorization = headers.get("authorization")
    if authorization is not None:
        kind, _, key = authorization.partition(" ")
        if kind.lower() != "bearer" or not key.strip():
            raise UnauthenticatedError("Authorization must be 'Bearer hr_…'")
        return await keys.principal_of(runtime, key.strip()), None
    token = cookies.get(COOKIE)
    if not token:
        raise UnauthenticatedError("no key and no session; send 'Authorization: Bearer hr_…' or sign in")
    found = await sessions.find(runtime, token)
    return found.principal, found


class Authentication:
    """Finds out who is calling (``scope['state']['principal']``) and checks browser writes for forgery."""

    def __init__(self, app: ASGIApp, runtime: Runtime) -> None:
        self.app = app
        self.runtime = runtime

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            if not is_public(scope["method"], scope["path"]):
                send = await self._check(scope, headers, send)
            elif scope["method"] not in SAFE_METHODS:
                refuse_foreign_origin(headers)
        await self.app(scope, receive, send)

    async def _check(self, scope: Scope, headers: Headers, send: Send) -> Send:
        principal, session = await _find(self.runtime, headers, Request(scope).cookies)
        scope["state"]["principal"] = principal
        if session is None:
            return send
        if scope["method"] not in SAFE_METHODS:
            refuse_foreign_origin(headers)
            if not csrf_matches(principal.session_token or "", headers.get("x-csrf-token", "")):
                raise CsrfRefusedError(
                    "the X-CSRF-Token header is missing or not this session's; GET /api/v1/session has it"
                )
        if not (session.rotation_due or session.seen_due):
            return send
        token = await sessions.renew(self.runtime, session)
        return send if token is None else _with_cookie(send, self.runtime.settings, token)


def _with_cookie(send: Send, settings: Settings, token: sessions.Token) -> Send:
    """Send a session's new token along, unless the endpoint says something about the cookie itself."""
    cookie = Response()
    set_session(cookie, settings, token)

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if not headers.get("set-cookie", "").startswith(COOKIE):
                headers.append("set-cookie", cookie.headers["set-cookie"])
        await send(message)

    return sending
