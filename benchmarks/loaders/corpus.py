"""The corpus of the comparison: three sources of documents of lognormal lengths, ids uint16, the same on every machine.

`raw/<source>` holds all tokens in one file, a 0 after each document, and where the documents begin: what converters
start from. `arrow/<source>` and `parquet/<source>` hold the same documents as columns of token lists, without the 0, as
a tokeniser leaves them.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from headrace.formats.writer import ShardWriter

from benchmarks.loaders.harness import RANGE, SOURCES, WEIGHTS

MEAN_TOKENS = 1000
SHARDS = 4
ROW_GROUP = 1000


def make(folder: Path, num_tokens: int) -> Path:
    """Write the corpus of about `num_tokens` under `folder`; what is there already is kept. Returns its folder."""
    root = folder / f"corpus-{num_tokens}"
    if not (root / "made").exists():
        for number, (source, weight) in enumerate(zip(SOURCES, WEIGHTS, strict=True)):
            tokens, offsets = _documents(number, int(num_tokens * weight))
            _write_raw(root / "raw" / source, tokens, offsets)
            _write_columns(root, source, tokens, offsets)
        (root / "made").touch()
    return root


def _documents(number: int, num_tokens: int) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.int64]]:
    random = np.random.default_rng((7, number))
    guess = int(num_tokens / MEAN_TOKENS * 1.2) + 10
    lengths = np.maximum(2, random.lognormal(np.log(MEAN_TOKENS) - 0.5, 1.0, guess)).astype(np.int64)
    ends = np.cumsum(lengths)
    offsets = np.concatenate(([0], ends[: int(np.searchsorted(ends, num_tokens)) + 1]))
    tokens = random.integers(number * RANGE + 1, (number + 1) * RANGE + 1, offsets[-1]).astype(np.uint16)
    tokens[offsets[1:] - 1] = 0
    return tokens, offsets


def _write_raw(folder: Path, tokens: npt.NDArray[np.uint16], offsets: npt.NDArray[np.int64]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tokens.tofile(folder / "tokens.bin")
    np.save(folder / "offsets.npy", offsets)


def _write_columns(root: Path, source: str, tokens: npt.NDArray[np.uint16], offsets: npt.NDArray[np.int64]) -> None:
    edges = np.linspace(0, len(offsets) - 1, SHARDS + 1).astype(int)
    for kind in ("arrow", "parquet"):
        (root / kind / source).mkdir(parents=True, exist_ok=True)
    for shard, (first, last) in enumerate(pairwise(edges)):
        documents = [tokens[offsets[n] : offsets[n + 1] - 1] for n in range(first, last)]
        with ShardWriter(root / "arrow" / source / f"{shard:05d}.arrow", dtype=np.uint16) as writer:
            writer.write(documents)
        column = pa.array(documents, pa.list_(pa.uint16()))
        path = root / "parquet" / source / f"{shard:05d}.parquet"
        pq.write_table(pa.table({"tokens": column}), path, row_group_size=ROW_GROUP, compression="zstd")
