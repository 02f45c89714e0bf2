"""Adding, changing and listing people; their passwords go in and only hashes stay."""

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from ..audit import service as audit
from ..errors import ConflictError, InvalidError, NotFoundError
from ..models import User as UserRow
from ..paging import decode_cursor, encode_cursor
from ..principal import Role
from ..projects import service as projects
from ..security import MIN_PASSWORD_CHARS, hash_password
from ..work import Work
from . import repository
from .schemas import User, UserCreate, UserPage, UserPatch

NO_PASSWORD = ""
"""The hash of who has no password; no password matches it."""


def refuse_weak_password(password: str) -> None:
    """Raise InvalidError for a password that is too short to hold."""
    if len(password) < MIN_PASSWORD_CHARS:
        said = f"the password has {len(password)} characters; use at least {MIN_PASSWORD_CHARS}"
        raise InvalidError(said, errors=[{"loc": ["body", "password"], "msg": said}])


async def find(session: AsyncSession, username: str, *, lock: bool = False) -> UserRow:
    """The user of this name. Raises NotFoundError."""
    user = await repository.by_name(session, username, lock=lock)
    if user is None:
        raise NotFoundError(f"no user {username[:200]!r}")
    return user


async def known(session: AsyncSession, username: str) -> UserRow | None:
    """The user of this name, if there is one."""
    return await repository.by_name(session, username)


async def add(
    session: AsyncSession, username: str, password_hash: str, *, by: str, now: float, request_id: str, is_admin: bool
) -> UserRow:
    """Add a user. Raises ConflictError when the name is taken."""
    user = UserRow(username=username, password_hash=password_hash, created_at=now, is_admin=is_admin)
    session.add(user)
    try:
        await session.flush()
    except IntegrityError as error:
        raise ConflictError(f"there is already a user {username!r}") from error
    after = {"username": username, "is_admin": is_admin}
    audit.record_as(session, by, "user.create", now=now, request_id=request_id, project_id=None, after=after)
    return user


async def create(
    session: AsyncSession, username: str, password: str, *, by: str, now: float, request_id: str, is_admin: bool
) -> UserRow:
    """Add a user with a password. Raises ConflictError when the name is taken, InvalidError for a weak password."""
    refuse_weak_password(password)
    return await add(
        session,
        username,
        await hash_password(password),
        by=by,
        now=now,
        request_id=request_id,
        is_admin=is_admin,
    )


async def set_password(
    session: AsyncSession,
    user: UserRow,
    password: str,
    *,
    by: str,
    now: float,
    request_id: str,
    but_session: int | None = None,
) -> None:
    """Set a password; ends the user's sessions, but one. Raises InvalidError for a weak password."""
    refuse_weak_password(password)
    user.password_hash = await hash_password(password)
    await repository.end_sessions(session, user.id, but=but_session)
    await repository.renew_sessions(session, user.id)
    after = {"username": user.username}
    audit.record_as(session, by, "user.password", now=now, request_id=request_id, project_id=None, after=after)


async def end_sessions(
    session: AsyncSession, user: UserRow, *, by: str, now: float, request_id: str, but_session: int | None = None
) -> None:
    """End every session of a user, but one."""
    await repository.end_sessions(session, user.id, but=but_session)
    after = {"username": user.username}
    audit.record_as(session, by, "user.sessions_end", now=now, request_id=request_id, project_id=None, after=after)


async def renew_sessions(session: AsyncSession, user_id: int) -> None:
    """Give every session of a user a new token at its next request: what they may do has changed."""
    await repository.renew_sessions(session, user_id)


async def roles_of(session: AsyncSession, user_id: int) -> dict[int, Role]:
    """A user's role by project row id."""
    return await repository.roles_of(session, user_id)


async def named_roles_of(session: AsyncSession, user_id: int) -> dict[str, Role]:
    """A user's role by project name."""
    return await repository.named_roles_of(session, user_id)


async def free_name(session: AsyncSession, wanted: str) -> str:
    """``wanted``, or with a number where somebody has that name already."""
    taken = await repository.names_taken(session, wanted)
    if wanted not in taken:
        return wanted
    return next(name for n in range(2, len(taken) + 3) if (name := f"{wanted} ({n})") not in taken)


async def ensure_first(session: AsyncSession, username: str, password: str, *, now: float) -> bool:
    """On an empty database make the default project and the first user, an administrator; says whether it did."""
    await projects.ensure_default(session, now)
    if await repository.count(session):
        return False
    by = "first start"
    await create(session, username, password, by=by, now=now, request_id=by, is_admin=True)
    return True


def _describe(row: UserRow) -> User:
    return User.model_validate(
        {
            "username": row.username,
            "is_admin": row.is_admin,
            "has_password": row.password_hash != NO_PASSWORD,
            "created_at": row.created_at,
            "disabled_at": row.disabled_at,
        }
    )


async def page(work: Work, *, cursor: str | None, limit: int) -> UserPage:
    """A page of the people there are."""
    rows = await repository.page(work.session, after_id=decode_cursor(cursor), limit=limit + 1)
    more = len(rows) > limit
    return UserPage(
        items=[_describe(row) for row in rows[:limit]],
        next_cursor=encode_cursor(rows[limit - 1].id) if more else None,
    )


async def invite(work: Work, body: UserCreate) -> User:
    """Add a user. Raises ConflictError, InvalidError."""
    row = await create(
        work.session,
        body.username,
        body.password,
        by=work.principal.label,
        now=work.now,
        request_id=work.request_id,
        is_admin=body.is_admin,
    )
    return _describe(row)


async def change(work: Work, username: str, body: UserPatch) -> User:
    """Change what the body names. Raises NotFoundError, InvalidError, ConflictError for the last administrator."""
    administrators = await repository.lock_administrators(work.session)
    user = await find(work.session, username, lock=True)
    loses_power = body.is_admin is False or body.disabled is True
    if loses_power and administrators == {user.id}:
        raise ConflictError(f"{username!r} is the last administrator of the server; make somebody else one first")
    if body.password is not None:
        await set_password(
            work.session, user, body.password, by=work.principal.label, now=work.now, request_id=work.request_id
        )
    before, after = _powers(user), _powers(user)
    if body.is_admin is not None:
        after["is_admin"] = user.is_admin = body.is_admin
    if body.disabled is not None and body.disabled != before["disabled"]:
        after["disabled"] = body.disabled
        user.disabled_at = work.now if body.disabled else None
        await repository.end_sessions(work.session, user.id)
    if before != after:
        await repository.renew_sessions(work.session, user.id)
        who: dict[str, object] = {"username": username}
        audit.record(work, "user.change", project_id=None, before=who | before, after=who | after)
    return _describe(user)


def _powers(user: UserRow) -> dict[str, object]:
    return {"is_admin": user.is_admin, "disabled": user.disabled_at is not None}
