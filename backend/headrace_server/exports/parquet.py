"""Rows as Parquet: row groups handed on as soon as they are whole, the footer last.

A file without its footer is refused by every reader, so a download that was cut short can't pass for a whole one.
pyarrow is imported by the first export, not by the server's start.
"""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .datasets import Column
from .schemas import Kind, Row

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Buffer

# Rows of a row group: many enough to compress and to skip well, few enough to hold (some megabytes).
GROUP_ROWS = 50_000


class _Sink(io.RawIOBase):
    """A file that pyarrow writes to and that gives up what it has got so far."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        """It takes bytes."""
        return True

    def write(self, data: "Buffer") -> int:
        """Keep a copy: pyarrow uses its buffer again."""
        part = bytes(data)
        self._parts.append(part)
        return len(part)

    def take(self) -> bytes:
        """What came since the last time."""
        taken = b"".join(self._parts)
        self._parts.clear()
        return taken


def _schema(columns: Sequence[Column]) -> "pa.Schema":
    import pyarrow as pa  # noqa: PLC0415  # heavy: only exports pay for it

    kinds: dict[Kind, pa.DataType] = {
        "text": pa.string(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "time": pa.timestamp("us", tz="UTC"),
    }
    return pa.schema([pa.field(column.name, kinds[column.kind]) for column in columns])


class ParquetEncoder:
    """Turns rows into Parquet, a chunk at a time."""

    def __init__(self, columns: Sequence[Column]) -> None:
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415

        self._columns = columns
        self._schema = _schema(columns)
        self._sink = _Sink()
        self._writer = pq.ParquetWriter(pa.PythonFile(self._sink, mode="w"), self._schema, compression="zstd")
        self._rows: list[Row] = []

    def begin(self) -> bytes:
        """The file's mark."""
        return self._sink.take()

    def add(self, rows: Sequence[Row]) -> bytes:
        """Some rows; nothing comes back until a row group is whole."""
        self._rows.extend(rows)
        if len(self._rows) >= GROUP_ROWS:
            self._write()
        return self._sink.take()

    def end(self) -> bytes:
        """The rest, and the footer."""
        if self._rows:
            self._write()
        self._writer.close()
        return self._sink.take()

    def _write(self) -> None:
        import pyarrow as pa  # noqa: PLC0415

        values = list(zip(*self._rows, strict=True))
        arrays = [
            pa.array(
                [None if x is None else round(float(x) * 1e6) for x in held] if column.kind == "time" else held,
                type=self._schema.field(place).type,
            )
            for place, (column, held) in enumerate(zip(self._columns, values, strict=True))
        ]
        self._rows.clear()
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
