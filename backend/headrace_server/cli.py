"""``headrace-server serve | migrate | user | key | openapi``, and what ``commands`` adds.

Exit codes: 0 done, 1 refused, 2 wrong usage.
"""

import argparse
import asyncio
import getpass
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from sqlalchemy.ext.asyncio import AsyncSession

from . import __version__, migration, openapi, serving
from .app import build_app
from .auth import service as auth
from .commands import NAMES, add_commands, run
from .db import Database
from .errors import HeadraceError, InvalidError, StartRefusedError
from .principal import KEY_SCOPES
from .projects import service as projects
from .security import new_password
from .settings import Settings

_ACTOR = "command line"
_T = TypeVar("_T")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="headrace-server",
        description="The control plane of Headrace. Every option can also be set as HEADRACE_SERVER_<NAME>.",
    )
    parser.add_argument("--version", action="version", version=f"headrace-server {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    store = argparse.ArgumentParser(add_help=False)
    store.add_argument("--data-dir", type=Path, help="where the SQLite file lives")
    store.add_argument("--database-url", help="postgresql://user@host/name; better set by the environment")

    serve = commands.add_parser("serve", parents=[store], help="run the server")
    serve.add_argument("--host", help="address to bind (127.0.0.1)")
    serve.add_argument("--port", type=int, help="port to bind (8400); 0 takes a free one")
    serve.add_argument(
        "--public", action="store_true", default=None, help="allow a bind beyond loopback; put TLS in front"
    )
    serve.add_argument(
        "--allowed-host", action="append", dest="allowed_hosts", help="another Host name to answer to (repeatable)"
    )
    serve.add_argument("--workers", type=int, help="processes that share the address (1); more on PostgreSQL only")
    serve.add_argument("--ready-file", type=Path, help="write url (and a first login) here as JSON, for scripts")

    commands.add_parser("migrate", parents=[store], help="bring the database to this server's revision")

    user = commands.add_parser("user", help="people who sign in").add_subparsers(dest="action", required=True)
    for action, about in (("create", "add a user"), ("password", "set a user's password, ending their sessions")):
        sub = user.add_parser(action, parents=[store], help=about)
        sub.add_argument("username")
        sub.add_argument("--generate", action="store_true", help="make a password and print it")
        sub.add_argument("--password-stdin", action="store_true", help="read the password from standard input")
        if action == "create":
            sub.add_argument("--admin", action="store_true", help="an administrator: everything, in every project")

    key = commands.add_parser("key", help="keys for machines").add_subparsers(dest="action", required=True)
    create = key.add_parser("create", parents=[store], help="make a key and print it, once")
    create.add_argument("--project", default="default")
    create.add_argument("--scopes", default="ingest,read", help=f"comma-separated, of {', '.join(KEY_SCOPES)}")
    create.add_argument("--name", required=True, help="what the key is for")
    create.add_argument("--expires-days", type=float, help="the key stops working after this")

    add_commands(commands)
    described = commands.add_parser("openapi", help="print the API description")
    described.add_argument("--output", type=Path, help="write it here instead")
    return parser


def _settings(args: argparse.Namespace) -> Settings:
    given = {
        name: value
        for name in ("data_dir", "database_url", "host", "port", "public", "allowed_hosts", "workers")
        if (value := getattr(args, name, None)) is not None
    }
    try:
        settings = Settings(**given)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise StartRefusedError(f"the settings are wrong: {faults}") from error
    _ = settings.url  # refused here, before anything is bound or made
    return settings


def _in_database(settings: Settings, act: Callable[[AsyncSession], Awaitable[_T]]) -> _T:
    async def run() -> _T:
        await migration.prepare(settings)
        database = Database(settings)
        try:
            async with database.write() as session:
                await projects.ensure_default(session, time.time())
                return await act(session)
        finally:
            await database.close()

    return asyncio.run(run())


def _asked_password(args: argparse.Namespace) -> str:
    if args.generate:
        return new_password()
    if args.password_stdin:
        return sys.stdin.readline().rstrip("\n")
    if not sys.stdin.isatty():
        raise InvalidError("there is no terminal to ask for the password; pass --generate or --password-stdin")
    password = getpass.getpass("Password: ")
    if getpass.getpass("Again: ") != password:
        raise InvalidError("the two passwords differ")
    return password


def _user(args: argparse.Namespace) -> None:
    password = _asked_password(args)

    async def change(session: AsyncSession) -> None:
        if args.action == "create":
            await auth.create_user(session, args.username, password, by=_ACTOR, now=time.time(), is_admin=args.admin)
        else:
            await auth.change_password(session, args.username, password, by=_ACTOR, now=time.time())

    _in_database(_settings(args), change)
    if args.generate:
        print(password)


def _key(args: argparse.Namespace) -> None:
    scopes = [scope.strip() for scope in args.scopes.split(",")]
    wrong = [scope for scope in scopes if scope not in KEY_SCOPES]
    if wrong:
        raise InvalidError(f"unknown scope {wrong[0]!r}; choose from {', '.join(KEY_SCOPES)}")

    async def make(session: AsyncSession) -> str:
        project = await projects.named(session, args.project)
        now = time.time()
        expires_at = None if args.expires_days is None else now + args.expires_days * 86_400
        _, key = await auth.create_key(
            session,
            project,
            name=args.name,
            scopes=scopes,
            by=_ACTOR,
            now=now,
            expires_at=expires_at,
            request_id=_ACTOR,
        )
        return key

    print(_in_database(_settings(args), make))


def _migrate(args: argparse.Namespace) -> None:
    before, after = migration.migrate_now(_settings(args))
    print(f"at {after}" + ("" if before == after else f", from {before or 'empty'}"))


def _openapi(args: argparse.Namespace) -> None:
    text = openapi.as_text(build_app(Settings(database_url="sqlite:////nowhere/never-opened.db")))
    if args.output is None:
        sys.stdout.write(text)
    else:
        args.output.write_text(text, encoding="utf-8")


def _serve(args: argparse.Namespace) -> None:
    serving.serve(_settings(args), args.ready_file)


_COMMANDS: dict[str, Callable[[Any], None]] = {
    "serve": _serve,
    "migrate": _migrate,
    "user": _user,
    "key": _key,
    "openapi": _openapi,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    args = _parser().parse_args(argv)
    if args.command in NAMES:
        return run(args)
    try:
        _COMMANDS[args.command](args)
    except (StartRefusedError, HeadraceError) as error:
        print(f"headrace-server: {error}", file=sys.stderr)
        return 1
    return 0
