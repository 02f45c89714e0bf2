"""Tables show each loader, and why a figure is missing."""

from benchmarks.loaders.entries import LOADERS
from benchmarks.loaders.measure import FIGURES, RANKS, failed, medians
from benchmarks.loaders.table import SAID, as_markdown, reason
from tests.benchmarks.loaders import run, told


def cells(page: str, name: str) -> list[list[str]]:
    """The cells of each row that begins with a name."""
    lines = [line for line in page.splitlines() if line.startswith(f"| {name} |")]
    return [[one.strip() for one in line.strip("|").split("|")][1:] for line in lines]


def test_a_rate_stands_beside_its_share_of_the_limit() -> None:
    speed, state = cells(as_markdown(run()), "headrace")
    assert speed[3:6] == ["150", "0.50", "150"]
    assert state[:4] == ["0.100", "0.100", "700", "0.4"]
    assert state[4:] == ["yes"] * 4


def test_a_limit_has_no_row_among_those_that_resume() -> None:
    assert len(cells(as_markdown(run()), "mapped, random rows")) == 1


def test_what_failed_is_crossed_out_and_told_once_for_each_reason() -> None:
    page = as_markdown(run(other=told(1e6, workers_2={"error": "Trace\nValueError: no"}, far={"why": "too far"})))
    speed, state = cells(page, "other")
    assert speed[5] == "✗"
    assert state[1] == "–"
    assert "- other, with 2 workers: ValueError: no" in page
    assert "- other, resume at 1 M: too far" in page


def test_a_loader_that_cannot_be_installed_is_a_row_with_the_reason() -> None:
    missing = failed(LOADERS[-1], "not installed: no matching distribution", quick=False)
    assert set(SAID) == {*FIGURES, *RANKS} <= set(missing)
    page = as_markdown(run(other=missing))
    speed, state = cells(page, "other")
    assert speed[3] == "✗"
    assert set(state) == {"✗"}
    assert page.count("no matching distribution") == 1


def test_a_reason_names_no_path_of_this_machine() -> None:
    assert reason("Traceback\n  File\nOSError: no file /home/me/venv/lib/x.py") == "OSError: no file …/x.py"


def test_medians_are_of_the_rounds_that_worked() -> None:
    assert medians([{"x": 1.0}, {"error": "no"}, {"x": 3.0}, {"x": 10.0}]) == {"x": 3.0, "rounds": 3}
    assert medians([{"error": "one"}, {"error": "two"}]) == {"error": "two"}
