"""Writing Headrace shards: Arrow IPC files that carry their own counts (see `written` for the keys)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.errors import ConfigError, ShardError
from headrace.formats.shard import MAX_BLOCK_ROWS, MAX_BLOCK_TOKENS
from headrace.formats.whole import whole_file
from headrace.formats.written import BLOCKS_KEY, OWN_PREFIX, TOKENS_KEY, VERSION, VERSION_KEY


class ShardWriter:
    """Writes documents to one shard, which appears at `path` only when the `with` block ends well.

        with ShardWriter(folder / "00000.arrow", dtype=np.uint16) as shard:
            shard.write(documents)

    Record batches hold at most 2^18 tokens and 8,192 rows (a longer document is a batch of its own). The same
    documents give the same bytes. The shard's tokens are held in memory until it is closed, because its counts come
    first in the file, or, where `spill` is given, in a file of that path meanwhile; roll over to a new shard by
    `num_tokens`. `compression` is of the record batches. Not for several threads.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        dtype: npt.DTypeLike,
        column: str = "tokens",
        metadata: Mapping[str, str] | None = None,
        compression: Literal["zstd"] | None = None,
        spill: Path | None = None,
    ) -> None:
        self.path = Path(path)
        self.num_rows = 0
        self.num_tokens = 0
        self._dtype = np.dtype(dtype)
        if self._dtype.kind not in "iu":
            raise ConfigError(f"dtype of shard {self.path} is {self._dtype}; tokens must be integers of 8 to 64 bits")
        self._column = column
        self._metadata = dict(metadata or {})
        self._own: dict[str, str] = {}
        reserved = sorted(key for key in self._metadata if key.startswith(OWN_PREFIX))
        if reserved:
            raise ConfigError(
                f"metadata of shard {self.path} has keys {reserved}; keys starting with 'headrace.' are reserved"
            )
        self._compression = compression
        self._kept = _Kept(spill)
        self._parts: list[npt.NDArray[np.integer]] = []
        self._lengths: list[npt.NDArray[np.int64]] = []
        self._batch_tokens = 0
        self._batch_rows = 0
        self._counts: dict[str, list[int]] = {"num_rows": [], "num_documents": [], "num_tokens": []}
        self._min: int | None = None
        self._max: int | None = None

    def write(self, documents: Iterable[npt.ArrayLike]) -> None:
        """Appends documents, each a sequence of ids; an empty one becomes an empty row.

        Raises ShardError, naming the row, for a document that is not one-dimensional integers in the range of the
        shard's type.
        """
        for document in documents:
            tokens = self._checked(np.asarray(document))
            self._append(tokens, np.array([tokens.size], np.int64))

    def write_flat(self, tokens: npt.NDArray[np.integer], lengths: npt.NDArray[np.int64]) -> None:
        """Appends documents that lie one after the other in `tokens`; those of length 0 become empty rows.

        Raises ShardError as `write` does.
        """
        self._append(self._checked(tokens), lengths)

    def note(self, **facts: str) -> None:
        """Adds metadata under Headrace's own keys: `note(lineage=…)` is `headrace.lineage`."""
        self._own.update({f"{OWN_PREFIX}{name}": text for name, text in facts.items()})

    def close(self) -> None:
        """Writes the shard under its name; raises OSError when that is not possible."""
        if self._batch_rows:
            self._flush()
        options = pa.ipc.IpcWriteOptions(compression=self._compression)
        with (
            self._kept.batches() as batches,
            whole_file(self.path, durable=True) as file,
            pa.ipc.new_file(file, self._schema(with_counts=True), options=options) as writer,
        ):
            for batch in batches:
                writer.write_batch(batch)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def discard(self) -> None:
        """Gives the shard up; nothing of it is left."""
        self._kept.clear()

    def _append(self, tokens: npt.NDArray[np.integer], lengths: npt.NDArray[np.int64]) -> None:
        ends = np.cumsum(lengths)
        self.num_rows += len(lengths)
        self.num_tokens += tokens.size
        row = start = 0
        while row < len(lengths):
            room = start + MAX_BLOCK_TOKENS - self._batch_tokens
            stop = min(int(np.searchsorted(ends, room, side="right")), row + MAX_BLOCK_ROWS - self._batch_rows)
            if stop <= row and self._batch_rows:
                self._flush()
                continue
            stop = max(stop, row + 1)
            end = int(ends[stop - 1])
            self._parts.append(tokens[start:end])
            self._lengths.append(lengths[row:stop])
            self._batch_tokens += end - start
            self._batch_rows += stop - row
            row, start = stop, end

    def _checked(self, document: npt.NDArray[np.generic]) -> npt.NDArray[np.integer]:
        if document.ndim != 1 or (document.size and document.dtype.kind not in "iu"):
            raise ShardError(
                f"row {self.num_rows} of shard {self.path} is a {document.ndim}-dimensional array of {document.dtype}; "
                "a document must be a one-dimensional array of integers"
            )
        if document.size:
            low, high = int(document.min()), int(document.max())
            allowed = np.iinfo(self._dtype)
            if low < allowed.min or high > allowed.max:
                raise ShardError(
                    f"row {self.num_rows} of shard {self.path} has ids from {low} to {high}; {self._dtype} holds "
                    f"{allowed.min} to {allowed.max}: write the shard with a wider dtype"
                )
            self._min = low if self._min is None else min(self._min, low)
            self._max = high if self._max is None else max(self._max, high)
        return document.astype(self._dtype)

    def _flush(self) -> None:
        lengths = np.concatenate(self._lengths)
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        if offsets[-1] > np.iinfo(np.int32).max:
            raise ShardError(
                f"row {sum(self._counts['num_rows'])} of shard {self.path} has {offsets[-1]} tokens; a document may "
                "have 2^31 - 1"
            )
        tokens = pa.array(np.concatenate(self._parts), pa.from_numpy_dtype(self._dtype))
        column = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), tokens)
        self._kept.add(pa.record_batch([column], schema=self._schema(with_counts=False)))
        self._counts["num_rows"].append(len(lengths))
        self._counts["num_documents"].append(int((lengths > 0).sum()))
        self._counts["num_tokens"].append(int(offsets[-1]))
        self._parts, self._lengths = [], []
        self._batch_tokens = self._batch_rows = 0

    def _schema(self, *, with_counts: bool) -> pa.Schema:
        column = pa.field(self._column, pa.list_(pa.from_numpy_dtype(self._dtype)))
        if not with_counts:
            return pa.schema([column])
        num_empty = self.num_rows - sum(self._counts["num_documents"])
        facts = {"min": self._min, "max": self._max, "num_empty": num_empty, "num_null": 0}
        own = {VERSION_KEY: VERSION, BLOCKS_KEY: json.dumps(self._counts), TOKENS_KEY: json.dumps(facts)}
        texts = {**self._metadata, **self._own, **own}
        return pa.schema([column], metadata={key.encode(): text.encode() for key, text in texts.items()})


class _Kept:
    """Record batches until their counts are known: in memory, or in a file at `path`, which goes with them."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._held: list[pa.RecordBatch] = []
        self._open = ExitStack()
        self._writer: pa.RecordBatchStreamWriter | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Takes one in."""
        if self._path is None:
            self._held.append(batch)
            return
        if self._writer is None:
            self._writer = self._open.enter_context(pa.ipc.new_stream(str(self._path), batch.schema))
        self._writer.write_batch(batch)

    @contextmanager
    def batches(self) -> Iterator[Iterable[pa.RecordBatch]]:
        """All of them, once; they are given up when the block ends."""
        self._open.close()
        try:
            if self._path is None or self._writer is None:
                yield self._held
            else:
                with pa.memory_map(str(self._path)) as file, pa.ipc.open_stream(file) as reader:
                    yield reader
        finally:
            self.clear()

    def clear(self) -> None:
        """Gives up what is kept."""
        self._open.close()
        self._held.clear()
        if self._path is not None and self._writer is not None:
            self._path.unlink(missing_ok=True)
