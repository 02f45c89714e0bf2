"""The bytes of a file in order, decompressed where they are gzip or Zstandard, wherever the file lies."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Literal

from headrace.places import File
from headrace.tokenize.reading.rows import BadFileError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

CHUNK: Final = 1 << 20
_STEP: Final = 1 << 14
"what is lost at most of a compressed file before the place where it is cut"
CORRUPT: Final = "is corrupt"
_NO_FRAME: Final = re.compile("incorrect header check|unknown compression method|Unknown frame descriptor")
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_SKIPPABLE: Final = b"\x2a\x4d\x18"
_HEAD_BYTES: Final = 16
"how much of a file's beginning says what it is"
_FOREIGN: Final = tuple(
    (re.compile(begins), name)
    for begins, name in (
        (rb"BZh[1-9]1AY&SY", "bzip2"),
        (rb"\xfd7zXZ\x00", "xz"),
        (rb"\x04\x22\x4d\x18", "lz4"),
        (rb"\xff\x06\x00\x00sNaPpY", "Snappy"),
        (rb"PK\x03\x04", "a zip archive"),
        (rb"7z\xbc\xaf\x27\x1c", "a 7z archive"),
        (rb"\xff\xfe\x00\x00|\x00\x00\xfe\xff", "UTF-32"),
        (rb"\xff\xfe[^\x00]\x00|\xfe\xff\x00[^\x00]", "UTF-16"),
    )
)
"how a file begins that is never read, and what it is then"


def head_of(file: File) -> bytes:
    """The first bytes of a file, as many as say what it is."""
    return file.read(0, min(_HEAD_BYTES, file.size_bytes)).tobytes()


def is_plain(head: bytes) -> bool:
    """Whether the bytes of a file that begins so are its text: neither compressed nor `foreign`."""
    return _codec(head) is None and foreign(head) is None


def foreign(head: bytes) -> str | None:
    """What a file that begins so is, where no text can be read from it as it stands: another compression, or coding."""
    return next((name for begins, name in _FOREIGN if begins.match(head)), None)


def _codec(head: bytes) -> Literal["gzip", "zstd"] | None:
    if head.startswith(_GZIP):
        return "gzip"
    is_skippable = len(head) >= 4 and 0x50 <= head[0] <= 0x5F and head[1:4] == _SKIPPABLE
    return "zstd" if head.startswith(_ZSTD) or is_skippable else None


class FileStream(io.RawIOBase):
    """A `File` as a seekable stream. `failure` is what reading it raised, which other libraries may have wrapped."""

    def __init__(self, file: File) -> None:
        super().__init__()
        self._file = file
        self._place = 0
        self.failure: OSError | None = None

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """The place of the next byte."""
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Moves to a place."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._file.size_bytes}[whence]
        self._place = base + offset
        return self._place

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fills `buffer` as far as the file goes."""
        view = memoryview(buffer).cast("B")
        size = max(0, min(len(view), self._file.size_bytes - self._place))
        if size:
            try:
                view[:size] = self._file.read(self._place, size).data
            except OSError as error:
                self.failure = error
                raise
            self._place += size
        return size


class Bytes:
    """The content of a file as chunks of a MiB at most, decompressed."""

    def __init__(self, file: File) -> None:
        self.file = file
        self.head = head_of(file)
        self.codec = _codec(self.head)

    def chunks(self, start: int = 0) -> Iterator[bytes]:
        """From byte `start` of the file on; compressed files are read from their beginning.

        Raises BadFileError, with row 0, where compressed data is cut or corrupt, and OSError.
        """
        if self.codec is None:
            for place in range(start, self.file.size_bytes, CHUNK):
                yield self.file.read(place, min(CHUNK, self.file.size_bytes - place)).tobytes()
            return
        import pyarrow as pa  # noqa: PLC0415  # only for compressed files

        raw = FileStream(self.file)
        try:
            with pa.CompressedInputStream(pa.PythonFile(io.BufferedReader(raw, CHUNK), mode="r"), self.codec) as stream:
                while chunk := stream.read(_STEP):
                    yield chunk
        except OSError as error:
            if raw.failure is not None:
                raise raw.failure from error
            why = f"{_fault(str(error))}: its {self.codec} can't be read to the end ({error})"
            raise BadFileError(why, 0) from error

    def check(self) -> None:
        """Raises BadFileError where compressed data is corrupt: what is before a wrong checksum can't be trusted.

        Reads all of it, which is quick next to tokenising it. A file that is only cut passes, and one with other bytes
        behind its last frame.
        """
        try:
            for _ in self.chunks() if self.codec is not None else ():
                pass
        except BadFileError as error:
            if error.why.startswith(CORRUPT):
                raise


def _fault(message: str) -> str:
    if "Truncated" in message:
        return "is cut"
    return "has something else behind its last frame" if _NO_FRAME.search(message) else CORRUPT
