"""What a run of the demo showed: the training's result, and the mix as asked, as delivered and as agreed.

Everything about the mix is read from the ranks' own records and must agree with each other and with what the control
plane was told; a difference is an error, never a number in the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headrace.demo.record import StepRecord
from headrace.errors import AgreementError
from headrace.mix import PPM

Activation = Mapping[str, Any]
Ranks = Mapping[int, Sequence[StepRecord]]
"by rank: its steps, in order"


def summary(result: Mapping[str, Any], ranks: Ranks, activations: Sequence[Activation]) -> dict[str, Any]:
    """The result with, for each source, the share asked and delivered, and when each rank applied the last change.

    Args:
        result: what rank 0 wrote at the end.
        ranks: every rank's steps, in order; at least one.
        activations: what the control plane recorded, oldest first.

    Raises:
        AgreementError: ranks that saw different steps or changes, or a change recorded at another step.
    """
    steps = [[record.step for record in records] for records in ranks.values()]
    if not steps[0] or any(other != steps[0] for other in steps):
        ends = {rank: (len(records), records[-1].step if records else None) for rank, records in ranks.items()}
        raise AgreementError(f"ranks recorded different steps; (number, last) by rank: {ends}")
    last = next(iter(ranks.values()))[-1]
    applied = {rank: first_step_of(records, last.revision) for rank, records in ranks.items()}
    recorded = next((a for a in reversed(activations) if a["revision"] == last.revision), None)
    if recorded is None:
        raise AgreementError(f"the ranks apply mix {last.revision}, which the control plane has no activation of")
    since = max(recorded["step"], steps[0][0])
    if any(step != since for step in applied.values()):
        raise AgreementError(
            f"mix {last.revision} was agreed at step {recorded['step']} but applied at, by rank, {applied}"
        )
    return {
        **result,
        "sources": shares(record for records in ranks.values() for record in records),
        "mix": {
            "version": recorded["version"],
            "step": recorded["step"],
            "step_on_rank": {str(rank): step for rank, step in applied.items()},
            "sources_since": shares(r for records in ranks.values() for r in records if r.step >= since),
        },
    }


def rescaled(before: Ranks, after: Ranks, global_batch_size: int) -> dict[str, Any]:
    """What a run delivered over a change of its number of ranks: every step once, whole, on all ranks together.

    Args:
        before: the steps of the ranks that began.
        after: the steps of those that went on from their checkpoint.
        global_batch_size: sequences in a step.

    Raises:
        AgreementError: a step that is missing, repeated or not whole; names it.
    """
    delivered: dict[int, int] = {}
    for ranks in (before, after):
        steps = {record.step for records in ranks.values() for record in records}
        again = sorted(steps & delivered.keys())
        if again:
            raise AgreementError(f"steps {again[:5]} were delivered to {len(before)} ranks and again to {len(after)}")
        for records in ranks.values():
            for record in records:
                delivered[record.step] = delivered.get(record.step, 0) + sum(record.sequences.values())
    first = min(delivered)
    wrong = {step: delivered.get(step, 0) for step in range(first, max(delivered) + 1)}
    wrong = {step: number for step, number in wrong.items() if number != global_batch_size}
    if wrong:
        raise AgreementError(
            f"each step has {global_batch_size} sequences, but these were delivered otherwise: {wrong}"
        )
    at = min(record.step for records in after.values() for record in records)
    return {"ranks": [len(before), len(after)], "step": at, "steps": len(delivered), "repeated": 0, "missing": 0}


def first_step_of(records: Sequence[StepRecord], revision: str) -> int | None:
    """The first step that a rank made with `revision`; None where it never did."""
    return next((record.step for record in records if record.revision == revision), None)


def shares(records: Iterable[StepRecord]) -> dict[str, dict[str, float]]:
    """For each source, the mean weight and the share of sequences over the same steps, each from 0 to 1.

    Steps weigh alike, as every global batch has the same size; records of several ranks are taken together.
    """
    asked: dict[str, int] = {}
    delivered: dict[str, int] = {}
    num_records = 0
    for record in records:
        num_records += 1
        for name, ppm in record.weights_ppm.items():
            asked[name] = asked.get(name, 0) + ppm
            delivered[name] = delivered.get(name, 0) + record.sequences[name]
    total = sum(delivered.values())
    return {
        name: {"asked": round(asked[name] / (num_records * PPM), 6), "delivered": round(delivered[name] / total, 6)}
        for name in asked
    }
