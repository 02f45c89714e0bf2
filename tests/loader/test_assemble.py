"""Micro-batches equal a slow reading of the shards by the order's own numbers, and cursors name real rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from headrace.assemble import GROUP_SEQUENCES, Assembler, Part
from headrace.config import parse_config
from headrace.courses import Courses
from headrace.data import Data, open_data
from headrace.order import SourceOrder
from headrace.packing import IGNORED
from headrace.permute import permutation
from headrace.plan import Position, StepPlan, plan_step

from tests.loader.corpora import Corpus, numbered, write_corpus

L = 16


@dataclass(frozen=True)
class Place:
    """One token of a source's endless stream."""

    token: int
    label: int
    begins: bool
    file: str
    row: int


def places(data: Data, k: int, order: SourceOrder, epoch: int) -> list[Place]:
    """An epoch of source `k`, in plain Python."""
    config, manifest = data.config, data.manifests[k]
    found: list[Place] = []
    for block in order.blocks_of(epoch)[0].tolist():
        shard = int(manifest.block_shard[block])
        opened = manifest.open_shard(shard).open_block(int(manifest.block_index[block]))
        key = order.document_key(epoch, block)
        assert key is not None
        for document in permutation(key, len(opened.starts)).tolist():
            start = int(opened.starts[document])
            tokens = opened.tokens[start : start + int(opened.lengths[document])].tolist()
            whole = [*([config.bos_id] if config.bos_id is not None else []), *tokens]
            whole += [config.eos_id] if config.eos_id is not None else []
            for n, (token, label) in enumerate(zip(whole, [*whole[1:], IGNORED], strict=True)):
                file = manifest.shards[shard].path
                found.append(Place(token, label, n == 0, file, int(opened.rows[document])))
    return found


class Reference:
    """Sequences of every source, the slow way."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self._orders = data.orders()
        self._epochs: dict[tuple[int, int], list[Place]] = {}

    def sequence(self, k: int, ordinal: int) -> list[Place]:
        order = self._orders[k]
        epochs, sequences = order.sequences_of(np.array([ordinal]))
        first = -(-int(epochs[0]) * order.total_tokens // L)
        begin = (first + int(sequences[0])) * L
        found = []
        for at in range(begin, begin + L):
            key = (k, at // order.total_tokens)
            if key not in self._epochs:
                self._epochs[key] = places(self._data, k, order, key[1])
            found.append(self._epochs[key][at % order.total_tokens])
        return found


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Sources of different layouts and integer types, one of them of two types."""
    root = tmp_path_factory.mktemp("assemble")
    rng = np.random.default_rng(1)
    lengths = [rng.geometric(0.1, 60).tolist() for _ in range(4)]
    first = write_corpus(root, {"web": [numbered(lengths[0])]}, layouts=("arrow",), token_type=np.uint16)
    second = write_corpus(root, {"code": [numbered(lengths[1], 5_000)]}, layouts=("parquet",), token_type=np.int64)
    third = write_corpus(root, {"both": [numbered(lengths[2], 9_000)]}, layouts=("flat",), token_type=np.int32)
    (root / "more").mkdir()
    write_corpus(root / "more", {"x": [numbered(lengths[3], 20_000)]}, token_type=np.uint32)
    (root / "more" / "x" / "00000.arrow").rename(root / "both" / "00001.arrow")
    both = third.documents["both"] + [row for row in numbered(lengths[3], 20_000) if row]
    return Corpus(root, {**first.documents, **second.documents, "both": both})


def assembler_of(data: Data) -> tuple[Assembler, Courses]:
    orders, blocks = data.orders(), data.blocks()
    courses = data.courses(orders)
    return Assembler(data.config, data.manifests, courses, data.pieces(orders, blocks), blocks), courses


def data_of(corpus: Corpus, **options: Any) -> Data:
    chosen: dict[str, Any] = {"seq_len": L, "global_batch_size": 12, "micro_batch_size": 4, "seed": 5, "eos_id": 0}
    return open_data(parse_config({"sources": corpus.sources(web=3, code=2, both=2), **chosen, **options}))


def plans(data: Data, courses: Courses, number: int) -> list[StepPlan]:
    position, found = Position.start(3), []
    weights = np.array([data.weights_ppm[name] for name in data.config.names])
    for _ in range(number):
        found.append(plan_step(position, weights, data.config.batch_sizes[0][1], courses))
        position = found[-1].after
    return found


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"eos_id": None},
        {"bos_id": 7, "eos_id": None},
        {"bos_id": 7, "eos_id": 9},
        {"cache_bytes": 1 << 20, "global_batch_size": 4 * GROUP_SEQUENCES, "micro_batch_size": GROUP_SEQUENCES // 4},
        {"global_batch_size": 3 * GROUP_SEQUENCES, "micro_batch_size": 3 * GROUP_SEQUENCES},
    ],
)
def test_batches_equal_the_reference(corpus: Corpus, options: dict[str, Any]) -> None:
    """Over epochs, sources of different types in one micro-batch, groups of sequences and single huge micro-batches."""
    data = data_of(corpus, **options)
    assembler, orders = assembler_of(data)
    reference = Reference(data)
    size = data.config.batch_sizes[0][1]
    for plan in plans(data, orders, 2 if size > 12 else 12):
        batches = list(assembler.batches(Part(plan, slice(0, size), size // data.config.micro_batch_size)))
        assert [batch.micro_step for batch in batches] == list(range(len(batches)))
        slots = iter(zip(plan.sources.tolist(), plan.ordinals.tolist(), strict=True))
        for batch in batches:
            assert batch.labels is not None
            assert batch.position_ids is not None
            ignored = 0
            for row in range(len(batch.input_ids)):
                k, ordinal = next(slots)
                expected = reference.sequence(k, ordinal)
                assert batch.source[row] == k
                assert batch.input_ids[row].tolist() == [place.token for place in expected]
                assert batch.labels[row].tolist() == [place.label for place in expected]
                ignored += sum(place.label == IGNORED for place in expected)
                positions = batch.position_ids[row].tolist()
                begins = [n == 0 or place.begins for n, place in enumerate(expected)]
                assert positions == [0 if begins[n] else positions[n - 1] + 1 for n in range(L)]
            assert batch.num_trained_tokens == len(batch.input_ids) * L - ignored


def test_ranks_parts_are_the_whole_batch(corpus: Corpus) -> None:
    data = data_of(corpus)
    for plan in plans(data, data.orders(), 4):
        whole = list(assembler_of(data)[0].batches(Part(plan, slice(0, 12), 3)))
        parts = [
            batch for r in range(3) for batch in assembler_of(data)[0].batches(Part(plan, slice(4 * r, 4 * r + 4), 1))
        ]
        assert torch.equal(torch.cat([b.input_ids for b in whole]), torch.cat([b.input_ids for b in parts]))
        assert all(batch.last_of_step for batch in parts)


def test_cursors_name_the_document_at_the_start_of_the_last_sequence(corpus: Corpus) -> None:
    data = data_of(corpus)
    assembler, orders = assembler_of(data)
    reference = Reference(data)
    for plan in plans(data, orders, 6):
        for part in (slice(0, 4), slice(4, 12)):
            cursors = assembler.cursors(plan, part)
            for k in range(3):
                mine = plan.ordinals[part][plan.sources[part] == k]
                assert (k in cursors) == bool(len(mine))
                if k in cursors:
                    first = reference.sequence(k, int(mine[-1]))[0]
                    assert (cursors[k].file, cursors[k].row) == (first.file, first.row)
                    assert cursors[k].sequences == len(mine)


def test_bytes_read_are_those_of_the_stored_tokens(corpus: Corpus) -> None:
    """Two bytes a token of a source of uint16, whatever the batch's type; the separators are not read."""
    data = data_of(corpus, eos_id=None)
    assembler, orders = assembler_of(data)
    plan = plans(data, orders, 1)[0]
    assert assembler.bytes_read == 0
    list(assembler.batches(Part(plan, slice(0, 12), 3)))
    sizes = np.array([2, 8, 4])[plan.sources]
    assert assembler.bytes_read == int(sizes.sum()) * L


def test_a_sequence_of_nothing_but_padding_has_no_cursor(tmp_path: Path) -> None:
    """Best-fit packing reserves a few sequences that documents may leave empty."""
    corpus = write_corpus(tmp_path, {"web": [numbered([L - 1] * 2000)]})
    config = {"seq_len": L, "global_batch_size": 1, "micro_batch_size": 1, "seed": 5, "eos_id": 0}
    data = open_data(parse_config({"sources": corpus.sources(), "packing": "best_fit", **config}))
    assembler, orders = assembler_of(data)
    windows = data.legs[0].stretch.windows
    assert windows is not None
    number = int(windows.num_sequences.sum())
    whole = plan_step(Position.start(1), np.array([1_000_000]), number, orders)
    empty = 0
    for n in range(number):
        one = StepPlan(0, whole.sources[n : n + 1], whole.ordinals[n : n + 1], whole.weights, whole.after)
        (batch,) = assembler.batches(Part(one, slice(0, 1), 1))
        cursor = assembler.cursors(one, slice(0, 1))[0]
        assert (cursor.file is None) == (cursor.row is None) == (batch.num_trained_tokens == 0)
        assert cursor.sequences == 1
        empty += cursor.file is None
    assert empty == number - 2000 > 0
