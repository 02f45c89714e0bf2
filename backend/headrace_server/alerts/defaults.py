"""The rules a project begins with: one of each kind, given once, so that what is deleted stays deleted."""

import uuid

from sqlalchemy.ext.asyncio import AsyncSession

from ..models import AlertRule
from . import repository
from .kinds import KINDS

AUTHOR = "headrace"


async def give(session: AsyncSession, project_id: int, now: float) -> None:
    """Give the project its first rules unless it had them before; a name that is taken is left alone."""
    if not await repository.claim_defaults(session, project_id, now):
        return
    taken = await repository.rule_names(session, project_id)
    for kind, what in KINDS.items():
        if what.name not in taken:
            session.add(
                AlertRule(
                    id=uuid.uuid4(),
                    project_id=project_id,
                    name=what.name,
                    kind=kind,
                    enabled=True,
                    job_pattern=None,
                    tags={},
                    threshold=what.threshold,
                    clear_at=what.clear_at,
                    for_s=what.for_s,
                    clear_for_s=what.clear_for_s,
                    window=what.window,
                    max_epochs=what.max_epochs,
                    created_by=AUTHOR,
                    created_at=now,
                    updated_at=now,
                )
            )
    await session.flush()
