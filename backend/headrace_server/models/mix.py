"""The mix: versions of the weights, changes that wait to become one, and when they took effect."""

from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from .base import Base, RowId, Weights, parent, row_id


class MixVersion(Base):
    """A version of a job's weights; unique (job, version) is what lets exactly one of two editors win.

    ``paused`` holds, for each source at 0, the weight it returns to; ``change`` is the change that became it.
    """

    __tablename__ = "mix_version"
    __table_args__ = (
        sa.UniqueConstraint("job_id", "version"),
        sa.UniqueConstraint("job_id", "revision"),
    )
    id: Mapped[int] = row_id()
    job_id: Mapped[int] = parent("job.id")
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
    paused: Mapped[Weights | None]
    change: Mapped[UUID | None]
    approved_by: Mapped[str | None]


class MixChange(Base):
    """A change that waits for a step, a time or an approval, and what became of it.

    ``starts`` says what makes it a version: ``at_once`` (when approved), ``step`` (the job nears ``from_step``) or
    ``time`` (``at_time``). ``author_person`` is who answers for the author: a key's is who made the key.
    """

    __tablename__ = "mix_change"
    __table_args__ = (sa.Index(None, "job_id", "id"),)
    id: Mapped[int] = row_id()
    uuid: Mapped[UUID] = mapped_column(unique=True)
    job_id: Mapped[int] = parent("job.id")
    state: Mapped[str] = mapped_column(index=True)
    why: Mapped[str | None]
    kind: Mapped[str]
    starts: Mapped[str]
    weights_ppm: Mapped[Weights]
    from_step: Mapped[int | None]
    ramp_steps: Mapped[int]
    at_time: Mapped[float | None]
    base_version: Mapped[int | None]
    follows: Mapped[int | None] = mapped_column(RowId, sa.ForeignKey("mix_change.id"), index=True)
    reverts: Mapped[int | None]
    reason: Mapped[str]
    author: Mapped[str]
    author_person: Mapped[str]
    created_at: Mapped[float]
    expires_at: Mapped[float | None]
    decided_by: Mapped[str | None]
    decided_at: Mapped[float | None]
    decision_reason: Mapped[str | None]
    version: Mapped[int | None]
    late_s: Mapped[float | None]
    settled_at: Mapped[float | None]


class LeaderPoll(Base):
    """When a job's leader last asked for the mix."""

    __tablename__ = "leader_poll"
    job_id: Mapped[int] = mapped_column(RowId, sa.ForeignKey("job.id", ondelete="CASCADE"), primary_key=True)
    polled_at: Mapped[float]


class MixActivation(Base):
    """The step at which an attempt's leader sealed a revision."""

    __tablename__ = "mix_activation"
    __table_args__ = (sa.UniqueConstraint("attempt_id", "revision"), sa.Index(None, "job_id", "step"))
    id: Mapped[int] = row_id()
    job_id: Mapped[int] = parent("job.id")
    attempt_id: Mapped[int] = parent("attempt.id")
    version: Mapped[int]
    revision: Mapped[str]
    lineage: Mapped[UUID]
    step: Mapped[int]
    weights_ppm: Mapped[Weights]
    ramp_steps: Mapped[int]
    at: Mapped[float]
    reason: Mapped[str | None]
    created_at: Mapped[float]
