"""A small synchronous HTTP client that no service can hold up, lead elsewhere or fill the memory of.

An answer arrives whole within `_TOTAL_S`, or the call raises ServiceError. Redirects are never followed. The token
travels in one header and is never in a repr, a URL or a log.
"""

from __future__ import annotations

import gzip
import ipaddress
import logging
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from urllib.parse import urlsplit

import httpx

from headrace.telemetry.failures import CLOSED, ServiceError
from headrace.telemetry.http_answer import Answer, read_answer

_CONNECT_S = 1.5
_BETWEEN_BYTES_S = 5.0
_TOTAL_S = 10.0
_WATCH_S = 0.5
ABORTED_S = 0.2
"how long a thread is waited for whose request was cut off"
_THREADS = "headrace-"
_JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the control plane is, as `http(s)://host[:port][/prefix]` without a trailing slash, and the key to it."""

    url: str
    token: str | None = field(repr=False)


class Client:
    """HTTP to one control plane, for one thread; `abort` may be called from any.

    Idempotent calls only: a request on a kept-alive connection that the server had closed is sent once more.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        """Open nothing yet. Raises what httpx raises about the proxy and certificate settings of the environment."""
        headers = {"User-Agent": f"headrace/{version('headrace')}", "Accept-Encoding": "identity"}
        if endpoint.token:
            headers["Authorization"] = f"Bearer {endpoint.token}"
        self._url = endpoint.url
        self._http = httpx.Client(
            base_url=f"{endpoint.url}/api/v1",
            headers=headers,
            timeout=httpx.Timeout(_BETWEEN_BYTES_S, connect=_CONNECT_S),
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1),
            follow_redirects=False,
            trust_env=not _is_loopback(endpoint.url),
            verify=httpx.create_ssl_context(),
        )
        self._stream: object = None
        self._connected = False
        self._cut_at: float | None = None
        self._aborted = threading.Event()
        self._watch: threading.Thread | None = None
        logging.getLogger("httpx").addFilter(_not_from_here)  # its line for each request at level INFO

    def get(self, path: str, *, etag: str | None = None) -> Answer:
        """GET `path`; with `etag`, 304 when nothing changed. Raises ServiceError, as all calls do."""
        return self._request("GET", path, headers={"If-None-Match": etag} if etag else {})

    def post(self, path: str, body: bytes, *, compress: bool = False) -> Answer:
        """POST JSON, with gzip on request."""
        if compress:
            packed = gzip.compress(body, compresslevel=3, mtime=0)
            return self._request("POST", path, content=packed, headers={**_JSON, "Content-Encoding": "gzip"})
        return self._request("POST", path, content=body, headers=_JSON)

    def patch(self, path: str, body: bytes) -> Answer:
        """PATCH with JSON."""
        return self._request("PATCH", path, content=body, headers=_JSON)

    def abort(self) -> None:
        """End the request under way, and refuse all later ones."""
        self._aborted.set()
        self._cut()
        if self._watch is not None and self._watch.is_alive():
            self._watch.join(ABORTED_S)

    def close(self) -> None:
        """Close the connection; by the thread that uses the client."""
        self._aborted.set()
        self._http.close()

    def _request(self, method: str, path: str, *, headers: Mapping[str, str], content: bytes | None = None) -> Answer:
        request = self._http.build_request(method, path, headers=headers, content=content)
        request.extensions["trace"] = self._trace
        try:
            try:
                return self._exchange(request)
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
                if self._connected:
                    raise
                return self._exchange(request)
        except ServiceError:
            raise
        except Exception as error:  # whatever a hostile peer can provoke in httpx, h11 and ssl ends here
            if self._aborted.is_set():
                raise ServiceError(CLOSED, "telemetry is closed") from error
            what = f"{type(error).__name__}: {error}".rstrip(": ")[:200]
            raise ServiceError("unreachable", f"the control plane at {self._url} does not answer ({what})") from error

    def _exchange(self, request: httpx.Request) -> Answer:
        if self._watch is None:
            self._watch = threading.Thread(target=self._cut_when_late, name=f"{_THREADS}watch", daemon=True)
            with suppress(RuntimeError):  # Python starts no threads at exit, when `abort` comes soon anyway
                self._watch.start()
        if self._aborted.is_set():
            raise ServiceError(CLOSED, "telemetry is closed")
        self._connected = False
        self._cut_at = time.monotonic() + _TOTAL_S
        try:
            response = self._http.send(request, stream=True)
            try:
                return read_answer(response, self._url)
            finally:
                response.close()
        finally:
            self._cut_at = None

    def _trace(self, event: str, info: Mapping[str, object]) -> None:
        """Keep the newest connection, as httpcore names it, so that `_cut` can reach its socket."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._stream = info.get("return_value")
            self._connected = True

    def _cut_when_late(self) -> None:
        """Bound the time of a whole exchange, since httpx only bounds the time between two bytes."""
        while not self._aborted.wait(_WATCH_S):
            cut_at = self._cut_at
            if cut_at is not None and time.monotonic() >= cut_at:
                self._cut()

    def _cut(self) -> None:
        """Shut the socket down, which wakes a thread waiting for it; not via SSLSocket, which would drop TLS."""
        get_extra_info = getattr(self._stream, "get_extra_info", None)
        with suppress(OSError):
            if get_extra_info and isinstance(connection := get_extra_info("socket"), socket.socket):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _not_from_here(record: logging.LogRecord) -> bool:
    return not (record.threadName or "").startswith(_THREADS)
