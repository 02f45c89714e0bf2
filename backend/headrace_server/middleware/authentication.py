"""Deny by default: a request without a valid key or session goes no further, whatever route it is for.

Public are the probes, the login and the dashboard's files; nothing else, so a new route is closed until it says who
may call it.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from ..auth import principals
from ..errors import CsrfRefusedError, UnauthenticatedError
from ..principal import Principal
from ..runtime import Runtime
from ..security import csrf_matches
from ..site import is_site_path

COOKIE = "headrace_session"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
PUBLIC = frozenset({("GET", "/healthz"), ("GET", "/readyz"), ("POST", "/api/v1/session")})


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
    authorization = headers.get("authorization")
    if authorization is not None:
        kind, _, key = authorization.partition(" ")
        if kind.lower() != "bearer" or not key.strip():
            raise UnauthenticatedError("Authorization must be 'Bearer hr_…'")
        return await principals.of_key(runtime, key.strip())
    token = cookies.get(COOKIE)
    if not token:
        raise UnauthenticatedError("no key and no session; send 'Authorization: Bearer hr_…' or sign in")
    return await principals.of_session(runtime, token)


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
                await self._check(scope, headers)
            elif scope["method"] not in SAFE_METHODS:
                refuse_foreign_origin(headers)
        await self.app(scope, receive, send)

    async def _check(self, scope: Scope, headers: Headers) -> None:
        cookies = Request(scope).cookies
        principal = await identify(self.runtime, headers, cookies)
        scope["state"]["principal"] = principal
        if principal.session_token is not None and scope["method"] not in SAFE_METHODS:
            refuse_foreign_origin(headers)
            if not csrf_matches(principal.session_token, headers.get("x-csrf-token", "")):
                raise CsrfRefusedError(
                    "the X-CSRF-Token header is missing or not this session's; GET /api/v1/session has it"
                )
