"""Logins as others see them."""

from typing import Annotated

from pydantic import StringConstraints

from ..fields import Reply, Request
from ..principal import Role
from ..users.schemas import Password


class Credentials(Request):
    """What a person types."""

    username: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    password: Password


class SignedInUser(Reply):
    """Who is signed in; ``roles`` is by project. An administrator of the server may do everything in all of them."""

    username: str
    is_admin: bool
    roles: dict[str, Role]


class SessionReply(Reply):
    """The session; ``csrf_token`` goes into X-CSRF-Token of every write, and stays the same as long as the session."""

    user: SignedInUser
    csrf_token: str
