"""Where a row of a shard lies: its block, and its tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from headrace.errors import ShardError
from headrace.formats import Block, open_shard
from headrace.manifest import SourceManifest


def block_of_row(manifest: SourceManifest, path: str, row: int) -> int | None:
    """The block of `manifest` whose rows include `row` of the shard at `path`; None if it has no such block.

    Raises:
        ShardError: the shard can't be read.
    """
    shard = next((n for n, shard in enumerate(manifest.shards) if shard.path == path), None)
    if shard is None:
        return None
    listed = manifest.shards[shard]
    file = manifest.open_shard(shard)
    try:
        index = int(np.searchsorted(file.table().first_row, row, side="right")) - 1
    finally:
        file.close()
    own = manifest.block_index[listed.first_block : listed.first_block + listed.num_blocks]
    inside = np.flatnonzero(own == index)
    return listed.first_block + int(inside[0]) if len(inside) else None


class RowReader:
    """Tokens of documents by name, for one thread, of shards that a view leaves out too; keeps one block a source."""

    def __init__(self, manifests: Sequence[SourceManifest]) -> None:
        self._manifests = {manifest.name: manifest for manifest in manifests}
        self._held: dict[str, tuple[str, Block]] = {}

    def tokens(self, source: str, path: str, row: int) -> npt.NDArray[np.integer]:
        """The tokens of a document, as stored: (length,).

        Raises:
            ShardError: it can't be read, or is no document.
        """
        held = self._held.get(source)
        if held is None or held[0] != path or not held[1].rows[0] <= row <= held[1].rows[-1]:
            held = self._held[source] = (path, self._open(source, path, row))
        block = held[1]
        place = np.flatnonzero(block.rows == row)
        if len(place) == 0:
            raise ShardError(f"row {row} of {path} (source {source!r}) is no document now; the shard was changed")
        start = int(block.starts[place[0]])
        return block.tokens[start : start + int(block.lengths[place[0]])]

    def _open(self, source: str, path: str, row: int) -> Block:
        manifest = self._manifests[source]
        file = open_shard(manifest.root / path, column=manifest.column)
        try:
            return file.open_block(int(np.searchsorted(file.table().first_row, row, side="right")) - 1)
        finally:
            file.close()
