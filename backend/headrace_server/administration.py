"""``headrace-server user | key | project``: what REST offers to an administrator, for the owner of the machine.

Each command is one call of the service that the endpoints call, in one transaction, recorded as "command line".
"""

import argparse
import asyncio
import getpass
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from . import migration
from .errors import InvalidError
from .keys import service as keys
from .keys.schemas import KeyCreate
from .principal import EVERYTHING, KEY_SCOPES, ROLES, Principal
from .projects import members
from .projects import service as projects
from .projects.schemas import MemberPut, ProjectCreate, ProjectPatch
from .runtime import build_runtime
from .security import new_password
from .settings import Settings
from .users import service as users
from .users.schemas import UserCreate, UserPatch
from .work import Work

_ACTOR = "command line"
_OWNER = Principal(label=_ACTOR, everywhere=EVERYTHING)
_DAY_S = 86_400.0
_PAGE = 200
Act = Callable[[Work, argparse.Namespace], Awaitable[None]]


@contextmanager
def _checked() -> Iterator[None]:
    """What a schema refuses, as an error that names the value."""
    try:
        yield
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, fault['loc'])) or 'value'}: {fault['msg']}" for fault in error.errors()]
        raise InvalidError("; ".join(faults)) from error


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


async def _user_create(work: Work, args: argparse.Namespace) -> None:
    if args.project is not None and args.role is None:
        raise InvalidError(f"--project needs --role, one of {', '.join(ROLES)}")
    await users.invite(work, UserCreate(username=args.username, password=args.password, is_admin=args.admin))
    if args.role is not None:
        await members.change(work, args.project or projects.DEFAULT, args.username, MemberPut(role=args.role).role)
    elif not args.admin:
        print(f"{args.username} has no role yet; give one with: headrace-server user role", file=sys.stderr)


async def _user_password(work: Work, args: argparse.Namespace) -> None:
    await users.change(work, args.username, UserPatch(password=args.password))


async def _user_change(work: Work, args: argparse.Namespace) -> None:
    await users.change(work, args.username, UserPatch(**args.change))


async def _user_role(work: Work, args: argparse.Namespace) -> None:
    if args.role == "none":
        await members.remove(work, args.project, args.username)
    else:
        await members.change(work, args.project, args.username, MemberPut(role=args.role).role)


async def _user_list(work: Work, _args: argparse.Namespace) -> None:
    cursor = None
    while True:
        page = await users.page(work, cursor=cursor, limit=_PAGE)
        for user in page.items:
            found = await users.find(work.session, user.username)
            held = await users.named_roles_of(work.session, found.id)
            roles = ", ".join(f"{project}: {role}" for project, role in held.items())
            what = "disabled" if user.disabled_at else "administrator" if user.is_admin else roles or "no role"
            print(f"{user.username}\t{what}")
        if (cursor := page.next_cursor) is None:
            return


async def _key_create(work: Work, args: argparse.Namespace) -> None:
    scopes = [scope.strip() for scope in args.scopes.split(",")]
    wrong = [scope for scope in scopes if scope not in KEY_SCOPES]
    if wrong:
        raise InvalidError(f"unknown scope {wrong[0]!r}; choose from {', '.join(KEY_SCOPES)}")
    expires_in_s = None if args.expires_days is None else args.expires_days * _DAY_S
    body = KeyCreate.model_validate(
        {"name": args.name, "scopes": scopes, "expires_in_s": expires_in_s, "job": args.job}
    )
    made = await keys.create_in(work, await projects.find(work, args.project), body)
    print(made.key)


async def _key_list(work: Work, args: argparse.Namespace) -> None:
    project, cursor = await projects.find(work, args.project), None
    while True:
        page = await keys.page(work, project, cursor=cursor, limit=_PAGE)
        for key in page.items:
            used = "never used" if key.last_used_at is None else f"last used {key.last_used_at:%Y-%m-%d %H:%M} UTC"
            job = "" if key.job is None else f" for {key.job!r}"
            print(f"{key.id}\t{key.prefix}…\t{','.join(key.scopes)}{job}\t{used}\t{key.name}")
        if (cursor := page.next_cursor) is None:
            return


async def _key_revoke(work: Work, args: argparse.Namespace) -> None:
    try:
        key_id = UUID(args.key_id)
    except ValueError as error:
        raise InvalidError(f"{args.key_id!r} is not the id of a key; headrace-server key list shows them") from error
    await keys.revoke(work, await projects.find(work, args.project), key_id)


async def _project_create(work: Work, args: argparse.Namespace) -> None:
    await projects.make(work, ProjectCreate(name=args.name))


async def _project_archive(work: Work, args: argparse.Namespace) -> None:
    await projects.change(work, args.name, ProjectPatch(archived=args.archived))


async def _project_list(work: Work, _args: argparse.Namespace) -> None:
    for archived in (False, True):
        cursor = None
        while True:
            page = await projects.visible(work, archived=archived, cursor=cursor, limit=_PAGE)
            for project in page.items:
                print(project.name + ("\tarchived" if archived else ""))
            if (cursor := page.next_cursor) is None:
                break


def _add_users(users_: Any, store: argparse.ArgumentParser) -> None:
    for action, about, act in (
        ("create", "add a user", _user_create),
        ("password", "set a user's password, ending their sessions", _user_password),
    ):
        sub = users_.add_parser(action, parents=[store], help=about)
        sub.set_defaults(act=act)
        sub.add_argument("username")
        sub.add_argument("--generate", action="store_true", help="make a password and print it")
        sub.add_argument("--password-stdin", action="store_true", help="read the password from standard input")
        if action == "create":
            sub.add_argument("--admin", action="store_true", help="an administrator: everything, in every project")
            sub.add_argument("--project", help="a member of this project (default)")
            sub.add_argument("--role", choices=ROLES, help="with this role in it")
    for action, about, change in (
        ("disable", "end a user's sessions and let them in no more", {"disabled": True}),
        ("enable", "let a user in again", {"disabled": False}),
        ("admin", "make a user an administrator of the server", {"is_admin": True}),
        ("no-admin", "leave a user the roles they have in projects", {"is_admin": False}),
    ):
        sub = users_.add_parser(action, parents=[store], help=about)
        sub.set_defaults(act=_user_change, change=change)
        sub.add_argument("username")
    sub = users_.add_parser("role", parents=[store], help="what a user may do in a project")
    sub.set_defaults(act=_user_role)
    sub.add_argument("username")
    sub.add_argument("role", choices=(*ROLES, "none"))
    sub.add_argument("--project", default=projects.DEFAULT)
    users_.add_parser("list", parents=[store], help="users and what they may do").set_defaults(act=_user_list)


def _add_keys(keys_: Any, store: argparse.ArgumentParser) -> None:
    create = keys_.add_parser("create", parents=[store], help="make a key and print it, once")
    create.set_defaults(act=_key_create)
    create.add_argument("--project", default=projects.DEFAULT)
    create.add_argument("--scopes", default="ingest,read", help=f"comma-separated, of {', '.join(KEY_SCOPES)}")
    create.add_argument("--name", required=True, help="what the key is for")
    create.add_argument("--expires-days", type=float, help="the key stops working after this")
    create.add_argument("--job", help="the only job it may register and report; with --scopes ingest")
    listed = keys_.add_parser("list", parents=[store], help="keys that are not revoked, without the keys themselves")
    listed.set_defaults(act=_key_list)
    listed.add_argument("--project", default=projects.DEFAULT)
    revoke = keys_.add_parser("revoke", parents=[store], help="stop a key from working, at once")
    revoke.set_defaults(act=_key_revoke)
    revoke.add_argument("key_id", metavar="ID", help="as headrace-server key list shows it")
    revoke.add_argument("--project", default=projects.DEFAULT)


def _add_projects(projects_: Any, store: argparse.ArgumentParser) -> None:
    create = projects_.add_parser("create", parents=[store], help="make a project")
    create.set_defaults(act=_project_create)
    create.add_argument("name")
    for action, about, archived in (
        ("archive", "leave a project out of lists and let nothing in it change", True),
        ("restore", "take a project out of the archive", False),
    ):
        sub = projects_.add_parser(action, parents=[store], help=about)
        sub.set_defaults(act=_project_archive, archived=archived)
        sub.add_argument("name")
    projects_.add_parser("list", parents=[store], help="projects, archived ones last").set_defaults(act=_project_list)


def add_commands(commands: Any, store: argparse.ArgumentParser) -> None:
    """Add user, key and project to the command line; ``store`` has the options that say which database."""
    for command, about, add in (
        ("user", "people who sign in", _add_users),
        ("key", "keys for machines", _add_keys),
        ("project", "what owns jobs and keys", _add_projects),
    ):
        add(commands.add_parser(command, help=about).add_subparsers(dest="action", required=True), store)


async def _run(settings: Settings, args: argparse.Namespace) -> None:
    await migration.prepare(settings)
    runtime = build_runtime(settings)
    try:
        async with runtime.database.write() as session:
            await projects.ensure_default(session, runtime.now())
            work = Work(
                session=session,
                principal=_OWNER,
                scopes=tuple(sorted(EVERYTHING)),
                job=None,
                now=runtime.now(),
                request_id=_ACTOR,
                runtime=runtime,
            )
            await args.act(work, args)
    finally:
        await runtime.database.close()


def run(settings: Settings, args: argparse.Namespace) -> None:
    """Do what ``args`` say. Raises HeadraceError, StartRefusedError."""
    if "generate" in args:
        args.password = _asked_password(args)
    with _checked():
        asyncio.run(_run(settings, args))
    if getattr(args, "generate", False):
        print(args.password)
