"""Joining neighbouring blocks of a shard, where a source would otherwise have more blocks than a loader should hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from headrace.formats.shard import Block, BlockTable, Int64Array, ShardFile


def join_table(table: BlockTable, factor: int) -> BlockTable:
    """The table with every `factor` neighbouring blocks as one, the last one shorter where they don't divide."""
    starts = np.arange(0, table.num_blocks, factor)
    if factor == 1 or len(starts) == 0:
        return table
    return replace(
        table,
        first_row=table.first_row[starts],
        num_rows=np.add.reduceat(table.num_rows, starts),
        num_documents=np.add.reduceat(table.num_documents, starts),
        num_tokens=np.add.reduceat(table.num_tokens, starts),
    )


class JoinedShard:
    """`shard` with every `factor` neighbouring blocks as one; see `ShardFile`."""

    def __init__(self, shard: ShardFile, factor: int) -> None:
        self._shard = shard
        self._factor = factor
        self._num_parts = shard.table().num_blocks
        self._table = join_table(shard.table(), factor)

    def table(self) -> BlockTable:
        """See `ShardFile.table`."""
        return self._table

    def open_block(self, index: int) -> Block:
        """See `ShardFile.open_block`."""
        first = index * self._factor
        return _join(
            [self._shard.open_block(part) for part in range(first, min(first + self._factor, self._num_parts))]
        )

    def close(self) -> None:
        """See `ShardFile.close`."""
        self._shard.close()


def _join(parts: list[Block]) -> Block:
    lengths, rows = np.concatenate([part.lengths for part in parts]), np.concatenate([part.rows for part in parts])
    nbytes = sum(part.nbytes for part in parts)
    address = parts[0].tokens.__array_interface__["data"]
    if all(
        part.tokens.__array_interface__["data"] == address and part.tokens.size == parts[0].tokens.size
        for part in parts
    ):
        starts = np.concatenate([part.starts for part in parts])
        return Block(parts[0].tokens, starts, lengths, rows, nbytes, parts[0].keepalive)
    tokens = np.concatenate([part.tokens for part in parts])
    before: Int64Array = np.cumsum([0, *(part.tokens.size for part in parts[:-1])])
    starts = np.concatenate([part.starts + start for part, start in zip(parts, before, strict=True)])
    return Block(tokens, starts, lengths, rows, tokens.nbytes + 3 * lengths.nbytes, tokens)
