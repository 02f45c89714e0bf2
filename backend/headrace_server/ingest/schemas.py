"""Reports. A record is validated on its own, strictly, so a bad one never takes the others with it."""

from typing import Annotated, NotRequired
from uuid import UUID

from pydantic import ConfigDict, Field, TypeAdapter
from typing_extensions import TypedDict

from ..fields import (
    Amount,
    Count,
    Measure,
    PathText,
    Ppm,
    Rank,
    Reply,
    ShortText,
    Step,
    Timestamp,
    UnixTime,
)
from .liveness import RankLiveness

_STRICT = ConfigDict(strict=True, extra="ignore")


class SourceRecord(TypedDict):
    """One source in a record: global position through ``step``, and this rank's share of the interval."""

    __pydantic_config__ = _STRICT  # type: ignore[misc]

    name: Annotated[str, Field(min_length=1, max_length=200)]
    ordinal: Count
    epoch: Count
    file: PathText | None
    row: Count | None
    target_ppm: Ppm
    sequences: Amount
    tokens: Amount
    loss_sum: Annotated[float, Field(ge=-1e15, le=1e15, allow_inf_nan=False)]
    loss_count: Amount


class MaskedRecord(TypedDict):
    """A document whose tokens were replaced by padding, as they can't be used; no row where its block can't be read."""

    __pydantic_config__ = _STRICT  # type: ignore[misc]

    source: Annotated[str, Field(min_length=1, max_length=200)]
    file: PathText
    row: Count | None


class Record(TypedDict):
    """One report of one rank; (attempt, rank, seq) is its identity. Times in seconds, waits in milliseconds."""

    __pydantic_config__ = _STRICT  # type: ignore[misc]

    rank: Rank
    seq: Count
    time: UnixTime
    interval_s: Measure
    step: Step
    steps: Amount
    tokens: Amount
    total_tokens: Count
    wait_p50_ms: Measure
    wait_p99_ms: Measure
    wait_max_ms: Measure
    wait_share: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
    queue_depth: Measure
    rss_bytes: Count
    bytes_read: Count
    host: ShortText
    local_rank: Rank
    dp_rank: Rank
    dropped: Count
    mix_revision: Annotated[str, Field(max_length=100, pattern=r"^[ -~]*$")]
    mix_version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None
    mix_seen: Annotated[int, Field(ge=1, le=2**31 - 1)] | None
    sources: Annotated[list[SourceRecord], Field(max_length=1000)]
    masked_tokens: NotRequired[Count]
    masked_at: NotRequired[MaskedRecord | None]


RECORD: TypeAdapter[Record] = TypeAdapter(Record)


class WholeBatch(TypedDict):
    """A batch in which every record is right: the common case, read and checked in one pass."""

    attempt: UUID
    records: list[Record]


WHOLE_BATCH: TypeAdapter[WholeBatch] = TypeAdapter(WholeBatch)


class ReportBatchBody(Reply):
    """The body of POST /reports, for the API description."""

    attempt: UUID
    records: Annotated[list[Record], Field(max_length=1000)]


class RejectedRecord(Reply):
    """A record that was not taken: its index in the batch, and why."""

    index: int
    code: str
    detail: str


class ReportReply(Reply):
    """What became of a batch, the newest mix version, and how often to report (seconds).

    ``expired`` records are older than reports are kept: they count as delivered, and are not.
    """

    accepted: int
    duplicate: int
    expired: int
    rejected: list[RejectedRecord]
    mix_version: int
    report_every_s: float


class SourceCursor(Reply):
    """Where a rank is in a source."""

    name: str
    ordinal: int
    epoch: int
    file: str | None
    row: int | None


class MaskedPlace(Reply):
    """A document whose tokens were replaced by padding; no row where its block can't be read."""

    source: str
    file: str
    row: int | None


class RankState(Reply):
    """The latest of one rank; ``step_lag`` is how many steps it is behind the furthest one.

    ``masked_tokens`` were replaced by padding since the attempt began, those of ``masked_at`` last.
    """

    rank: int
    dp_rank: int
    local_rank: int
    host: str
    state: RankLiveness
    step: int
    step_lag: int
    tokens_per_s: float
    wait_p50_ms: float
    wait_p99_ms: float
    wait_max_ms: float
    wait_share: float
    queue_depth: float
    rss_bytes: int
    dropped: int
    masked_tokens: int
    masked_at: MaskedPlace | None
    mix_version: int | None
    mix_revision: str
    last_report_at: Timestamp
    sources: list[SourceCursor]


class RankDetail(RankState):
    """One rank, and where to look next: the ranks beside it that have reported, and the one furthest behind."""

    attempt: int
    previous_rank: int | None
    next_rank: int | None
    slowest_rank: int


class RankList(Reply):
    """Ranks of the newest attempt (its number; null before the first), by rank; ``next_cursor`` is null at the end."""

    items: list[RankState]
    attempt: int | None
    next_cursor: str | None
