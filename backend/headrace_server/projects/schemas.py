"""Projects and their members as others see them."""

from ..fields import Name, Reply, Request, Timestamp
from ..principal import Role


class ProjectCreate(Request):
    """A project to make; its name stays, as paths and scripts hold it."""

    name: Name


class ProjectPatch(Request):
    """An archived project is left out of lists and takes no changes until it is restored."""

    archived: bool


class Project(Reply):
    """Owns jobs and keys, and has members."""

    name: str
    created_at: Timestamp
    archived_at: Timestamp | None = None


class ProjectList(Reply):
    """Projects the caller may see, in the order they were made; ``next_cursor`` is null on the last page."""

    items: list[Project]
    next_cursor: str | None = None


class MemberPut(Request):
    """What somebody may do in a project."""

    role: Role


class Member(Reply):
    """Somebody's role in a project."""

    username: str
    role: Role
    added_at: Timestamp
    disabled: bool


class MemberPage(Reply):
    """Members in the order their accounts were made; ``next_cursor`` is null on the last page."""

    items: list[Member]
    next_cursor: str | None


class ServerLimits(Reply):
    """What the server's own settings say for every project, in seconds: how long things are kept, or wait."""

    keep_reports_s: float
    keep_rank_rollups_s: float
    approval_expires_s: float


class ProjectSettings(Reply):
    """How a project is run. ``requires_approval``: changes of the mix need a second person.

    ``server`` can't be changed here: it is set where the server is started.
    """

    requires_approval: bool
    server: ServerLimits


class ProjectSettingsPatch(Request):
    """What may be changed of a project's settings; a field left out stays."""

    requires_approval: bool | None = None
