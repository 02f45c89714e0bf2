"""What can be exported, and how."""

from typing import Literal

What = Literal["reports", "ranks", "series", "sources", "mix", "activations", "attempts", "audit"]
Format = Literal["csv", "parquet"]
Kind = Literal["text", "integer", "number", "time"]
Cell = str | int | float | None
Row = tuple[Cell, ...]

MEDIA_TYPES: dict[Format, str] = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}
