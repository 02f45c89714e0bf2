"""What a source holds: its shards in the order of their names, and the counts of their blocks.

Read from an index or from footers; the only arrays are one entry a block.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from headrace.counts import find_counts
from headrace.discovery import Found, discover
from headrace.errors import SourceError
from headrace.formats import BlockTable, ShardFile, open_shard
from headrace.formats.joined import JoinedShard, join_table
from headrace.places import Listed, Place

if TYPE_CHECKING:
    from headrace.source_index import SourceIndex

MAX_BLOCKS: Final = 1 << 22
"""Blocks a source has at most: beyond, neighbouring blocks of a shard are joined."""


@dataclass(frozen=True, slots=True)
class Shard:
    """One file of a source: `path` is relative to the source's root, with forward slashes.

    Its blocks are `first_block` ≤ block < `first_block + num_blocks` of the manifest; those without a document are
    not among them. `min_token` and `max_token` are set only where the file itself proves them; `mtime_ns` is when it
    was changed, None where the listing does not say.
    """

    path: str
    size_bytes: int
    num_rows: int
    first_block: int
    num_blocks: int
    min_token: int | None = None
    max_token: int | None = None
    mtime_ns: int | None = None


@dataclass(frozen=True, slots=True)
class SourceManifest:
    """A source's shards and blocks; every block has at least one document.

    `block_shard` (int32) is each block's shard, `block_index` (int32) its number inside it (for
    `ShardFile.open_block`), `block_documents` and `block_tokens` (int64) its counts, without separators; all are
    (num_blocks,), in the order of the shards. `token_dtype` is the narrowest token type among shards with documents.
    `min_token` and `max_token` are None unless every file proves its own. `ignored` lists (path, reason).
    `fingerprint` is 32 hex digits over names, sizes and counts: the same wherever the folder lies. `join_factor` is
    how many neighbouring blocks of a shard count as one.

    A manifest may be a view of another that leaves documents out (`exclusions`), `num_excluded` of them: `left_out` has
    the sorted rows, by the shard's number, that its blocks must skip; shards without a block are left out whole.
    `holes` has those that keep their places and are not trained, and all rows of `hole_shards` do so too. The
    fingerprint of a view is that of the whole.
    """

    name: str
    root: Place
    column: str
    shards: tuple[Shard, ...]
    block_shard: npt.NDArray[np.int32]
    block_index: npt.NDArray[np.int32]
    block_documents: npt.NDArray[np.int64]
    block_tokens: npt.NDArray[np.int64]
    num_rows: int
    num_empty: int
    num_null: int
    token_dtype: np.dtype[np.integer]
    min_token: int | None
    max_token: int | None
    ignored: tuple[tuple[str, str], ...]
    join_factor: int
    fingerprint: str
    left_out: Mapping[int, npt.NDArray[np.int64]] = field(default_factory=dict)
    holes: Mapping[int, npt.NDArray[np.int64]] = field(default_factory=dict)
    hole_shards: frozenset[int] = frozenset()
    num_excluded: int = 0
    index: SourceIndex | None = field(default=None, compare=False, repr=False)
    "where the blocks of foreign Arrow on object storage lie"

    @property
    def num_blocks(self) -> int:
        """The number of blocks."""
        return len(self.block_shard)

    @property
    def num_documents(self) -> int:
        """Documents in all blocks."""
        return int(self.block_documents.sum())

    @property
    def num_tokens(self) -> int:
        """Tokens in all blocks, without separators."""
        return int(self.block_tokens.sum())

    def open_shard(self, shard: int) -> ShardFile:
        """Opens shard number `shard` so that its blocks are those of `block_index`.

        Raises ShardError when the file is gone, unreadable or of another size than when it was listed.
        """
        listed = self.shards[shard]
        opened = open_shard(
            self.root / listed.path,
            column=self.column,
            listed=Listed(listed.path, listed.size_bytes, listed.mtime_ns),
            known=None if self.index is None else self.index.known(shard),
        )
        return JoinedShard(opened, self.join_factor) if self.join_factor > 1 else opened


def read_manifest(
    name: str,
    root: Place | Path | str,
    *,
    column: str = "tokens",
    index: Place | Path | str | None = None,
    disk_cache_bytes: int = 0,
    max_blocks: int = MAX_BLOCKS,
    on_progress: Callable[[int, int], None] | None = None,
    is_left_out: Callable[[str], bool] = lambda path: False,
) -> SourceManifest:
    """Lists and counts source `name` at `root`, a folder, a prefix or a single file.

    `index` is one that `headrace index` wrote; up to `disk_cache_bytes` of what is read from object storage are kept on
    this machine's disk. `on_progress(done, total)` is called in this thread after each shard. A shard of which
    `is_left_out(path)` is true and which can't be read is listed as one without rows. Raises SourceError when the path
    is missing or holds no shard, no document, or a shard without the column, and when `index` is not of what is there;
    ShardError when a shard can't be read. All name the source and the file.
    """
    found = discover(name, root, disk_cache_bytes=disk_cache_bytes)
    counts = find_counts(name, found, column, index, is_left_out)
    tables: list[BlockTable] = []
    num_blocks, factor, has_places = 0, 1, False
    allowed = max(max_blocks, len(found.files))
    for one in counts.indexes:
        has_places |= bool(one.layout)
        tables.append(join_table(one.table, factor))
        num_blocks += tables[-1].num_blocks
        while num_blocks > allowed:
            factor *= 2
            tables = [join_table(known, 2) for known in tables]
            num_blocks = sum(known.num_blocks for known in tables)
        if on_progress is not None:
            on_progress(len(tables), len(found.files))
    manifest = _assemble(name, found, column, tables, factor, counts.written if has_places else None)
    _check(manifest)
    return manifest


def _assemble(
    name: str, found: Found, column: str, tables: list[BlockTable], factor: int, index: SourceIndex | None
) -> SourceManifest:
    kept = [np.flatnonzero(table.num_documents > 0) for table in tables]
    counts = [len(indices) for indices in kept]
    first_blocks = np.cumsum([0, *counts])
    num_rows = [int(table.num_rows.sum()) for table in tables]
    shards = tuple(
        Shard(file.path, file.size_bytes, rows, int(first), count, table.min_token, table.max_token, file.mtime_ns)
        for file, rows, first, count, table in zip(
            found.files, num_rows, first_blocks[:-1], counts, tables, strict=True
        )
    )
    documents = np.concatenate([table.num_documents[indices] for table, indices in zip(tables, kept, strict=True)])
    tokens = np.concatenate([table.num_tokens[indices] for table, indices in zip(tables, kept, strict=True)])
    block_index = np.concatenate(kept).astype(np.int32)
    used = [table for table, count in zip(tables, counts, strict=True) if count] or tables
    low, high = bounds_of(shards)
    return SourceManifest(
        name=name,
        root=found.root,
        column=column,
        shards=shards,
        block_shard=np.repeat(np.arange(len(shards), dtype=np.int32), counts),
        block_index=block_index,
        block_documents=documents,
        block_tokens=tokens,
        num_rows=sum(num_rows),
        num_empty=sum(table.num_empty for table in tables),
        num_null=sum(table.num_null for table in tables),
        token_dtype=min((table.token_dtype for table in used), key=lambda dtype: np.iinfo(dtype).max),
        min_token=low,
        max_token=high,
        ignored=found.ignored,
        join_factor=factor,
        index=index,
        fingerprint=fingerprint_of(shards, block_index, documents, tokens),
    )


def bounds_of(shards: Iterable[Shard]) -> tuple[int | None, int | None]:
    """The smallest and the largest id of the shards with documents; None unless every one proves its own."""
    used = [shard for shard in shards if shard.num_blocks]
    lows = [shard.min_token for shard in used if shard.min_token is not None]
    highs = [shard.max_token for shard in used if shard.max_token is not None]
    low = min(lows) if lows and len(lows) == len(used) else None
    return low, max(highs) if highs and len(highs) == len(used) else None


def fingerprint_of(shards: tuple[Shard, ...], *arrays: npt.NDArray[np.integer]) -> str:
    """32 hex digits over names, sizes and counts; `arrays` are `block_index`, `block_documents` and `block_tokens`."""
    digest = hashlib.blake2b(b"headrace manifest 1", digest_size=16)
    for shard in shards:
        digest.update(f"\0{shard.path}\0{shard.size_bytes} {shard.num_rows} {shard.num_blocks}".encode())
    for array in arrays:
        digest.update(array.astype("<i8").tobytes())
    return digest.hexdigest()


def _check(manifest: SourceManifest) -> None:
    """Refuses a source without a document."""
    if manifest.num_documents == 0:
        raise SourceError(
            f"source '{manifest.name}': {manifest.root} has {manifest.num_rows} rows in {len(manifest.shards)} shards "
            f"and none is a document ({manifest.num_empty} empty, {manifest.num_null} null); "
            "a source needs at least one non-empty row"
        )
