"""Where jobs are and how fast they go, by what the ranks of their newest attempts report."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from ..ingest import ranks
from ..models import Job
from ..runtime import Runtime
from . import access


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Where a job is: its last step (None: it has taken none that anybody knows of), its speed, whether it is over.

    Stuck ranks report and don't advance; the longest for ``stuck_for_s``. ``num_ranks`` have ever reported.
    """

    step: int | None
    steps_per_s: float | None
    ended: bool
    num_ranks: int = 0
    num_stuck: int = 0
    stuck_for_s: float = 0.0


async def paces(session: AsyncSession, runtime: Runtime, jobs: Sequence[Job]) -> dict[int, Pace]:
    """Where each job (by row id) is; none for one that never started."""
    now = runtime.now()
    attempts = await access.newest_attempts(session, [job.id for job in jobs])
    totals = await ranks.totals(session, runtime, list(attempts.values()), now)
    found: dict[int, Pace] = {}
    for job in jobs:
        attempt = attempts.get(job.id)
        if attempt is None:
            continue
        ended, row = attempt.state == "finished", totals.get(attempt.id)
        if row is None:
            resumed = attempt.resumed_from_step
            found[job.id] = Pace(step=None if resumed is None else resumed - 1, steps_per_s=None, ended=ended)
            continue
        rate = row.tokens_per_s
        found[job.id] = Pace(
            step=row.step,
            steps_per_s=None if rate is None else rate / (job.global_batch_size * job.seq_len),
            ended=ended,
            num_ranks=row.num_ranks,
            num_stuck=row.num_stuck,
            stuck_for_s=now - (row.stuck_since or now),
        )
    return found
