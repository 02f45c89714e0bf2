"""Projects as others see them."""

from ..fields import Reply, Timestamp


class Project(Reply):
    """Owns jobs and keys."""

    name: str
    created_at: Timestamp


class ProjectList(Reply):
    """Every project the caller may see."""

    items: list[Project]
