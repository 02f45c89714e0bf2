"""Jobs as Prometheus text: few series a job, none a rank."""

from collections.abc import Iterator, Mapping

from ..alerts import service as alerts
from ..principal import Principal
from ..runtime import Runtime
from ..webhooks import service as webhooks
from .schemas import JobSummary
from .summary import visible

_MAX_JOBS = 500
_STATES = ("running", "finished", "failed", "stalled", "lost", "waiting")


def _label(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _labels(job: JobSummary, **more: str) -> str:
    return _set({"project": job.project, "job": job.name, **more})


def _set(pairs: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_label(value)}"' for name, value in pairs.items()) + "}"


def _family(name: str, kind: str, about: str, samples: list[tuple[str, float | None]]) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        if value is not None:
            yield f"{name}{labels} {value:.17g}"


def _families(jobs: list[JobSummary]) -> Iterator[str]:
    def each(values: dict[str, float | None]) -> list[tuple[str, float | None]]:
        return list(values.items())

    yield from _family(
        "headrace_job_state",
        "gauge",
        "1 for the state a job is in.",
        [(_labels(job, state=state), float(job.state == state)) for job in jobs for state in _STATES],
    )
    yield from _family("headrace_job_step", "gauge", "Last step handed out.", each({_labels(j): j.step for j in jobs}))
    yield from _family(
        "headrace_job_tokens", "gauge", "Tokens through that step.", each({_labels(j): j.tokens for j in jobs})
    )
    yield from _family(
        "headrace_job_tokens_per_second",
        "gauge",
        "Tokens per second over all ranks.",
        each({_labels(j): j.tokens_per_s for j in jobs}),
    )
    yield from _family(
        "headrace_job_data_wait_ratio",
        "gauge",
        "Share of time ranks waited for data, mean over ranks.",
        each({_labels(j): j.data_wait_share for j in jobs}),
    )
    yield from _family("headrace_job_ranks", "gauge", "World size.", each({_labels(j): j.ranks_total for j in jobs}))
    yield from _family(
        "headrace_job_ranks_live", "gauge", "Ranks heard of.", each({_labels(j): j.ranks_live for j in jobs})
    )
    yield from _family(
        "headrace_job_mix_version", "gauge", "Newest mix version.", each({_labels(j): j.mix_version for j in jobs})
    )
    shares = [(_labels(job, source=share.source), share) for job in jobs for share in job.mix]
    yield from _family(
        "headrace_source_target_ratio",
        "gauge",
        "Weight of a source in force.",
        [(labels, share.target_ppm / 1_000_000) for labels, share in shares],
    )
    yield from _family(
        "headrace_source_realised_ratio",
        "gauge",
        "Share of a source in the last steps.",
        [(ls, None if s.realised_ppm is None else s.realised_ppm / 1_000_000) for ls, s in shares],
    )


async def render(runtime: Runtime, principal: Principal) -> str:
    """The caller's newest jobs as Prometheus text."""
    async with runtime.database.read() as session:
        jobs = await visible(
            session, runtime, runtime.now(), projects=principal.projects("read"), job_uuids=None, limit=_MAX_JOBS
        )
        firing = await alerts.num_open(session, principal.projects("read"))
        deliveries = await webhooks.num_deliveries(session, principal.projects("read"))
    streams = _family(
        "headrace_event_streams", "gauge", "Open event streams.", [("", float(runtime.broker.num_streams))]
    )
    open_alerts = _family(
        "headrace_alerts_open",
        "gauge",
        "Alerts that are not resolved.",
        [(_set({"project": project, "kind": kind}), float(num)) for project, kind, num in firing],
    )
    sent = _family(
        "headrace_webhook_deliveries",
        "gauge",
        "Webhook deliveries of the last 30 days by what became of them.",
        [(_set({"project": project, "state": state}), float(num)) for project, state, num in deliveries],
    )
    return "\n".join([*_families(jobs), *open_alerts, *sent, *streams]) + "\n"
