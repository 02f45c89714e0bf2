"""An interval adds up to what its steps were, and every record fits the contract's ranges."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from headrace.telemetry.interval import Interval
from headrace.telemetry.port import MaskedPlace
from hypothesis import given
from hypothesis import strategies as st

from tests.loader.telemetry.ranks import SEQ_LEN, sample

WAITS = st.lists(st.floats(0, 100), max_size=8).map(tuple)


def _records(interval: Interval) -> dict[str, Any]:
    assert interval.last is not None
    return interval.record(interval.last)


def test_sums_over_steps_and_keeps_the_last_position() -> None:
    interval = Interval(since=1000.0)
    for step in range(3):
        interval.add(sample(step, at=1001.0 + step))
    record = _records(interval)
    assert (record["step"], record["steps"], record["tokens"], record["total_tokens"]) == (2, 3, 3840, 3840)
    assert record["bytes_read"] == 3 * SEQ_LEN * 20
    web, code = record["sources"]
    assert (web["name"], web["ordinal"], web["sequences"], web["tokens"]) == ("web", 21, 21, 21 * SEQ_LEN)
    assert (code["name"], code["ordinal"], code["row"]) == ("code", 9, 2)


def test_masked_tokens_add_up_and_the_last_place_stays() -> None:
    """Since the start, so that the newest record says it all; a step without any changes neither."""
    interval = Interval(since=1000.0)
    assert _records(_with(interval, 0, 0, None))["masked_at"] is None
    _with(interval, 1, 30, MaskedPlace("web", "a\n.arrow", 7))
    _with(interval, 2, 12, MaskedPlace("code", "b.arrow", None))
    record = _records(_with(interval, 3, 0, None))
    assert record["masked_tokens"] == 42
    assert record["masked_at"] == {"source": "code", "file": "b.arrow", "row": None}
    after = _records(_with(interval.next(), 4, 1, MaskedPlace("web", "a\n.arrow", 7)))
    assert (after["masked_tokens"], after["masked_at"]["row"]) == (43, 7)
    assert "\n" not in after["masked_at"]["file"]


def _with(interval: Interval, step: int, masked: int, place: MaskedPlace | None) -> Interval:
    interval.add(replace(sample(step, at=1001.0 + step), masked_tokens=masked, masked_at=place))
    return interval


def test_waits_are_percentiles_in_ms_and_a_share_of_the_time_between_last_steps() -> None:
    interval = Interval(since=10.0)
    interval.add(replace(sample(0, at=12.0), waits_s=tuple(k / 1000 for k in range(1, 101))))
    record = _records(interval)
    assert record["wait_p50_ms"] == pytest.approx(50)
    assert record["wait_p99_ms"] == pytest.approx(99)
    assert record["wait_max_ms"] == pytest.approx(100)
    assert record["wait_share"] == 1.0  # waited for longer than the two seconds since
    later = interval.next()
    later.add(replace(sample(1, at=14.0), waits_s=(0.5,)))
    assert _records(later)["wait_share"] == pytest.approx(0.25)


def test_an_interval_without_steps_repeats_the_position_and_claims_nothing() -> None:
    interval = Interval(since=0.0)
    interval.add(sample(7))
    quiet = interval.next()
    record = _records(quiet)
    assert (record["step"], record["steps"], record["tokens"], record["wait_share"]) == (7, 0, 0, 0.0)
    assert [source["sequences"] for source in record["sources"]] == [0, 0]


def test_losses_add_up_by_source_and_those_that_are_not_finite_are_named_and_left_out() -> None:
    interval = Interval()
    interval.add(sample(0))
    assert interval.add_losses({"web": (6.0, 2), "code": (1.0, 1)}) == []
    assert interval.add_losses({"web": (math.nan, 3), "code": (math.inf, 1)}) == ["web", "code"]
    assert interval.add_losses({"web": (1.0, 1)}) == []
    web, code = _records(interval)["sources"]
    assert (web["loss_sum"], web["loss_count"]) == (7.0, 3)
    assert (code["loss_sum"], code["loss_count"]) == (1.0, 1)


@pytest.mark.parametrize(
    ("revision", "version"),
    [("service:12", 12), ("config:1", None), ("local:abc:4", None), ("service:x", None), ("service:²", None)],
)
def test_the_version_in_force_is_that_of_a_service_revision(revision: str, version: int | None) -> None:
    interval = Interval()
    interval.add(sample(0, revision=revision))
    assert _records(interval)["mix_version"] == version


def test_a_file_name_that_is_not_text_is_still_sendable() -> None:
    interval = Interval()
    step = sample(0)
    interval.add(replace(step, sources=(replace(step.sources[0], file="a\udcff\nb.arrow"),)))
    [source] = _records(interval)["sources"]
    assert source["file"] == "a? b.arrow"


@given(
    st.lists(st.tuples(WAITS, st.floats(0, 1e9)), min_size=1, max_size=6),
    st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=5),
    st.floats(0, 1e9),
)
def test_every_record_is_finite_and_in_range(
    steps: list[tuple[tuple[float, ...], float]], losses: list[float], since: float
) -> None:
    interval = Interval(since=since)
    for step, (waits_s, at) in enumerate(steps):
        interval.add(replace(sample(step, at=at), waits_s=waits_s))
    for loss in losses:
        interval.add_losses({"web": (loss, 1)})
    record = _records(interval)
    json.dumps(record, allow_nan=False)
    assert 0 <= record["wait_p50_ms"] <= record["wait_p99_ms"] <= record["wait_max_ms"]
    assert 0 <= record["wait_share"] <= 1
