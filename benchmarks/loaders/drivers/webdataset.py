"""webdataset: rows of 4096 in tar files, mixed at random by weight, shuffled in a buffer. It keeps no state."""

from __future__ import annotations

import io
import random
import shutil
import tarfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
import webdataset

from benchmarks.loaders.harness import SOURCES, WEIGHTS, Batch, Work, main, rows_of, with_labels

TARS = 32
"of a source, so that 8 ranks with workers have some each"
BUFFER = 1000


class _Batches(torch.utils.data.IterableDataset[Batch]):
    def __init__(self, work: Work) -> None:
        self._work = work

    def __iter__(self) -> Iterator[Batch]:
        random.seed(self._work.seed)
        rows = []
        for sample in webdataset.RandomMix([self._source(source) for source in SOURCES], probs=list(WEIGHTS)):
            rows.append(np.frombuffer(sample["bin"], np.uint16))
            if len(rows) == self._work.batch_size:
                yield with_labels(np.stack(rows))
                rows = []

    def _source(self, source: str) -> Any:
        files = sorted(str(path) for path in (self._work.prepared / source).glob("*.tar"))
        return (
            webdataset.WebDataset(
                files,
                shardshuffle=100,
                seed=self._work.seed,
                resampled=False,
                nodesplitter=webdataset.split_by_node if self._work.world_size > 1 else None,
                workersplitter=webdataset.split_by_worker,
                empty_check=False,
            )
            .repeat()
            .shuffle(BUFFER, rng=random.Random(self._work.seed))
        )


class WebDataset:
    """To go on, what was seen is read again."""

    shares_state = counts = True

    def __init__(self, work: Work) -> None:
        self._work = work
        more = {"prefetch_factor": 4} if work.workers else {}
        self._loader = torch.utils.data.DataLoader(_Batches(work), batch_size=None, num_workers=work.workers, **more)
        self._done = self._skipped = 0

    @staticmethod
    def prepare(corpus: Path, prepared: Path) -> None:
        for source in SOURCES:
            shutil.rmtree(prepared / source, ignore_errors=True)
            (prepared / source).mkdir(parents=True)
            rows = rows_of(corpus, source)
            edges = np.linspace(0, len(rows), TARS + 1).astype(int).tolist()
            for shard, (first, last) in enumerate(pairwise(edges)):
                with tarfile.open(prepared / source / f"{shard:05d}.tar", "w") as tar:
                    for number in range(first, last):
                        content = rows[number].tobytes()
                        told = tarfile.TarInfo(f"{number:08d}.bin")
                        told.size = len(content)
                        tar.addfile(told, io.BytesIO(content))

    def __iter__(self) -> Iterator[Batch]:
        batches = iter(self._loader)
        for _ in range(self._skipped):
            next(batches)
        for batch in batches:
            self._done += 1
            yield batch

    def state(self) -> Any:
        return self._skipped + self._done

    def state_at(self, sequences: int) -> Any:
        return sequences // (self._work.batch_size * self._work.world_size)

    def load(self, states: list[Any]) -> None:
        self._skipped = states[0]

    def change_weights(self, weights: tuple[float, ...]) -> None:
        raise NotImplementedError("probabilities are given when the mix is made")


if __name__ == "__main__":
    main(WebDataset)
