"""The database: engines, and one way to read and one way to write.

A write is one short transaction; on SQLite it takes the write lock up front (``BEGIN IMMEDIATE``) and writers of this
process queue fairly, so "database is locked" can only come from another process that holds it beyond ``busy_timeout``.
``synchronous=FULL`` makes a committed report survive a power cut.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast
from weakref import WeakSet

import asyncpg
import sqlalchemy as sa
from pydantic_core import from_json
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine

from .settings import Settings

_WRITE = "headrace_write"
_BUSY_TIMEOUT_MS = 10_000


def _on_sqlite_connect(connection: DBAPIConnection, _record: object) -> None:
    # SQLAlchemy's own BEGIN is sent by _on_sqlite_begin; the driver must not add another.
    cast("Any", connection).isolation_level = None
    cursor = connection.cursor()
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        f"busy_timeout={_BUSY_TIMEOUT_MS}",
        "cache_size=-32768",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _on_sqlite_begin(connection: sa.Connection) -> None:
    write = connection.get_execution_options().get(_WRITE, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


class Connections:
    """The connections to PostgreSQL that an engine makes, so that none outlives it.

    A task that is cancelled while it connects may leave one behind that no pool knows.
    """

    def __init__(self) -> None:
        self._made: WeakSet[asyncpg.Connection] = WeakSet()
        self._ended = False

    async def connect(self, *args: Any, **options: Any) -> asyncpg.Connection:
        """As ``asyncpg.connect``: an engine's ``async_creator_fn``. Raises ConnectionError after the end."""
        made = await asyncpg.connect(*args, **options)
        if self._ended:
            made.terminate()
            raise ConnectionError("this server is stopping")
        self._made.add(made)
        return made

    def end(self) -> None:
        """Cut those that are still open, and refuse later ones."""
        self._ended = True
        for connection in list(self._made):
            if not connection.is_closed():
                connection.terminate()


def build_engine(settings: Settings, connections: Connections | None = None) -> AsyncEngine:
    """An engine for ``settings.url``; opens nothing yet."""
    # Errors go to the log, and what a statement was given may be a secret's hash or a person's words.
    shared: dict[str, Any] = {"json_deserializer": from_json, "hide_parameters": True}
    if not settings.is_sqlite:
        if connections is not None:
            shared["connect_args"] = {"async_creator_fn": connections.connect}
        return create_async_engine(settings.url, pool_size=10, max_overflow=10, pool_pre_ping=True, **shared)
    engine = create_async_engine(settings.url, pool_size=8, max_overflow=24, **shared)
    sa.event.listen(engine.sync_engine, "connect", _on_sqlite_connect)
    sa.event.listen(engine.sync_engine, "begin", _on_sqlite_begin)
    return engine


def make_store(settings: Settings) -> None:
    """On SQLite make the file's folder and the file, readable by their owner only."""
    if settings.is_sqlite:
        path = Path(sa.make_url(settings.url).database or "")
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)


async def _nothing(_session: AsyncSession, _announced: list[object]) -> None:
    return


class Database:
    """Sessions over one engine.

    What a write announced goes to ``before_commit`` as the last thing in its transaction, and to ``on_commit`` once it
    is durable.
    """

    def __init__(self, settings: Settings) -> None:
        self._connections = Connections()
        self.engine = build_engine(settings, self._connections)
        self._writers = asyncio.Lock() if settings.is_sqlite else None
        self.before_commit: Callable[[AsyncSession, list[object]], Awaitable[None]] = _nothing
        self.on_commit: Callable[[list[object]], None] = lambda _announced: None

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncSession]:
        """A session that sees one snapshot (SQLite) or committed rows (PostgreSQL); never commits."""
        async with AsyncSession(self.engine, expire_on_commit=False) as session:
            yield session

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncSession]:
        """A session that commits once when the block ends, or rolls back when it raises."""
        if self._writers is None:
            async with self._committed() as session:
                yield session
        else:
            async with self._writers, self._committed() as session:
                yield session

    @asynccontextmanager
    async def _committed(self) -> AsyncIterator[AsyncSession]:
        async with AsyncSession(self.engine, expire_on_commit=False) as session:
            await session.connection(execution_options={_WRITE: True})
            yield session
            announced: list[object] = session.info.get("announced", [])
            await self.before_commit(session, announced)
            await session.commit()
            self.on_commit(announced)

    async def close(self) -> None:
        """Close every connection."""
        try:
            await self.engine.dispose()
        finally:
            self._connections.end()


def announce(session: AsyncSession, event: object) -> None:
    """Say that something changed; heard only if and after the session commits."""
    session.info.setdefault("announced", []).append(event)


def dialect_of(session: AsyncSession) -> str:
    """``sqlite`` or ``postgresql``."""
    return session.get_bind().dialect.name


def insert_for(dialect: str, table: Any) -> sqlite.Insert | postgresql.Insert:
    """An INSERT that knows ON CONFLICT, in a dialect."""
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)


def insert_into(session: AsyncSession, table: Any) -> sqlite.Insert | postgresql.Insert:
    """An INSERT that knows ON CONFLICT, in the dialect of the session."""
    return insert_for(dialect_of(session), table)


def sqlite_version_ok() -> bool:
    """SQLite 3.35 brought RETURNING, which ingest needs."""
    return sqlite3.sqlite_version_info >= (3, 35)
