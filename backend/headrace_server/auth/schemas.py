"""Logins and keys as others see them."""

from typing import Annotated
from uuid import UUID

from pydantic import Field, StringConstraints

from ..fields import Name, NonNegative, Reply, Request, Timestamp
from ..principal import KeyScope


class Credentials(Request):
    """What a person types."""

    username: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    password: Annotated[str, StringConstraints(min_length=1, max_length=1000)]


class SignedInUser(Reply):
    """Who is signed in."""

    username: str


class SessionReply(Reply):
    """The session; ``csrf_token`` goes into X-CSRF-Token of every write."""

    user: SignedInUser
    csrf_token: str


class KeyCreate(Request):
    """A key to make; ``expires_in_s`` (seconds) is optional."""

    name: Name
    scopes: Annotated[list[KeyScope], Field(min_length=1, max_length=3)]
    expires_in_s: Annotated[NonNegative | None, Field(gt=0, le=10 * 366 * 86400)] = None


class ApiKey(Reply):
    """A key, without the key."""

    id: UUID
    name: str
    prefix: str
    scopes: list[KeyScope]
    created_by: str
    created_at: Timestamp
    expires_at: Timestamp | None
    revoked_at: Timestamp | None
    last_used_at: Timestamp | None


class NewApiKey(ApiKey):
    """A key just made; ``key`` is shown this once."""

    key: str


class ApiKeyList(Reply):
    """The keys of a project, newest first."""

    items: list[ApiKey]
