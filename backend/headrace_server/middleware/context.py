"""The outermost layer: a request id, security headers, one log line, and no exception past it."""

import json
import logging
import secrets
import time

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import HeadraceError
from ..problems import problem_response

log = logging.getLogger("headrace_server.access")

# Nothing inline: the dashboard brings its styles and scripts as files. Charts are saved through data: and blob: images.
CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "worker-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ]
)
SECURITY_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class RequestContext:
    """Gives each request an id, every response the security headers, and every failure a problem document."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id
        started = time.perf_counter()
        status = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = request_id
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith("/api/"):
                    headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            await self.app(scope, receive, send_with_headers)
        except HeadraceError as error:
            await problem_response(error, request_id)(scope, receive, send_with_headers)
        except Exception:
            log.exception("request %s failed", request_id, extra={"request": {"request_id": request_id}})
            if status:
                raise  # the response has begun; only closing the connection tells the client
            failure = HeadraceError(f"the server failed; its log has the details under request {request_id}")
            await problem_response(failure, request_id)(scope, receive, send_with_headers)
        finally:
            _log_line(scope, request_id, status, time.perf_counter() - started)


def _log_line(scope: Scope, request_id: str, status: int, took_s: float) -> None:
    # Never the query, the headers or the body: any of them may hold a secret.
    state = scope["state"]
    principal = state.get("principal")
    line = {
        "request_id": request_id,
        "method": scope["method"],
        "path": scope["path"],
        "route": state.get("route"),
        "status": status,
        "ms": round(took_s * 1000, 1),
        "caller": None if principal is None else principal.label,
        "client": (scope.get("client") or ("", 0))[0],
    }
    level = logging.WARNING if status >= 500 else logging.INFO
    log.log(level, "%s", json.dumps(line), extra={"request": line})
