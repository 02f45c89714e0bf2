"""Reading ahead: the blocks of the steps to come, in time, within bounds, and nothing of it in the stream."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from headrace.ahead import ReadAhead
from headrace.config import Source, parse_config
from headrace.courses import Courses
from headrace.data import Data, open_data
from headrace.fetching import Fetcher, Key
from headrace.formats import Block
from headrace.plan import Position, StepPlan, plan_step, rank_slots

from tests.loader.corpora import numbered, random_corpus, write_shard

SIZE = 16


class Recorder(Fetcher):
    """A fetcher that only writes down what it is asked for; `room` blocks fit."""

    def __init__(self, room: int) -> None:
        super().__init__(lambda leg, block: pytest.fail("nothing is fetched here"), 0, 0)
        self.held: dict[Key, int] = {}
        self.asked: list[Key] = []
        self.room = room

    def want(self, key: Key, nbytes: int, step: int) -> bool:
        assert nbytes > 0
        if key not in self.held and len(self.held) >= self.room:
            return False
        if key not in self.held:
            self.asked.append(key)
        self.held[key] = max(step, self.held.get(key, 0))
        return True

    def expire(self, step: int) -> None:
        self.held = {key: min(until, step) for key, until in self.held.items()}

    def drop_before(self, step: int) -> None:
        self.held = {key: until for key, until in self.held.items() if until >= step}

    def take(self, key: Key) -> Block | None:
        self.held.pop(key, None)
        return None


class Rank:
    """One rank's planning and reading, without threads or batches."""

    def __init__(self, folder: Path, room: int, packing: str = "concat", rank: int = 0) -> None:
        if not folder.exists():
            random_corpus(folder, {"web": 300, "code": 200}, layouts=("parquet",))
        sources = [Source(name, str(folder / name), 0.5) for name in ("web", "code")]
        options = {"seq_len": 16, "global_batch_size": SIZE, "micro_batch_size": 4, "seed": 1, "eos_id": 0}
        self.data: Data = open_data(parse_config({"sources": sources, "packing": packing, **options}))
        self.fetcher = Recorder(room)
        orders = self.data.orders()
        blocks = self.data.blocks()
        self.pieces = self.data.pieces(orders, blocks)
        self.taken: list[tuple[Key, bool]] = []
        blocks.fetch_by(self._take)
        self.courses: Courses = self.data.courses(orders)
        self.weights = np.array([500_000, 500_000], np.int64)
        self.position = Position.start(2)
        self.slots = rank_slots(SIZE, rank, 2)
        self.ahead = ReadAhead(
            legs=self.data.legs,
            is_ahead=[True, True],
            pieces=self.pieces,
            fetcher=self.fetcher,
            plan=self.plan,
            slots=lambda step: self.slots,
        )

    def _take(self, key: Key) -> Block | None:
        self.taken.append((key, key in self.fetcher.held))
        return self.fetcher.take(key)

    def plan(self, position: Position) -> StepPlan:
        return plan_step(position, self.weights, SIZE, self.courses)

    def step(self) -> list[np.ndarray]:
        """Plan a step, read ahead, and make its rows."""
        plan = self.plan(self.position)
        self.position = plan.after
        self.ahead.planned(plan)
        legs, ordinals = self.courses.locate(plan.sources[self.slots], plan.ordinals[self.slots])
        rows = []
        for leg in np.unique(legs).tolist():
            here = np.flatnonzero(legs == leg)
            rows.append(self.pieces.table(leg, here, ordinals[here])[0][:, (0, 1, 2, 3, 8, 9, 10)])
        return rows


@pytest.mark.parametrize(("packing", "steps"), [("concat", 80), ("best_fit", 15)])
def test_every_block_was_asked_for_before_it_was_needed(tmp_path: Path, packing: str, steps: int) -> None:
    """With documents joined, over the seams between epochs too, where open blocks go on being used."""
    rank = Rank(tmp_path / "corpus", room=100, packing=packing)
    for _ in range(steps):
        rank.step()
    assert len(rank.taken) > 20
    assert all(was_there for _, was_there in rank.taken)


def test_the_rows_are_the_same_with_and_without(tmp_path: Path) -> None:
    """P1."""
    ahead, without = Rank(tmp_path / "corpus", room=20), Rank(tmp_path / "corpus", room=0)
    for number in range(60):
        if number == 20:
            ahead.weights = without.weights = np.array([900_000, 100_000], np.int64)
        for one, other in zip(ahead.step(), without.step(), strict=True):
            assert np.array_equal(one, other)
    assert not without.fetcher.asked


def test_only_what_this_rank_owns_is_asked_for(tmp_path: Path) -> None:
    ranks = [Rank(tmp_path / "corpus", room=1000, rank=rank) for rank in (0, 1)]
    for rank in ranks:
        rank.step()
        asked = set(rank.fetcher.asked)
        for _ in range(10):
            rank.step()
        needed = {key for key, _ in rank.taken}
        assert needed <= asked | set(rank.fetcher.asked)


def test_no_more_than_fits_is_asked_for_and_all_of_it_in_the_end(tmp_path: Path) -> None:
    rank = Rank(tmp_path / "corpus", room=5)
    for _ in range(30):
        rank.step()
        assert len(rank.fetcher.held) <= 5
    assert sum(was_there for _, was_there in rank.taken) > 0.5 * len(rank.taken)


def test_a_change_of_weights_drops_what_was_guessed(tmp_path: Path) -> None:
    rank = Rank(tmp_path / "corpus", room=60)
    for _ in range(5):
        rank.step()
    rank.weights = np.array([0, 1_000_000], np.int64)
    for _ in range(2):
        rank.step()
    assert not [key for key in rank.fetcher.held if key[0] == 0]
    del rank.taken[:]
    for _ in range(10):
        rank.step()
    assert all(was_there for _, was_there in rank.taken)


def test_legs_that_are_not_fetched_are_never_asked_for(tmp_path: Path) -> None:
    """Those of mapped files; local Parquet is decoded ahead, by few threads, into a quarter of the cache."""
    rank = Rank(tmp_path / "corpus", room=60)
    assert rank.data.fetched_legs == [True, True]
    assert (rank.data.fetch_bytes, rank.data.fetch_threads) == (rank.data.config.cache_bytes // 4, 2)
    random_corpus(tmp_path / "mapped", {"web": 30, "code": 20}, layouts=("arrow",))
    mapped = Rank(tmp_path / "mapped", room=60).data
    assert (mapped.fetched_legs, mapped.fetch_bytes) == ([False, False], 0)
    rank.ahead = ReadAhead(
        legs=rank.data.legs,
        is_ahead=[False, True],
        pieces=rank.pieces,
        fetcher=rank.fetcher,
        plan=rank.plan,
        slots=lambda step: rank.slots,
    )
    rank.step()
    assert {leg for leg, _ in rank.fetcher.asked} == {1}


@pytest.mark.parametrize("num_files", [16, 17])
def test_ranks_together_read_little_more_than_once(tmp_path: Path, num_files: int) -> None:
    """W03: 16 and 17 equal files on 4 ranks, one epoch: each block by one rank, but for those on the seams."""
    tokens_a_file = 16_384
    for number in range(num_files):
        documents = numbered([256] * (tokens_a_file // 256), 1 + tokens_a_file * number)
        write_shard(tmp_path / "web" / f"{number:05}", documents, "parquet", "uint32", batch_rows=1)
    options = {"seq_len": 16, "global_batch_size": 64, "micro_batch_size": 16, "seed": 1, "eos_id": None}
    data = open_data(parse_config({"sources": [Source("web", str(tmp_path / "web"))], **options}))
    (manifest,) = data.manifests
    steps = num_files * tokens_a_file // (16 * 64)
    nbytes = manifest.block_tokens * manifest.token_dtype.itemsize
    read = []
    for rank in range(4):
        orders, blocks = data.orders(), data.blocks()
        courses, opened = data.courses(orders), []
        blocks.fetch_by(opened.append)
        pieces, position = data.pieces(orders, blocks), Position.start(1)
        for _ in range(steps):
            plan = plan_step(position, np.array([1_000_000]), 64, courses)
            position = plan.after
            ordinals = plan.ordinals[rank_slots(64, rank, 4)]
            pieces.table(0, np.arange(16), ordinals)
        read.append(sum(int(nbytes[block]) for _, block in opened))
    assert sum(read) <= 1.1 * nbytes.sum()
    assert max(read) <= 1.1 * min(read)
