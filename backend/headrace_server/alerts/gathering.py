"""The figures of every live job at one moment: a fixed number of statements, however many jobs and ranks there are."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from ..ingest import liveness, ranks
from ..ingest.ranks import Standing
from ..jobs import access
from ..mix import forecast, life
from ..mix import service as mixes
from ..mix.weights import PPM
from ..models import AlertRule, Attempt, Job, JobSource, MixVersion
from ..runtime import Runtime
from . import histories
from .readings import Drift, Figures, Median, SilentRank, SourceEpochs


@dataclass(frozen=True)
class Needs:
    """What the rules in force look at: windows in seconds and in steps, and whether sources' epochs."""

    medians: frozenset[int]
    drifts: frozenset[int]
    epochs: bool


def needs_of(rules: Collection[AlertRule]) -> Needs:
    """What these rules look at."""

    def windows(kind: str) -> frozenset[int]:
        return frozenset(rule.window for rule in rules if rule.kind == kind and rule.window is not None)

    return Needs(
        medians=windows("throughput_drop"),
        drifts=windows("mix_drift"),
        epochs=any(rule.kind.startswith("source_") for rule in rules),
    )


async def gather(
    session: AsyncSession, runtime: Runtime, live: Sequence[tuple[Job, Attempt]], needs: Needs, now: float
) -> dict[int, Figures]:
    """The figures of each attempt, by its row id."""
    if not live:
        return {}
    attempts = [attempt for _, attempt in live]
    attempt_ids = [attempt.id for attempt in attempts]
    totals = await ranks.totals(session, runtime, attempts, now)
    lost = [(key, found.first_lost_rank) for key, found in totals.items() if found.first_lost_rank is not None]
    silent = await histories.silent_ranks(session, lost) if lost else {}
    medians: dict[int, dict[int, Median]] = {key: {} for key in attempt_ids}
    for window in needs.medians:
        for key, (rate, num) in (await histories.median_rates(session, attempt_ids, now - window)).items():
            medians[key][window] = Median(rate, num)
    drifts: dict[int, dict[int, list[Drift]]] = {key: {} for key in attempt_ids}
    for window in needs.drifts:
        for key, found in _drifts(await histories.shares(session, attempt_ids, window)).items():
            drifts[key][window] = found
    epochs = await _epochs(session, live) if needs.epochs else {}
    return {
        attempt.id: _figures(
            runtime,
            attempt,
            totals.get(attempt.id),
            silent.get(attempt.id),
            medians[attempt.id],
            drifts[attempt.id],
            epochs.get(attempt.id, []),
            now,
        )
        for attempt in attempts
    }


def _figures(
    runtime: Runtime,
    attempt: Attempt,
    totals: Any,
    silent: tuple[str, float] | None,
    medians: Mapping[int, Median],
    drifts: Mapping[int, list[Drift]],
    epochs: list[SourceEpochs],
    now: float,
) -> Figures:
    downtime = runtime.downtime
    lost_after_s = liveness.STALE_INTERVALS * ranks.interval_of(runtime, attempt)
    missing = attempt.world_size - (0 if totals is None else totals.num_ranks)
    overdue = downtime.silence_s(attempt.created_at, now) > lost_after_s
    hears = totals is not None and totals.num_heard > 0
    since = attempt.created_at if totals is None else totals.idle_since if hears else totals.received_at
    return Figures(
        attempt_number=attempt.number,
        world_size=attempt.world_size,
        step=None if totals is None else totals.step,
        num_lost=0 if totals is None else totals.num_lost,
        num_missing=max(0, missing) if overdue else 0,
        first_lost=None if silent is None else SilentRank(totals.first_lost_rank, silent[0], now - silent[1]),
        hears=hears,
        idle_s=downtime.silence_s(since, now),
        first_idle_rank=None if totals is None else totals.first_stuck_rank,
        wait_share=totals.wait_share if hears else None,
        tokens_per_s=totals.tokens_per_s if hears else None,
        medians=medians,
        drifts=drifts,
        epochs=epochs,
    )


def _drifts(rows: Sequence[Any]) -> dict[int, list[Drift]]:
    total: dict[int, int] = {}
    for row in rows:
        total[row.attempt_id] = total.get(row.attempt_id, 0) + row.delivered
    found: dict[int, list[Drift]] = {}
    for row in rows:
        num = total[row.attempt_id]
        if num > 0:
            drift = Drift(row.source, row.delivered / num, row.asked / row.num_steps / PPM, num, row.num_steps)
            found.setdefault(row.attempt_id, []).append(drift)
    return found


async def _epochs(session: AsyncSession, live: Sequence[tuple[Job, Attempt]]) -> dict[int, list[SourceEpochs]]:
    job_ids = [job.id for job, _ in live]
    sources = await access.sources_of(session, job_ids)
    newest = await mixes.newest_of(session, job_ids)
    standings = await ranks.standings(session, [attempt for _, attempt in live])
    return {
        attempt.id: _epochs_of(job, sources[job.id], newest[job.id], standings.get(attempt.id)) for job, attempt in live
    }


def _epochs_of(
    job: Job, sources: Sequence[JobSource], newest: MixVersion, standing: Standing | None
) -> list[SourceEpochs]:
    if standing is None:
        return []
    weights = life.ordered(newest.weights_ppm, sources)
    steps_left = None if job.total_steps is None else max(0, job.total_steps - standing.step - 1)
    found = []
    for source in sources:
        at = standing.sources.get(source.name)
        if source.num_tokens <= 0:
            continue
        outlook = forecast.SourceOutlook(
            name=source.name,
            delivered_sequences=0 if at is None else at.ordinal,
            epoch_sequences=source.num_tokens / job.seq_len,
            before_ppm=weights[source.name] if at is None else at.target_ppm,
            after_ppm=weights[source.name],
        )
        by_end = forecast.epochs_at_end(
            outlook,
            steps_left=steps_left,
            global_batch_size=job.global_batch_size,
            ramp_steps=newest.ramp_steps if life.is_open(newest) else 0,
        )
        delivered = outlook.delivered_sequences / outlook.epoch_sequences
        found.append(SourceEpochs(source.name, delivered, by_end, paused=weights[source.name] == 0))
    return found
