"""Making, listing, recognising and revoking keys. A key goes out once; only its hash stays."""

import uuid
from collections.abc import Collection, Mapping

from sqlalchemy.ext.asyncio import AsyncSession

from ..audit import service as audit
from ..errors import NotFoundError, UnauthenticatedError
from ..models import ApiKey as ApiKeyRow
from ..models import Project
from ..paging import decode_moment, encode_moment
from ..principal import KEY_SCOPES, KeyScope, Principal
from ..runtime import Runtime
from ..security import key_prefix, new_key, secret_hash
from ..work import Work
from . import repository
from .schemas import ApiKey, ApiKeyPage, KeyCreate, NewApiKey


async def principal_of(runtime: Runtime, key: str) -> Principal:
    """Who a key is. Raises UnauthenticatedError when it is unknown, revoked or expired."""
    key_hash = secret_hash(key)
    now = runtime.now()
    async with runtime.database.read() as session:
        row = await repository.by_hash(session, key_hash, now)
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


async def create(
    session: AsyncSession,
    project: Project,
    *,
    name: str,
    scopes: Collection[KeyScope],
    by: str,
    now: float,
    expires_at: float | None,
    request_id: str,
    job: str | None = None,
) -> tuple[ApiKeyRow, str]:
    """Make a key; returns its row and the key itself, which is nowhere else."""
    key = new_key()
    row = ApiKeyRow(
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
        job=job,
    )
    session.add(row)
    audit.record_as(session, by, "key.create", now=now, request_id=request_id, project_id=project.id, after=_shown(row))
    return row, key


def _shown(row: ApiKeyRow) -> dict[str, object]:
    return {"name": row.name, "prefix": row.prefix, "scopes": row.scopes, "job": row.job}


def _describe(row: ApiKeyRow) -> ApiKey:
    return ApiKey.model_validate({name: getattr(row, name) for name in ApiKey.model_fields})


async def create_in(work: Work, project: Project, body: KeyCreate) -> NewApiKey:
    """Make a key for a project; the reply is the only place the key is shown."""
    row, key = await create(
        work.session,
        project,
        name=body.name,
        scopes=body.scopes,
        by=work.principal.label,
        now=work.now,
        expires_at=None if body.expires_in_s is None else work.now + body.expires_in_s,
        request_id=work.request_id,
        job=body.job,
    )
    return NewApiKey(**_describe(row).model_dump(), key=key)


async def page(work: Work, project: Project, *, cursor: str | None, limit: int) -> ApiKeyPage:
    """A page of the project's keys that are not revoked. Raises InvalidError for a foreign cursor."""
    rows = await repository.page(work.session, project.id, after=decode_moment(cursor), limit=limit + 1)
    more = len(rows) > limit
    shown = rows[:limit]
    return ApiKeyPage(
        items=[_describe(row) for row in shown],
        next_cursor=encode_moment(shown[-1].created_at, shown[-1].id) if more else None,
    )


async def revoke(work: Work, project: Project, key_id: uuid.UUID) -> None:
    """Revoke a key at once. Raises NotFoundError."""
    row = await repository.of_project(work.session, project.id, key_id, lock=True)
    if row is None:
        raise NotFoundError(f"no key {key_id} in project {project.name!r}")
    if row.revoked_at is None:
        row.revoked_at = work.now
        audit.record(work, "key.revoke", project_id=project.id, before=_shown(row))


async def note_uses(session: AsyncSession, uses: Mapping[bytes, float]) -> None:
    """Write when keys, by their hash, were last used (Unix seconds)."""
    await repository.note_uses(session, uses)
