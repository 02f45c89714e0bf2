"""From a secret to who it is: what a key or a session may do, read anew for each request."""

from collections.abc import Mapping

from ..errors import UnauthenticatedError
from ..principal import EVERYTHING, KEY_SCOPES, ROLE_SCOPES, Principal, Role
from ..runtime import Runtime
from ..security import secret_hash
from . import repository


async def of_key(runtime: Runtime, key: str) -> Principal:
    """Who a key is. Raises UnauthenticatedError when it is unknown, revoked or expired."""
    key_hash = secret_hash(key)
    now = runtime.now()
    async with runtime.database.read() as session:
        row = await repository.key_by_hash(session, key_hash, now)
    if row is None:
        raise UnauthenticatedError("the API key is unknown, revoked or expired")
    runtime.key_uses[key_hash] = now
    scopes = frozenset(scope for scope in KEY_SCOPES if scope in row.scopes)
    return Principal(
        label=f"key:{row.name}",
        by_project={row.project_id: scopes},
        job=row.job,
        key_id=row.id,
        made_by=row.created_by,
    )


async def of_session(runtime: Runtime, token: str) -> Principal:
    """Who a session is. Raises UnauthenticatedError when it is unknown or has ended, or its user is disabled."""
    async with runtime.database.read() as session:
        user = await repository.user_of_session(session, secret_hash(token), runtime.now())
        if user is None:
            raise UnauthenticatedError("the session has ended; sign in again")
        roles: Mapping[int, Role] = {} if user.is_admin else await repository.roles_of(session, user.id)
    return Principal(
        label=user.username,
        username=user.username,
        user_id=user.id,
        everywhere=EVERYTHING if user.is_admin else frozenset(),
        by_project={project_id: ROLE_SCOPES[role] for project_id, role in roles.items()},
        session_token=token,
    )
