"""The mix: versions of the weights, and when they took effect."""

from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Mapped

from .base import Base, Weights, parent, row_id


class MixVersion(Base):
    """A version of a job's weights; unique (job, version) is what lets exactly one of two editors win."""

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
