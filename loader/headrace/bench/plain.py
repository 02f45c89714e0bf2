"""The bound: the least that any loader of these bytes must do, and nothing else.

Of Arrow files, rows of `seq_len` tokens copied from random places of the mapped file into int64; of Parquet, random row
groups of the token column decoded by pyarrow on one thread. No order, no documents, no labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc
import pyarrow.parquet as pq
import torch

from headrace.errors import ConfigError
from headrace.manifest import SourceManifest

Read = Callable[[int], None]
"reads so many rows"


class PlainRead:
    """Reads rows of `seq_len` tokens from all sources, by weight.

    Raises ConfigError on making it where none of a source's files is as long as a row.
    """

    def __init__(
        self, manifests: Sequence[SourceManifest], weights_ppm: Sequence[int], seq_len: int, micro_batch: int
    ) -> None:
        self._random = np.random.default_rng(0)
        self._rows = np.empty((micro_batch, seq_len), np.int64)
        self._tokens = 0
        self._sources = [self._source(manifest, seq_len) for manifest in manifests]
        self._shares = np.cumsum(weights_ppm) / 1e6
        self.has_parquet = any(_is_parquet(manifest) for manifest in manifests)

    def __call__(self) -> int:
        """Read a micro-batch, or more where row groups are longer; returns the tokens read."""
        self._tokens = 0
        self._rows = np.empty_like(self._rows)
        for row, source in enumerate(np.searchsorted(self._shares, self._random.random(len(self._rows))).tolist()):
            self._sources[min(source, len(self._sources) - 1)](row)
        torch.from_numpy(self._rows)
        return self._tokens

    def _source(self, manifest: SourceManifest, seq_len: int) -> Read:
        files = [Path(manifest.root / shard.path) for shard in manifest.shards if shard.num_blocks]
        if _is_parquet(manifest):
            return self._parquet(files, manifest.column, seq_len)
        width = manifest.token_dtype
        mapped = [np.memmap(file, width, "r", shape=(file.stat().st_size // width.itemsize,)) for file in files]
        return self._mapped([tokens for tokens in mapped if len(tokens) > seq_len], manifest.name, seq_len)

    def _mapped(self, files: list[npt.NDArray[np.integer]], name: str, seq_len: int) -> Read:
        if not files:
            raise ConfigError(f"seq_len is {seq_len}; source {name!r} has no file that long: use a shorter one")

        def read(row: int) -> None:
            tokens = files[int(self._random.integers(len(files)))]
            begin = int(self._random.integers(len(tokens) - seq_len))
            self._rows[row] = tokens[begin : begin + seq_len]
            self._tokens += seq_len

        return read

    def _parquet(self, files: list[Path], column: str, seq_len: int) -> Read:
        metadata = {file: pq.read_metadata(file) for file in files}
        groups = [(file, number) for file in files for number in range(metadata[file].num_row_groups)]
        paths = [metadata[files[0]].schema.column(n).path for n in range(metadata[files[0]].num_columns)]
        leaf = next(path for path in paths if path == column or path.startswith(f"{column}."))
        ready = 0

        def read(_: int) -> None:
            nonlocal ready
            while ready < seq_len:
                file, number = groups[int(self._random.integers(len(groups)))]
                with pq.ParquetFile(file, metadata=metadata[file]) as opened:
                    table = opened.read_row_group(number, columns=[leaf], use_threads=False)
                decoded = len(pc.list_flatten(table.column(0)))
                self._tokens += decoded
                ready += decoded
            ready -= seq_len

        return read


def _is_parquet(manifest: SourceManifest) -> bool:
    with Path(manifest.root / manifest.shards[0].path).open("rb") as file:
        return file.read(4) == b"PAR1"
