"""litData: documents optimised into chunks of tokens, cut into rows of 4096 by its TokensLoader, combined by weight."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from litdata import CombinedStreamingDataset, StreamingDataLoader, StreamingDataset, optimize
from litdata.streaming import TokensLoader

from benchmarks.loaders.harness import (
    SEQ_LEN,
    SOURCES,
    WEIGHTS,
    Batch,
    Looping,
    Work,
    main,
    offsets_of,
    tokens_of,
    with_labels,
)


def _documents(given: tuple[Path, str, int, int]) -> Iterator[torch.Tensor]:
    corpus, source, first, last = given
    tokens, offsets = tokens_of(corpus, source), offsets_of(corpus, source)
    for document in range(first, last):
        yield torch.from_numpy(np.array(tokens[offsets[document] : offsets[document + 1]]))


def _collate(rows: list[torch.Tensor]) -> Batch:
    return with_labels(torch.stack(rows).numpy())


class LitData(Looping):
    """A CombinedStreamingDataset draws the source of each row at random."""

    shares_state = False

    def __init__(self, work: Work) -> None:
        parts = [
            StreamingDataset(
                str(work.prepared / source),
                item_loader=TokensLoader(block_size=SEQ_LEN),
                shuffle=True,
                drop_last=True,
                seed=work.seed,
            )
            for source in SOURCES
        ]
        self._data = CombinedStreamingDataset(parts, seed=work.seed, weights=list(WEIGHTS), iterate_over_all=False)
        more = {"prefetch_factor": 4} if work.workers else {}
        self._loader = StreamingDataLoader(
            self._data, batch_size=work.batch_size, num_workers=work.workers, collate_fn=_collate, **more
        )

    @staticmethod
    def prepare(corpus: Path, prepared: Path) -> None:
        for source in SOURCES:
            shutil.rmtree(prepared / source, ignore_errors=True)
            edges = np.linspace(0, len(offsets_of(corpus, source)) - 1, 5).astype(int).tolist()
            optimize(
                fn=_documents,
                inputs=[(corpus, source, first, last) for first, last in pairwise(edges)],
                output_dir=str(prepared / source),
                chunk_size=SEQ_LEN * 4096,
                item_loader=TokensLoader(),
                num_workers=1,
            )

    def change_weights(self, weights: tuple[float, ...]) -> None:
        raise NotImplementedError("weights are given when the dataset is made")


if __name__ == "__main__":
    main(LitData)
