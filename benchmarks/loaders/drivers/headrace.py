"""Headrace: on documents as a tokeniser leaves them, in Arrow or Parquet, or on rows that were cut beforehand."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from headrace import Loader, Source

from benchmarks.loaders.harness import SEQ_LEN, SOURCES, WEIGHTS, Batch, Work, main, rows_of

FORM = os.environ.get("HEADRACE_FORM", "arrow")
TAKEN = 10_000
"rows that are written at a time"


class Documents:
    """Documents joined with a separator, cut into rows as they are read; labels stop at a document's end; positions.

    Prefetches on a thread for workers.
    """

    shares_state = True
    counts = False
    eos_id: int | None = 0
    outputs: tuple[str, ...] = ("input_ids", "labels", "position_ids")

    def __init__(self, work: Work) -> None:
        folder = self.folder(work)
        self._loader = Loader(
            [Source(name, str(folder / name), weight) for name, weight in zip(SOURCES, WEIGHTS, strict=True)],
            seq_len=SEQ_LEN,
            global_batch_size=work.batch_size * work.world_size,
            micro_batch_size=work.batch_size,
            seed=work.seed,
            eos_id=self.eos_id,
            outputs=self.outputs,
            prefetch=2 if work.workers else 0,
            job=None,
            rank=work.rank,
            world_size=work.world_size,
        )

    def folder(self, work: Work) -> Path:
        """Where the sources are."""
        return work.corpus / FORM

    @staticmethod
    def prepare(corpus: Path, prepared: Path) -> None:
        """Nothing to make."""

    def __iter__(self) -> Iterator[Batch]:
        for batch in self._loader:
            yield batch.input_ids, batch.labels

    def state(self) -> Any:
        return self._loader.state_dict()

    def load(self, states: list[Any]) -> None:
        self._loader.load_state_dict(states[0])

    def state_at(self, sequences: int) -> Any:
        raise NotImplementedError

    def change_weights(self, weights: tuple[float, ...]) -> None:
        self._loader.set_weights(dict(zip(SOURCES, weights, strict=True)))


class Rows(Documents):
    """The work of those that take rows cut beforehand: a document is a row, and there are no positions."""

    eos_id = None
    outputs = ("input_ids", "labels")

    def folder(self, work: Work) -> Path:
        return work.prepared

    @staticmethod
    def prepare(corpus: Path, prepared: Path) -> None:
        from headrace.formats.writer import ShardWriter  # noqa: PLC0415  # reading does without

        for source in SOURCES:
            (prepared / source).mkdir(parents=True, exist_ok=True)
            rows = rows_of(corpus, source)
            for shard, first in enumerate(range(0, len(rows), TAKEN)):
                with ShardWriter(prepared / source / f"{shard:05d}.arrow", dtype=np.uint16) as writer:
                    writer.write(list(rows[first : first + TAKEN]))


if __name__ == "__main__":
    main(Rows if FORM == "rows" else Documents)
