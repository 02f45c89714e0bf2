"""torchdata's StatefulDataLoader over a map-style dataset of mapped rows, and its nodes, which mix them by weight."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torchdata.nodes import (
    Batcher,
    Loader,
    Mapper,
    MultiNodeWeightedSampler,
    ParallelMapper,
    Prefetcher,
    SamplerWrapper,
    StopCriteria,
)
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler

from benchmarks.loaders.harness import SOURCES, WEIGHTS, Batch, Looping, Work, main, rows_of, with_labels


class _Rows(torch.utils.data.Dataset[npt.NDArray[np.uint16]]):
    """Rows of all sources, one after the other; how often each source is seen follows from its size."""

    def __init__(self, corpus: Path) -> None:
        self._sources = [rows_of(corpus, source) for source in SOURCES]
        self._ends = np.cumsum([len(rows) for rows in self._sources])

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, index: int) -> npt.NDArray[np.uint16]:
        source = int(np.searchsorted(self._ends, index, "right"))
        rows = self._sources[source]
        return rows[index - int(self._ends[source]) + len(rows)]


def _collate(rows: list[npt.NDArray[np.uint16]]) -> Batch:
    return with_labels(np.stack(rows))


class Stateful(Looping):
    """Shuffled by its sampler; nothing is mixed."""

    shares_state = False

    def __init__(self, work: Work) -> None:
        rows = _Rows(work.corpus)
        sampler = StatefulDistributedSampler(
            rows, num_replicas=work.world_size, rank=work.rank, shuffle=True, seed=work.seed, drop_last=True
        )
        more = {"prefetch_factor": 4} if work.workers else {}
        self._loader = StatefulDataLoader(
            rows,
            batch_size=work.batch_size,
            sampler=sampler,
            num_workers=work.workers,
            collate_fn=_collate,
            drop_last=True,
            **more,
        )

    @staticmethod
    def prepare(corpus: Path, prepared: Path) -> None:
        """Rows are mapped from the raw tokens as they are."""

    def change_weights(self, weights: tuple[float, ...]) -> None:
        raise NotImplementedError("nothing is mixed")


class Nodes(Stateful):
    """A weighted sampler over one shuffled sampler a source; threads for workers."""

    def __init__(self, work: Work) -> None:
        rows = {source: rows_of(work.corpus, source) for source in SOURCES}
        samplers = {source: self._sampler(source, len(rows[source]), work) for source in SOURCES}
        mixed: Any = MultiNodeWeightedSampler(
            samplers,
            dict(zip(SOURCES, WEIGHTS, strict=True)),
            stop_criteria=StopCriteria.CYCLE_FOREVER,
            rank=work.rank,
            world_size=work.world_size,
            seed=work.seed,
        )
        mixed = Batcher(mixed, batch_size=work.batch_size)

        def read(chosen: list[tuple[str, int]]) -> Batch:
            return with_labels(np.stack([rows[source][index] for source, index in chosen]))

        if work.workers:
            mixed = ParallelMapper(mixed, read, num_workers=work.workers, in_order=True, method="thread")
            self._loader = Loader(Prefetcher(mixed, 4))
        else:
            self._loader = Loader(Mapper(mixed, read))

    @staticmethod
    def _sampler(source: str, num_rows: int, work: Work) -> Any:
        sampler = StatefulDistributedSampler(
            range(num_rows), num_replicas=work.world_size, rank=work.rank, shuffle=True, seed=work.seed
        )
        return Mapper(SamplerWrapper(sampler), lambda index: (source, index))

    def change_weights(self, weights: tuple[float, ...]) -> None:
        raise NotImplementedError("weights are given when the sampler is made")


if __name__ == "__main__":
    main({"stateful": Stateful, "nodes": Nodes}[os.environ["TORCHDATA"]])
