"""HF datasets: rows of 4096 as binary values in Parquet. `stream`: an IterableDataset; `map`: Arrow files, mapped."""

from __future__ import annotations

import os

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_DISABLE_PROGRESS_BARS"] = "1"

from itertools import pairwise
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import torch
from datasets.distributed import split_dataset_by_node
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler

from benchmarks.loaders.harness import SOURCES, WEIGHTS, Batch, Looping, Work, main, rows_of, with_labels

SHARDS = 8
BUFFER = 1000
"rows in the shuffle buffer"


def _collate(samples: list[dict[str, bytes]]) -> Batch:
    return with_labels(np.stack([np.frombuffer(sample["tokens"], np.uint16) for sample in samples]))


class Stream(Looping):
    """Interleaved by probability, shuffled in a buffer."""

    shares_state = False

    def __init__(self, work: Work) -> None:
        parts = [
            datasets.load_dataset(
                "parquet", data_files=_files(work.prepared, source), split="train", streaming=True
            ).shuffle(seed=work.seed, buffer_size=BUFFER)
            for source in SOURCES
        ]
        mixed = datasets.interleave_datasets(
            parts, probabilities=list(WEIGHTS), seed=work.seed, stopping_strategy="all_exhausted"
        )
        if work.world_size > 1:
            mixed = split_dataset_by_node(mixed, work.rank, work.world_size)
        self._loader = _loader(mixed, work)

    @staticmethod
    def prepare(corpus: Path, prepared: Path) -> None:
        for source in SOURCES:
            rows = rows_of(corpus, source)
            edges = np.linspace(0, len(rows), SHARDS + 1).astype(int).tolist()
            (prepared / source).mkdir(parents=True, exist_ok=True)
            for shard, (first, last) in enumerate(pairwise(edges)):
                part = datasets.Dataset.from_dict({"tokens": [row.tobytes() for row in rows[first:last]]})
                part.to_parquet(prepared / source / f"{shard:05d}.parquet", batch_size=256)

    def change_weights(self, weights: tuple[float, ...]) -> None:
        raise NotImplementedError("probabilities are given when the datasets are interleaved")


class Map(Stream):
    """Interleaved by an index of rows made at the start, shuffled whole by the sampler."""

    def __init__(self, work: Work) -> None:
        parts = [datasets.load_from_disk(str(work.prepared / source)) for source in SOURCES]
        mixed = datasets.interleave_datasets(
            parts, probabilities=list(WEIGHTS), seed=work.seed, stopping_strategy="all_exhausted"
        )
        sampler = StatefulDistributedSampler(
            mixed, num_replicas=work.world_size, rank=work.rank, shuffle=True, seed=work.seed, drop_last=True
        )
        self._loader = _loader(mixed, work, sampler=sampler)

    @staticmethod
    def prepare(corpus: Path, prepared: Path) -> None:
        for source in SOURCES:
            part = datasets.Dataset.from_dict({"tokens": [row.tobytes() for row in rows_of(corpus, source)]})
            part.save_to_disk(str(prepared / source))


def _files(prepared: Path, source: str) -> list[str]:
    return sorted(str(path) for path in (prepared / source).glob("*.parquet"))


def _loader(data: Any, work: Work, **more: Any) -> Any:
    torch.manual_seed(work.seed)
    if work.workers:
        more["prefetch_factor"] = 4
    return StatefulDataLoader(
        data, batch_size=work.batch_size, num_workers=work.workers, collate_fn=_collate, drop_last=True, **more
    )


if __name__ == "__main__":
    main({"stream": Stream, "map": Map}[os.environ["DATASETS"]])
