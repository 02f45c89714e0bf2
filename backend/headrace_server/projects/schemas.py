"""Projects as others see them."""

from ..fields import Reply, Request, Timestamp


class Project(Reply):
    """Owns jobs and keys."""

    name: str
    created_at: Timestamp


class ProjectList(Reply):
    """Every project the caller may see."""

    items: list[Project]


class ProjectSettings(Reply):
    """How a project is run. ``requires_approval``: changes of the mix need a second person."""

    requires_approval: bool


class ProjectSettingsPatch(Request):
    """What may be changed of a project's settings; a field left out stays."""

    requires_approval: bool | None = None
