"""What a global batch was made of, as others see it."""

from typing import Literal
from uuid import UUID

from ..fields import Reply

Certainty = Literal["recorded", "checked", "computed", "forecast", "unknown"]
"""``recorded``: both ends were reported. ``checked``: computed from the weights, and what was reported later agrees.
``computed``: nothing reported later is near enough to check. ``forecast``: the step is still to come."""


class TraceSource(Reply):
    """A source's part of a global batch: its ordinals ``first_ordinal`` to ``last_ordinal``, both in it.

    Null where the record doesn't tell, or where the source gave nothing. Epochs are those of the two ordinals.
    """

    source: str
    weight_ppm: int | None
    num_sequences: int | None
    first_ordinal: int | None
    last_ordinal: int | None
    first_epoch: int | None
    last_epoch: int | None


class TraceMix(Reply):
    """The mix in force: its version, since which step, and how much of its ramp was done."""

    version: int
    revision: str
    from_step: int
    ramp_steps: int
    ramp_done: int


class TraceAttempt(Reply):
    """An attempt that trained the step; the record of the last one to do so ``holds``."""

    id: UUID
    number: int
    holds: bool
    first_step: int
    last_step: int


class StepTrace(Reply):
    """A global batch by sources, and in ``statement`` how sure that is. ``last_step`` is the last that was reported."""

    step: int
    last_step: int | None
    num_sequences: int | None
    certainty: Certainty
    statement: str
    attempts: list[TraceAttempt]
    mix: TraceMix | None
    sources: list[TraceSource]
