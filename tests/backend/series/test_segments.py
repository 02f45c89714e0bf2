"""One line out of many attempts: the later one that resumed earlier wins from there on."""

from headrace_server.series.segments import Segment, Start, stitch
from hypothesis import given
from hypothesis import strategies as st

starts = st.lists(st.none() | st.integers(0, 50), min_size=1, max_size=8).map(
    lambda resumed: [Start(i, step) for i, step in enumerate(resumed)]
)


def owner(segments: list[Segment], step: int) -> int | None:
    owners = [s.attempt_id for s in segments if s.first <= step and (s.end is None or step < s.end)]
    assert len(owners) <= 1
    return owners[0] if owners else None


@given(starts, st.integers(0, 60))
def test_a_step_belongs_to_the_last_attempt_that_trained_it(given_starts: list[Start], step: int) -> None:
    trained = [s.attempt_id for s in given_starts if (s.resumed_from_step or 0) <= step]
    assert owner(stitch(given_starts), step) == (trained[-1] if trained else None)


def test_an_attempt_trained_again_from_the_start_drops_out() -> None:
    assert stitch([Start(1, None), Start(2, None)]) == [Segment(2, 0, None, True)]
    assert stitch([Start(1, None), Start(2, 10), Start(3, 5)]) == [
        Segment(1, 0, 5, True),
        Segment(3, 5, None, False),
    ]
