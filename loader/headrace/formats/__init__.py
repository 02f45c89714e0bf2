"""Opening shards of any format by their content.

    shard = open_shard("books/00000.arrow", column="tokens")
    shard.table().num_tokens        # of every block
    block = shard.open_block(0)
    block.tokens[block.starts[0] : block.starts[0] + block.lengths[0]]

To read on, in the order data flows: `shard` (what a shard offers), `arrow` over `ipc` and `counting`, `parquet`,
`joined`; `written` and `writer` are Headrace's own shards, `index` the cached counts of foreign ones.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from headrace.errors import ShardError
from headrace.formats.faults import naming
from headrace.formats.index import ShardVersion
from headrace.formats.ipc.messages import FILE_MAGIC, is_stream
from headrace.formats.shard import Block, BlockTable, ShardFile

__all__ = ["Block", "BlockTable", "ShardFile", "open_shard"]

_PARQUET_MAGIC: Final = b"PAR1"
_ENCRYPTED_PARQUET_MAGIC: Final = b"PARE"
_TAIL_BYTES: Final = 1 << 16


def open_shard(path: Path | str, *, column: str, size_bytes: int | None = None) -> ShardFile:
    """Opens the Arrow IPC or Parquet file at `path` to read the documents in `column`, whatever its extension.

    With `size_bytes`, a file of any other size is refused as changed. Raises ShardError when the file is missing,
    unreadable, cut or of another format, and SourceError when the column is missing or its type holds no tokens.
    """
    path = Path(path)
    with naming(path):
        head, tail, version = _read_ends(path)
    if size_bytes not in (None, version.size_bytes):
        raise ShardError(
            f"{path} has {version.size_bytes} bytes and had {size_bytes} when the source was listed; "
            "let its writer finish, or start again to list the source anew"
        )
    return _open(head, tail, column, version)


def _read_ends(path: Path) -> tuple[bytes, bytes, ShardVersion]:
    """The first 8 bytes, up to 64 KiB from the end, and the version of the file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        version = ShardVersion.of(path, os.fstat(descriptor))
        size = version.size_bytes
        tail = os.pread(descriptor, _TAIL_BYTES, max(0, size - _TAIL_BYTES))
        head = tail[:8] if size <= _TAIL_BYTES else os.pread(descriptor, 8, 0)
    finally:
        os.close(descriptor)
    return head, tail, version


def _open(head: bytes, tail: bytes, column: str, version: ShardVersion) -> ShardFile:
    from headrace.formats.arrow import open_arrow_file, open_arrow_stream  # noqa: PLC0415

    if len(tail) > 18 and head.startswith(FILE_MAGIC) and tail.endswith(FILE_MAGIC):
        return open_arrow_file(tail, column, version)
    if head.startswith(_PARQUET_MAGIC) and tail.endswith(_PARQUET_MAGIC):
        from headrace.formats.parquet import open_parquet  # noqa: PLC0415  # costs 90 ms, and only Parquet needs it

        return open_parquet(column, version)
    if head.startswith(FILE_MAGIC) or is_stream(head):
        return open_arrow_stream(column, version, head)
    raise ShardError(f"{version.path} {_complaint(head, version.size_bytes)}")


def _complaint(head: bytes, size_bytes: int) -> str:
    if size_bytes == 0:
        return "is empty (0 bytes); write it again or remove it"
    if head.startswith(_ENCRYPTED_PARQUET_MAGIC):
        return "is a Parquet file with an encrypted footer; write it without encryption"
    if head.startswith(_PARQUET_MAGIC):
        return "is cut: it starts as a Parquet file and has no footer; replace it with a whole copy"
    return f"starts with {head!r}; shards are Arrow IPC files or streams, or Parquet files"
