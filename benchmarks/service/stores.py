"""Both services over one kind of database, alike: SQLite files of their own, or two databases of one PostgreSQL.

PostgreSQL writes every commit to disk, as does SQLite by the settings of either service.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg

from benchmarks.service.tracking import TrackingServer
from tests.backend.postgres import postgres_server
from tests.backend.process import Server, command, new_key

DATABASES = ("sqlite", "postgresql")


@dataclass
class Pair:
    """Headrace's server and MLflow's, both running."""

    database: str
    settings: dict[str, str]
    folder: Path
    ours: Server
    key: str
    theirs: TrackingServer
    database_processes: list[psutil.Process]
    "of PostgreSQL, which both share; none for SQLite"
    their_database: str
    "a file, or a URI"

    @property
    def our_database(self) -> str:
        """A file, or a URI."""
        return self.settings.get("database_url") or str(self.folder / "headrace.db")

    def kill(self) -> None:
        """End both as a crash does."""
        self.ours.kill()
        self.theirs.kill()

    def restart_ours(self) -> None:
        """Start ours again, where it was."""
        self.ours = Server(self.folder, port=self.ours.url.rpartition(":")[2], **self.settings)


@contextmanager
def pair(database: str, *, workers: int) -> Iterator[Pair]:
    """Both over `database`, on free ports; MLflow's with `workers` processes."""
    folder = Path(tempfile.mkdtemp(prefix="headrace-service-"))
    (folder / "mlflow").mkdir()
    settings = {"max_reports_per_s": "1000000"}
    try:
        if database == "sqlite":
            theirs = str(folder / "mlflow" / "mlflow.db")
            yield from _running(database, folder, settings, theirs, [], workers)
            return
        with postgres_server(durable=True) as postgres:
            settings["database_url"] = postgres.uri_of(postgres.create())
            theirs = postgres.uri_of(postgres.create())
            yield from _running(database, folder, settings, theirs, postgres.processes()[:1], workers)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _running(
    database: str, folder: Path, settings: dict[str, str], theirs: str, processes: list[psutil.Process], workers: int
) -> Iterator[Pair]:
    made = command(folder, "migrate", **settings)
    assert made.returncode == 0, made.stderr
    store = theirs.replace("://", "+psycopg2://", 1) if "://" in theirs else f"sqlite:///{theirs}"
    with TrackingServer(folder / "mlflow", store, workers=workers) as tracking:
        ours = Server(folder, **settings)
        both = Pair(database, settings, folder, ours, new_key(folder, **settings), tracking, processes, theirs)
        try:
            yield both
        finally:
            both.ours.kill()


def rows(database: str, query: str) -> list[tuple[Any, ...]]:
    """What a query finds, in a file of SQLite or at a URI of PostgreSQL."""
    if "://" in database:
        with psycopg.connect(database) as connection:
            return connection.execute(query).fetchall()
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as connection:
        return connection.execute(query).fetchall()
