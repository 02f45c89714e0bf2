"""An object as a file that can be sought in, for readers that want one; only what is asked for is fetched."""

from __future__ import annotations

import io

from headrace.formats.ipc.flatbuffer import Memory
from headrace.places import File


class RangedReader(io.RawIOBase):
    """`file`, read by ranges; `ahead` (start, size) is fetched at once, at the first read inside it."""

    def __init__(self, file: File, ahead: tuple[int, int] | None) -> None:
        super().__init__()
        self._file = file
        self._ahead = ahead
        self._held: Memory | None = None
        self._position = 0

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """The byte that is read next."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Moves to `offset` bytes from the start, from here or from the end."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._file.size_bytes}[whence]
        self._position = start + offset
        return self._position

    def read(self, size: int | None = -1, /) -> memoryview:  # Any buffer will do for Arrow.
        """The next `size` bytes, fewer at the end; raises OSError."""
        left = max(0, self._file.size_bytes - self._position)
        wanted = left if size is None or size < 0 else min(size, left)
        start = self._position
        self._position += wanted
        if self._ahead is not None and self._ahead[0] <= start and start + wanted <= sum(self._ahead):
            if self._held is None:
                self._held = self._file.read(*self._ahead)
            return self._held[start - self._ahead[0] :][:wanted].data
        return self._file.read(start, wanted).data if wanted else memoryview(b"")
