"""What no loader can beat: the same bytes mapped, copied into int64 with labels, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.loaders.harness import SEQ_LEN, SOURCES, WEIGHTS, Batch, Work, main, rows_of, tokens_of, with_labels


class Sequential:
    """One source from its beginning to its end."""

    shares_state = True
    counts = False

    def __init__(self, work: Work) -> None:
        rows = rows_of(work.corpus, SOURCES[0])
        self._batches = rows[: len(rows) // work.batch_size * work.batch_size].reshape(-1, work.batch_size, SEQ_LEN)

    @staticmethod
    def prepare(corpus: Path, prepared: Path) -> None:
        """Nothing to make."""

    def __iter__(self) -> Iterator[Batch]:
        while True:
            for rows in self._batches:
                yield with_labels(rows)

    def state(self) -> Any:
        return None

    def load(self, states: list[Any]) -> None:
        raise NotImplementedError

    def state_at(self, sequences: int) -> Any:
        raise NotImplementedError

    def change_weights(self, weights: tuple[float, ...]) -> None:
        raise NotImplementedError("no mixing")


class Scattered(Sequential):
    """Rows from random places of all sources, by weight."""

    def __init__(self, work: Work) -> None:
        self._tokens = [tokens_of(work.corpus, source) for source in SOURCES]
        self._batch_size = work.batch_size
        self._random = np.random.default_rng(work.seed)

    def __iter__(self) -> Iterator[Batch]:
        shares = np.cumsum(WEIGHTS)
        while True:
            rows = np.empty((self._batch_size, SEQ_LEN), np.uint16)
            for row, source in enumerate(np.searchsorted(shares, self._random.random(self._batch_size)).tolist()):
                tokens = self._tokens[min(source, len(SOURCES) - 1)]
                begin = int(self._random.integers(len(tokens) - SEQ_LEN))
                rows[row] = tokens[begin : begin + SEQ_LEN]
            yield with_labels(rows)


if __name__ == "__main__":
    main({"sequential": Sequential, "scattered": Scattered}[os.environ["LIMIT"]])
