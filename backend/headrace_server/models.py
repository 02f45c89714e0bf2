"""The tables. Singular names; one naming convention for constraints; the migrations must equal this file.

Times are Unix seconds (double precision, UTC), named ``…_at`` when the server took them and ``time`` when a rank did.
Weights are parts per million that sum to 1,000,000.
"""

from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

# SQLite gives row ids to INTEGER PRIMARY KEY only.
RowId = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Weights = dict[str, int]
Json = dict[str, Any]


class Base(DeclarativeBase):
    """Every table."""

    metadata = sa.MetaData(naming_convention=NAMING)
    type_annotation_map = {  # noqa: RUF012
        int: sa.BigInteger(),
        float: sa.Double(),
        str: sa.Text(),
        UUID: sa.Uuid(),
        Weights: sa.JSON(),
        Json: sa.JSON(),
        list[str]: sa.JSON(),
        list[Json]: sa.JSON(),
        dict[str, str]: sa.JSON(),
    }


def _row_id() -> Mapped[int]:
    return mapped_column(RowId, primary_key=True)


def _parent(target: str, *, index: bool = False) -> Mapped[int]:
    return mapped_column(RowId, sa.ForeignKey(target, ondelete="CASCADE"), index=index)


class Project(Base):
    """Owns jobs and keys."""

    __tablename__ = "project"
    id: Mapped[int] = _row_id()
    name: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[float]


class User(Base):
    """A person who signs in; the password is kept as an argon2id hash."""

    __tablename__ = "user"
    id: Mapped[int] = _row_id()
    username: Mapped[str] = mapped_column(unique=True)
    password_hash: Mapped[str]
    created_at: Mapped[float]


class Session(Base):
    """A login; the cookie's token is kept as a SHA-256 only."""

    __tablename__ = "session"
    id: Mapped[int] = _row_id()
    user_id: Mapped[int] = _parent("user.id", index=True)
    token_hash: Mapped[bytes] = mapped_column(sa.LargeBinary(32), unique=True)
    created_at: Mapped[float]
    expires_at: Mapped[float] = mapped_column(index=True)


class ApiKey(Base):
    """A key for machines; kept as a prefix to recognise it and a SHA-256."""

    __tablename__ = "api_key"
    id: Mapped[UUID] = mapped_column(primary_key=True)
    project_id: Mapped[int] = _parent("project.id", index=True)
    name: Mapped[str]
    prefix: Mapped[str]
    key_hash: Mapped[bytes] = mapped_column(sa.LargeBinary(32), unique=True)
    scopes: Mapped[list[str]]
    created_by: Mapped[str]
    created_at: Mapped[float]
    expires_at: Mapped[float | None]
    revoked_at: Mapped[float | None]
    last_used_at: Mapped[float | None]


class Job(Base):
    """A training job, by name in its project. ``uuid`` is its id outside."""

    __tablename__ = "job"
    __table_args__ = (sa.UniqueConstraint("project_id", "name"),)
    id: Mapped[int] = _row_id()
    uuid: Mapped[UUID] = mapped_column(unique=True)
    project_id: Mapped[int] = _parent("project.id")
    name: Mapped[str]
    owner: Mapped[str]
    seq_len: Mapped[int]
    global_batch_size: Mapped[int]
    total_steps: Mapped[int | None]
    seed: Mapped[int]
    packing: Mapped[str]
    tags: Mapped[dict[str, str]]
    archived: Mapped[bool]
    created_at: Mapped[float]


class JobSource(Base):
    """A source of a job; ``position`` is the job's order, which ties and displays follow."""

    __tablename__ = "job_source"
    __table_args__ = (sa.UniqueConstraint("job_id", "name"),)
    id: Mapped[int] = _row_id()
    job_id: Mapped[int] = _parent("job.id")
    position: Mapped[int]
    name: Mapped[str]
    weight_ppm: Mapped[int]
    num_documents: Mapped[int]
    num_tokens: Mapped[int]
    num_shards: Mapped[int]


class Attempt(Base):
    """One start of a job. ``uuid`` is the start's nonce, given by the client."""

    __tablename__ = "attempt"
    __table_args__ = (sa.UniqueConstraint("job_id", "number"),)
    id: Mapped[int] = _row_id()
    uuid: Mapped[UUID] = mapped_column(unique=True)
    job_id: Mapped[int] = _parent("job.id")
    number: Mapped[int]
    lineage: Mapped[UUID]
    parent_lineage: Mapped[UUID | None]
    world_size: Mapped[int]
    dp_size: Mapped[int]
    resumed_from_step: Mapped[int | None]
    started_at: Mapped[float]
    loader_version: Mapped[str]
    hostname: Mapped[str]
    state: Mapped[str]
    state_reason: Mapped[str | None]
    created_at: Mapped[float]
    ended_at: Mapped[float | None]


class RankReport(Base):
    """One report of one rank; (attempt, rank, seq) is its identity."""

    __tablename__ = "rank_report"
    __table_args__ = ({"sqlite_with_rowid": False},)
    attempt_id: Mapped[int] = mapped_column(sa.ForeignKey("attempt.id", ondelete="CASCADE"), primary_key=True)
    rank: Mapped[int] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    time: Mapped[float]
    received_at: Mapped[float]
    interval_s: Mapped[float]
    step: Mapped[int]
    steps: Mapped[int]
    tokens: Mapped[int]
    total_tokens: Mapped[int]
    wait_p50_ms: Mapped[float]
    wait_p99_ms: Mapped[float]
    wait_max_ms: Mapped[float]
    wait_share: Mapped[float]
    queue_depth: Mapped[float]
    rss_bytes: Mapped[int]
    bytes_read: Mapped[int]
    dropped: Mapped[int]
    mix_version: Mapped[int | None]
    mix_revision: Mapped[str]


class RankState(Base):
    """The latest of each rank of an attempt, per-source cursors included."""

    __tablename__ = "rank_state"
    attempt_id: Mapped[int] = mapped_column(sa.ForeignKey("attempt.id", ondelete="CASCADE"), primary_key=True)
    rank: Mapped[int] = mapped_column(primary_key=True)
    seq: Mapped[int]
    time: Mapped[float]
    received_at: Mapped[float]
    advanced_at: Mapped[float]
    step: Mapped[int]
    total_tokens: Mapped[int]
    tokens_per_s: Mapped[float]
    interval_s: Mapped[float]
    wait_p50_ms: Mapped[float]
    wait_p99_ms: Mapped[float]
    wait_max_ms: Mapped[float]
    wait_share: Mapped[float]
    queue_depth: Mapped[float]
    rss_bytes: Mapped[int]
    bytes_read: Mapped[int]
    dropped: Mapped[int]
    host: Mapped[str]
    local_rank: Mapped[int]
    dp_rank: Mapped[int]
    mix_version: Mapped[int | None]
    mix_revision: Mapped[str]
    sources: Mapped[list[Json]]


class SourceProgress(Base):
    """How far a source was through ``step`` (global), and what the ranks that reported there trained of it."""

    __tablename__ = "source_progress"
    __table_args__ = ({"sqlite_with_rowid": False},)
    attempt_id: Mapped[int] = mapped_column(sa.ForeignKey("attempt.id", ondelete="CASCADE"), primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True)
    source_id: Mapped[int] = mapped_column(sa.ForeignKey("job_source.id", ondelete="CASCADE"), primary_key=True)
    time: Mapped[float]
    ordinal: Mapped[int]
    epoch: Mapped[int]
    target_ppm: Mapped[int]
    tokens: Mapped[int]
    loss_sum: Mapped[float]
    loss_count: Mapped[int]


class MixVersion(Base):
    """A version of a job's weights; unique (job, version) is what lets exactly one of two editors win."""

    __tablename__ = "mix_version"
    __table_args__ = (
        sa.UniqueConstraint("job_id", "version"),
        sa.UniqueConstraint("job_id", "revision"),
    )
    id: Mapped[int] = _row_id()
    job_id: Mapped[int] = _parent("job.id")
    version: Mapped[int]
    revision: Mapped[str]
    weights_ppm: Mapped[Weights]
    from_step: Mapped[int | None]
    ramp_steps: Mapped[int]
    author: Mapped[str]
    reason: Mapped[str]
    origin: Mapped[str]
    parent: Mapped[int | None]
    reverts: Mapped[int | None]
    created_at: Mapped[float]
    seen_at: Mapped[float | None]
    agreed_step: Mapped[int | None]
    agreed_at: Mapped[float | None]
    applied_at: Mapped[float | None]
    superseded_at: Mapped[float | None]


class MixActivation(Base):
    """The step at which an attempt's leader sealed a revision."""

    __tablename__ = "mix_activation"
    __table_args__ = (sa.UniqueConstraint("attempt_id", "revision"), sa.Index(None, "job_id", "step"))
    id: Mapped[int] = _row_id()
    job_id: Mapped[int] = _parent("job.id")
    attempt_id: Mapped[int] = _parent("attempt.id")
    version: Mapped[int]
    revision: Mapped[str]
    lineage: Mapped[UUID]
    step: Mapped[int]
    weights_ppm: Mapped[Weights]
    ramp_steps: Mapped[int]
    at: Mapped[float]
    reason: Mapped[str | None]
    created_at: Mapped[float]


class AuditEvent(Base):
    """Who changed what, when and why; never updated."""

    __tablename__ = "audit_event"
    id: Mapped[int] = _row_id()
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
