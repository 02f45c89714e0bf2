"""Bars are held by figures of the run alone, and said to be unknown without them."""

from typing import Any

import pytest

from benchmarks.loaders.bars import bars
from benchmarks.loaders.table import Loaders
from tests.benchmarks.loaders import run, told

NO: dict[str, Any] = {"same": False}


def held(loaders: Loaders, promise: str) -> bool | None:
    """What became of the one bar whose promise begins like this."""
    (found,) = [bar.held for bar in bars(loaders) if bar.promise.startswith(promise)]
    return found


@pytest.mark.parametrize(
    ("promise", "other", "expected"),
    [
        ("documents: most tokens/s of all that mix and pack", told(149e6), True),
        ("documents: most tokens/s of all that mix and pack", told(151e6), False),
        ("documents: most tokens/s of all that mix and pack", told(151e6, mixes=False), None),
        ("documents: most tokens/s of all that mix and pack", told(151e6, packs=False), None),
        ("documents: most tokens/s of all that mix, rows or not", told(151e6, packs=False), False),
        ("rows: most", told(199e6, packs=False), True),
        ("rows: most", told(201e6, packs=False), False),
        ("twice", told(75e6), True),
        ("twice", told(76e6), False),
        ("twice", told(76e6, elastic=NO), None),
        ("twice", told(76e6, mixes=False, packs=False), None),
        ("smallest state", told(1e6), True),
        ("smallest state", told(1e6, near={"same": True, "state_bytes_8_ranks": 31}), False),
        ("smallest state", told(1e6, near={"same": True, "state_bytes_8_ranks": 31, "counts": True}), None),
        ("yes in every row", told(1e6), False),
        ("yes in every row", told(1e6, worlds={"error": "no"}), True),
        ("yes in every row", told(1e6, changed={"can": False}), True),
    ],
)
def test_a_bar_is_decided_by_those_it_speaks_of(promise: str, other: dict[str, Any], expected: bool | None) -> None:
    assert held(run(other=other), promise) is expected


def test_fms_fsdp_is_held_against_by_cpu_and_memory() -> None:
    slow = told(1e6, workers_0={"cpu_ns_per_token": 40 * 1e9 / 150e6}, memory={"own_bytes": 1_000_000_001})
    assert held(run(**{"fms-fsdp": slow}), "40 times") is True
    assert held(run(**{"fms-fsdp": slow}), "20 times") is True
    assert held(run(**{"fms-fsdp": told(10e6)}), "40 times") is False
    assert held(run(**{"fms-fsdp": told(10e6)}), "20 times") is False
    assert held(run(), "40 times") is None


def test_a_start_a_resume_and_a_no_of_headrace_s_own_count() -> None:
    late = told(150e6, workers_0={"tokens_per_s": 150e6, "beyond_torch_s": 0.6}, far={"resume_s": 0.4}, worlds=NO)
    loaders = run() | {"headrace": late}
    assert held(loaders, "first batch") is False
    assert held(loaders, "resume takes no longer") is False
    assert held(loaders, "yes in every row") is False
    assert held(run(), "first batch") is True
    assert held(run(), "resume takes no longer") is True


def test_without_headrace_nothing_is_held() -> None:
    assert bars({"other": told(1e6)}) == []


def test_a_quick_run_leaves_ranks_open() -> None:
    loaders = run(other=told(1e6))
    for row in loaders.values():
        row.pop("worlds", None)
    assert held(loaders, "yes in every row") is None
