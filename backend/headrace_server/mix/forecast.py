"""What a mix means by the end of a run: epochs of each source, and what an operator should know first. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .weights import PPM

WarningCode = Literal["paused", "starved", "many_epochs", "big_change"]
# Repeating a source more than this stops paying (Muennighoff et al., 2023, "Scaling Data-Constrained Language Models").
MANY_EPOCHS = 4.0
BIG_CHANGE = 2.0


@dataclass(frozen=True)
class SourceOutlook:
    """A source now: sequences delivered so far, sequences in an epoch, and its weights before and after (ppm)."""

    name: str
    delivered_sequences: int
    epoch_sequences: float
    before_ppm: int
    after_ppm: int


@dataclass(frozen=True)
class MixWarning:
    """Something an operator should know before changing the mix."""

    code: WarningCode
    source: str
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
    return (source.delivered_sequences + steps * global_batch_size) / source.epoch_sequences


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


def warnings_for(
    sources: Sequence[SourceOutlook], epochs: Mapping[str, float | None], global_batch_size: int
) -> list[MixWarning]:
    """What to tell an operator about going from ``before_ppm`` to ``after_ppm``, in source order."""
    found: list[MixWarning] = []
    for source in sources:
        change = _change_warning(source)
        if change is not None:
            found.append(change)
        per_step = global_batch_size * source.after_ppm / PPM
        if 0 < per_step < 1:
            message = (
                f"{source.name} gets less than one sequence a step: one in about {1 / per_step:.0f} steps "
                f"at a batch of {global_batch_size}."
            )
            found.append(MixWarning("starved", source.name, message))
        end = epochs[source.name]
        if end is not None and end > MANY_EPOCHS and source.after_ppm > 0:
            message = (
                f"{source.name} will have been read {end:.1f} times by the end of the run; "
                "beyond 4 times repeats rarely help."
            )
            found.append(MixWarning("many_epochs", source.name, message))
    return found
