"""What a mix means by the end of a run: epochs of each source, and what an operator should know first. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .weights import PPM

WarningCode = Literal["paused", "starved", "exhausted", "many_epochs", "big_change", "long_ramp", "no_attempt"]
# Repeating a source more than this stops paying (Muennighoff et al., 2023, "Scaling Data-Constrained Language Models").
MANY_EPOCHS = 4.0
BIG_CHANGE = 2.0
# Of a run without an end, no more than this is looked at.
_FOREVER_STEPS = 10**9


@dataclass(frozen=True)
class SourceOutlook:
    """A source now: sequences delivered so far, sequences in an epoch, and its weights before and after (ppm).

    ``end_sequences`` is after how many it is used up; None where it repeats for ever or nobody knows.
    """

    name: str
    delivered_sequences: int
    epoch_sequences: float
    before_ppm: int
    after_ppm: int
    end_sequences: int | None = None


@dataclass(frozen=True, kw_only=True)
class Run:
    """The run that the change is for; ``steps_left`` is None when its end is unknown."""

    global_batch_size: int
    ramp_steps: int = 0
    steps_left: int | None = None
    live: bool = True


@dataclass(frozen=True)
class MixWarning:
    """Something an operator should know before changing the mix; ``source`` is None where it is about all of it."""

    code: WarningCode
    source: str | None
    message: str


def weight_steps(before_ppm: int, after_ppm: int, ramp_steps: int, num_steps: int) -> float:
    """The integral of a source's share over the next ``num_steps`` steps; the ramp is linear."""
    ramped = min(ramp_steps, num_steps)
    full = num_steps - ramped
    if ramp_steps == 0:
        return full * after_ppm / PPM
    reached = before_ppm + (after_ppm - before_ppm) * ramped / ramp_steps
    return (ramped * (before_ppm + reached) / 2 + full * after_ppm) / PPM


def epochs_at_end(
    source: SourceOutlook, *, steps_left: int | None, global_batch_size: int, ramp_steps: int
) -> float | None:
    """Epochs of a source delivered when the run ends; None when its end or the source's size is unknown."""
    if steps_left is None or source.epoch_sequences <= 0:
        return None
    steps = weight_steps(source.before_ppm, source.after_ppm, ramp_steps, steps_left)
    delivered = source.delivered_sequences + steps * global_batch_size
    end = source.end_sequences
    return (delivered if end is None else min(delivered, max(end, source.delivered_sequences))) / source.epoch_sequences


def steps_until_used_up(source: SourceOutlook, *, global_batch_size: int, ramp_steps: int, horizon: int) -> int | None:
    """In how many steps a source is used up; None when not within ``horizon`` steps, or never."""
    if source.end_sequences is None or source.after_ppm == 0:
        return None
    left = source.end_sequences - source.delivered_sequences

    def taken(steps: int) -> float:
        return weight_steps(source.before_ppm, source.after_ppm, ramp_steps, steps) * global_batch_size

    if taken(horizon) <= left:
        return None
    low, high = 0, horizon
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if taken(middle) > left else (middle + 1, high)
    return low


def _percent(ppm: int) -> str:
    return f"{ppm / 10_000:.4g} %"


def _change_warning(source: SourceOutlook) -> MixWarning | None:
    before, after = source.before_ppm, source.after_ppm
    if before > 0 and after == 0:
        return MixWarning("paused", source.name, f"{source.name} stops: no sequence of it will be delivered.")
    if before == 0 and after > 0:
        return MixWarning("big_change", source.name, f"{source.name} starts again, from 0 to {_percent(after)}.")
    if before > 0 and not before / BIG_CHANGE <= after <= before * BIG_CHANGE:
        way = "grows" if after > before else "shrinks"
        message = (
            f"{source.name} {way} by more than 2×, from {_percent(before)} to {_percent(after)}; "
            "a ramp softens the change for the loss."
        )
        return MixWarning("big_change", source.name, message)
    return None


def _starved_warning(source: SourceOutlook, global_batch_size: int) -> MixWarning | None:
    per_step = global_batch_size * source.after_ppm / PPM
    if not 0 < per_step < 1:
        return None
    often = f"one in about {1 / per_step:.0f} steps" if per_step < 0.5 else f"{10 * per_step:.1f} in ten steps"
    message = f"{source.name} gets less than one sequence a step: {often} at a batch of {global_batch_size}."
    return MixWarning("starved", source.name, message)


def _exhausted_warning(source: SourceOutlook, run: Run) -> MixWarning | None:
    horizon = _FOREVER_STEPS if run.steps_left is None else run.steps_left
    steps = steps_until_used_up(
        source, global_batch_size=run.global_batch_size, ramp_steps=run.ramp_steps, horizon=horizon
    )
    if steps is None:
        return None
    left = "" if run.steps_left is None else f" of {run.steps_left:,} left"
    message = (
        f"{source.name} is used up after {source.end_sequences:,} sequences, in about {steps:,} steps{left}; "
        "the others share its weight from there on, or the run ends, as the script has it."
    )
    return MixWarning("exhausted", source.name, message)


def _repeats_warning(source: SourceOutlook, epochs: float | None) -> MixWarning | None:
    if epochs is None or epochs <= MANY_EPOCHS or source.after_ppm == 0:
        return None
    message = (
        f"{source.name} will have been read {epochs:.1f} times by the end of the run; "
        "beyond 4 times repeats rarely help."
    )
    return MixWarning("many_epochs", source.name, message)


def _run_warnings(run: Run) -> list[MixWarning]:
    found = []
    if not run.live:
        message = "No attempt is running: the change waits until the next start asks for the mix."
        found.append(MixWarning("no_attempt", None, message))
    if run.steps_left is not None and run.ramp_steps > run.steps_left:
        share = run.steps_left / run.ramp_steps
        message = (
            f"The ramp takes {run.ramp_steps:,} steps, but only {run.steps_left:,} are left: "
            f"the weights get {share:.0%} of the way."
        )
        found.append(MixWarning("long_ramp", None, message))
    return found


def warnings_for(sources: Sequence[SourceOutlook], epochs: Mapping[str, float | None], run: Run) -> list[MixWarning]:
    """What to tell an operator about going from ``before_ppm`` to ``after_ppm``: of the run, then in source order."""
    found = _run_warnings(run)
    for source in sources:
        about = (
            _change_warning(source),
            _starved_warning(source, run.global_batch_size),
            _exhausted_warning(source, run),
            _repeats_warning(source, epochs[source.name]),
        )
        found += [warning for warning in about if warning is not None]
    return found
