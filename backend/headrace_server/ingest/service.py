"""Taking a batch of reports: each record counted once, whatever is repeated, late or wrong."""

from collections.abc import Sequence

from pydantic_core import to_json

from ..db import announce
from ..errors import NotFoundError
from ..events.announcements import JobChanged
from ..jobs import access
from ..mix import life
from ..models import Attempt, Job
from ..paging import decode_cursor, encode_cursor
from ..rollups import repository as rollups
from ..work import Work
from . import ranks, records, repository
from .schemas import RankDetail, Record, ReportReply


async def accept(work: Work, job: Job, body: bytes) -> ReportReply:
    """Store a batch. Raises MalformedBodyError, InvalidError (the envelope), NotFoundError (the attempt).

    A bad record is rejected alone; a repeated one is counted as duplicate. Reports of a superseded attempt are kept
    as history and change nothing live.
    """
    batch = records.parse_batch(body, work.runtime.settings.max_batch_records)
    target = await repository.target_of(work.session, job.id, batch.attempt)
    if target is None:
        raise NotFoundError(f"job {job.name!r} has no attempt {batch.attempt}; register it with POST /attempts")
    attempt, newest_version = target
    source_ids = {source.name: source.id for source in await access.sources(work, job)}
    good, rejected = records.check_records(batch, source_ids, attempt.world_size)
    oldest = work.now - work.runtime.settings.keep_reports_s
    fresh = [record for record in good if record["time"] >= oldest]
    new = await _store(work, attempt, fresh, source_ids)
    return ReportReply(
        accepted=len(new),
        duplicate=len(fresh) - len(new),
        expired=len(good) - len(fresh),
        rejected=rejected,
        mix_version=newest_version,
        report_every_s=ranks.interval_of(work.runtime, attempt),
    )


async def _store(work: Work, attempt: Attempt, good: Sequence[Record], source_ids: dict[str, int]) -> list[Record]:
    session = work.session
    once = records.once_each(good)
    if not once:
        return once
    inserted = await repository.insert_reports(session, attempt.id, work.now, records.report_columns(once))
    new = records.those_of(once, inserted)
    if not new:
        return new
    await repository.add_progress(session, records.progress_rows(new, attempt.id, source_ids))
    await rollups.add_due(session, attempt.id, records.minutes_touched(new))
    if attempt.state != "superseded":
        await repository.upsert_states(session, records.state_rows(new, attempt.id, work.now))
        await life.note_reports(
            session,
            attempt,
            newest_seen=max((r["mix_seen"] for r in new if r["mix_seen"] is not None), default=None),
            newest_in_force=max((r["mix_version"] for r in new if r["mix_version"] is not None), default=None),
            now=work.now,
        )
        announce(session, JobChanged(attempt.job_id))
    return new


async def rank_list(work: Work, job: Job, *, cursor: str | None, limit: int) -> bytes:
    """A page of the ranks of the newest attempt, the latest of each, by rank: a RankList as JSON."""
    after_rank = decode_cursor(cursor)
    attempt = await access.newest_attempt(work, job)
    if attempt is None:
        return to_json({"items": [], "attempt": None, "next_cursor": None})
    found = await ranks.states(work.session, work.runtime, attempt, work.now, after_rank=after_rank, limit=limit + 1)
    more = len(found) > limit
    following = encode_cursor(found[limit - 1]["rank"]) if more else None
    return to_json({"items": found[:limit], "attempt": attempt.number, "next_cursor": following})


async def rank_detail(work: Work, job: Job, rank: int) -> RankDetail:
    """One rank of the newest attempt. Raises NotFoundError where it has not reported."""
    attempt = await access.newest_attempt(work, job)
    if attempt is None:
        raise NotFoundError(f"job {job.name!r} has no ranks: no attempt has started yet")
    found = await ranks.states(work.session, work.runtime, attempt, work.now, after_rank=rank - 1, limit=1)
    if not found or found[0]["rank"] != rank:
        raise NotFoundError(
            f"rank {rank} has not reported in attempt {attempt.number} of job {job.name!r}, which has ranks 0 to "
            f"{attempt.world_size - 1}"
        )
    beside = await ranks.beside(work.session, attempt, rank)
    return RankDetail(
        **found[0],
        attempt=attempt.number,
        previous_rank=beside.previous,
        next_rank=beside.following,
        slowest_rank=beside.slowest,
    )
