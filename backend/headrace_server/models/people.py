"""Projects, who may act in them, and what they did."""

from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from .base import Base, Json, RowId, parent, row_id


class Project(Base):
    """Owns jobs and keys."""

    __tablename__ = "project"
    id: Mapped[int] = row_id()
    name: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[float]


class User(Base):
    """A person who signs in; the password is kept as an argon2id hash."""

    __tablename__ = "user"
    id: Mapped[int] = row_id()
    username: Mapped[str] = mapped_column(unique=True)
    password_hash: Mapped[str]
    created_at: Mapped[float]


class Session(Base):
    """A login; the cookie's token is kept as a SHA-256 only."""

    __tablename__ = "session"
    id: Mapped[int] = row_id()
    user_id: Mapped[int] = parent("user.id", index=True)
    token_hash: Mapped[bytes] = mapped_column(sa.LargeBinary(32), unique=True)
    created_at: Mapped[float]
    expires_at: Mapped[float] = mapped_column(index=True)


class ApiKey(Base):
    """A key for machines; kept as a prefix to recognise it and a SHA-256."""

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


class AuditEvent(Base):
    """Who changed what, when and why; never updated."""

    __tablename__ = "audit_event"
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
    """One row: when a server last said that it is up. Silence while no server was up is nobody's fault."""

    __tablename__ = "server_clock"
    id: Mapped[int] = mapped_column(RowId, primary_key=True, autoincrement=False)
    alive_at: Mapped[float]
