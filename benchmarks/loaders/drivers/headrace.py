"""Headrace, on Arrow shards as a tokeniser leaves them; `headrace-parquet` in the table reads the Parquet ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headrace import Loader, Source

from benchmarks.loaders.harness import SEQ_LEN, SOURCES, WEIGHTS, Batch, Work, main


class Headrace:
    """Documents joined with a separator, cut into rows as they are read; prefetching on a thread for workers."""

    shares_state = True
    form = os.environ.get("HEADRACE_FORM", "arrow")

    def __init__(self, work: Work) -> None:
        self._loader = Loader(
            [
                Source(name, str(work.corpus / self.form / name), weight)
                for name, weight in zip(SOURCES, WEIGHTS, strict=True)
            ],
            seq_len=SEQ_LEN,
            global_batch_size=work.batch_size * work.world_size,
            micro_batch_size=work.batch_size,
            seed=work.seed,
            eos_id=0,
            outputs=("input_ids", "labels"),
            prefetch=2 if work.workers else 0,
            job=None,
            rank=work.rank,
            world_size=work.world_size,
        )

    @staticmethod
    def prepare(corpus: Path, prepared: Path) -> None:
        """Nothing to make."""

    def __iter__(self) -> Iterator[Batch]:
        for batch in self._loader:
            yield batch.input_ids, batch.labels

    def state(self) -> Any:
        return self._loader.state_dict()

    def load(self, state: Any) -> None:
        self._loader.load_state_dict(state)

    def change_weights(self, weights: tuple[float, ...]) -> None:
        self._loader.set_weights(dict(zip(SOURCES, weights, strict=True)))


if __name__ == "__main__":
    main(Headrace)
