"""The result of a demo run is computed from the ranks' records, and any disagreement is an error."""

from __future__ import annotations

from typing import Any

import pytest
from headrace.demo.outcome import first_step_of, rescaled, shares, summary
from headrace.demo.record import StepRecord
from headrace.errors import AgreementError

EVEN, LEANING = {"a": 500_000, "b": 500_000}, {"a": 250_000, "b": 750_000}


def records(start: int, change: int, end: int) -> list[StepRecord]:
    """A rank's steps from `start` to `end`, with version 2 from `change` on."""
    first = [StepRecord(step, "config:1", EVEN, {"a": 2, "b": 2}, 9.0) for step in range(start, change)]
    return first + [StepRecord(step, "service:2", LEANING, {"a": 1, "b": 3}, 8.0) for step in range(change, end)]


def activation(revision: str, step: int, version: int) -> dict[str, Any]:
    return {"revision": revision, "step": step, "version": version}


BOTH = [activation("config:1", 0, 1), activation("service:2", 4, 2)]


def test_shares_and_steps() -> None:
    result = summary({"steps": 8}, {0: records(0, 4, 8), 1: records(0, 4, 8)}, BOTH)
    assert result == {
        "steps": 8,
        "sources": {"a": {"asked": 0.375, "delivered": 0.375}, "b": {"asked": 0.625, "delivered": 0.625}},
        "mix": {
            "version": 2,
            "step": 4,
            "step_on_rank": {"0": 4, "1": 4},
            "sources_since": {"a": {"asked": 0.25, "delivered": 0.25}, "b": {"asked": 0.75, "delivered": 0.75}},
        },
    }


def test_a_run_without_a_change() -> None:
    result = summary({}, {0: records(0, 8, 8)}, BOTH[:1])
    assert (result["mix"]["version"], result["mix"]["step_on_rank"]) == (1, {"0": 0})


def test_a_change_before_a_resumed_run_counts_from_its_first_step() -> None:
    result = summary({}, {0: records(10, 10, 12)}, BOTH)
    assert result["mix"]["step"] == 4
    assert result["mix"]["step_on_rank"] == {"0": 10}


@pytest.mark.parametrize(
    ("ranks", "activations", "said"),
    [
        ({0: records(0, 4, 8), 1: records(0, 5, 8)}, BOTH, r"agreed at step 4 but applied at, by rank, {0: 4, 1: 5}"),
        ({0: records(0, 5, 8), 1: records(0, 5, 8)}, BOTH, r"agreed at step 4 but applied at, by rank, {0: 5, 1: 5}"),
        ({0: records(0, 4, 8), 1: records(0, 8, 8)}, BOTH, r"applied at, by rank, {0: 4, 1: None}"),
        ({0: records(0, 4, 8), 1: records(0, 4, 7)}, BOTH, r"different steps; .* {0: \(8, 7\), 1: \(7, 6\)}"),
        ({0: records(0, 4, 8), 1: []}, BOTH, r"different steps; .* 1: \(0, None\)"),
        ({0: [], 1: []}, BOTH, r"different steps; .* {0: \(0, None\), 1: \(0, None\)}"),
        ({0: records(0, 4, 8)}, BOTH[:1], r"apply mix service:2, which the control plane has no activation of"),
    ],
)
def test_disagreement_is_refused(ranks: dict[int, list[StepRecord]], activations: list[Any], said: str) -> None:
    with pytest.raises(AgreementError, match=said):
        summary({}, ranks, activations)


def test_the_newest_activation_of_a_revision_counts() -> None:
    again = [*BOTH, activation("service:2", 4, 2)]
    assert summary({}, {0: records(0, 4, 8)}, again)["mix"]["version"] == 2


def test_shares_of_uneven_ranks_are_taken_together() -> None:
    one = StepRecord(0, "config:1", EVEN, {"a": 4, "b": 0}, 9.0)
    other = StepRecord(0, "config:1", EVEN, {"a": 0, "b": 4}, 9.0)
    assert shares([one, other])["a"] == {"asked": 0.5, "delivered": 0.5}


def test_what_a_rescaled_run_delivered() -> None:
    two, four = {0: records(0, 4, 4), 1: records(0, 4, 4)}, {0: records(4, 4, 8), 1: records(4, 4, 8)}
    assert rescaled(two, four, 8) == {"ranks": [2, 2], "step": 4, "steps": 8, "repeated": 0, "missing": 0}
    with pytest.raises(AgreementError, match=r"steps \[3\] were delivered to 2 ranks and again to 1"):
        rescaled(two, {0: records(3, 3, 8)}, 8)
    with pytest.raises(AgreementError, match=r"each step has 8 sequences, .* otherwise: {4: 0}"):
        rescaled(two, {0: records(5, 5, 8), 1: records(5, 5, 8)}, 8)
    with pytest.raises(AgreementError, match=r"otherwise: {7: 4}"):
        rescaled(two, {0: records(4, 4, 8), 1: records(4, 4, 7)}, 8)


def test_first_step_of() -> None:
    assert first_step_of(records(0, 4, 8), "service:2") == 4
    assert first_step_of(records(0, 4, 8), "service:3") is None
