"""mosaicml-streaming: rows of 4096 in MDS shards, one Stream a source, its own shuffle and loader."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import streaming
from streaming import MDSWriter, Stream, StreamingDataLoader, StreamingDataset

from benchmarks.loaders.harness import SEQ_LEN, SOURCES, WEIGHTS, Batch, Looping, Work, main, rows_of, with_labels


def _collate(samples: list[dict[str, Any]]) -> Batch:
    return with_labels(np.stack([sample["tokens"] for sample in samples]))


class Streaming(Looping):
    """Proportions of an epoch are fixed when it begins; one has as many sequences as all sources together."""

    shares_state = counts = True

    def __init__(self, work: Work) -> None:
        self._seed = work.seed
        logging.disable(logging.WARNING)
        # What an earlier process left would be taken for another dataset's. Every rank calls it; one of them cleans.
        streaming.base.util.clean_stale_shared_memory()
        streams = [
            Stream(local=str(work.prepared / source), proportion=weight)
            for source, weight in zip(SOURCES, WEIGHTS, strict=True)
        ]
        dataset = StreamingDataset(streams=streams, batch_size=work.batch_size, shuffle=True, shuffle_seed=work.seed)
        self._epoch = len(dataset) * work.world_size
        more = {"prefetch_factor": 4} if work.workers else {}
        self._loader = StreamingDataLoader(
            dataset, batch_size=work.batch_size, num_workers=work.workers, collate_fn=_collate, drop_last=True, **more
        )

    @staticmethod
    def prepare(corpus: Path, prepared: Path) -> None:
        for source in SOURCES:
            shutil.rmtree(prepared / source, ignore_errors=True)
            columns = {"tokens": f"ndarray:uint16:{SEQ_LEN}"}
            with MDSWriter(out=str(prepared / source), columns=columns, size_limit=1 << 26) as writer:
                for row in rows_of(corpus, source):
                    writer.write({"tokens": np.ascontiguousarray(row)})

    def state_at(self, sequences: int) -> Any:
        return {
            "epoch": sequences // self._epoch,
            "sample_in_epoch": sequences % self._epoch,
            "num_canonical_nodes": 1,
            "shuffle_seed": self._seed,
            "initial_physical_nodes": 1,
        }

    def change_weights(self, weights: tuple[float, ...]) -> None:
        raise NotImplementedError("proportions are given when the dataset is made")


if __name__ == "__main__":
    main(Streaming)
