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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from urllib.parse import urlsplit

import httpx

from headrace.telemetry.event_stream import EventReader, ServerEvent
from headrace.telemetry.failures import CLOSED, ServiceError
from headrace.telemetry.http_answer import Answer, read_answer

_CONNECT_S = 1.5
_BETWEEN_BYTES_S = 5.0
_TOTAL_S = 10.0
_WATCH_S = 0.5
ABORTED_S = 0.2
"how long a thread is waited for whose request was cut off"
SILENT = "silent"
"the kind of a failure: a stream is open, and nothing comes"
NO_STREAM = "no stream"
"the kind of a failure: the control plane has no such stream, as older ones have none"
_BREATH_S = 0.02
"between two pieces of a stream, so that one that floods costs the training loop next to nothing"
_THREADS = "headrace-"
_EVENTS = "text/event-stream"
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
        self._silent_at = float("inf")
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

    def listen(self, path: str, hear: Callable[[ServerEvent], None], *, silence_s: float) -> float | None:
        """Hear the server-sent events of `path` until the server ends the stream; seconds it asks to stay away, if any.

        Raises ServiceError: for any other answer, `NO_STREAM` where there is no such path; for `silence_s` seconds in
        which no event or comment was complete, whatever dripped in; and when the connection breaks.
        """
        request = self._http.build_request(
            "GET", path, headers={"Accept": _EVENTS}, timeout=httpx.Timeout(silence_s, connect=_CONNECT_S)
        )
        request.extensions["trace"] = self._trace
        self._silent_at = float("inf")
        try:
            with self._opened(request) as response:
                return self._hear(response, hear, silence_s)
        except ServiceError:
            raise
        except Exception as error:
            raise self._failure(error) from error

    def _hear(self, response: httpx.Response, hear: Callable[[ServerEvent], None], silence_s: float) -> float | None:
        if response.status_code != 200 or not response.headers.get("Content-Type", "").startswith(_EVENTS):
            answer = read_answer(response, self._url)
            kind = NO_STREAM if answer.status == 404 else "not headrace"
            raise ServiceError(kind, f"{self._url} answers {response.request.url.path} with {answer.status}")
        reader = EventReader()
        self._cut_at = self._silent_at = time.monotonic() + silence_s
        for piece in response.iter_raw():
            for event in reader.feed(piece):
                self._cut_at = self._silent_at = time.monotonic() + silence_s
                hear(event)
            time.sleep(_BREATH_S)
        if time.monotonic() >= self._silent_at:  # cut off for that, which without chunks looks like an end
            raise self._silence()
        return reader.retry_s

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
            raise self._failure(error) from error

    def _silence(self) -> ServiceError:
        return ServiceError(SILENT, f"the stream of {self._url} fell silent: does a proxy hold it back?")

    def _failure(self, error: Exception) -> ServiceError:
        if self._aborted.is_set():
            return ServiceError(CLOSED, "telemetry is closed")
        if time.monotonic() >= self._silent_at:
            return self._silence()
        what = f"{type(error).__name__}: {error}".rstrip(": ")[:200]
        return ServiceError("unreachable", f"the control plane at {self._url} does not answer ({what})")

    def _exchange(self, request: httpx.Request) -> Answer:
        with self._opened(request) as response:
            return read_answer(response, self._url)

    @contextmanager
    def _opened(self, request: httpx.Request) -> Iterator[httpx.Response]:
        """The response to a request, closed at the end; `_cut_at` bounds the time until somebody moves it."""
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
                yield response
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
