"""What ranks report: every report, the latest of each rank, and the history of each source."""

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from .base import Base, Json


class RankReport(Base):
    """One report of one rank; (attempt, rank, seq) is its identity.

    On PostgreSQL partitioned by day of ``time``, which is therefore part of the primary key there.
    """

    __tablename__ = "rank_report"
    __table_args__ = (
        sa.Index(None, "attempt_id", "time"),
        {"sqlite_with_rowid": False, "postgresql_partition_by": "RANGE (time)"},
    )
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
    masked_tokens: Mapped[int] = mapped_column(server_default="0")
    masked_at: Mapped[Json | None]


class SourceProgress(Base):
    """How far a source was through ``step`` (global), and what the ranks that reported there trained of it."""

    __tablename__ = "source_progress"
    __table_args__ = (sa.Index(None, "attempt_id", "time"), {"sqlite_with_rowid": False})
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
