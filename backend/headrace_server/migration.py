"""Running Alembic from a checkout or an installed wheel, and refusing to serve on the wrong schema."""

import asyncio
import logging
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy.ext.asyncio import AsyncEngine

from .db import Database, build_engine, make_store
from .errors import StartRefusedError
from .settings import Settings

log = logging.getLogger(__name__)

_PACKAGED = Path(__file__).parent / "_migrations"
_CHECKOUT = Path(__file__).parents[2] / "migrations"


def migrations_dir() -> Path:
    """Where the migrations are: in the wheel, or at the root of a checkout."""
    for folder in (_PACKAGED, _CHECKOUT):
        if (folder / "env.py").is_file():
            return folder
    raise StartRefusedError(f"the migrations are missing; looked in {_PACKAGED} and {_CHECKOUT}")


def alembic_config(connection: sa.Connection | None = None) -> Config:
    """Alembic's configuration; with a connection the migrations run on it."""
    config = Config()
    config.set_main_option("script_location", str(migrations_dir()).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def head() -> str:
    """The newest revision this server knows."""
    found = ScriptDirectory.from_config(alembic_config()).get_current_head()
    assert found is not None, "there is at least one migration"
    return found


def _known() -> set[str]:
    return {script.revision for script in ScriptDirectory.from_config(alembic_config()).walk_revisions()}


def _revision(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    return revision


async def revision_of(database: Database) -> str | None:
    """The revision a database is at; None for an empty one."""
    async with database.engine.connect() as connection:
        return await connection.run_sync(_revision)


def _refuse_newer(revision: str | None) -> None:
    if revision is not None and revision not in _known():
        raise StartRefusedError(
            f"the database is at revision {revision}, which this server does not know: a newer server has "
            "migrated it. Install that version (pip install --upgrade headrace-server) or restore a backup."
        )


def _upgrade(connection: sa.Connection) -> None:
    command.upgrade(alembic_config(connection), "head")


async def _reach(engine: AsyncEngine) -> None:
    """Raise StartRefusedError when the database refuses a connection, whatever the driver calls that."""
    try:
        async with engine.connect():
            return
    except Exception as error:
        raise StartRefusedError(f"can't reach the database: {type(error).__name__}: {error}") from error


async def migrate(settings: Settings) -> tuple[str | None, str]:
    """Bring the database to the newest revision, in one transaction; returns the revisions before and after.

    Safe to run twice, and by two at once. Raises StartRefusedError when the database can't be reached, or is newer
    than this server.
    """
    make_store(settings)
    engine = build_engine(settings)
    try:
        await _reach(engine)
        async with engine.connect() as connection:
            await connection.execution_options(headrace_write=True)
            async with connection.begin():
                if not settings.is_sqlite:
                    # Two that migrate at once queue here. The number is arbitrary but fixed.
                    await connection.execute(sa.text("SELECT pg_advisory_xact_lock(4242008400)"))
                before = await connection.run_sync(_revision)
                _refuse_newer(before)
                await connection.run_sync(_upgrade)
    finally:
        await engine.dispose()
    return before, head()


async def prepare(settings: Settings) -> None:
    """Migrate SQLite; on PostgreSQL refuse a database that isn't at this server's revision, with the command to run."""
    if settings.is_sqlite:
        await migrate(settings)
        return
    database = Database(settings)
    try:
        await _reach(database.engine)
        revision = await revision_of(database)
    finally:
        await database.close()
    _refuse_newer(revision)
    if revision != head():
        raise StartRefusedError(
            f"the database is at revision {revision or '(empty)'}, this server needs {head()}. "
            "Run: headrace-server migrate"
        )


def migrate_now(settings: Settings) -> tuple[str | None, str]:
    """``migrate`` for the command line."""
    return asyncio.run(migrate(settings))
