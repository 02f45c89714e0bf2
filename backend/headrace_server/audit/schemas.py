"""What the audit log says."""

from typing import Any
from uuid import UUID

from ..fields import Reply, Timestamp


class AuditEvent(Reply):
    """One change: by whom, of what, and what it looked like before and after."""

    id: int
    at: Timestamp
    actor: str
    action: str
    project: str | None
    job: UUID | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    reason: str | None
    request_id: str


class AuditPage(Reply):
    """Newest first; ``next_cursor`` is null on the last page.

    ``searched_back_to`` is how far back a search has looked that ended its page before it was full: the next goes on.
    """

    items: list[AuditEvent]
    next_cursor: str | None
    searched_back_to: Timestamp | None
