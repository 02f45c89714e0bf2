"""What a mix means by the end of a run."""

import pytest
from headrace_server.mix.forecast import SourceOutlook, epochs_at_end, warnings_for, weight_steps
from hypothesis import given
from hypothesis import strategies as st

ppm = st.integers(0, 1_000_000)


@given(ppm, ppm, st.integers(0, 300), st.integers(0, 300))
def test_the_integral_equals_the_sum_over_a_fine_ramp(before: int, after: int, ramp: int, steps: int) -> None:
    """The trapezium of a linear ramp, against a sum of midpoints."""
    total = 0.0
    for step in range(steps):
        done = 1.0 if ramp == 0 else min(1.0, (step + 0.5) / ramp)
        total += before + (after - before) * done
    assert weight_steps(before, after, ramp, steps) == pytest.approx(total / 1e6, abs=1e-9, rel=1e-9)


def outlook(**changes: float) -> SourceOutlook:
    values = {"delivered_sequences": 100, "epoch_sequences": 1000.0, "before_ppm": 500_000, "after_ppm": 500_000}
    return SourceOutlook(name="web", **{**values, **changes})  # type: ignore[arg-type]


def codes(source: SourceOutlook, epochs: float | None = 1.0, batch: int = 64) -> list[str]:
    return [warning.code for warning in warnings_for([source], {"web": epochs}, batch)]


def test_epochs_by_the_end() -> None:
    assert epochs_at_end(outlook(), steps_left=18, global_batch_size=100, ramp_steps=0) == 1.0
    assert epochs_at_end(outlook(), steps_left=None, global_batch_size=100, ramp_steps=0) is None
    assert epochs_at_end(outlook(epoch_sequences=0), steps_left=1, global_batch_size=1, ramp_steps=0) is None


def test_warnings_say_what_an_operator_should_know() -> None:
    assert codes(outlook()) == []
    assert codes(outlook(after_ppm=0)) == ["paused"]
    assert codes(outlook(before_ppm=0, after_ppm=100_000)) == ["big_change"]
    assert codes(outlook(before_ppm=100_000, after_ppm=200_000)) == []
    assert codes(outlook(before_ppm=100_000, after_ppm=200_001)) == ["big_change"]
    assert codes(outlook(before_ppm=200_001, after_ppm=100_000)) == ["big_change"]
    assert codes(outlook(before_ppm=10_000, after_ppm=10_000), batch=64) == ["starved"]
    assert codes(outlook(), epochs=4.1) == ["many_epochs"]
    assert codes(outlook(before_ppm=0, after_ppm=0), epochs=9) == []
    [warning] = warnings_for([outlook(after_ppm=10_000)], {"web": None}, 1000)
    assert "web" in warning.message and "50 %" in warning.message and "1 %" in warning.message
