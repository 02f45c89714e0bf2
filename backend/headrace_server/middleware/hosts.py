"""Only the Host names this server knows: a page that rebinds its DNS name to this address gets nothing."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ..errors import HostRefusedError

# Probes come by address and learn nothing.
_ANY_HOST = frozenset({"/healthz", "/readyz"})


def host_name(header: str) -> str:
    """The name in a Host header: lower case, without port, IPv6 without brackets."""
    header = header.strip().lower()
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0]


class HostAllowList:
    """Refuses requests whose Host is not in ``known``; '*' in it allows any."""

    def __init__(self, app: ASGIApp, known: frozenset[str]) -> None:
        self.app = app
        self.known = known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] == "http" and "*" not in self.known and scope["path"] not in _ANY_HOST:
            host = host_name(Headers(scope=scope).get("host", ""))
            if host not in self.known:
                raise HostRefusedError(
                    f"host {host[:100]!r} is not served here; add it with HEADRACE_SERVER_ALLOWED_HOSTS if it should be"
                )
        await self.app(scope, receive, send)
