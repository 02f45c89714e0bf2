"""The connection by which processes on one PostgreSQL tell each other of changes; one a process, outside the pool."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from ..db import Connections
from ..settings import Settings

CHANNEL = "headrace"
_TIMEOUT_S = 5.0
_NAMED = {"application_name": "headrace-events"}
BROKEN = (OSError, TimeoutError, SQLAlchemyError, asyncpg.PostgresError, asyncpg.InterfaceError)
"""What a connection that can't be made or used raises."""
# PostgreSQL takes 8,000 bytes less one.
MAX_PAYLOAD_BYTES = 7900


class Wire:
    """An open connection that listens; ``lost`` is set when it breaks."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.lost = asyncio.Event()
        connection.add_termination_listener(lambda _connection: self.lost.set())

    async def listen(self, heard: Callable[[str], None]) -> None:
        """Have ``heard`` called with each payload, this process's own too."""
        await self._connection.add_listener(CHANNEL, lambda _c, _pid, _channel, payload: heard(payload))

    async def tell(self, payload: str) -> None:
        """Send a payload to every process. Raises when the connection is of no use any more."""
        await self._connection.execute("SELECT pg_notify($1, $2)", CHANNEL, payload, timeout=_TIMEOUT_S)


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Wire]:
    """A wire of its own for as long as the block lasts. Raises one of BROKEN."""
    connections = Connections()
    making = {"server_settings": _NAMED, "async_creator_fn": connections.connect}
    engine = create_async_engine(settings.url, poolclass=NullPool, connect_args=making)
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            pooled = await engine.raw_connection()
        connection = pooled.driver_connection
        assert isinstance(connection, asyncpg.Connection)
        try:
            yield Wire(connection)
        finally:
            connection.terminate()
            pooled.invalidate()
    finally:
        connections.end()
        await engine.dispose()
