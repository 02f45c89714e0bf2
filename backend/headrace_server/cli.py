"""``headrace-server serve | migrate | user | key | project | openapi``, and what ``commands`` adds.

Exit codes: 0 done, 1 refused, 2 wrong usage.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from . import __version__, administration, migration, openapi, serving
from .app import build_app
from .backup import back_up
from .commands import NAMES, add_commands, run
from .errors import HeadraceError, StartRefusedError
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

    saved = commands.add_parser("backup", parents=[store], help="copy the SQLite database, also while it is served")
    saved.add_argument("path", type=Path, help="a file that is not there yet")

    administration.add_commands(commands, store)
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


def _migrate(args: argparse.Namespace) -> None:
    before, after = migration.migrate_now(_settings(args))
    print(f"at {after}" + ("" if before == after else f", from {before or 'empty'}"))


def _backup(args: argparse.Namespace) -> None:
    print(f"{args.path}: {back_up(_settings(args), args.path):,} bytes")


def _openapi(args: argparse.Namespace) -> None:
    text = openapi.as_text(build_app(Settings(database_url="sqlite:////nowhere/never-opened.db")))
    if args.output is None:
        sys.stdout.write(text)
    else:
        args.output.write_text(text, encoding="utf-8")


def _administer(args: argparse.Namespace) -> None:
    administration.run(_settings(args), args)


def _serve(args: argparse.Namespace) -> None:
    serving.serve(_settings(args), args.ready_file)


_COMMANDS: dict[str, Callable[[Any], None]] = {
    "serve": _serve,
    "migrate": _migrate,
    "backup": _backup,
    "user": _administer,
    "key": _administer,
    "project": _administer,
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
