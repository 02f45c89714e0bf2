"""A corpus for benchmarks: three sources of random documents of lognormal lengths, the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from headrace.formats.writer import ShardWriter

WEIGHTS = {"web": 0.6, "code": 0.3, "math": 0.1}
VOCAB_SIZE = 50_304
SHARDS = 4


ROW_GROUP = 1000
"rows of a Parquet row group, as datasets are often written"


def make_corpus(folder: Path, *, num_tokens: int, mean_tokens: int, extension: str = "arrow") -> None:
    """Write `num_tokens` in all, by weight, to `<folder>/<source>/*`; what is there already is kept.

    Args:
        folder: where to.
        num_tokens: of all sources together.
        mean_tokens: of a document; lengths are lognormal with a sigma of 1.
        extension: `arrow` for Headrace shards, `parquet` for Parquet with zstd.
    """
    for index, (source, weight) in enumerate(WEIGHTS.items()):
        (folder / source).mkdir(parents=True, exist_ok=True)
        for number in range(SHARDS):
            path = folder / source / f"{number:05d}.{extension}"
            if path.exists():
                continue
            random = np.random.default_rng((index, number))
            documents = _documents(random, int(num_tokens * weight) // SHARDS, mean_tokens)
            if extension == "arrow":
                with ShardWriter(path, dtype=np.uint16) as shard:
                    for document in documents:
                        shard.write([document])
            else:
                tokens = pa.array(list(documents), pa.list_(pa.uint16()))
                pq.write_table(pa.table({"tokens": tokens}), path, row_group_size=ROW_GROUP, compression="zstd")


def make_shards(folder: Path, *, num_shards: int, num_tokens: int, mean_tokens: int) -> None:
    """Write `num_shards` Headrace shards of `num_tokens` each to `folder`; what is there already is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(num_shards):
        path = folder / f"{number:05d}.arrow"
        if path.exists():
            continue
        with ShardWriter(path, dtype=np.uint16) as shard:
            for document in _documents(np.random.default_rng(number), num_tokens, mean_tokens):
                shard.write([document])


def _documents(random: np.random.Generator, num_tokens: int, mean_tokens: int) -> Iterator[npt.NDArray[np.uint16]]:
    """Documents of `num_tokens` in all."""
    left = num_tokens
    while left > 0:
        length = min(left, max(1, int(random.lognormal(np.log(mean_tokens) - 0.5, 1))))
        yield random.integers(1, VOCAB_SIZE, length).astype(np.uint16)
        left -= length
