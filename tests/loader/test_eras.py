"""Which era a step belongs to, and two changes at one step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from headrace.eras import Era, era_at, merged, was_skipped
from headrace.plan import Position


def era(step: int, **changes: Any) -> Era:
    nothing = np.zeros(1, np.int64)
    return Era(Position(step, nothing, nothing), ("web",), ((0, 8),), 0, None, changes)


def test_a_step_belongs_to_the_last_era_that_had_begun() -> None:
    eras = (era(5), era(9), era(40))
    assert [era_at(eras, step) for step in (5, 8, 9, 39, 40, 10**9)] == [eras[n] for n in (0, 0, 1, 1, 2, 2)]
    assert era_at(eras, 4) is None


def test_steps_before_an_era_that_moved_past_them_were_skipped() -> None:
    eras = (era(0), era(30, skipped_steps=10))
    assert [step for step in range(60) if was_skipped(eras, step)] == list(range(20, 30))


@pytest.mark.parametrize(
    ("earlier", "later", "both"),
    [
        ({"seq_len": [8, 16]}, {"seq_len": [16, 64]}, {"seq_len": [8, 64]}),
        ({"skipped_steps": 3}, {"skipped_steps": 4}, {"skipped_steps": 7}),
        ({"repeated_tokens": {"a": 2}}, {"repeated_tokens": {"a": 1, "b": 5}}, {"repeated_tokens": {"a": 3, "b": 5}}),
        ({"added_sources": ["a"]}, {"added_sources": ["b"]}, {"added_sources": ["a", "b"]}),
        ({"skipped_steps": 3}, {"exclusions": {"a": 1}}, {"skipped_steps": 3, "exclusions": {"a": 1}}),
    ],
)
def test_changes_at_one_step_are_counted_together(
    earlier: dict[str, Any], later: dict[str, Any], both: dict[str, Any]
) -> None:
    assert merged(earlier, later) == both
