"""Files of (path, row) pairs: every format says the same, and what can't be meant is refused by name."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace.errors import SourceError
from headrace.row_lists import EXTENSIONS, is_row_list, parse_rows

PAIRS = [("b/1.arrow", 7), ("a.parquet", 3), ("b/1.arrow", 0), ("a.parquet", 3)]


def encoded(folder: Path, extension: str, pairs: list[tuple[str, int]]) -> bytes:
    """The pairs as a file of this kind, with a column more than is needed."""
    paths, rows = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    table = pa.table({"why": ["x"] * len(pairs), "path": paths, "row": pa.array(rows, pa.int32())})
    file = folder / f"list{extension}"
    if extension == ".parquet":
        pq.write_table(table, file)
    elif extension == ".csv":
        file.write_text("\ufeffpath,why,row\r\n" + "".join(f'"{p}",x,{r}\r\n' for p, r in pairs))
    elif extension == ".jsonl":
        file.write_text("\n".join(json.dumps({"path": p, "row": r, "why": None}) for p, r in pairs) + "\n\n")
    else:
        new = pa.ipc.new_stream if extension == ".ipc" else pa.ipc.new_file
        with new(str(file), table.schema) as writer:
            writer.write_table(table)
    return file.read_bytes()


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_every_format_says_the_same(extension: str, tmp_path: Path) -> None:
    listed = parse_rows(f"/lists/list{extension}", encoded(tmp_path, extension, PAIRS))
    assert {path: rows.tolist() for path, rows in listed.rows.items()} == {"a.parquet": [3], "b/1.arrow": [0, 7]}
    assert listed.digest == parse_rows(f"/other{extension}", encoded(tmp_path, extension, PAIRS)).digest
    assert listed.digest != parse_rows(f"/lists/list{extension}", encoded(tmp_path, extension, PAIRS[1:])).digest


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_a_list_without_pairs_or_with_a_negative_row_is_refused(extension: str, tmp_path: Path) -> None:
    empty = encoded(tmp_path, extension, [])
    with pytest.raises(SourceError, match=rf"/l\{extension} (has no|can't be read as) \(path, row\) pair"):
        parse_rows(f"/l{extension}", empty)
    with pytest.raises(SourceError, match=rf"/l\{extension} .*row '?-2"):
        parse_rows(f"/l{extension}", encoded(tmp_path, extension, [*PAIRS, ("a.parquet", -2)]))


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("/l.csv", b"file,row\na,1\n", r"begins with the columns \['file', 'row'\]"),
        ("/l.csv", b"path,row\na,1\nb,1.5\n", "line 3 of /l.csv has path 'b' and row '1.5'"),
        ("/l.csv", b"path,row\na\n", "line 2 of /l.csv has path 'a' and row None"),
        ("/l.csv", b"path,row\n\xff\xfe,1\n", "is not UTF-8 text"),
        ("/l.jsonl", b'{"path": "a", "row": 1}\n{"path": "a"\n', "line 2 of /l.jsonl is not JSON"),
        ("/l.jsonl", b"[1]\n", "line 1 of /l.jsonl has path None and row None"),
        ("/l.jsonl", b'{"path": "a", "row": true}\n', "row True"),
        ("/l.jsonl", b'{"path": "a", "row": 1.0}\n', "row 1.0"),
        ("/l.parquet", b"PAR1 and nothing more", "/l.parquet can't be read as"),
        ("/l.arrow", b"ARROW1 and nothing more", "/l.arrow can't be read as"),
    ],
)
def test_what_is_no_list_of_pairs_is_refused_by_name(name: str, content: bytes, complaint: str) -> None:
    with pytest.raises(SourceError, match=complaint):
        parse_rows(name, content)


@pytest.mark.parametrize(
    ("column", "complaint"),
    [
        ({"path": ["a"], "row": [1.5]}, "column 'row' of /l.parquet is double"),
        ({"path": ["a", None], "row": [1, 2]}, "1 pairs with a null"),
        ({"path": ["a"], "number": [1]}, "/l.parquet can't be read as"),
        ({"path": [[1]], "row": [1]}, "/l.parquet can't be read as"),
    ],
)
def test_columns_of_another_kind_are_refused(column: dict[str, list[object]], complaint: str, tmp_path: Path) -> None:
    pq.write_table(pa.table(column), tmp_path / "l.parquet")
    with pytest.raises(SourceError, match=complaint):
        parse_rows("/l.parquet", (tmp_path / "l.parquet").read_bytes())


@pytest.mark.parametrize("item", ["/a.csv", "./a.csv", "../a.csv", "s3://bucket/a.csv", "file:///a.csv"])
def test_places_of_lists(item: str) -> None:
    assert is_row_list(item)


@pytest.mark.parametrize("item", ["a.csv", "**/a.csv", "*", ".a/b.csv", "a://b"[1:], "..a/b"])
def test_globs(item: str) -> None:
    assert not is_row_list(item)
