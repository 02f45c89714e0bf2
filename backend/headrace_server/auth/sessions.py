"""Sessions: opened by a login, renewed while used, ended by time, by idleness, by signing out or by an administrator.

A token is replaced at the first request after a while, and after what its owner may do has changed. The one before is
good for a moment yet, for requests that were under way.
"""

from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from ..audit import service as audit
from ..errors import ConflictError, LoginFailedError, UnauthenticatedError
from ..models import Session, User
from ..principal import EVERYTHING, ROLE_SCOPES, Principal, Role
from ..runtime import Runtime
from ..security import csrf_token, new_session_token, next_session_token, password_matches, secret_hash
from ..settings import Settings
from ..users import service as users
from ..users.schemas import PasswordChange
from ..work import Work
from . import limits, repository
from .schemas import Credentials, SessionReply, SignedInUser

_SEEN_EVERY_S = 60.0


@dataclass(frozen=True)
class Token:
    """A session's token for the cookie, and how long the session can last (seconds)."""

    secret: str
    lasts_s: float


@dataclass(frozen=True)
class Found:
    """A session in use: its owner, and whether its token or its last use should be written anew."""

    principal: Principal
    session_id: int
    rotation_due: bool
    seen_due: bool
    expires_at: float


async def find(runtime: Runtime, token: str) -> Found:
    """The session with this token. Raises UnauthenticatedError when it has ended, or its user is disabled."""
    now, settings, token_hash = runtime.now(), runtime.settings, secret_hash(token)
    async with runtime.database.read() as session:
        row = await repository.by_token(session, token_hash, now)
        if row is None:
            raise UnauthenticatedError("the session has ended; sign in again")
        held, user = row
        seen_at = held.created_at if held.seen_at is None else held.seen_at
        if seen_at <= now - settings.session_idle_s:
            raise UnauthenticatedError("the session has ended: it was not used for too long; sign in again")
        roles = {} if user.is_admin else await users.roles_of(session, user.id)
    rotated_at = held.created_at if held.rotated_at is None else held.rotated_at
    current = held.token_hash == token_hash
    return Found(
        principal=_person(user, roles, token),
        session_id=held.id,
        rotation_due=current and rotated_at <= now - settings.session_rotate_s,
        seen_due=seen_at <= now - _SEEN_EVERY_S,
        expires_at=held.expires_at,
    )


def _person(user: User, roles: dict[int, Role], token: str) -> Principal:
    return Principal(
        label=user.username,
        username=user.username,
        user_id=user.id,
        everywhere=EVERYTHING if user.is_admin else frozenset(),
        by_project={project_id: ROLE_SCOPES[role] for project_id, role in roles.items()},
        session_token=token,
    )


async def renew(runtime: Runtime, found: Found) -> Token | None:
    """Write that the session is in use, and give it a new token when that is due; None when it keeps its own."""
    now, old = runtime.now(), found.principal.session_token
    assert old is not None
    new = next_session_token(old)
    async with runtime.database.write() as session:
        if not found.rotation_due:
            await repository.note_seen(session, found.session_id, now)
            return None
        rotated = await repository.rotate(
            session,
            found.session_id,
            old=secret_hash(old),
            new=secret_hash(new),
            old_until=now + runtime.settings.session_overlap_s,
            now=now,
        )
    return Token(new, found.expires_at - now) if rotated else None


async def sign_in(
    runtime: Runtime, credentials: Credentials, *, address: str, request_id: str, replaces: str | None
) -> tuple[SessionReply, Token]:
    """Check a password and open a session in place of the one that the browser had.

    Raises LoginFailedError, and TooManyRequestsError after too many failures.
    """
    now = runtime.now()
    last_try = await limits.count_try(runtime.database, runtime.settings, credentials.username, address, now)
    async with runtime.database.read() as session:
        user = await users.known(session, credentials.username)
    right = await password_matches(user.password_hash if user else None, credentials.password)
    if user is None or not right or user.disabled_at is not None:
        if last_try:
            await _record_guessing(runtime, user, address, now, request_id)
        raise LoginFailedError("the user name or the password is wrong")
    await limits.was_right(runtime.database, credentials.username, address)
    async with runtime.database.write() as session:
        token = await open_for(
            session, runtime.settings, user, now=now, request_id=request_id, via="password", replaces=replaces
        )
        return await describe(session, user, token.secret), token


async def _record_guessing(runtime: Runtime, user: User | None, address: str, now: float, request_id: str) -> None:
    # One event for a series of failures. A name nobody has is left out: it may be a password typed too early.
    after = {"username": None if user is None else user.username, "address": address}
    actor = "(somebody)"
    async with runtime.database.write() as session:
        audit.record_as(session, actor, "session.refused", now=now, request_id=request_id, project_id=None, after=after)


async def open_for(
    session: AsyncSession,
    settings: Settings,
    user: User,
    *,
    now: float,
    request_id: str,
    via: str,
    replaces: str | None,
) -> Token:
    """Open a session for somebody who has proved who they are, ``via`` a password or a provider."""
    if replaces is not None:
        await repository.drop(session, secret_hash(replaces))
    token = new_session_token()
    session.add(
        Session(
            user_id=user.id,
            token_hash=secret_hash(token),
            created_at=now,
            expires_at=now + settings.session_lifetime_s,
            seen_at=now,
            rotated_at=now,
        )
    )
    after = {"via": via}
    audit.record_as(
        session, user.username, "session.open", now=now, request_id=request_id, project_id=None, after=after
    )
    return Token(token, settings.session_lifetime_s)


async def describe(session: AsyncSession, user: User, token: str) -> SessionReply:
    """The session as its owner sees it."""
    roles = await users.named_roles_of(session, user.id)
    shown = SignedInUser(username=user.username, is_admin=user.is_admin, roles=roles)
    return SessionReply(user=shown, csrf_token=csrf_token(token))


async def current(work: Work) -> SessionReply:
    """The caller's session."""
    assert work.principal.username is not None and work.principal.session_token is not None
    user = await users.find(work.session, work.principal.username)
    return await describe(work.session, user, work.principal.session_token)


async def sign_out(work: Work) -> None:
    """End the caller's session."""
    assert work.principal.session_token is not None
    await repository.drop(work.session, secret_hash(work.principal.session_token))
    audit.record(work, "session.close", project_id=None)


async def sign_out_everywhere(work: Work, *, but_here: bool) -> None:
    """End every session of the caller, this one too unless ``but_here``."""
    assert work.principal.username is not None and work.principal.session_token is not None
    user = await users.find(work.session, work.principal.username)
    held = await repository.by_token(work.session, secret_hash(work.principal.session_token), work.now)
    await users.end_sessions(
        work.session,
        user,
        by=work.principal.label,
        now=work.now,
        request_id=work.request_id,
        but_session=held[0].id if but_here and held is not None else None,
    )


async def change_own_password(
    runtime: Runtime, principal: Principal, body: PasswordChange, *, address: str, request_id: str
) -> None:
    """Set the caller's password, who knows the one so far; their other sessions end.

    Raises LoginFailedError, TooManyRequestsError, InvalidError, and ConflictError for who has no password here.
    """
    assert principal.username is not None and principal.session_token is not None
    now = runtime.now()
    await limits.count_try(runtime.database, runtime.settings, principal.username, address, now)
    async with runtime.database.read() as session:
        user = await users.find(session, principal.username)
    if user.password_hash == users.NO_PASSWORD:
        raise ConflictError("you sign in with the provider and have no password here")
    if not await password_matches(user.password_hash, body.current_password):
        raise LoginFailedError("the current password is wrong")
    await limits.was_right(runtime.database, principal.username, address)
    async with runtime.database.write() as session:
        held = await repository.by_token(session, secret_hash(principal.session_token), now)
        user = await users.find(session, principal.username, lock=True)
        await users.set_password(
            session,
            user,
            body.new_password,
            by=principal.label,
            now=now,
            request_id=request_id,
            but_session=None if held is None else held[0].id,
        )


async def tidy(session: AsyncSession, settings: Settings, now: float) -> None:
    """Forget sessions and failed logins that no longer count."""
    await repository.drop_expired(session, now, now - settings.session_idle_s)
    await repository.drop_failures(session, now - settings.login_window_s)
