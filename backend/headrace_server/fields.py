"""Field types that every schema shares: bounded text, finite numbers, times, weights."""

import re
from datetime import UTC, datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

# Everything stored fits a signed 64-bit column, and a JavaScript number exactly.
MAX_INT = 2**53 - 1
MAX_STEP = 2**48
MAX_RANKS = 1_000_000
# No control characters: NUL can't be stored, and the rest has no place in a name.
PLAIN = r"^[^\x00-\x1f\x7f]*$"

# Names are compared exactly, so none may begin or end with a space.
_NAME = r"^[^\x00-\x20\x7f](?:[^\x00-\x1f\x7f]*[^\x00-\x20\x7f])?$"
MAX_NAME_CHARS = 200
Name = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME_CHARS, pattern=_NAME)]
ShortText = Annotated[str, StringConstraints(max_length=255, pattern=PLAIN)]
PathText = Annotated[str, StringConstraints(max_length=4096, pattern=PLAIN)]
Reason = Annotated[
    str, StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]+$", strip_whitespace=True)
]
Count = Annotated[int, Field(ge=0, le=MAX_INT)]
Positive = Annotated[int, Field(ge=1, le=MAX_INT)]
Step = Annotated[int, Field(ge=0, le=MAX_STEP)]
Rank = Annotated[int, Field(ge=0, lt=MAX_RANKS)]
Ppm = Annotated[int, Field(ge=0, le=1_000_000)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
# Measurements: far above anything real, far below where sums or ratios would overflow.
Measure = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
Amount = Annotated[int, Field(ge=0, le=2**40)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
UnixTime = Annotated[float, Field(ge=0, le=10_000_000_000, allow_inf_nan=False)]
# Given as Unix seconds, sent as ISO 8601 in UTC.
Timestamp = datetime


def unix_seconds(moment: datetime | None) -> float | None:
    """A time as Unix seconds; one without an offset is in UTC."""
    if moment is None:
        return None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def is_name(text: str) -> bool:
    """Whether this could be a Name."""
    return len(text) <= MAX_NAME_CHARS and re.fullmatch(_NAME, text) is not None


class Reply(BaseModel):
    """Base of what the server sends."""

    model_config = ConfigDict(frozen=True)


class Request(BaseModel):
    """Base of what people and scripts send: an unknown field is an error, not a silent no-op."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LoaderRequest(BaseModel):
    """Base of what a loader sends: fields of a newer loader are ignored, wrong types are not."""

    model_config = ConfigDict(extra="ignore", frozen=True)
