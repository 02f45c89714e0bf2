"""Running the server: bind, migrate, make the first user, tell scripts where it is, stop cleanly."""

import asyncio
import json
import os
import secrets
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import uvicorn
import uvloop

from . import migration, tracing, workers
from .db import Database, sqlite_version_ok
from .errors import ConflictError, StartRefusedError
from .logs import log_to_stderr
from .security import new_password
from .settings import Settings
from .users import service as users

FIRST_USER = "admin"
_POLL_S = 0.05


@dataclass(frozen=True)
class FirstLogin:
    """The generated login of a first start; shown once, kept nowhere."""

    username: str
    password: str


async def prepare(settings: Settings) -> FirstLogin | None:
    """Bring the database up and, if it has no user, make the first one. Raises StartRefusedError."""
    if settings.is_sqlite and not sqlite_version_ok():
        raise StartRefusedError("SQLite 3.35 or newer is needed; this Python was built with an older one")
    await migration.prepare(settings)
    database = Database(settings)
    password = new_password()
    made = False
    try:
        with suppress(ConflictError):  # a replica that starts at the same time was faster, and shows the password
            async with database.write() as session:
                made = await users.ensure_first(session, FIRST_USER, password, now=time.time())
    finally:
        await database.close()
    return FirstLogin(FIRST_USER, password) if made else None


def bind(settings: Settings) -> socket.socket:
    """A listening socket. Raises StartRefusedError when the address is unsafe or taken."""
    settings.refuse_unsafe_bind()
    host = settings.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, settings.port))
    except OSError as error:
        listener.close()
        raise StartRefusedError(
            f"can't bind {settings.host}:{settings.port}: {error.strerror}; stop what uses it or pass --port"
        ) from error
    listener.listen(1024)
    return listener


def address_of(settings: Settings, listener: socket.socket) -> str:
    """The URL to open, with the port that was really taken."""
    port = listener.getsockname()[1]
    host = settings.host
    if host in ("0.0.0.0", "::", "[::]"):
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host.strip("[]") else f"http://{host}:{port}"


def write_private(path: Path, document: dict[str, object]) -> None:
    """Write JSON readable by its owner only, whole or not at all."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(document, file)
    part.replace(path)


def _announce(url: str, login: FirstLogin | None, ready_file: Path | None) -> None:
    print(f"Headrace is at {url}", flush=True)
    if login is not None:
        print(
            f"First start: sign in as {login.username!r} with the password {login.password}\n"
            "It is shown this once; change it with: headrace-server user password admin",
            flush=True,
        )
    if ready_file is not None:
        document: dict[str, object] = {"url": url, "pid": os.getpid()}
        if login is not None:
            document |= {"username": login.username, "password": login.password}
        write_private(ready_file, document)


def _already_handled(_signal: int, _frame: object) -> None:
    """Uvicorn raises a signal again once it has stopped because of it; by then the work is done."""


async def _serve_alone(settings: Settings, listener: socket.socket, ready: Callable[[], None]) -> None:
    server = uvicorn.Server(workers.config_of(settings, partial(workers.serving_app, settings)))
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, _already_handled)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not serving.done():
        await asyncio.sleep(_POLL_S)
    if server.started:
        ready()
    await serving


def serve(settings: Settings, ready_file: Path | None = None) -> None:
    """Serve until interrupted or terminated. Raises StartRefusedError."""
    log_to_stderr(settings.log_format)
    tracing.refuse_unusable()
    settings.refuse_workers_on_sqlite()
    listener = bind(settings)
    if ready_file is not None:
        ready_file.unlink(missing_ok=True)  # one from an earlier start would name a dead address
    with suppress(KeyboardInterrupt), listener:
        # Once, before there are several processes: one migration, one first user, one password on the screen.
        login = asyncio.run(prepare(settings))
        ready = partial(_announce, address_of(settings, listener), login, ready_file)
        if settings.workers > 1:
            workers.serve_with_workers(settings, listener, ready)
        else:
            uvloop.run(_serve_alone(settings, listener, ready))
