"""What weights would mean by the end of the run, and what an operator should know first. Changes nothing."""

from collections.abc import Mapping, Sequence

from ..ingest import ranks
from ..jobs import access
from ..models import Job, JobSource
from ..work import Work
from . import forecast, life, service
from .schemas import MixPreview, MixPreviewRequest, MixPreviewWarning


async def preview(work: Work, job: Job, body: MixPreviewRequest) -> MixPreview:
    """What the weights would mean, changing nothing. Raises InvalidError."""
    sources = await access.sources(work, job)
    wanted = service.normalised(body.weights, sources)
    held = life.ordered((await service.newest(work, job)).weights_ppm, sources)
    outlooks, steps_left = await outlook(work, job, sources, wanted)
    epochs = _epochs(job, outlooks, steps_left, body.ramp_steps)
    attempt = await access.newest_attempt(work, job)
    run = forecast.Run(
        global_batch_size=job.global_batch_size,
        ramp_steps=body.ramp_steps,
        steps_left=steps_left,
        live=attempt is not None and attempt.state == "live",
    )
    found = forecast.warnings_for(outlooks, epochs, run)
    return MixPreview(
        weights_ppm=wanted,
        delta_ppm={name: ppm - held[name] for name, ppm in wanted.items()},
        epochs_at_end=epochs,
        warnings=[MixPreviewWarning(code=w.code, source=w.source, message=w.message) for w in found],
    )


async def epochs_by_end(work: Work, job: Job) -> dict[str, float | None]:
    """Epochs of each source by the end of the run, at the newest weights."""
    sources = await access.sources(work, job)
    version = await service.newest(work, job)
    outlooks, steps_left = await outlook(work, job, sources, life.ordered(version.weights_ppm, sources))
    return _epochs(job, outlooks, steps_left, version.ramp_steps if life.is_open(version) else 0)


def _epochs(
    job: Job, outlooks: Sequence[forecast.SourceOutlook], steps_left: int | None, ramp_steps: int
) -> dict[str, float | None]:
    return {
        source.name: forecast.epochs_at_end(
            source, steps_left=steps_left, global_batch_size=job.global_batch_size, ramp_steps=ramp_steps
        )
        for source in outlooks
    }


async def outlook(
    work: Work, job: Job, sources: Sequence[JobSource], wanted: Mapping[str, int]
) -> tuple[list[forecast.SourceOutlook], int | None]:
    """Each source now and under ``wanted``, and how many steps are left (None when the end is unknown)."""
    attempt = await access.newest_attempt(work, job)
    standing = None
    if attempt is not None:
        standing = (await ranks.standings(work.session, [attempt])).get(attempt.id)
    held = life.ordered((await service.newest(work, job)).weights_ppm, sources)
    outlooks = []
    for source in sources:
        now = None if standing is None else standing.sources.get(source.name)
        outlooks.append(
            forecast.SourceOutlook(
                name=source.name,
                delivered_sequences=0 if now is None else now.ordinal,
                epoch_sequences=source.num_tokens / job.seq_len,
                before_ppm=held[source.name] if now is None else now.target_ppm,
                after_ppm=wanted[source.name],
                end_sequences=source.end_ordinal,
            )
        )
    if job.total_steps is None:
        return outlooks, None
    done = 0 if standing is None else standing.step + 1
    return outlooks, max(0, job.total_steps - done)
