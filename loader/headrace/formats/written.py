"""Headrace's own shards: Arrow IPC files whose schema metadata carries the counts, so that opening one needs no pass.

    headrace.version   "1"
    headrace.blocks    JSON: {"num_rows": […], "num_documents": […], "num_tokens": […]}, a record batch an item
    headrace.tokens    JSON: {"min": int | null, "max": int | null, "num_empty": int, "num_null": int}
    headrace.lineage   of `headrace tokenize`: where each row's text is (see `lineage`)
    headrace.tokenizer of `headrace tokenize`: what made the ids

Any Arrow reader reads them as a plain list column.
"""

from __future__ import annotations

import json
from typing import Final

import numpy as np

from headrace.formats.faults import CorruptError
from headrace.formats.index import ShardIndex
from headrace.formats.ipc.messages import Messages
from headrace.formats.ipc.schema import TokenColumn
from headrace.formats.shard import BlockTable, Int64Array

OWN_PREFIX: Final = "headrace."
VERSION_KEY: Final = "headrace.version"
BLOCKS_KEY: Final = "headrace.blocks"
TOKENS_KEY: Final = "headrace.tokens"
VERSION: Final = "1"


def written_index(metadata: dict[str, str], column: TokenColumn, messages: Messages) -> ShardIndex | None:
    """The counts a Headrace shard carries; None for any other shard, or one rewritten into other record batches.

    Raises CorruptError when the metadata is damaged or of a version this Headrace doesn't know.
    """
    if VERSION_KEY not in metadata or not column.is_nested:
        return None
    if metadata[VERSION_KEY] != VERSION:
        raise CorruptError(
            f"was written with Headrace's shard format {metadata[VERSION_KEY]!r}; this version reads format {VERSION!r}"
        )
    try:
        blocks, tokens = json.loads(metadata[BLOCKS_KEY]), json.loads(metadata[TOKENS_KEY])
        num_rows, num_documents, num_tokens = (
            _counts(blocks[name]) for name in ("num_rows", "num_documents", "num_tokens")
        )
        table = BlockTable(
            np.cumsum(num_rows) - num_rows, num_rows, num_documents, num_tokens,
            num_empty=int(tokens["num_empty"]), num_null=int(tokens["num_null"]), token_dtype=column.dtype,
            max_token=tokens["max"], min_token=tokens["min"],
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptError(f"has Headrace counts that can't be read ({error!r})") from error
    if not len(messages) == len(num_rows) == len(num_documents) == len(num_tokens):
        return None
    batches = np.arange(len(messages), dtype=np.int64)
    return ShardIndex(table, batches, np.zeros_like(batches), messages.offsets, messages.ends)


def _counts(values: list[int]) -> Int64Array:
    counts = np.array(values, np.int64)
    if counts.ndim != 1 or (counts < 0).any():
        raise ValueError(f"counts {values}")
    return counts
