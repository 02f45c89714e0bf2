"""What a job's report says: its facts, every figure, its mix versions and its starts."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import get_args

from ..figures.schemas import FigureName
from ..jobs import service as jobs
from ..jobs.schemas import Attempt
from ..jobs.schemas import Job as JobReply
from ..mix import service as mixes
from ..mix.schemas import MixVersion
from ..models import Job
from ..series import figures
from ..series.schemas import Axis
from ..series.service import Query
from ..work import Work
from .page import Report, Table

# A picture a thousand points wide shows no more; a page that is kept need not be small.
MAX_POINTS = 600
MAX_ROWS = 200


def _moment(at: datetime | None) -> str:
    return "" if at is None else at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _facts(job: JobReply, now: float) -> list[tuple[str, str]]:
    step = _count(job.step) + (f" of {job.total_steps:,}" if job.total_steps is not None else "")
    wait = "" if job.data_wait_share is None else f"{job.data_wait_share:.2%}"
    facts = [
        ("State", f"{job.state}: {job.state_reason}"),
        ("Project", job.project),
        ("Owner", job.owner),
        ("Step", step),
        ("Tokens", _count(job.tokens)),
        ("Tokens per second", _count(job.tokens_per_s)),
        ("Waiting for data", wait),
        ("Ranks", f"{job.ranks_live:,} of {job.ranks_total:,} heard"),
        ("Attempt", _count(job.attempt)),
        ("Mix version", str(job.mix_version)),
        ("Sequence length (tokens)", _count(job.seq_len)),
        ("Global batch (sequences)", _count(job.global_batch_size)),
        ("Packing", job.packing),
        ("Seed", str(job.seed)),
        ("Tags", ", ".join(f"{name}={value}" for name, value in sorted(job.tags.items()))),
        ("Registered", _moment(job.created_at)),
        ("Last report", _moment(job.last_report_at)),
        ("This page is of", _moment(datetime.fromtimestamp(now, UTC))),
    ]
    return [(name, value) for name, value in facts if value]


def _weights(version: MixVersion) -> str:
    return ", ".join(f"{name} {ppm / 10_000:.4g} %" for name, ppm in version.weights_ppm.items())


def _versions(versions: list[MixVersion]) -> Table:
    return Table(
        "Mix versions",
        ["version", "weights", "from step", "by", "reason", "when", "state"],
        [
            [
                str(found.version),
                _weights(found),
                _count(found.life.agreed_step if found.life.agreed_step is not None else found.from_step),
                found.author,
                found.reason,
                _moment(found.created_at),
                found.life.state,
            ]
            for found in versions
        ],
    )


def _attempts(attempts: list[Attempt]) -> Table:
    return Table(
        "Attempts",
        ["attempt", "state", "ranks", "resumed from step", "started", "ended", "reason"],
        [
            [
                str(found.number),
                found.state,
                _count(found.world_size),
                _count(found.resumed_from_step),
                _moment(found.started_at),
                _moment(found.ended_at),
                found.state_reason or "",
            ]
            for found in attempts[-MAX_ROWS:][::-1]
        ],
    )


def _sources(job: JobReply) -> Table:
    return Table(
        "Sources",
        ["source", "configured weight", "documents", "tokens", "shards"],
        [
            [
                source.name,
                f"{source.weight_ppm / 10_000:.4g} %",
                *map(_count, (source.num_documents, source.num_tokens, source.num_shards)),
            ]
            for source in job.sources
        ],
    )


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What is on the page: every figure over ``axis``, or ``figure`` alone, from ``low`` to ``high``, smoothed."""

    axis: Axis = "step"
    figure: FigureName | None = None
    low: float | None = None
    high: float | None = None
    smooth: float = 0.0


async def build(work: Work, job: Job, shown: Shown) -> Report:
    """The report of a job as it is now."""
    described = await jobs.describe(work, job)
    query = Query(axis=shown.axis, low=shown.low, high=shown.high, max_points=MAX_POINTS)
    names: tuple[FigureName, ...] = get_args(FigureName) if shown.figure is None else (shown.figure,)
    drawing = figures.Drawing(smooth=shown.smooth)
    drawn = [await figures.build(work, job, name, query, drawing) for name in names]
    about = f"Training data of job {described.name} in project {described.project}, as Headrace recorded it."
    facts = _facts(described, work.now)
    if shown.figure is not None:
        return Report(name=described.name, about=about, facts=facts, figures=drawn, tables=[])
    versions = (await mixes.history(work, job, cursor=None, limit=MAX_ROWS)).items
    attempts = (await jobs.attempts(work, job)).items
    return Report(
        name=described.name,
        about=about,
        facts=facts,
        figures=drawn,
        tables=[_sources(described), _versions(versions), _attempts(attempts)],
    )
