"""Who may do what in a project. A project that has an admin keeps one."""

from typing import cast

from sqlalchemy.ext.asyncio import AsyncSession

from ..audit import service as audit
from ..errors import ConflictError, NotFoundError
from ..models import Member as MemberRow
from ..models import Project, User
from ..paging import decode_cursor, encode_cursor
from ..principal import Role
from ..users import service as users
from ..work import Work
from . import repository, service
from .schemas import Member, MemberPage


def _describe(member: MemberRow, user: User) -> Member:
    return Member.model_validate(
        {
            "username": user.username,
            "role": cast("Role", member.role),
            "added_at": member.added_at,
            "disabled": user.disabled_at is not None,
        }
    )


async def page(work: Work, project: str, *, cursor: str | None, limit: int) -> MemberPage:
    """A page of a project's members."""
    found = await service.find(work, project)
    rows = await repository.members(work.session, found.id, after_id=decode_cursor(cursor), limit=limit + 1)
    more = len(rows) > limit
    return MemberPage(
        items=[_describe(member, user) for member, user in rows[:limit]],
        next_cursor=encode_cursor(rows[limit - 1][1].id) if more else None,
    )


async def _keep_an_admin(session: AsyncSession, project: Project, user: User) -> None:
    if await repository.admins(session, project.id) == {user.id}:
        raise ConflictError(f"{user.username!r} is the last admin of project {project.name!r}; make another one first")


async def put(
    session: AsyncSession, project: Project, user: User, role: Role, *, by: str, now: float, request_id: str
) -> Member:
    """Give somebody a role in a project, which must be locked. Raises ConflictError for its last admin."""
    held = await repository.member(session, project.id, user.id)
    if held is not None and held.role == role:
        return _describe(held, user)
    before = None if held is None else {"username": user.username, "role": held.role}
    if held is None:
        held = MemberRow(project_id=project.id, user_id=user.id, role=role, added_at=now)
        session.add(held)
    else:
        if held.role == "admin":
            await _keep_an_admin(session, project, user)
        held.role = role
    await users.renew_sessions(session, user.id)
    audit.record_as(
        session,
        by,
        "member.put",
        now=now,
        request_id=request_id,
        project_id=project.id,
        before=before,
        after={"username": user.username, "role": role},
    )
    return _describe(held, user)


async def take_out(
    session: AsyncSession, project: Project, user: User, *, by: str, now: float, request_id: str
) -> None:
    """Take somebody out of a project, which must be locked, if they are in it. Raises ConflictError."""
    held = await repository.member(session, project.id, user.id)
    if held is None:
        return
    if held.role == "admin":
        await _keep_an_admin(session, project, user)
    await session.delete(held)
    await users.renew_sessions(session, user.id)
    before = {"username": user.username, "role": held.role}
    audit.record_as(session, by, "member.remove", now=now, request_id=request_id, project_id=project.id, before=before)


async def change(work: Work, project: str, username: str, role: Role) -> Member:
    """Give somebody a role. Raises NotFoundError for an unknown user, ConflictError for the last admin."""
    found = await service.find(work, project, lock=True)
    user = await users.find(work.session, username)
    return await put(work.session, found, user, role, by=work.principal.label, now=work.now, request_id=work.request_id)


async def remove(work: Work, project: str, username: str) -> None:
    """Take somebody out. Raises NotFoundError for who is not in, ConflictError for the last admin."""
    found = await service.find(work, project, lock=True)
    user = await users.known(work.session, username)
    if user is None or await repository.member(work.session, found.id, user.id) is None:
        raise NotFoundError(f"{username[:200]!r} is not a member of project {found.name!r}")
    await take_out(work.session, found, user, by=work.principal.label, now=work.now, request_id=work.request_id)
