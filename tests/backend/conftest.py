"""Every test that takes ``world`` runs twice: on SQLite and on a real PostgreSQL."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from headrace_server import migration
from headrace_server.settings import Settings

from tests.backend.postgres import PostgresServer, postgres_server
from tests.backend.world import World, running_world

DATABASES = ("sqlite", "postgresql")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server for the whole session."""
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file built by running the migrations."""
    folder = tmp_path_factory.mktemp("migrated")
    asyncio.run(migration.migrate(Settings(data_dir=folder)))
    return folder / "headrace.db"


@pytest.fixture(scope="session")
def migrated_postgres(postgres: PostgresServer) -> str:
    """The name of a PostgreSQL database built by running the migrations."""
    name = postgres.create()
    asyncio.run(migration.migrate(Settings(database_url=postgres.uri_of(name))))
    return name


@pytest.fixture(params=DATABASES)
def empty_settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    """Settings of a database nobody has migrated yet."""
    if request.param == "sqlite":
        yield Settings(data_dir=tmp_path)
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    name = server.create()
    yield Settings(data_dir=tmp_path, database_url=server.uri_of(name))
    server.drop(name)


@pytest.fixture(params=DATABASES)
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    """Settings of a freshly migrated database."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("migrated_sqlite"), tmp_path / "headrace.db")
        yield Settings(data_dir=tmp_path)
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    name = server.create(request.getfixturevalue("migrated_postgres"))
    yield Settings(data_dir=tmp_path, database_url=server.uri_of(name))
    server.drop(name)


@pytest.fixture
async def world(settings: Settings) -> AsyncIterator[World]:
    """The running service."""
    async with running_world(settings) as running:
        yield running
