"""Signing in, sessions, keys. Secrets go in and come out once; only hashes stay."""

import uuid
from collections.abc import Collection

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from .. import models
from ..audit import service as audit
from ..errors import ConflictError, InvalidError, LoginFailedError, NotFoundError
from ..principal import KEY_SCOPES, KeyScope
from ..projects import service as projects
from ..runtime import Runtime
from ..security import (
    MIN_PASSWORD_CHARS,
    csrf_token,
    hash_password,
    key_prefix,
    new_key,
    new_session_token,
    password_matches,
    secret_hash,
)
from ..work import Work
from . import repository
from .schemas import ApiKey, ApiKeyList, Credentials, KeyCreate, NewApiKey, SessionReply, SignedInUser


async def sign_in(
    runtime: Runtime, credentials: Credentials, *, address: str, request_id: str
) -> tuple[SessionReply, str]:
    """Check a password and open a session; returns the reply and the cookie's token.

    Raises LoginFailedError, and TooManyRequestsError after too many failures.
    """
    now = runtime.now()
    runtime.logins.check(credentials.username, address, now)
    async with runtime.database.read() as session:
        user = await repository.user_by_name(session, credentials.username)
    right = await password_matches(user.password_hash if user else None, credentials.password)
    if user is None or not right or user.disabled_at is not None:
        runtime.logins.failed(credentials.username, address, now)
        raise LoginFailedError("the user name or the password is wrong")
    runtime.logins.succeeded(credentials.username, address)
    token = new_session_token()
    async with runtime.database.write() as session:
        await repository.drop_expired_sessions(session, now)
        session.add(
            models.Session(
                user_id=user.id,
                token_hash=secret_hash(token),
                created_at=now,
                expires_at=now + runtime.settings.session_lifetime_s,
            )
        )
        audit.record_as(session, user.username, "session.open", now=now, request_id=request_id, project_id=None)
    return describe_session(user.username, token), token


def describe_session(username: str, token: str) -> SessionReply:
    """The session as its owner sees it."""
    return SessionReply(user=SignedInUser(username=username), csrf_token=csrf_token(token))


async def sign_out(work: Work) -> None:
    """End the caller's session."""
    if work.principal.session_token is not None:
        await repository.drop_session(work.session, secret_hash(work.principal.session_token))


async def create_key(
    session: AsyncSession,
    project: models.Project,
    *,
    name: str,
    scopes: Collection[KeyScope],
    by: str,
    now: float,
    expires_at: float | None,
    request_id: str,
) -> tuple[models.ApiKey, str]:
    """Make a key; returns its row and the key itself, which is nowhere else."""
    key = new_key()
    row = models.ApiKey(
        id=uuid.uuid4(),
        project_id=project.id,
        name=name,
        prefix=key_prefix(key),
        key_hash=secret_hash(key),
        scopes=[scope for scope in KEY_SCOPES if scope in scopes],
        created_by=by,
        created_at=now,
        expires_at=expires_at,
        revoked_at=None,
        last_used_at=None,
    )
    session.add(row)
    shown = {"name": name, "prefix": row.prefix, "scopes": row.scopes}
    audit.record_as(session, by, "key.create", now=now, request_id=request_id, project_id=project.id, after=shown)
    return row, key


def _describe_key(row: models.ApiKey) -> ApiKey:
    return ApiKey.model_validate({name: getattr(row, name) for name in ApiKey.model_fields})


async def create_project_key(work: Work, project: models.Project, body: KeyCreate) -> NewApiKey:
    """Make a key for a project; the reply is the only place the key is shown."""
    row, key = await create_key(
        work.session,
        project,
        name=body.name,
        scopes=body.scopes,
        by=work.principal.label,
        now=work.now,
        expires_at=None if body.expires_in_s is None else work.now + body.expires_in_s,
        request_id=work.request_id,
    )
    return NewApiKey(**_describe_key(row).model_dump(), key=key)


async def project_keys(work: Work, project: models.Project) -> ApiKeyList:
    """The keys of a project that are not revoked."""
    rows = await repository.keys_of_project(work.session, project.id)
    return ApiKeyList(items=[_describe_key(row) for row in rows])


async def revoke_key(work: Work, project: models.Project, key_id: uuid.UUID) -> None:
    """Revoke a key at once. Raises NotFoundError."""
    row = await repository.key_of_project(work.session, project.id, key_id)
    if row is None:
        raise NotFoundError(f"no key {key_id} in project {project.name!r}")
    if row.revoked_at is None:
        row.revoked_at = work.now
        shown = {"name": row.name, "prefix": row.prefix, "scopes": row.scopes}
        audit.record(work, "key.revoke", project_id=project.id, before=shown)


def refuse_weak_password(password: str) -> None:
    """Raise InvalidError for a password that is too short to hold."""
    if len(password) < MIN_PASSWORD_CHARS:
        raise InvalidError(f"the password has {len(password)} characters; use at least {MIN_PASSWORD_CHARS}")


async def create_user(
    session: AsyncSession, username: str, password: str, *, by: str, now: float, is_admin: bool
) -> models.User:
    """Make a user. Raises ConflictError when the name is taken, InvalidError for a weak password."""
    refuse_weak_password(password)
    password_hash = await hash_password(password)
    user = models.User(username=username, password_hash=password_hash, created_at=now, is_admin=is_admin)
    session.add(user)
    try:
        await session.flush()
    except IntegrityError as error:
        raise ConflictError(f"there is already a user {username!r}") from error
    after = {"username": username, "is_admin": is_admin}
    audit.record_as(session, by, "user.create", now=now, request_id=by, project_id=None, after=after)
    return user


async def change_password(session: AsyncSession, username: str, password: str, *, by: str, now: float) -> None:
    """Set a user's password and end the user's sessions. Raises NotFoundError, InvalidError."""
    refuse_weak_password(password)
    user = await repository.user_by_name(session, username)
    if user is None:
        raise NotFoundError(f"no user {username!r}")
    user.password_hash = await hash_password(password)
    await repository.drop_sessions_of(session, user.id)
    audit.record_as(session, by, "user.password", now=now, request_id=by, project_id=None, after={"username": username})


async def note_key_uses(session: AsyncSession, uses: dict[bytes, float]) -> None:
    """Write when keys, by their hash, were last used (Unix seconds)."""
    await repository.note_key_uses(session, uses)


async def ensure_first_user(session: AsyncSession, username: str, password: str, *, now: float) -> bool:
    """On an empty database make the default project and the first user; says whether it did."""
    await projects.ensure_default(session, now)
    if await repository.num_users(session):
        return False
    await create_user(session, username, password, by="first start", now=now, is_admin=True)
    return True
