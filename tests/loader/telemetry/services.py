"""Services on loopback, well-behaved as the contract has it until a test says otherwise, or hostile from the start."""

from __future__ import annotations

import functools
import gzip
import itertools
import json
import socket
import threading
import time
import uuid
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JOB_ID = "8f7c1d58-6a3e-4a57-9d0e-0c7c4a1b2d3e"


@dataclass
class Request:
    """One request as it arrived; `body` is the JSON, decompressed."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Reply:
    """A response; `body` is sent as JSON unless it is bytes, or an iterator of pieces to send as they come."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


Behaviour = Callable[[Request], Reply | None]


class Service:
    """An HTTP server on loopback that follows the contract, with `misbehave` to answer first; None lets it behave."""

    def __init__(self, port: int = 0) -> None:
        self.requests: list[Request] = []
        self.records: list[tuple[str, dict[str, Any]]] = []
        "(attempt, record) of every report that was acknowledged, repeats included"
        self.activations: list[dict[str, Any]] = []
        self.mix: dict[str, Any] = {"version": 1, "origin": "config", "weights_ppm": {"web": 700_000, "code": 300_000}}
        self.mix |= {"from_step": None, "ramp_steps": 0}
        self.report_every_s: Any = 0.5
        self.streams = False
        "whether the service has streams of the mix, or is too old for that"
        self.retry_ms = 0
        "what a stream that ends asks for"
        self._edited = threading.Condition()
        self._streaming = 0
        self.misbehave: Behaviour = lambda request: None
        self._http = _Server(("127.0.0.1", port), _handler(self))
        self.port = int(self._http.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def close(self) -> None:
        """Stop, dropping every connection."""
        self._http.shutdown()
        self.end_streams()
        self._http.drop_connections()
        self._http.server_close()
        self._thread.join()

    def sent(self, method: str, ending: str) -> list[Request]:
        """The requests with this method whose path ends so."""
        return [r for r in self.requests if r.method == method and r.path.endswith(ending)]

    def answer(self, request: Request) -> Reply:
        """Misbehave, or do as the contract says."""
        self.requests.append(request)
        return self.misbehave(request) or self._behave(request)

    def _behave(self, request: Request) -> Reply:
        rules: dict[tuple[str, str], Callable[[Request], Reply]] = {
            ("POST", "jobs"): lambda r: Reply(200, {"id": JOB_ID, "name": r.body["name"]}),
            ("POST", "attempts"): lambda r: Reply(200, {"id": r.body["id"], "state": "live"}),
            ("POST", "reports"): lambda r: self._take(r.body),
            ("POST", "activations"): self._record,
            ("GET", "activations"): lambda r: Reply(200, {"items": self.activations}),
            ("GET", "mix"): self._show_mix,
            ("GET", "stream"): lambda r: self._stream_mix(),
        }
        if request.method == "PATCH":
            return Reply(200, {"state": request.body["state"]})
        return rules[request.method, request.path.split("/")[-1]](request)

    def _record(self, request: Request) -> Reply:
        self.activations.append({**request.body, "version": len(self.activations) + 1})
        return Reply(200, self.activations[-1])

    def _show_mix(self, request: Request) -> Reply:
        etag = f'"v{self.mix["version"]}"'
        unchanged = request.headers.get("if-none-match") == etag
        return Reply(304) if unchanged else Reply(200, self.mix, {"ETag": etag})

    def edit(self, version: int, weights_ppm: dict[str, int], **change: object) -> None:
        """Make this the newest version, and tell the streams."""
        with self._edited:
            self.mix = {**self.mix, "version": version, "origin": "service", "weights_ppm": weights_ppm, **change}
            self._edited.notify_all()

    def end_streams(self) -> None:
        """End every open stream, as a service does that stops."""
        with self._edited:
            self._streaming += 1
            self._edited.notify_all()

    def _stream_mix(self) -> Reply:
        if not self.streams:
            return Reply(404, {"code": "not_found", "detail": "no such resource"})
        return Reply(200, self._versions(), {"Content-Type": "text/event-stream"})

    def _versions(self) -> Iterator[bytes]:
        generation, told = self._streaming, 0
        while True:
            with self._edited:
                if self._streaming == generation and self.mix["version"] == told:
                    self._edited.wait(timeout=0.2)
            if self._streaming != generation:
                yield b"event: end\nretry: %d\ndata: {}\n\n" % self.retry_ms
                return
            news, told = self.mix["version"] != told, self.mix["version"]
            yield b'event: version\ndata: {"version":%d}\n\n' % told if news else b"event: ping\ndata: {}\n\n"

    def _take(self, batch: Any) -> Reply:
        known = {(attempt, r["rank"], r["seq"]) for attempt, r in self.records}
        new = [r for r in batch["records"] if (batch["attempt"], r["rank"], r["seq"]) not in known]
        self.records += [(batch["attempt"], record) for record in batch["records"]]
        receipt = {"accepted": len(new), "duplicate": len(batch["records"]) - len(new), "rejected": []}
        receipt |= {"mix_version": self.mix["version"], "report_every_s": self.report_every_s}
        return Reply(202, receipt)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, *args: Any) -> None:
        self._open: set[socket.socket] = set()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def drop_connections(self) -> None:
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error here."""


def _handler(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.headers.get("Content-Encoding") == "gzip":
                content = gzip.decompress(content)
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = json.loads(content) if content else None
            reply = service.answer(Request(self.command, self.path.partition("?")[0], headers, body))
            if isinstance(reply.body, Iterator):
                self._stream(reply)
                return
            sent = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            sent = b"" if reply.status == 304 else sent
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def _stream(self, reply: Reply) -> None:
            self.send_response(reply.status)
            for name, value in {**reply.headers, "Transfer-Encoding": "chunked"}.items():
                self.send_header(name, value)
            self.end_headers()
            for piece in itertools.chain(reply.body, [b""]):
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))

        do_GET = do_POST = do_PATCH = _serve  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    return Handler


@contextmanager
def raw_service(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """The URL of a server that hands each connection to `talk` on a thread of its own."""
    listener = socket.create_server(("127.0.0.1", 0))
    connections: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def converse(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            talk(connection)

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connections.append(connection)
                threads.append(threading.Thread(target=converse, args=(connection,)))
                threads[-1].start()

    acceptor = threading.Thread(target=accept)
    acceptor.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        acceptor.join()
        listener.close()
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()


def silence(connection: socket.socket) -> None:
    """Accept, read, never answer."""
    while connection.recv(65536):
        pass


def drip_headers(connection: socket.socket) -> None:
    """A status line, then one header byte at a time, for ever."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Drip: ")
    drip(connection)


def drip_body(connection: socket.socket) -> None:
    """Good headers, then one byte at a time of a body that never ends."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
    drip(connection)


def drip(connection: socket.socket) -> None:
    """A byte each tenth of a second, for ever."""
    while True:
        connection.sendall(b" ")
        time.sleep(0.1)


def flood(connection: socket.socket) -> None:
    """A body without end."""
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    while True:
        connection.sendall(chunk)


def bomb(connection: socket.socket) -> None:
    """A small compressed body that is huge when unpacked."""
    connection.recv(65536)
    body = _bomb()
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


@functools.cache
def _bomb() -> bytes:
    """128 MiB of spaces, compressed piece by piece."""
    packer = zlib.compressobj(level=1, wbits=31)
    return b"".join(packer.compress(b" " * (1 << 20)) for _ in range(128)) + packer.flush()


def garbage(connection: socket.socket) -> None:
    """Not HTTP."""
    connection.recv(65536)
    connection.sendall(bytes(range(256)) * 100)


def continue_for_ever(connection: socket.socket) -> None:
    """Interim answers without end."""
    connection.recv(65536)
    while True:
        connection.sendall(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 50)
        time.sleep(0.05)


def reset(connection: socket.socket) -> None:
    """Reset the connection at once."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")


def new_uuid() -> str:
    """A fresh UUID as text."""
    return str(uuid.uuid4())
