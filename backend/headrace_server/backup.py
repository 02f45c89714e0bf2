"""A copy of the SQLite database, made while a server writes to it: one moment's state, checked before it is there."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import sqlalchemy as sa

from .errors import StartRefusedError
from .settings import Settings

_BUSY_S = 30.0


def back_up(settings: Settings, target: Path) -> int:
    """Copy the database to ``target``, which must not be there yet; returns its size (bytes).

    Readable by its owner only, whole or not there. Raises StartRefusedError.
    """
    if not settings.is_sqlite:
        raise StartRefusedError("the database is PostgreSQL: back it up with pg_dump --format=custom")
    source = Path(sa.make_url(settings.url).database or "")
    if not source.is_file():
        raise StartRefusedError(f"there is no database at {source}; set HEADRACE_SERVER_DATA_DIR or pass --data-dir")
    if target.exists():
        raise StartRefusedError(f"{target} is there already; a backup is never written over another")
    part = target.with_name(f".{target.name}.part")
    try:
        part.unlink(missing_ok=True)
        part.touch(mode=0o600)
        _copy(source, part)
        part.replace(target)
    except (OSError, sqlite3.Error) as error:
        raise StartRefusedError(f"can't back up {source} to {target}: {error}") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    return target.stat().st_size


def _copy(source: Path, part: Path) -> None:
    # Read-only, so that nothing is made where there is nothing; in one step, so that it is one moment's state.
    with (
        closing(sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True, timeout=_BUSY_S)) as held,
        closing(sqlite3.connect(part)) as copy,
    ):
        held.backup(copy)
        # One file, without a log beside it.
        copy.execute("PRAGMA journal_mode=DELETE")
        [(verdict,)] = copy.execute("PRAGMA quick_check(1)").fetchall()
        if verdict != "ok":
            raise sqlite3.DatabaseError(f"the copy is damaged: {verdict}")
