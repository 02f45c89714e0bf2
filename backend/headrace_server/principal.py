"""Who a request is from, and what that may do where: scopes, roles, and the one check of both.

A route names the scopes of which its caller needs one. Keys hold scopes in their own project; people hold those of
their role in each project they are a member of; an administrator of the server holds all of them everywhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args
from uuid import UUID

from .errors import ForbiddenError, NotFoundError

Scope = Literal["ingest", "read", "operate", "approve", "administer", "person", "server"]
"""``ingest`` registers and reports, ``read`` reads, ``operate`` changes jobs and mixes, ``approve`` approves changes of
others, ``administer`` manages a project's members, keys and settings. ``person`` is anybody who is signed in, for what
is their own; ``server`` is an administrator of the server."""

KeyScope = Literal["ingest", "read", "operate"]
KEY_SCOPES: tuple[KeyScope, ...] = get_args(KeyScope)
Role = Literal["viewer", "operator", "approver", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
ROLE_SCOPES: Mapping[Role, frozenset[Scope]] = {
    "viewer": frozenset({"read"}),
    "operator": frozenset({"read", "operate"}),
    "approver": frozenset({"read", "operate", "approve"}),
    "admin": frozenset({"read", "operate", "approve", "administer", "ingest"}),
}
IN_PROJECTS: frozenset[Scope] = ROLE_SCOPES["admin"]
EVERYTHING: frozenset[Scope] = frozenset(get_args(Scope))
_NONE: frozenset[Scope] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Principal:
    """A signed-in person, or an API key; ``job`` is the name of the only job that a key may touch."""

    label: str
    everywhere: frozenset[Scope] = _NONE
    by_project: Mapping[int, frozenset[Scope]] = field(default_factory=dict)
    job: str | None = None
    user_id: int | None = None
    username: str | None = None
    session_token: str | None = field(default=None, repr=False)
    # A key's id, and who made it.
    key_id: UUID | None = None
    made_by: str | None = None

    @property
    def identity(self) -> str:
        """The caller, and nobody else for as long as the service lives."""
        return f"key:{self.key_id}" if self.user_id is None else f"user:{self.user_id}"

    @property
    def person(self) -> str:
        """Who answers for what the caller does: the person, or whoever made the key."""
        return self.username or self.made_by or self.label

    @property
    def is_user(self) -> bool:
        """Whether it is a person rather than a key."""
        return self.username is not None

    def scopes_in(self, project_id: int) -> frozenset[Scope]:
        """What the caller may do in a project; nothing in one that it doesn't see."""
        return (self.everywhere & IN_PROJECTS) | self.by_project.get(project_id, _NONE)

    def projects(self, *scopes: Scope) -> frozenset[int] | None:
        """Row ids of the projects where the caller has one of ``scopes``; None means every project."""
        if not self.everywhere.isdisjoint(scopes):
            return None
        return frozenset(project for project, held in self.by_project.items() if not held.isdisjoint(scopes))

    def sees(self, project_id: int, job: str | None = None) -> bool:
        """Whether a project, and the job of this name in it, exist for the caller."""
        return bool(self.scopes_in(project_id)) and (job is None or self.job in (None, job))

    def admit(self, scopes: tuple[Scope, ...], project_id: int, what: str, *, job: str | None = None) -> None:
        """Raise NotFoundError where the caller sees nothing, ForbiddenError where it has none of ``scopes``."""
        if not self.sees(project_id, job):
            raise NotFoundError(f"no {what}")
        held = self.scopes_in(project_id)
        if held.isdisjoint(scopes):
            raise self._lacking(scopes, held)

    def admit_anywhere(self, scopes: tuple[Scope, ...]) -> None:
        """Raise ForbiddenError for who can't have one of ``scopes`` in any place.

        People may try whatever is done in a project: it exists for its members only, and lists show what they may see.
        """
        if self.is_user and not IN_PROJECTS.isdisjoint(scopes):
            return
        own: frozenset[Scope] = frozenset({"person"}) if self.is_user else _NONE
        held = self.everywhere.union(own, *self.by_project.values())
        if held.isdisjoint(scopes):
            raise self._lacking(scopes, held)

    def _lacking(self, scopes: tuple[Scope, ...], held: frozenset[Scope]) -> ForbiddenError:
        if not self.is_user and set(scopes) <= {"person", "server", "administer"}:
            return ForbiddenError("only a signed-in person may do this; an API key may not")
        needed = f"this needs one of {sorted(scopes)}" if len(scopes) > 1 else f"this needs {scopes[0]!r}"
        return ForbiddenError(f"{self.label} has the scopes {sorted(held)}; {needed}")
