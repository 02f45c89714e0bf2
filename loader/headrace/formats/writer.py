"""Writing Headrace shards: Arrow IPC files that carry their own counts (see `written` for the keys)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.errors import ConfigError, ShardError
from headrace.formats.shard import MAX_BLOCK_ROWS, MAX_BLOCK_TOKENS
from headrace.formats.whole import whole_file
from headrace.formats.written import BLOCKS_KEY, TOKENS_KEY, VERSION, VERSION_KEY


class ShardWriter:
    """Writes documents to one shard, which appears at `path` only when the `with` block ends well.

        with ShardWriter(folder / "00000.arrow", dtype=np.uint16) as shard:
            shard.write(documents)

    Record batches hold at most 2^18 tokens and 8,192 rows (a longer document is a batch of its own). The same
    documents give the same bytes. The shard's tokens are held in memory until it is closed, because its counts come
    first in the file; roll over to a new shard by `num_tokens`. Not for several threads.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        dtype: npt.DTypeLike,
        column: str = "tokens",
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        self.path = Path(path)
        self.num_rows = 0
        self.num_tokens = 0
        self._dtype = np.dtype(dtype)
        if self._dtype.kind not in "iu":
            raise ConfigError(f"dtype of shard {self.path} is {self._dtype}; tokens must be integers of 8 to 64 bits")
        self._column = column
        self._metadata = dict(metadata or {})
        reserved = sorted(key for key in self._metadata if key.startswith("headrace."))
        if reserved:
            raise ConfigError(
                f"metadata of shard {self.path} has keys {reserved}; keys starting with 'headrace.' are reserved"
            )
        self._documents: list[npt.NDArray[np.integer]] = []
        self._batch_tokens = 0
        self._batches: list[pa.RecordBatch] = []
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
            fits = self._batch_tokens + tokens.size <= MAX_BLOCK_TOKENS and len(self._documents) < MAX_BLOCK_ROWS
            if self._documents and not fits:
                self._flush()
            self._documents.append(tokens)
            self._batch_tokens += tokens.size
            self.num_rows += 1
            self.num_tokens += tokens.size

    def close(self) -> None:
        """Writes the shard under its name; raises OSError when that is not possible."""
        if self._documents:
            self._flush()
        schema = self._schema()
        with whole_file(self.path, durable=True) as file, pa.ipc.new_file(file, schema) as writer:
            for batch in self._batches:
                writer.write_batch(batch)
        self._batches.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()

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
        lengths = np.array([document.size for document in self._documents], np.int64)
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        if offsets[-1] > np.iinfo(np.int32).max:
            raise ShardError(
                f"row {self.num_rows - 1} of shard {self.path} has {offsets[-1]} tokens; a document may have 2^31 - 1"
            )
        tokens = pa.array(np.concatenate(self._documents), pa.from_numpy_dtype(self._dtype))
        column = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), tokens)
        self._batches.append(pa.record_batch([column], names=[self._column]))
        self._counts["num_rows"].append(len(lengths))
        self._counts["num_documents"].append(int((lengths > 0).sum()))
        self._counts["num_tokens"].append(int(offsets[-1]))
        self._documents, self._batch_tokens = [], 0

    def _schema(self) -> pa.Schema:
        num_empty = self.num_rows - sum(self._counts["num_documents"])
        facts = {"min": self._min, "max": self._max, "num_empty": num_empty, "num_null": 0}
        own = {VERSION_KEY: VERSION, BLOCKS_KEY: json.dumps(self._counts), TOKENS_KEY: json.dumps(facts)}
        column = pa.field(self._column, pa.list_(pa.from_numpy_dtype(self._dtype)))
        return pa.schema(
            [column], metadata={key.encode(): text.encode() for key, text in {**self._metadata, **own}.items()}
        )
