"""Projects, who may act in them, and what they did."""

from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from .base import Base, Json, RowId, parent, row_id


def member_of(target: str, *, index: bool = False) -> Mapped[int]:
    """Half of a primary key: a row id of another table."""
    return mapped_column(RowId, sa.ForeignKey(target, ondelete="CASCADE"), primary_key=True, index=index)


class Project(Base):
    """Owns jobs and keys."""

    __tablename__ = "project"
    id: Mapped[int] = row_id()
    name: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[float]
    archived_at: Mapped[float | None]
    requires_approval: Mapped[bool] = mapped_column(server_default=sa.false())


class User(Base):
    """A person who signs in; the password is kept as an argon2id hash, empty for who signs in elsewhere only."""

    __tablename__ = "user"
    id: Mapped[int] = row_id()
    username: Mapped[str] = mapped_column(unique=True)
    password_hash: Mapped[str]
    created_at: Mapped[float]
    is_admin: Mapped[bool] = mapped_column(default=False, server_default=sa.false())
    disabled_at: Mapped[float | None]


class Member(Base):
    """A person's role in a project."""

    __tablename__ = "member"
    project_id: Mapped[int] = member_of("project.id")
    user_id: Mapped[int] = member_of("user.id", index=True)
    role: Mapped[str]
    added_at: Mapped[float]


class Identity(Base):
    """Who a user is to a provider: by issuer and subject, which never change hands as addresses do."""

    __tablename__ = "identity"
    __table_args__ = (sa.UniqueConstraint("issuer", "subject"),)
    id: Mapped[int] = row_id()
    user_id: Mapped[int] = parent("user.id", index=True)
    issuer: Mapped[str]
    subject: Mapped[str]
    created_at: Mapped[float]


class Session(Base):
    """A login; the cookie's token is kept as a SHA-256 only, and so is the one before for a moment."""

    __tablename__ = "session"
    id: Mapped[int] = row_id()
    user_id: Mapped[int] = parent("user.id", index=True)
    token_hash: Mapped[bytes] = mapped_column(sa.LargeBinary(32), unique=True)
    created_at: Mapped[float]
    expires_at: Mapped[float] = mapped_column(index=True)
    # Null in rows of a server of the version before.
    seen_at: Mapped[float | None]
    rotated_at: Mapped[float | None]
    previous_hash: Mapped[bytes | None] = mapped_column(sa.LargeBinary(32), index=True, unique=True)
    previous_until: Mapped[float | None]


class LoginFailures(Base):
    """How often a login failed since a time, by the SHA-256 of who tried: a name may be a password typed too early."""

    __tablename__ = "login_failures"
    who: Mapped[bytes] = mapped_column(sa.LargeBinary(32), primary_key=True)
    num: Mapped[int]
    since: Mapped[float] = mapped_column(index=True)


class ApiKey(Base):
    """A key for machines; kept as a prefix to recognise it and a SHA-256. ``job`` is the only one it may touch."""

    __tablename__ = "api_key"
    id: Mapped[UUID] = mapped_column(primary_key=True)
    project_id: Mapped[int] = parent("project.id", index=True)
    name: Mapped[str]
    prefix: Mapped[str]
    key_hash: Mapped[bytes] = mapped_column(sa.LargeBinary(32), unique=True)
    scopes: Mapped[list[str]]
    created_by: Mapped[str]
    created_at: Mapped[float]
    expires_at: Mapped[float | None]
    revoked_at: Mapped[float | None]
    last_used_at: Mapped[float | None]
    job: Mapped[str | None]


class AuditEvent(Base):
    """Who changed what, when and why; never updated."""

    __tablename__ = "audit_event"
    __table_args__ = (sa.Index(None, "actor", "id"), sa.Index(None, "at"))
    id: Mapped[int] = row_id()
    at: Mapped[float]
    actor: Mapped[str]
    action: Mapped[str]
    project_id: Mapped[int | None] = mapped_column(RowId, sa.ForeignKey("project.id"), index=True)
    job_id: Mapped[int | None] = mapped_column(RowId, sa.ForeignKey("job.id"), index=True)
    before: Mapped[Json | None]
    after: Mapped[Json | None]
    reason: Mapped[str | None]
    request_id: Mapped[str]


class ServerClock(Base):
    """One row: when a server last said that it is up, and how far reports were stretched then.

    Silence while no server was up is nobody's fault.
    """

    __tablename__ = "server_clock"
    id: Mapped[int] = mapped_column(RowId, primary_key=True, autoincrement=False)
    alive_at: Mapped[float]
    stretch: Mapped[float] = mapped_column(server_default="1")
