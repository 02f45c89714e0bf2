"""What a mix means by the end of a run."""

import pytest
from headrace_server.mix.forecast import (
    Run,
    SourceOutlook,
    epochs_at_end,
    steps_until_used_up,
    warnings_for,
    weight_steps,
)
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


def outlook(**changes: float | None) -> SourceOutlook:
    values = {"delivered_sequences": 100, "epoch_sequences": 1000.0, "before_ppm": 500_000, "after_ppm": 500_000}
    return SourceOutlook(name="web", **{**values, **changes})  # type: ignore[arg-type]


def codes(source: SourceOutlook, epochs: float | None = 1.0, batch: int = 64) -> list[str]:
    return [warning.code for warning in warnings_for([source], {"web": epochs}, Run(global_batch_size=batch))]


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
    [warning] = warnings_for([outlook(after_ppm=10_000)], {"web": None}, Run(global_batch_size=1000))
    assert "web" in warning.message and "50 %" in warning.message and "1 %" in warning.message


@pytest.mark.parametrize(("share", "often"), [(0.8, "8.0 in ten steps"), (0.25, "one in about 4 steps")])
def test_a_starved_source_is_told_how_often_it_comes(share: float, often: str) -> None:
    ppm = int(share * 1_000_000 / 4)
    (warning,) = warnings_for([outlook(before_ppm=ppm, after_ppm=ppm)], {"web": None}, Run(global_batch_size=4))
    assert warning.message == f"web gets less than one sequence a step: {often} at a batch of 4."


@given(ppm, ppm, st.integers(0, 300), st.integers(0, 400), st.integers(1, 500))
def test_a_source_is_used_up_at_the_first_step_that_takes_more_than_is_left(
    before: int, after: int, ramp: int, left: int, horizon: int
) -> None:
    source = outlook(before_ppm=before, after_ppm=after, delivered_sequences=100, end_sequences=100 + left)
    found = steps_until_used_up(source, global_batch_size=10, ramp_steps=ramp, horizon=horizon)
    taken = [weight_steps(before, after, ramp, steps) * 10 for steps in range(horizon + 1)]
    over = [steps for steps, value in enumerate(taken) if value > left]
    assert found == (over[0] if over and after > 0 else None)


def test_a_source_that_ends_is_told_with_its_numbers_and_never_read_further() -> None:
    source = outlook(end_sequences=1100)
    [warning] = warnings_for([source], {"web": 1.1}, Run(global_batch_size=100, steps_left=500))
    assert (warning.code, warning.source) == ("exhausted", "web")
    assert "used up after 1,100 sequences, in about 21 steps of 500 left" in warning.message
    assert epochs_at_end(source, steps_left=500, global_batch_size=100, ramp_steps=0) == 1.1
    assert codes(source, batch=100) == ["exhausted"], "in a run without an end, too"
    assert warnings_for([source], {"web": 1.0}, Run(global_batch_size=100, steps_left=20)) == []


def test_what_is_about_the_whole_change_comes_first() -> None:
    run = Run(global_batch_size=100, ramp_steps=5000, steps_left=800, live=False)
    found = warnings_for([outlook(after_ppm=0)], {"web": 1.0}, run)
    assert [(warning.code, warning.source) for warning in found] == [
        ("no_attempt", None),
        ("long_ramp", None),
        ("paused", "web"),
    ]
    assert "takes 5,000 steps, but only 800 are left: the weights get 16% of the way" in found[1].message
