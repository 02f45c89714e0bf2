"""Jobs and attempts as others see them."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field, model_validator

from ..fields import (
    MAX_RANKS,
    PLAIN,
    Count,
    LoaderRequest,
    Name,
    Positive,
    Ppm,
    Reply,
    Request,
    ShortText,
    Step,
    Timestamp,
    UnixTime,
)
from ..mix.schemas import MixVersion
from ..mix.weights import PPM

JobState = Literal["running", "finished", "failed", "stalled", "lost", "waiting"]
AttemptState = Literal["live", "superseded", "finished", "failed"]
MAX_BEGINNING_BYTES = 250_000
Tags = Annotated[dict[Name, ShortText], Field(max_length=50)]


class JobSource(LoaderRequest):
    """A source: its configured weight (ppm), its size, and the sequences after which it is used up, if ever."""

    name: Name
    weight_ppm: Ppm
    num_documents: Count
    num_tokens: Count
    num_shards: Count
    end_ordinal: Count | None = None


class JobCreate(LoaderRequest):
    """What a loader says about its job. The same name gives the same job."""

    name: Name
    seq_len: Positive
    global_batch_size: Positive
    total_steps: Annotated[int, Field(ge=1, le=2**48)] | None
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)]
    packing: Literal["concat", "best_fit"]
    sources: Annotated[list[JobSource], Field(min_length=1, max_length=1000)]
    tags: Tags = Field(default_factory=dict)

    @model_validator(mode="after")
    def _weights_are_a_mix(self) -> "JobCreate":
        names = [source.name for source in self.sources]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"source names must be unique; {twice} come twice")
        total = sum(source.weight_ppm for source in self.sources)
        if total != PPM:
            raise ValueError(f"weight_ppm of the sources sums to {total}; it must be {PPM}")
        return self


class JobPatch(Request):
    """What may be changed of a job; a field left out stays."""

    total_steps: Annotated[int, Field(ge=1, le=2**48)] | None = None
    tags: Tags | None = None
    archived: bool | None = None


class JobQuery(BaseModel):
    """Which jobs of a project, and which page of them."""

    archived: bool = False
    state: JobState | None = None
    search: ShortText | None = Field(default=None, alias="q", description="part of the name")
    owner: ShortText | None = Field(default=None, description="whose key or login registered it")
    tags: list[Annotated[str, Field(min_length=1, max_length=456, pattern=PLAIN)]] = Field(
        default=[], alias="tag", max_length=10, description="name=value, or a name with any value; all must hold"
    )
    created_from: datetime | None = Field(default=None, description="ISO 8601, or Unix seconds; inclusive")
    created_to: datetime | None = Field(default=None, description="ISO 8601, or Unix seconds; inclusive")
    cursor: str | None = Field(default=None, max_length=64)
    limit: int = Field(default=50, ge=1, le=200)


class MixShare(Reply):
    """A source's weight in force and its share of the last steps, in ppm; null until there is enough to tell."""

    source: str
    target_ppm: int
    realised_ppm: int | None


class JobSummary(Reply):
    """How a job is doing; ``state_reason`` says why in words. Tokens are global, rates are per second."""

    id: UUID
    project: str
    name: str
    owner: str
    tags: dict[str, str]
    created_at: Timestamp
    archived: bool
    state: JobState
    state_reason: str
    step: int | None
    total_steps: int | None
    tokens: int
    tokens_per_s: float | None
    ranks_live: int
    ranks_total: int
    data_wait_share: float | None
    mix: list[MixShare]
    mix_version: int
    mix_version_in_force: int | None
    pending_change: MixVersion | None
    attempt: int | None
    last_report_at: Timestamp | None


class JobSourceReply(Reply):
    """A source as configured."""

    name: str
    weight_ppm: int
    num_documents: int
    num_tokens: int
    num_shards: int
    end_ordinal: int | None


class JobListed(JobSummary):
    """A job as lists have it. ``tokens_per_s_by_minute`` ends with the last minute of the job that was rolled up.

    At most 60 means, one a minute, oldest first; null for a minute without a report. ``changes_waiting`` is how many
    changes of the mix wait for a step, a time, an approval or somebody's attention.
    """

    tokens_per_s_by_minute: list[float | None]
    changes_waiting: int


class Job(JobSummary):
    """A job in full."""

    seq_len: int
    global_batch_size: int
    seed: int
    packing: str
    sources: list[JobSourceReply]


class JobPage(Reply):
    """Newest first; ``next_cursor`` is null on the last page."""

    items: list[JobListed]
    next_cursor: str | None


StateKey = Annotated[str, Field(max_length=64, pattern=r"^[a-z_]+$")]
StateNumber = Annotated[int, Field(ge=-(2**63), lt=2**63)]
StateText = Annotated[str, Field(max_length=200_000, pattern=r"^[ -~]*$")]


class Beginning(LoaderRequest):
    """What a start went on from, where the run's steps were not all alike: its checkpoint, and the steps to move past.

    A checkpoint is a flat object of integers and text; nothing here reads it.
    """

    state: Annotated[dict[StateKey, StateNumber | StateText], Field(max_length=64)]
    skip_steps: Step = 0

    @model_validator(mode="after")
    def _is_small(self) -> "Beginning":
        num_bytes = len(self.model_dump_json())
        if num_bytes > MAX_BEGINNING_BYTES:
            raise ValueError(f"the beginning is {num_bytes} bytes; at most {MAX_BEGINNING_BYTES} are taken")
        return self


class AttemptBeginning(Reply):
    """What an attempt went on from; null where the run had changed nothing but its mix."""

    beginning: Beginning | None


class AttemptCreate(LoaderRequest):
    """One start of a job; ``id`` is the start's nonce."""

    id: UUID
    lineage: UUID
    parent_lineage: UUID | None
    world_size: Annotated[int, Field(ge=1, le=MAX_RANKS)]
    dp_size: Annotated[int, Field(ge=1, le=MAX_RANKS)]
    resumed_from_step: Step | None
    started_at: UnixTime
    loader_version: ShortText
    hostname: ShortText
    beginning: Beginning | None = None


class Attempt(Reply):
    """One start of a job; ``number`` counts from 1."""

    id: UUID
    number: int
    state: AttemptState
    state_reason: str | None
    lineage: UUID
    parent_lineage: UUID | None
    world_size: int
    dp_size: int
    resumed_from_step: int | None
    started_at: Timestamp
    loader_version: str
    hostname: str
    created_at: Timestamp
    ended_at: Timestamp | None


class AttemptList(Reply):
    """Oldest first."""

    items: list[Attempt]


class AttemptPatch(LoaderRequest):
    """How an attempt ended."""

    state: Literal["finished", "failed"]
    reason: Annotated[ShortText, Field(max_length=255)] | None = None
