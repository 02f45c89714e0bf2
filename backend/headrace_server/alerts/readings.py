"""What a rule reads off a job's figures: one number, and a sentence with the figures behind it. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..durations import span
from .kinds import Kind

# A throughput is compared with its median once there are this many minutes of it.
MIN_MEDIAN_MINUTES = 10
# Fewer sequences than this in a window say nothing of shares: the quota's own rounding would show.
MIN_DRIFT_SEQUENCES = 100


@dataclass(frozen=True)
class SilentRank:
    """The first lost rank that had reported: its host, and how long ago the server last heard of it (seconds)."""

    rank: int
    host: str
    silence_s: float


@dataclass(frozen=True)
class Median:
    """A token rate's median over a window, of ``num_minutes`` minutes."""

    tokens_per_s: float
    num_minutes: int


@dataclass(frozen=True)
class Drift:
    """A source over a window of steps: its delivered and its asked share, and the window's sequences of all sources."""

    source: str
    delivered: float
    asked: float
    num_sequences: int
    num_steps: int


@dataclass(frozen=True)
class SourceEpochs:
    """Epochs of a source so far and, where the end of the run is known, by then; ``paused``: its weight is 0."""

    source: str
    delivered: float
    by_end: float | None
    paused: bool


@dataclass(frozen=True, kw_only=True)
class Figures:
    """A job's live attempt at one moment. ``idle_s`` is since a heard rank advanced, or since any was heard."""

    attempt_number: int
    world_size: int
    step: int | None
    num_lost: int
    num_missing: int
    first_lost: SilentRank | None
    hears: bool
    idle_s: float
    first_idle_rank: int | None
    wait_share: float | None
    tokens_per_s: float | None
    medians: Mapping[int, Median] = field(default_factory=dict)
    drifts: Mapping[int, list[Drift]] = field(default_factory=dict)
    epochs: list[SourceEpochs] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What of a rule shapes its reading."""

    kind: Kind
    window: int | None = None
    max_epochs: float | None = None


@dataclass(frozen=True)
class Reading:
    """A rule's number for a job (None: not known now) and the sentence that explains it."""

    value: float | None
    words: str


def percent(share: float) -> str:
    """A share for people: 12.5 %."""
    return f"{share * 100:.3g} %"


def _rank_lost(figures: Figures, _asked: Asked) -> Reading:
    lost = figures.num_lost + figures.num_missing
    if lost == 0:
        return Reading(0, f"all {figures.world_size} ranks report")
    first, total = figures.first_lost, figures.world_size
    parts = []
    if figures.num_lost and first is not None:
        which = f"rank {first.rank} on host {first.host}"
        more = f" (the first of {figures.num_lost} lost of {total})" if figures.num_lost > 1 else f" of {total} ranks"
        parts.append(f"{which}{more} last reported {span(first.silence_s)} ago")
    if figures.num_missing:
        parts.append(f"{figures.num_missing} of {total} ranks have never reported in attempt {figures.attempt_number}")
    return Reading(lost, "; ".join(parts) or f"{lost} of {total} ranks are lost")


def _job_stalled(figures: Figures, _asked: Asked) -> Reading:
    if not figures.hears:
        return Reading(figures.idle_s, f"no rank has reported for {span(figures.idle_s)}")
    where = "" if figures.step is None else f" beyond step {figures.step}"
    if figures.first_idle_rank is None:
        return Reading(figures.idle_s, f"ranks last advanced {span(figures.idle_s)} ago, to step {figures.step}")
    who = f"rank {figures.first_idle_rank}"
    return Reading(figures.idle_s, f"{who} reports but has not advanced{where} for {span(figures.idle_s)}")


def _data_wait(figures: Figures, _asked: Asked) -> Reading:
    if figures.wait_share is None:
        return Reading(None, "no rank is heard")
    share = percent(figures.wait_share)
    return Reading(figures.wait_share, f"ranks wait for data {share} of their time at step {figures.step}")


def _throughput_drop(figures: Figures, asked: Asked) -> Reading:
    assert asked.window is not None
    median = figures.medians.get(asked.window)
    if figures.tokens_per_s is None or median is None or median.num_minutes < MIN_MEDIAN_MINUTES:
        return Reading(None, "too little history")
    if median.tokens_per_s <= 0:
        return Reading(None, "no tokens in the window")
    share = figures.tokens_per_s / median.tokens_per_s
    return Reading(
        share,
        f"{figures.tokens_per_s:,.0f} tokens/s, {percent(share)} of the median of {median.tokens_per_s:,.0f} tokens/s "
        f"over the last {span(asked.window)}",
    )


def _mix_drift(figures: Figures, asked: Asked) -> Reading:
    assert asked.window is not None
    judged = [d for d in figures.drifts.get(asked.window, []) if d.num_sequences >= MIN_DRIFT_SEQUENCES]
    if not judged:
        return Reading(None, "too few sequences to tell")
    worst = max(judged, key=lambda drift: abs(drift.delivered - drift.asked))
    return Reading(
        abs(worst.delivered - worst.asked),
        f"{worst.source} made up {percent(worst.delivered)} of the last {worst.num_steps} steps; "
        f"{percent(worst.asked)} were asked for",
    )


def _source_epochs(figures: Figures, _asked: Asked) -> Reading:
    known = [(source.by_end, source) for source in figures.epochs if source.by_end is not None and not source.paused]
    if not known:
        return Reading(None, "the end of the run is not known")
    epochs, worst = max(known, key=lambda pair: pair[0])
    now = f"{worst.delivered:.3g} so far"
    return Reading(epochs, f"{worst.source} will have been read {epochs:.3g} times by the end of the run ({now})")


def _source_exhaustion(figures: Figures, asked: Asked) -> Reading:
    assert asked.max_epochs is not None
    going = [source for source in figures.epochs if not source.paused]
    if not going:
        return Reading(None, "no source is being read")
    worst = max(going, key=lambda source: source.delivered)
    left = max(0.0, asked.max_epochs - worst.delivered)
    return Reading(
        worst.delivered / asked.max_epochs,
        f"{worst.source} has been read {worst.delivered:.3g} times of {asked.max_epochs:g}; {left:.2g} epochs are left",
    )


_READERS: dict[Kind, Callable[[Figures, Asked], Reading]] = {
    "rank_lost": _rank_lost,
    "job_stalled": _job_stalled,
    "data_wait": _data_wait,
    "throughput_drop": _throughput_drop,
    "mix_drift": _mix_drift,
    "source_epochs": _source_epochs,
    "source_exhaustion": _source_exhaustion,
}


def read(asked: Asked, figures: Figures) -> Reading:
    """What a rule reads off the figures."""
    return _READERS[asked.kind](figures, asked)
