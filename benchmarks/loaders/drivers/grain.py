"""grain: ArrayRecord. `packed`: rows of 4096, shuffled by index, mixed; `documents`: packed as they are read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import grain
import numpy as np
import numpy.typing as npt
from array_record.python.array_record_module import ArrayRecordWriter
from grain.experimental import ConcatThenSplitIterDataset

from benchmarks.loaders.harness import (
    SEQ_LEN,
    SOURCES,
    WEIGHTS,
    Batch,
    Work,
    main,
    offsets_of,
    rows_of,
    tokens_of,
    with_labels,
)

OPTIONS = "group_size:1,uncompressed"


def _tokens(record: bytes) -> npt.NDArray[np.uint16]:
    return np.frombuffer(record, np.uint16)


def _named(record: bytes) -> dict[str, npt.NDArray[np.uint16]]:
    return {"tokens": np.frombuffer(record, np.uint16)}


class Packed:
    """Rows made beforehand: a place in the mix is a row, so ranks take every world_size-th."""

    shares_state = counts = True
    suffix = "rows"

    def __init__(self, work: Work) -> None:
        self._work = work
        mixed = self._mixed(work, _tokens)[work.rank :: work.world_size]
        data = mixed.batch(work.batch_size).to_iter_dataset(grain.ReadOptions(num_threads=2, prefetch_buffer_size=16))
        self._batches = iter(self._ahead(data, work))

    def _mixed(self, work: Work, decode: Any) -> Any:
        parts = [
            grain.MapDataset.source(
                grain.sources.ArrayRecordDataSource(str(work.prepared / f"{source}.{self.suffix}.arrayrecord"))
            )
            .seed(work.seed)
            .shuffle()
            .map(decode)
            .repeat()
            for source in SOURCES
        ]
        return grain.MapDataset.mix(parts, weights=list(WEIGHTS))

    @staticmethod
    def _ahead(data: Any, work: Work) -> Any:
        if not work.workers:
            return data
        options = grain.MultiprocessingOptions(num_workers=work.workers, per_worker_buffer_size=4)
        return data.mp_prefetch(options)

    @staticmethod
    def prepare(corpus: Path, prepared: Path) -> None:
        prepared.mkdir(parents=True, exist_ok=True)
        for source in SOURCES:
            writer = ArrayRecordWriter(str(prepared / f"{source}.rows.arrayrecord"), OPTIONS)
            for row in rows_of(corpus, source):
                writer.write(row.tobytes())
            writer.close()

    def __iter__(self) -> Iterator[Batch]:
        for rows in self._batches:
            yield with_labels(np.asarray(rows))

    def state(self) -> Any:
        return self._batches.get_state()

    def load(self, states: list[Any]) -> None:
        self._batches.set_state(states[self._work.rank % len(states)])

    def state_at(self, sequences: int) -> Any:
        return {"next_index": sequences // (self._work.batch_size * self._work.world_size)}

    def change_weights(self, weights: tuple[float, ...]) -> None:
        raise NotImplementedError("weights are given when the dataset is made")


class Documents(Packed):
    """Documents as records, joined and cut into rows as they are read."""

    shares_state = counts = False
    suffix = "documents"

    def __init__(self, work: Work) -> None:
        self._work = work
        mixed = self._mixed(work, _named)[work.rank :: work.world_size]
        read = mixed.to_iter_dataset(grain.ReadOptions(num_threads=2, prefetch_buffer_size=64))
        data = ConcatThenSplitIterDataset(read, length_struct={"tokens": SEQ_LEN}).batch(work.batch_size)
        self._batches = iter(self._ahead(data, work))

    @staticmethod
    def prepare(corpus: Path, prepared: Path) -> None:
        prepared.mkdir(parents=True, exist_ok=True)
        for source in SOURCES:
            tokens, offsets = tokens_of(corpus, source), offsets_of(corpus, source)
            writer = ArrayRecordWriter(str(prepared / f"{source}.documents.arrayrecord"), OPTIONS)
            for first, last in pairwise(offsets):
                writer.write(tokens[first:last].tobytes())
            writer.close()

    def __iter__(self) -> Iterator[Batch]:
        for rows in self._batches:
            yield with_labels(np.asarray(rows["tokens"]))


if __name__ == "__main__":
    main({"packed": Packed, "documents": Documents}[os.environ["GRAIN"]])
