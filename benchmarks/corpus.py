"""A corpus for benchmarks: three sources of random documents of lognormal lengths, the same on every machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from headrace.formats.writer import ShardWriter

WEIGHTS = {"web": 0.6, "code": 0.3, "math": 0.1}
VOCAB_SIZE = 50_304
SHARDS = 4


def make_corpus(folder: Path, *, num_tokens: int, mean_tokens: int) -> None:
    """Write `num_tokens` in all, by weight, to `<folder>/<source>/*.arrow`; what is there already is kept.

    Args:
        folder: where to.
        num_tokens: of all sources together.
        mean_tokens: of a document; lengths are lognormal with a sigma of 1.
    """
    for index, (source, weight) in enumerate(WEIGHTS.items()):
        (folder / source).mkdir(parents=True, exist_ok=True)
        for number in range(SHARDS):
            path = folder / source / f"{number:05d}.arrow"
            if path.exists():
                continue
            random = np.random.default_rng((index, number))
            left = int(num_tokens * weight) // SHARDS
            with ShardWriter(path, dtype=np.uint16) as shard:
                while left > 0:
                    length = min(left, max(1, int(random.lognormal(np.log(mean_tokens) - 0.5, 1))))
                    shard.write([random.integers(1, VOCAB_SIZE, length).astype(np.uint16)])
                    left -= length
