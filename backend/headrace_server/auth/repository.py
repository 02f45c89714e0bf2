"""SQL of sessions and of failed logins."""

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from ..db import insert_into
from ..models import LoginFailures, Session, User

_PURGE_ROWS = 10_000


async def by_token(session: AsyncSession, token_hash: bytes, now: float) -> sa.Row[Session, User] | None:
    """The session with this token, or with it as the one before for a moment yet; neither expired nor disabled."""
    before = sa.and_(Session.previous_hash == token_hash, Session.previous_until > now)
    query = (
        sa.select(Session, User)
        .join(User, User.id == Session.user_id)
        .where(sa.or_(Session.token_hash == token_hash, before), Session.expires_at > now, User.disabled_at.is_(None))
    )
    return (await session.execute(query)).one_or_none()


async def note_seen(session: AsyncSession, session_id: int, now: float) -> None:
    """Write that a session was used."""
    await session.execute(sa.update(Session).where(Session.id == session_id).values(seen_at=now))


async def rotate(
    session: AsyncSession, session_id: int, *, old: bytes, new: bytes, old_until: float, now: float
) -> bool:
    """Replace a session's token, which stays good for a moment; says whether it was still ``old``."""
    update = (
        sa.update(Session)
        .where(Session.id == session_id, Session.token_hash == old)
        .values(token_hash=new, previous_hash=old, previous_until=old_until, rotated_at=now, seen_at=now)
        .returning(Session.id)
    )
    return (await session.execute(update)).one_or_none() is not None


async def drop(session: AsyncSession, token_hash: bytes) -> None:
    """End the session with this token, or with it as the one before."""
    held = sa.or_(Session.token_hash == token_hash, Session.previous_hash == token_hash)
    await session.execute(sa.delete(Session).where(held))


async def drop_expired(session: AsyncSession, now: float, idle_before: float) -> None:
    """Forget sessions that have expired, or were last used before a time."""
    idle = sa.func.coalesce(Session.seen_at, Session.created_at) <= idle_before
    await session.execute(sa.delete(Session).where(sa.or_(Session.expires_at <= now, idle)))


async def count_failure(session: AsyncSession, who: bytes, *, since: float, now: float) -> tuple[int, float]:
    """Count a failed login; returns (how many in this window, when it began). A window older than ``since`` is over."""
    over = LoginFailures.since <= since
    insert = insert_into(session, LoginFailures).values(who=who, num=1, since=now)
    counted = insert.on_conflict_do_update(
        index_elements=["who"],
        set_={
            "num": sa.case((over, 1), else_=LoginFailures.num + 1),
            "since": sa.case((over, now), else_=LoginFailures.since),
        },
    ).returning(LoginFailures.num, LoginFailures.since)
    row = (await session.execute(counted)).one()
    return row.num, row.since


async def forget_failures(session: AsyncSession, who: bytes, *, all_of_them: bool) -> None:
    """Take back one failure, or all."""
    this = LoginFailures.who == who
    if all_of_them:
        await session.execute(sa.delete(LoginFailures).where(this))
    else:
        await session.execute(
            sa.update(LoginFailures).where(this, LoginFailures.num > 0).values(num=LoginFailures.num - 1)
        )


async def drop_failures(session: AsyncSession, before: float) -> None:
    """Forget windows that began before a time, but those that are being counted in right now."""
    old: sa.Select[bytes] = sa.select(LoginFailures.who).where(LoginFailures.since <= before).limit(_PURGE_ROWS)
    await session.execute(sa.delete(LoginFailures).where(LoginFailures.who.in_(old.with_for_update(skip_locked=True))))
