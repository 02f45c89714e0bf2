"""Tokens by step: two points an attempt, and back."""

from headrace_server.series.segments import Start, stitch
from headrace_server.series.tokens import TokenLine, pieces
from hypothesis import given
from hypothesis import strategies as st

Run = tuple[list[Start], dict[int, tuple[int, int]], dict[int, int]]


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """Attempts with tokens a step of their own; how far each came; the tokens through each step that counts."""
    starts: list[Start] = []
    reached: dict[int, tuple[int, int]] = {}
    through: dict[int, int] = {}
    for i in range(draw(st.integers(1, 4))):
        first = draw(st.integers(0, max(through))) if i else 0
        num_steps, size = draw(st.integers(1, 50)), draw(st.integers(1, 10**6))
        total = through.get(first - 1, 0)
        through = {step: held for step, held in through.items() if step < first}
        for step in range(first, first + num_steps):
            total += size
            through[step] = total
        starts.append(Start(i, first if i else None))
        reached[i] = (first + num_steps - 1, total)
    return starts, reached, through


@given(runs())
def test_it_is_exact_at_every_step_and_back(run: Run) -> None:
    starts, reached, through = run
    line = TokenLine.of(stitch(starts), pieces(starts, reached, 1))
    assert line is not None
    for step, num_tokens in through.items():
        assert abs(line.through(step) - num_tokens) < 0.01
        assert line.first_step(num_tokens) == line.last_step(num_tokens) == step


def test_an_attempt_that_went_on_from_another_job_is_counted_back_from_where_it_is() -> None:
    start = Start(7, 1000)
    line = TokenLine.of(stitch([start]), pieces([start], {7: (1009, 50_000)}, 10))
    assert line is not None
    assert (line.through(1009), line.before(1000)) == (50_000, 49_900)
    told_nothing = TokenLine.of(stitch([start]), pieces([start], {}, 10))
    assert told_nothing is not None
    assert told_nothing.through(1000) == 10
    assert TokenLine.of([], {}) is None
