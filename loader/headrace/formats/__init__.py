"""Opening shards of any format by their content.

    shard = open_shard("books/00000.arrow", column="tokens")
    shard.table().num_tokens        # of every block
    block = shard.open_block(0)
    block.tokens[block.starts[0] : block.starts[0] + block.lengths[0]]

To read on, in the order data flows: `shard` (what a shard offers), `arrow` over `ipc` and `counting`, `parquet`,
`remote` (both, on object storage), `claimed` (formats that other packages bring), `joined`; `written` and `writer` are
Headrace's own shards, `index` the cached counts of foreign ones.
"""

from __future__ import annotations

from pathlib import Path

from headrace.errors import ShardError
from headrace.formats.allowance import UNLIMITED, Allowance
from headrace.formats.faults import naming
from headrace.formats.index import ShardIndex
from headrace.formats.ipc.messages import FILE_MAGIC, is_stream
from headrace.formats.magic import PARQUET_MAGIC, TAIL_BYTES, complaint
from headrace.formats.shard import Block, BlockTable, ShardFile
from headrace.names import claim_of
from headrace.places import Listed, LocalFile, Place, parse_place

__all__ = ["Block", "BlockTable", "ShardFile", "ShardIndex", "open_shard"]


def open_shard(
    path: Place | Path | str,
    *,
    column: str,
    listed: Listed | None = None,
    known: ShardIndex | None = None,
    allowance: Allowance = UNLIMITED,
) -> ShardFile:
    """Opens the shard at `path` to read the documents in `column`, by its content, or by the format that claims it.

    `listed` is what a listing said of it: a file of another size is refused as changed. `known` is what is already
    known of its blocks, if anything. `allowance` bounds the record batches of foreign Arrow on object storage that are
    counted. Raises ShardError when the file is missing, unreadable, cut or of another format, and SourceError when the
    column is missing or its type holds no tokens, or where the allowance is used up.
    """
    place = path if isinstance(path, Place) else parse_place(path)
    with naming(place):
        file = place.open(listed)
    if listed is not None and file.size_bytes != listed.size_bytes:
        raise ShardError(
            f"{place} has {file.size_bytes} bytes and had {listed.size_bytes} when the source was listed; "
            "let its writer finish, or start again to list the source anew"
        )
    claim = claim_of(place.base)
    if claim is not None:
        from headrace.formats.claimed import open_claimed  # noqa: PLC0415  # only where another format is installed

        return open_claimed(claim, file, column)
    if not isinstance(file, LocalFile):
        from headrace.formats.remote import open_remote  # noqa: PLC0415  # needs pyarrow, and local Arrow does not

        return open_remote(file, column, known, allowance)
    with naming(place):
        size = file.size_bytes
        ends = file.read_ranges([(max(0, size - TAIL_BYTES), min(TAIL_BYTES, size)), (0, min(8, size))])
        tail, head = (part.tobytes() for part in ends)
    return _open(head, tail, column, file, known)


def _open(head: bytes, tail: bytes, column: str, file: LocalFile, known: ShardIndex | None) -> ShardFile:
    from headrace.formats.arrow import open_arrow_file, open_arrow_stream  # noqa: PLC0415

    if len(tail) > 18 and head.startswith(FILE_MAGIC) and tail.endswith(FILE_MAGIC):
        return open_arrow_file(tail, column, file, known)
    if head.startswith(PARQUET_MAGIC) and tail.endswith(PARQUET_MAGIC):
        from headrace.formats.parquet import open_parquet  # noqa: PLC0415  # costs 90 ms, and only Parquet needs it

        return open_parquet(tail, column, file)
    if head.startswith(FILE_MAGIC) or is_stream(head):
        return open_arrow_stream(column, file, head, known)
    raise ShardError(f"{file.name} {complaint(head, file.size_bytes)}")
