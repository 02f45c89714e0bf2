"""How a file's format is told from its first and last bytes."""

from __future__ import annotations

from typing import Final

PARQUET_MAGIC: Final = b"PAR1"
TAIL_BYTES: Final = 1 << 16
"""What is read of a file's end first; a longer footer costs another read."""

_ENCRYPTED_PARQUET_MAGIC: Final = b"PARE"


def complaint(head: bytes, size_bytes: int) -> str:
    """What is wrong with a file of no known format that starts with the 8 bytes `head`."""
    if size_bytes == 0:
        return "is empty (0 bytes); write it again or remove it"
    if head.startswith(_ENCRYPTED_PARQUET_MAGIC):
        return "is a Parquet file with an encrypted footer; write it without encryption"
    if head.startswith(PARQUET_MAGIC):
        return "is cut: it starts as a Parquet file and has no footer; replace it with a whole copy"
    return f"starts with {head!r}; shards are Arrow IPC files or streams, or Parquet files"
