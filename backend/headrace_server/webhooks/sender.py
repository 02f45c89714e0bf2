"""One request to a webhook: resolved once, every address checked, sent to the address that was checked.

There is no client around it: no redirect is followed, no proxy, cookie or netrc of the environment used, no connection
kept for the next. TLS is checked for the name, whatever the address. What comes back is read to a few hundred bytes.
"""

import asyncio
import re
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import ip_address

import httpx

from .addresses import Address, Allowed
from .urls import Target, parse_url

Resolve = Callable[[str, int], Awaitable[list[str]]]
TOTAL_S = 15.0
_TIMEOUTS = {"connect": 5.0, "read": 10.0, "write": 10.0, "pool": 5.0}
_MAX_BODY_BYTES = 2048
_MAX_SHOWN_CHARS = 200
_UNPRINTABLE = re.compile(r"[^\x21-\x7e]+")


@dataclass(frozen=True)
class Outcome:
    """How a request went: its status, or none; why it counts as failed (None: delivered); when to come back (s)."""

    status: int | None
    error: str | None
    retry_after_s: float | None = None


class RefusedError(Exception):
    """The webhook may not be sent there; the message is for administrators."""


# Of its own, so that a name server that hangs keeps nobody else's threads.
_resolving = ThreadPoolExecutor(max_workers=8, thread_name_prefix="webhook-resolve")


async def resolve(host: str, port: int) -> list[str]:
    """Every address of a name, as the system resolves it. Raises OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.run_in_executor(
        _resolving, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    )
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def shown_text(body: bytes) -> str:
    """What may be shown of a reply: plain ASCII on one line, cut at 200 characters."""
    return _UNPRINTABLE.sub(" ", body.decode("utf-8", "replace")).strip()[:_MAX_SHOWN_CHARS]


def _retry_after(value: str | None) -> float | None:
    return float(value) if value is not None and value.isdecimal() and len(value) < 7 else None


class Sender:
    """Sends to webhooks; ``resolving`` and ``tls`` can be replaced, so that names and certificates can be tested."""

    def __init__(self, allowed: Allowed, resolving: Resolve = resolve, tls: ssl.SSLContext | None = None) -> None:
        self._allowed = allowed
        self._resolve = resolving
        self._tls = tls

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Outcome:
        """Send once. Never raises but on cancellation: what went wrong is in the outcome."""
        try:
            target = parse_url(url)
            async with asyncio.timeout(TOTAL_S):
                return await self._post(target, headers, body)
        except (RefusedError, ValueError) as error:
            return Outcome(None, f"not sent: {error}")
        except TimeoutError:
            return Outcome(None, f"no answer within {TOTAL_S:.0f} s")
        except (httpx.TransportError, OSError, ssl.SSLError) as error:
            return Outcome(None, f"{type(error).__name__}: {shown_text(str(error).encode())}".rstrip(": "))

    def check_named(self, target: Target) -> None:
        """Check what needs no name server: the port, and an address given as such. Raises RefusedError."""
        if not target.is_web_port and not self._allowed.names(target.host):
            raise RefusedError(f"port {target.port} is refused; use 80, 443 or one from 1024 on")
        try:
            address = ip_address(target.host)
        except ValueError:
            return
        self._check(target, address)

    def _check(self, target: Target, address: Address) -> None:
        if not self._allowed.admits(target.host, address):
            raise RefusedError(
                f"{target.host} leads to an address that is not public; an administrator of the server can allow it "
                "with HEADRACE_SERVER_WEBHOOK_ALLOW"
            )

    async def checked_addresses(self, target: Target) -> list[Address]:
        """The target's addresses, each of them allowed. Raises RefusedError, OSError."""
        self.check_named(target)
        found = [ip_address(text) for text in await self._resolve(target.host, target.port)]
        if not found:
            raise RefusedError(f"{target.host} has no address")
        for address in found:
            self._check(target, address)
        return found

    async def _post(self, target: Target, headers: Mapping[str, str], body: bytes) -> Outcome:
        failed: Exception | None = None
        for address in (await self.checked_addresses(target))[:3]:
            try:
                return await self._post_to(target, address, headers, body)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failed = error
        assert failed is not None
        raise failed

    async def _post_to(self, target: Target, address: Address, headers: Mapping[str, str], body: bytes) -> Outcome:
        name = target.host.rstrip(".")
        plain = httpx.Request("POST", target.url, headers=headers, content=body)  # its Host header is the name's
        request = httpx.Request(
            "POST",
            target.url.copy_with(host=str(address), port=target.port),
            headers=plain.headers,
            content=body,
            extensions={"timeout": _TIMEOUTS, "sni_hostname": name},
        )
        transport = httpx.AsyncHTTPTransport(
            verify=self._context(), trust_env=False, limits=httpx.Limits(max_connections=1, max_keepalive_connections=0)
        )
        began = time.monotonic()
        async with transport:
            response = await transport.handle_async_request(request)
            try:
                return await self._outcome(response, began)
            finally:
                await response.aclose()

    async def _outcome(self, response: httpx.Response, began: float) -> Outcome:
        if response.is_success:
            return Outcome(response.status_code, None)
        if 300 <= response.status_code < 400:
            return Outcome(response.status_code, f"answered {response.status_code}; redirects are not followed")
        held = b""
        async for chunk in response.aiter_raw(_MAX_BODY_BYTES):
            held += chunk[: _MAX_BODY_BYTES - len(held)]
            if len(held) >= _MAX_BODY_BYTES or time.monotonic() - began > TOTAL_S:
                break
        said = shown_text(held)
        return Outcome(
            response.status_code,
            f"answered {response.status_code}" + (f": {said}" if said else ""),
            _retry_after(response.headers.get("retry-after")),
        )

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = httpx.create_ssl_context()
        return self._tls
