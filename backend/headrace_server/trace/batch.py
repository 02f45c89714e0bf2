"""A step's global batch from what was recorded around it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from .allocation import MAX_CHOICES, Counts, Replay, TooFarError
from .revisions import Revision, Weights
from .schemas import Certainty


@dataclass(frozen=True)
class Run:
    """What a run is: its sources and, for each, after how many sequences it is used up (None: never)."""

    names: Sequence[str]
    global_batch_size: int
    ends: Sequence[int | None]
    log: Sequence[Revision]


@dataclass(frozen=True)
class Found:
    """The counts before and after a step, and how sure they are; ``statement`` says it in words."""

    certainty: Certainty
    statement: str
    before: Sequence[int] | None = None
    after: Sequence[int] | None = None


def batch_of(run: Run, step: int, before: Counts | None, after: Counts | None, last_step: int | None) -> Found:
    """The batch of ``step``, from the nearest known counts at or before it and those past it.

    ``before`` is None where nothing is known; ``after.step`` is above ``step``. ``last_step`` was the last reported.
    """
    if before is None:
        return Found("unknown", "Nothing before this step is recorded any more; the command below names its documents.")
    if before.step == step and after is not None and after.step == step + 1:
        return Found("recorded", "Exact: both ends of this step were reported.", before.of, after.of)
    if not run.log or run.log[0].from_step > before.step:
        return Found("unknown", "No mix is recorded for this step, so what it took from each source can't be told.")
    if sum(before.of) != before.step * run.global_batch_size:
        return Found("unknown", _not_alike(run, before))
    return _replayed(run, step, before, after, last_step)


def _not_alike(run: Run, before: Counts) -> str:
    return (
        f"The run's steps were not all of {run.global_batch_size:,} sequences (step {before.step - 1:,} ended with "
        f"{sum(before.of):,} in all): its batch size or seq_len changed, or steps were moved past. The service does "
        "not compute such steps; the command below does."
    )


def _replayed(run: Run, step: int, before: Counts, after: Counts | None, last_step: int | None) -> Found:
    replay = Replay(Weights(run.log, run.names), run.global_batch_size)
    try:
        owed = replay.owed(before)
        here, owed = replay.advance(before, owed, step)
        past, owed = replay.advance(here, owed, step + 1)
    except TooFarError:
        return Found(
            "unknown",
            f"The nearest step before this one whose counts were reported is {before.step - 1:,}: more than "
            f"{MAX_CHOICES:,} choices away, which the service does not go through. The command below does.",
        )
    if any(end is not None and count >= end for count, end in zip(past.of, run.ends, strict=True)):
        return Found(
            "unknown", "A source with an end is used up by this step; the command below says what took its place."
        )
    since = "the start" if before.step == 0 else f"step {before.step - 1:,}, whose counts were reported"
    if last_step is None or step > last_step:
        told = f"A forecast: the step is still to come. If the mix stays as it is, from {since}."
        return Found("forecast", told, here.of, past.of)
    return _checked(replay, here, past, owed, after, since)


def _checked(replay: Replay, here: Counts, past: Counts, owed: list[int], after: Counts | None, since: str) -> Found:
    if after is None:
        return Found(
            "computed", f"Computed from the weights since {since}; no later report to check it by.", here.of, past.of
        )
    try:
        later, _ = replay.advance(past, owed, after.step)
    except TooFarError:
        told = (
            f"Computed from the weights since {since}; the next report, at step {after.step - 1:,}, is too far away to "
            "check it by."
        )
        return Found("computed", told, here.of, past.of)
    if later.of != after.of:
        return Found(
            "unknown",
            f"What the weights give since {since} is not what was reported at step {after.step - 1:,}, so the record "
            "does not tell all that happened between. The command below may, or a checkpoint with it.",
        )
    return Found(
        "checked",
        f"Exact: computed from the weights since {since}, and the report at step {after.step - 1:,} agrees.",
        here.of,
        past.of,
    )


def epoch_at(by_tokens: int | None, known: tuple[int, int] | None) -> int | None:
    """The epoch of an ordinal, by the tokens before it where that is how epochs end, and by what was reported.

    ``known`` are the epochs reported before and after it: where they are one, it is that. None where the two disagree,
    or where nothing tells.
    """
    if known is not None and known[0] == known[1]:
        return known[0]
    if by_tokens is None or known is None:
        return by_tokens
    return by_tokens if known[0] <= by_tokens <= known[1] else None
