"""People as others see them, and as they see themselves."""

from typing import Annotated

from pydantic import StringConstraints

from ..fields import Name, Reply, Request, Timestamp

Password = Annotated[str, StringConstraints(min_length=1, max_length=1000)]


class UserCreate(Request):
    """Somebody to add. Without a role in a project, or ``is_admin``, a person signs in and sees nothing."""

    username: Name
    password: Password
    is_admin: bool = False


class UserPatch(Request):
    """What to change; the rest stays. A new ``password``, and ``disabled``, end the person's sessions."""

    password: Password | None = None
    is_admin: bool | None = None
    disabled: bool | None = None


class PasswordChange(Request):
    """One's own password: the one so far, and the one from now on."""

    current_password: Password
    new_password: Password


class User(Reply):
    """A person. ``has_password`` is false for who signs in with the provider only."""

    username: str
    is_admin: bool
    has_password: bool
    created_at: Timestamp
    disabled_at: Timestamp | None


class UserPage(Reply):
    """People in the order they were added; ``next_cursor`` is null on the last page."""

    items: list[User]
    next_cursor: str | None
