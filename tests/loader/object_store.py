"""A real S3-compatible server on loopback, and a proxy before it that delays, fails, cuts and counts."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pyarrow import fs

BUCKET = "corpus"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@dataclass(frozen=True)
class Store:
    """A server of the S3 protocol."""

    port: int

    def uri(self, prefix: str, port: int | None = None) -> str:
        """The URI of a prefix, through the server or through a proxy at `port`."""
        return f"s3://{BUCKET}/{prefix}?endpoint_override=127.0.0.1:{port or self.port}&scheme=http"

    def put(self, key: str, content: bytes) -> None:
        """Write an object."""
        with self._files().open_output_stream(f"{BUCKET}/{key}", compression=None) as stream:
            stream.write(content)

    def put_folder(self, folder: Path, prefix: str) -> None:
        """Write every file below a folder."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())

    def delete(self, key: str) -> None:
        """Remove an object."""
        self._files().delete_file(f"{BUCKET}/{key}")

    def _files(self) -> fs.S3FileSystem:
        return fs.S3FileSystem(
            access_key="test",
            secret_key="test",
            endpoint_override=f"127.0.0.1:{self.port}",
            scheme="http",
            region="us-east-1",
            allow_bucket_creation=True,
        )


@contextmanager
def moto() -> Iterator[Store]:
    """Moto's server mode as a process of its own, with an empty bucket."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **ENVIRONMENT},
    )
    try:
        _wait_for(port, process)
        store = Store(port)
        store._files().create_dir(BUCKET)
        yield store
    finally:
        process.terminate()
        process.wait(10)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"moto's server did not answer on port {port} (exit status {process.poll()})")


@dataclass
class Faults:
    """What the proxy does to requests: shares of them from 0 to 1, drawn by a seed."""

    latency_s: float = 0.0
    errors: float = 0.0
    "answered with status 500 or 503"
    resets: float = 0.0
    "closed with a reset, before or inside the answer"
    cuts: float = 0.0
    "ended inside the answer's body"
    slow: float = 0.0
    "answered in small pieces over a second"
    only: str = ""
    "requests whose first line does not hold this text pass untouched"


class Proxy:
    """Passes requests on to `upstream`; `faults` may be changed at any time. `counts` are by method; bytes by body."""

    def __init__(self, upstream: int, faults: Faults, seed: int = 1) -> None:
        self.faults = faults
        self.counts: Counter[str] = Counter()
        self.injected: Counter[str] = Counter()
        self.bytes_served = 0
        self.port = 0
        self._upstream = upstream
        self._random = random.Random(seed)
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Proxy:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._end = asyncio.Event()
        server = await asyncio.start_server(self._client, "127.0.0.1", 0, limit=1 << 20)
        self.port = int(server.sockets[0].getsockname()[1])
        self._ready.set()
        await self._end.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._request(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            await _closed(writer)
            self._tasks.discard(task)

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answers one request; False once the connection is gone."""
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(_content_length(head) or 0)
        line = head.split(b"\r\n", 1)[0].decode()
        self.counts[line.split(" ", 1)[0]] += 1
        await asyncio.sleep(self.faults.latency_s)
        fate = self._fate(line)
        if fate == "errors":
            status = self._random.choice((b"500 Internal Server Error", b"503 Slow Down"))
            writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return True
        answer_head, answer = await self._ask(head, body)
        if fate == "resets":
            if self._random.random() < 0.5:
                writer.write(answer_head + answer[: len(answer) // 3])
                await writer.drain()
            _reset(writer)
            return False
        if fate == "cuts" and len(answer) > 1:
            writer.write(answer_head + answer[: len(answer) // 2])
            await writer.drain()
            return False
        self.bytes_served += len(answer)
        if fate == "slow":
            await _drip(writer, answer_head, answer)
        else:
            writer.write(answer_head + answer)
            await writer.drain()
        return True

    def _fate(self, line: str) -> str | None:
        if self.faults.only not in line:
            return None
        drawn = self._random.random()
        for fate in ("errors", "resets", "cuts", "slow"):
            share = getattr(self.faults, fate)
            if drawn < share:
                self.injected[fate] += 1
                return fate
            drawn -= share
        return None

    async def _ask(self, head: bytes, body: bytes) -> tuple[bytes, bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._upstream, limit=1 << 24)
        try:
            writer.write(head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + body)
            await writer.drain()
            raw = await reader.read(-1)
        finally:
            await _closed(writer)
        answer_head, _, answer = raw.partition(b"\r\n\r\n")
        lines = answer_head.split(b"\r\n")
        lines[0] = b"HTTP/1.1" + lines[0][8:]
        kept = [line for line in lines if not line.lower().startswith(b"connection:")]
        return b"\r\n".join(kept) + b"\r\n\r\n", answer


async def _closed(writer: asyncio.StreamWriter) -> None:
    """Close a connection and wait until it is: the loop that ends before leaves it to the garbage collector."""
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


async def _drip(writer: asyncio.StreamWriter, head: bytes, body: bytes) -> None:
    writer.write(head)
    for first in range(0, len(body), max(1, len(body) // 10)):
        writer.write(body[first : first + max(1, len(body) // 10)])
        await writer.drain()
        await asyncio.sleep(0.1)


def _reset(writer: asyncio.StreamWriter) -> None:
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    writer.transport.abort()


def _content_length(head: bytes) -> int | None:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return None
