"""The yes and no of the comparison come from processes that read a corpus."""

import pytest

from benchmarks.loaders import corpus
from benchmarks.loaders.entries import HEADRACE, LIMITS
from benchmarks.loaders.measure import elastic, near, prepare, same_stream
from benchmarks.loaders.processes import Bench

DOCUMENTS, ROWS = HEADRACE[0], HEADRACE[2]
SEQUENTIAL = LIMITS[0]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(corpus.make(tmp_path_factory.mktemp("corpus"), 2_000_000))


def test_a_loader_in_one_global_order_gives_the_same_steps_and_goes_on_at_other_numbers_of_ranks(bench: Bench) -> None:
    assert same_stream(bench, DOCUMENTS, (1, 2)) == {"same": True}
    assert elastic(bench, DOCUMENTS) == {"same": True}


def test_ranks_that_all_read_the_same_do_not(bench: Bench) -> None:
    assert same_stream(bench, SEQUENTIAL, (1, 2)) == {"same": False, "differs_at": 2}


def test_rows_cut_beforehand_are_made_once_and_resumed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.loaders.measure.NEAR", 400)
    made = prepare(bench, ROWS)
    assert made["bytes"] > 3_900_000
    assert prepare(bench, ROWS) == made
    told = near(bench, ROWS, {"workers_0": {"tokens_per_s": 1e9}}, 60)
    assert told["near"]["same"]
    assert told["near"]["state_bytes_8_ranks"] > 0
    assert told["shares"]["error_sequences"] < 1
    assert told["changed"]["can"]
    assert told["memory"]["own_bytes"] > 0
    assert near(bench, ROWS, {"workers_0": {"tokens_per_s": 1e3}}, 60)["near"]["why"].startswith("not measured")


def test_a_driver_that_fails_is_told_and_stops_nothing(bench: Bench) -> None:
    (told,) = bench.run(SEQUENTIAL, "resume", sequences=8)
    assert "NotImplementedError" in told["error"]
