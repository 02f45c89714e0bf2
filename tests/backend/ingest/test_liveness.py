"""How alive a rank is; the cut-offs that SQL uses say the same as the silence they come from."""

import pytest
from headrace_server.ingest.liveness import Downtime, cutoffs, paced_interval_s, rank_liveness
from hypothesis import given
from hypothesis import strategies as st

EVERY = 2.0
times = st.floats(0, 10_000)


@given(last=times, now=times, since=times, length=st.floats(0, 500), silence=st.floats(0.1, 1000))
def test_a_cutoff_is_the_inverse_of_silence(
    last: float, now: float, since: float, length: float, silence: float
) -> None:
    downtime = Downtime(since, since + length)
    now = max(now, last)
    measured = downtime.silence_s(last, now)
    if abs(measured - silence) > 1e-6:
        assert (last < downtime.cutoff(silence, now)) == (measured > silence)


@given(last=times, more=st.floats(0, 1000))
def test_without_downtime_silence_is_plain(last: float, more: float) -> None:
    assert Downtime().silence_s(last, last + more) == pytest.approx(more, abs=1e-6)


def test_downtime_of_the_server_is_not_silence_of_the_rank() -> None:
    downtime = Downtime(since=100, until=160)
    assert downtime.silence_s(last=98, now=130) == 2
    assert downtime.silence_s(last=98, now=160) == 2
    assert downtime.silence_s(last=98, now=165) == 7
    assert downtime.silence_s(last=162, now=165) == 3


@pytest.mark.parametrize(
    ("silence_s", "state"),
    [(0, "live"), (4, "live"), (4.1, "late"), (5, "late"), (5.1, "stale"), (6, "stale"), (6.1, "lost")],
)
def test_states_by_intervals_of_silence(silence_s: float, state: str) -> None:
    cuts = cutoffs(Downtime(), 1000.0, EVERY, 120.0)
    assert rank_liveness(1000 - silence_s, 1000.0, cuts, finished=False) == state
    assert rank_liveness(1000 - silence_s, 0.0, cuts, finished=True) == "finished"


def test_a_reporting_rank_that_does_not_advance_is_stuck() -> None:
    cuts = cutoffs(Downtime(), 1000.0, EVERY, 120.0)
    assert rank_liveness(999.0, 879.0, cuts, finished=False) == "stuck"
    assert rank_liveness(999.0, 881.0, cuts, finished=False) == "live"
    assert rank_liveness(900.0, 800.0, cuts, finished=False) == "lost"


def test_the_server_paces_large_jobs() -> None:
    assert paced_interval_s(2.0, 1000.0, 8) == 2.0
    assert paced_interval_s(2.0, 1000.0, 16_384) == pytest.approx(16.384)
