"""The stream between seals and batches: positions that can be asked for, and waits that are measured."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from headrace.assemble import Assembler
from headrace.config import parse_config
from headrace.data import Data, open_data
from headrace.errors import ShardError, StateError
from headrace.mix import PPM, Revision
from headrace.plan import Position
from headrace.stream import Item, Stream, Waits

from tests.loader.corpora import random_corpus


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    corpus = random_corpus(tmp_path_factory.mktemp("stream"), {"web": 60, "code": 30})
    options = {"seq_len": 16, "global_batch_size": 12, "micro_batch_size": 2, "seed": 5, "eos_id": 0}
    return open_data(parse_config({"sources": corpus.sources(web=1, code=1), **options}))


class Ahead:
    """Seals that are final, and known, for every step from the beginning."""

    def __init__(self, *revisions: Revision) -> None:
        self.asked: list[int] = []
        self._revisions = revisions

    def through(self, step: int) -> Sequence[Revision]:
        self.asked.append(step)
        return self._revisions


def stream_of(
    data: Data,
    seals: Ahead,
    dp_rank: int = 0,
    dp_size: int = 1,
    *,
    counts: int | None = None,
    opens_ahead: bool = False,
    batch_size: int = 12,
) -> Stream:
    orders, blocks = data.orders(), data.blocks()
    courses = data.courses(orders)
    return Stream(
        start=Position.start(len(data.config.names)),
        log=[Revision("config:1", 0, data.weights_ppm)],
        seals=seals,
        courses=courses,
        names=data.config.names,
        assembler=Assembler(data.config, data.manifests, courses, data.pieces(orders, blocks), blocks),
        batch_sizes=((0, batch_size),),
        micro_batch_size=data.config.micro_batch_size,
        dp_rank=dp_rank,
        dp_size=dp_size,
        tokens_a_sequence=counts,
        opens_ahead=opens_ahead,
    )


def steps(items: Iterator[Item], number: int) -> list[list[Item]]:
    found: list[list[Item]] = [[]]
    while len(found) <= number:
        found[-1].append(next(items))
        if found[-1][-1].finished is not None:
            found.append([])
    return found[:-1]


def test_the_last_micro_batch_of_a_step_carries_what_is_known_of_it(data: Data) -> None:
    for step, items in enumerate(steps(stream_of(data, Ahead()).items(), 3)):
        assert [item.batch.micro_step for item in items] == list(range(6))
        assert [item.finished is not None for item in items] == [False] * 5 + [True]
        assert items[-1].finished is not None
        assert items[-1].batch.last_of_step
        assert items[-1].finished.plan.step == step
        assert items[-1].finished.bytes_read > 0


def test_a_step_is_planned_only_once_it_is_sealed(data: Data) -> None:
    seals = Ahead()
    items = stream_of(data, seals).items()
    assert seals.asked == []
    steps(items, 3)
    assert seals.asked == [0, 1, 2]


def test_positions_are_known_from_when_they_are_planned_until_they_are_let_go(data: Data) -> None:
    stream = stream_of(data, Ahead())
    items = stream.items()
    steps(items, 4)
    assert [stream.position(step).step for step in range(5)] == list(range(5))
    assert stream.position(4).counts.sum() == 48
    stream.forget_before(3)
    with pytest.raises(StateError) as refused:
        stream.position(2)
    assert str(refused.value).startswith("step is 2; this loader can give the state of steps 3 to 4: ")
    assert stream.position(3).counts.sum() == 36


def test_a_change_that_is_known_early_touches_only_its_own_steps(data: Data) -> None:
    change = Revision("service:2", 2, {"web": 0, "code": PPM})
    stream = stream_of(data, Ahead(change))
    taken = steps(stream.items(), 4)
    sources = [{s for item in items for s in item.batch.source.tolist()} for items in taken]
    assert sources == [{0, 1}, {0, 1}, {1}, {1}]
    assert stream.weights(1).tolist() == [500_000, 500_000]
    assert stream.weights(2).tolist() == [0, PPM]
    assert [revision.id for revision in stream.log] == ["config:1", "service:2"]


class Late(Ahead):
    """Seals that are agreed no sooner than the step they begin at."""

    def through(self, step: int) -> Sequence[Revision]:
        return [revision for revision in super().through(step) if revision.from_step <= step]


@pytest.mark.parametrize("dp_size", [1, 3])
def test_steps_that_are_opened_together_are_those_of_one_after_the_other(data: Data, dp_size: int) -> None:
    """A change that comes in the middle of them, and a ramp, included."""
    changes = Revision("service:2", 4, {"web": 0, "code": PPM}), Revision("service:3", 9, {"web": PPM, "code": 0}, 7)
    alone, together = (
        stream_of(data, Late(*changes), dp_size - 1, dp_size, opens_ahead=opens_ahead) for opens_ahead in (False, True)
    )
    for one, other in zip(steps(alone.items(), 20), steps(together.items(), 20), strict=True):
        for expected, item in zip(one, other, strict=True):
            assert item.batch.input_ids.tolist() == expected.batch.input_ids.tolist()
            assert item.batch.source.tolist() == expected.batch.source.tolist()
        assert one[-1].finished is not None
        assert other[-1].finished is not None
        assert other[-1].finished.revision == one[-1].finished.revision
        assert other[-1].finished.bytes_read == one[-1].finished.bytes_read
        step = one[-1].finished.plan.after.step
        assert together.position(step).counts.tolist() == alone.position(step).counts.tolist()
        assert together.position(step).accumulators.tolist() == alone.position(step).accumulators.tolist()


def test_a_shard_that_cannot_be_opened_stops_no_step_before_its_own(tmp_path: Path) -> None:
    corpus = random_corpus(tmp_path, {"web": 400})
    options = {"seq_len": 16, "global_batch_size": 4, "micro_batch_size": 4, "seed": 5, "eos_id": 0, "shuffle": False}
    data = open_data(parse_config({"sources": corpus.sources(web=1), **options}))
    sorted(tmp_path.rglob("*.arrow"))[1].unlink()
    delivered = []
    for opens_ahead in (False, True):
        items = stream_of(data, Ahead(), opens_ahead=opens_ahead, batch_size=4).items()
        delivered.append(0)
        with pytest.raises(ShardError):
            for _ in items:
                delivered[-1] += 1
    assert delivered[0] == delivered[1] > 1


@pytest.mark.parametrize("dp_size", [1, 2, 3, 6])
def test_the_parts_of_all_ranks_are_one_batch(data: Data, dp_size: int) -> None:
    whole = steps(stream_of(data, Ahead()).items(), 3)
    parts = [steps(stream_of(data, Ahead(), rank, dp_size).items(), 3) for rank in range(dp_size)]
    for step in range(3):
        expected = [row for item in whole[step] for row in item.batch.input_ids.tolist()]
        assert [row for part in parts for item in part[step] for row in item.batch.input_ids.tolist()] == expected


def test_sources_are_described_only_where_they_are_reported(data: Data) -> None:
    for counts in (None, 0, 8):
        (items,) = steps(stream_of(data, Ahead(), counts=counts).items(), 1)
        finished = items[-1].finished
        assert finished is not None
        assert finished.revision == "config:1"
        if counts is None:
            assert finished.sources == ()
        else:
            assert [(s.name, s.epoch) for s in finished.sources] == [("web", 0), ("code", 0)]
            assert [s.ordinal for s in finished.sources] == finished.plan.after.counts.tolist()
            assert [s.tokens for s in finished.sources] == [counts * s.sequences for s in finished.sources]
            assert sum(s.sequences for s in finished.sources) == len(finished.plan.sources)


def test_waits_are_one_for_each_micro_batch_since_the_last_report_but_for_the_start() -> None:
    waits = Waits()
    for pause in (0.1, 0.0, 0.02):
        waits.begin()
        time.sleep(pause)
        waits.end()
    first, second = waits.take()
    assert 0 <= first < second
    assert second >= 0.02
    assert waits.take() == ()


def test_positions_are_never_changed_in_place(data: Data) -> None:
    stream = stream_of(data, Ahead())
    items = stream.items()
    steps(items, 1)
    before = stream.position(1)
    counts = before.counts.copy()
    steps(items, 3)
    assert np.array_equal(before.counts, counts)
