"""One-minute rollups of reports, and which minutes are due. ``minute`` is the Unix time it begins at.

For each metric of ranks: least, most, mean and last in the minute. Waits are those of reports with a step in them and
null when there was none. Per job, token rates are summed over the ranks, least with least and most with most, so that
every moment of the minute lies between the two; the other metrics are over all ranks.
"""

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from .base import Base, parent, row_id


class Rolled:
    """The columns of a rollup; ``step_first`` and ``step`` bound the steps in it, ``time`` is of its last report."""

    num_reports: Mapped[int]
    num_waits: Mapped[int]
    step_first: Mapped[int]
    step: Mapped[int]
    time: Mapped[float]
    tokens_per_s_min: Mapped[float]
    tokens_per_s_max: Mapped[float]
    tokens_per_s_mean: Mapped[float]
    tokens_per_s_last: Mapped[float]
    wait_p50_ms_min: Mapped[float | None]
    wait_p50_ms_max: Mapped[float | None]
    wait_p50_ms_mean: Mapped[float | None]
    wait_p50_ms_last: Mapped[float | None]
    wait_p99_ms_min: Mapped[float | None]
    wait_p99_ms_max: Mapped[float | None]
    wait_p99_ms_mean: Mapped[float | None]
    wait_p99_ms_last: Mapped[float | None]
    wait_max_ms_min: Mapped[float | None]
    wait_max_ms_max: Mapped[float | None]
    wait_max_ms_mean: Mapped[float | None]
    wait_max_ms_last: Mapped[float | None]
    wait_share_min: Mapped[float | None]
    wait_share_max: Mapped[float | None]
    wait_share_mean: Mapped[float | None]
    wait_share_last: Mapped[float | None]
    queue_depth_min: Mapped[float]
    queue_depth_max: Mapped[float]
    queue_depth_mean: Mapped[float]
    queue_depth_last: Mapped[float]
    rss_bytes_min: Mapped[float]
    rss_bytes_max: Mapped[float]
    rss_bytes_mean: Mapped[float]
    rss_bytes_last: Mapped[float]


class RankRollup(Rolled, Base):
    """A minute of one rank. On PostgreSQL partitioned by day of ``minute``."""

    __tablename__ = "rank_rollup_1m"
    __table_args__ = ({"sqlite_with_rowid": False, "postgresql_partition_by": "RANGE (minute)"},)
    attempt_id: Mapped[int] = mapped_column(sa.ForeignKey("attempt.id", ondelete="CASCADE"), primary_key=True)
    rank: Mapped[int] = mapped_column(primary_key=True)
    minute: Mapped[int] = mapped_column(primary_key=True)


class JobRollup(Rolled, Base):
    """A minute of all ranks of an attempt; ``num_ranks`` of them reported in it, ``num_rounds`` times at most."""

    __tablename__ = "job_rollup_1m"
    __table_args__ = ({"sqlite_with_rowid": False},)
    attempt_id: Mapped[int] = mapped_column(sa.ForeignKey("attempt.id", ondelete="CASCADE"), primary_key=True)
    minute: Mapped[int] = mapped_column(primary_key=True)
    num_ranks: Mapped[int]
    num_rounds: Mapped[int]


class SourceRollup(Base):
    """A minute of one source over all ranks: where it was at the last step, and the losses of all of them."""

    __tablename__ = "source_rollup_1m"
    __table_args__ = ({"sqlite_with_rowid": False},)
    attempt_id: Mapped[int] = mapped_column(sa.ForeignKey("attempt.id", ondelete="CASCADE"), primary_key=True)
    minute: Mapped[int] = mapped_column(primary_key=True)
    source_id: Mapped[int] = mapped_column(sa.ForeignKey("job_source.id", ondelete="CASCADE"), primary_key=True)
    num_steps: Mapped[int]
    step: Mapped[int]
    time: Mapped[float]
    ordinal: Mapped[int]
    epoch: Mapped[int]
    target_ppm: Mapped[int]
    tokens: Mapped[int]
    loss_sum: Mapped[float]
    loss_count: Mapped[int]
    loss_min: Mapped[float | None]
    loss_max: Mapped[float | None]
    loss_last: Mapped[float | None]


class RollupDue(Base):
    """A minute with reports that are not in the rollups yet. Appended by ingest, so that nobody waits for a lock."""

    __tablename__ = "rollup_due"
    __table_args__ = (sa.Index(None, "minute"),)
    id: Mapped[int] = row_id()
    attempt_id: Mapped[int] = parent("attempt.id")
    minute: Mapped[int]
