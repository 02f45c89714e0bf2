"""Keys as others see them."""

from typing import Annotated, Self
from uuid import UUID

from pydantic import Field, model_validator

from ..fields import Name, NonNegative, Reply, Request, Timestamp
from ..principal import KeyScope

_JOB_SCOPES = ["ingest"]


class KeyCreate(Request):
    """A key to make; ``expires_in_s`` (seconds) and ``job``, the only job it may register and report, are optional."""

    name: Name
    scopes: Annotated[list[KeyScope], Field(min_length=1, max_length=3)]
    expires_in_s: Annotated[NonNegative | None, Field(gt=0, le=10 * 366 * 86400)] = None
    job: Name | None = None

    @model_validator(mode="after")
    def _job_keys_only_ingest(self) -> Self:
        if self.job is not None and set(self.scopes) != set(_JOB_SCOPES):
            raise ValueError(f"a key for one job has the scopes {_JOB_SCOPES}; leave out job, or the other scopes")
        return self


class ApiKey(Reply):
    """A key, without the key."""

    id: UUID
    name: str
    prefix: str
    scopes: list[KeyScope]
    job: str | None
    created_by: str
    created_at: Timestamp
    expires_at: Timestamp | None
    revoked_at: Timestamp | None
    last_used_at: Timestamp | None


class NewApiKey(ApiKey):
    """A key just made; ``key`` is shown this once."""

    key: str


class ApiKeyPage(Reply):
    """Keys of a project that are not revoked, newest first; ``next_cursor`` is null on the last page."""

    items: list[ApiKey]
    next_cursor: str | None
