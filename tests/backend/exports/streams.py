"""Requests at the level of ASGI, where a client can stop reading or go away in the middle."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

from tests.backend.world import World

Message = dict[str, Any]


class Download:
    """One GET by the operator, of which ``on_chunk`` sees each chunk of the body as it is sent.

    The rest is as uvicorn does it: a client that left is told by ``receive``, and what is sent to it is dropped.
    """

    def __init__(self, world: World, path: str, on_chunk: Callable[[int], Awaitable[None]], **query: str) -> None:
        self._world = world
        self._on_chunk = on_chunk
        self._left = asyncio.Event()
        self.num_chunks = 0
        self._asked = False
        self.status = 0
        self.body = b""
        self.whole = False
        key = world.operator.headers["authorization"]
        self._scope: Message = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": urlencode(query).encode(),
            "headers": [(b"host", b"localhost"), (b"authorization", key.encode())],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }

    async def run(self) -> None:
        """Read to the end, or until the app or the client breaks off."""
        await self._world.app(self._scope, self._receive, self._send)

    def leave(self) -> None:
        """Close the connection."""
        self._left.set()

    async def _receive(self) -> Message:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if self._left.is_set():
            await asyncio.sleep(0)
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            return
        self.body += message.get("body", b"")
        self.whole = not message.get("more_body", False)
        if message.get("body"):
            self.num_chunks += 1
            await self._on_chunk(self.num_chunks)
