"""Jobs, their sources and their starts."""

from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from .base import Base, Json, parent, row_id


class Job(Base):
    """A training job, by name in its project. ``uuid`` is its id outside."""

    __tablename__ = "job"
    __table_args__ = (sa.UniqueConstraint("project_id", "name"),)
    id: Mapped[int] = row_id()
    uuid: Mapped[UUID] = mapped_column(unique=True)
    project_id: Mapped[int] = parent("project.id")
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
    id: Mapped[int] = row_id()
    job_id: Mapped[int] = parent("job.id")
    position: Mapped[int]
    name: Mapped[str]
    weight_ppm: Mapped[int]
    num_documents: Mapped[int]
    num_tokens: Mapped[int]
    num_shards: Mapped[int]
    # Sequences after which it is used up; null where it repeats for ever or the loader doesn't say.
    end_ordinal: Mapped[int | None]


class Attempt(Base):
    """One start of a job. ``uuid`` is the start's nonce, given by the client."""

    __tablename__ = "attempt"
    __table_args__ = (sa.UniqueConstraint("job_id", "number"),)
    id: Mapped[int] = row_id()
    uuid: Mapped[UUID] = mapped_column(unique=True)
    job_id: Mapped[int] = parent("job.id")
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
    # Kilobytes that hardly anybody asks for: read by itself.
    beginning: Mapped[Json | None] = mapped_column(deferred=True)
