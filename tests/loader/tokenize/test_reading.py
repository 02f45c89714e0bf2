"""Files as they are met: every row once, bad ones named with file and row, and memory that does not grow with them."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace import SourceError
from headrace.tokenize.cutting import cut_input
from headrace.tokenize.inputs import Asked, Input, list_inputs
from headrace.tokenize.reading import read_part
from headrace.tokenize.reading.rows import Bad, BadFileError, Row, Wanted
from headrace.tokenize.units import whole_part
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.loader.tokenize.making import compressed

WANTED = Wanted("text", 1 << 20)
THREE = ["one", "two\u2028and\x85more", "three 🙂"]


def at(path: Path) -> Input:
    status = path.stat()
    return Input("", str(path.parent), path.name, status.st_size, status.st_mtime_ns)


def read(path: Path, wanted: Wanted = WANTED, skip: int = 0) -> list[Row]:
    """Every row, having checked that they are numbered from `skip` on."""
    found = list(read_part(whole_part(at(path)), wanted, skip=skip))
    assert [row for row, _ in found] == list(range(skip, skip + len(found)))
    return [text for _, text in found]


def until_broken(path: Path) -> tuple[list[Row], BadFileError]:
    """The rows before the file ends badly, and how."""
    rows = []
    with pytest.raises(BadFileError) as ended:
        for _, text in read_part(whole_part(at(path)), WANTED, skip=0):
            rows.append(text)
    return rows, ended.value


def why(row: Row) -> str:
    assert isinstance(row, Bad), row
    return row.why


def lines(texts: list[str], end: str = "\n", ascii_only: bool = False) -> bytes:
    return "".join(json.dumps({"text": one}, ensure_ascii=ascii_only) + end for one in texts).encode()


def test_f11_a_mark_crlf_blank_lines_and_spaces_change_no_document(tmp_path: Path) -> None:
    """F11: identical documents from all variants."""
    variants = {
        "plain": lines(THREE),
        "escaped": lines(THREE, ascii_only=True),
        "mark": b"\xef\xbb\xbf" + lines(THREE),
        "crlf": lines(THREE, "\r\n"),
        "mark and crlf": b"\xef\xbb\xbf" + lines(THREE, "\r\n"),
        "blank": lines(THREE, "\n\n  \n\r\n"),
        "spaces": lines(THREE, "   \n"),
        "no end": lines(THREE).removesuffix(b"\n"),
    }
    for name, content in variants.items():
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(content)
        assert [row for row in read(path) if row] == THREE, name
    assert read(tmp_path / "blank.jsonl")[4] == THREE[1], "a row is a line, blank ones counted"


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_f10_all_frames_of_a_file_are_read(tmp_path: Path, suffix: str) -> None:
    """F10: files appended to each other, a frame that is to be skipped, and an empty one."""
    frames = [compressed(lines(THREE[:1]), suffix), compressed(b"", suffix), compressed(lines(THREE[1:]), suffix)]
    skippable = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"
    for name, content in {"plain": b"".join(frames), "skip": skippable + frames[0] + skippable + frames[2]}.items():
        if name == "skip" and suffix == ".gz":
            continue
        path = tmp_path / f"{name}.jsonl{suffix}"
        path.write_bytes(content)
        assert read(path) == THREE
    other = tmp_path / "by-content.jsonl"
    other.write_bytes(frames[0])
    assert read(other) == THREE[:1], "what is compressed follows from the bytes"


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_data_that_is_cut_or_corrupt_is_told_with_the_rows_before_it(tmp_path: Path, suffix: str) -> None:
    noise = np.random.default_rng(1)
    texts = [noise.bytes(3000).hex() for _ in range(2000)]
    content = compressed(lines(texts), suffix)
    path = tmp_path / f"cut.jsonl{suffix}"
    for keep in (len(content) - 5, len(content) // 2):
        path.write_bytes(content[:keep])
        rows, error = until_broken(path)
        assert "is cut" in error.why and error.row == len(rows)
        assert rows == texts[: len(rows)]
        assert len(rows) > 0.3 * len(texts) * keep / len(content)
    path.write_bytes(content + content[:10])
    rows, error = until_broken(path)
    assert len(rows) >= len(texts) - 400 and rows == texts[: len(rows)]
    path.write_bytes(content[: len(content) // 2] + bytes(100) + content[len(content) // 2 + 100 :])
    if suffix == ".gz":  # which has a checksum, and of what is before a wrong one nothing can be trusted
        rows, error = until_broken(path)
        assert (rows, error.row) == ([], 0) and "is corrupt" in error.why
    path.write_bytes(content + b"more")
    rows, error = until_broken(path)
    assert "has something else behind its last frame" in error.why and rows == texts[: len(rows)]


def test_f13_bad_bytes_and_lone_surrogates_are_named_and_their_neighbours_read(tmp_path: Path) -> None:
    """F13: NUL is text; the others are bad rows, and no worker dies."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b'{"text": "a\\ud800b"}\n{"text": "\xff\xfe"}\n{"text": "x\\u0000y"}\n{"text": "\\ud83d\\ude00"}\n'
    )
    rows = read(path)
    assert why(rows[0]) == "has a lone surrogate, U+D800, at character 1"
    assert why(rows[1]) == "is not UTF-8: byte 0xff at 10"
    assert rows[2:] == ["x\0y", "😀"]
    parquet = tmp_path / "a.parquet"
    column = pa.array([b"ok", b"\xff\xfe", b"\xed\xa0\x80", None], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": column}), parquet)
    rows = read(parquet)
    assert (rows[0], why(rows[1]), why(rows[2]), rows[3]) == (
        "ok", "is not UTF-8: byte 0xff at 0", "is not UTF-8: byte 0xed at 0", None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "is not JSON (Expecting property name"),
        (b'{"text": "cut', "is not JSON (Unterminated string"),
        (b"[1]", "is JSON and no object: '[1]'"),
        (b'{"body": "x", "id": 1}', "has no key 'text'; its keys are body, id"),
        (b"{}", "has no key 'text'; its keys are none"),
        (b'{"text": 5}', "has '5' under 'text', which is no text"),
        (b'{"text": ["x"]}', "which is no text"),
        (b'{"text": "' + b"x" * (1 << 20) + b'"}', "has 1,048,588 bytes, over the 1,048,576 of --max-document"),
        (b'{"text":' + b"[" * 100_000, "is not JSON"),
        (b'{"text": ' + b"9" * 5000 + b"}", "is not JSON"),
    ],
)
def test_a_bad_line_is_told_and_the_next_one_read(tmp_path: Path, line: bytes, said: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines(["before"]) + line + b"\n" + lines(["after"]))
    rows = read(path)
    assert (rows[0], rows[2]) == ("before", "after")
    assert said in why(rows[1])


@pytest.mark.parametrize("name", ["a.jsonl", "a.txt", "a"])
@pytest.mark.parametrize(
    ("encode", "said"),
    [
        (bz2.compress, "is bzip2, which is not read; UTF-8 is, in gzip or Zstandard too"),
        (lzma.compress, "is xz, which"),
        (lambda content: pa.compress(content, "lz4", asbytes=True), "is lz4, which"),
        (lambda content: content.decode().encode("utf-16"), "is UTF-16, which"),
        (lambda content: content.decode().encode("utf-32"), "is UTF-32, which"),
        (lambda content: b"\xfe\xff" + content.decode().encode("utf-16-be"), "is UTF-16, which"),
        (lambda content: b"PK\x03\x04" + content, "is a zip archive, which"),
    ],
)
def test_another_compression_or_coding_is_named_once_for_the_whole_file(
    tmp_path: Path, name: str, encode: Callable[[bytes], bytes], said: str
) -> None:
    path = tmp_path / name
    path.write_bytes(encode(lines(THREE * 1000)))
    rows, ended = until_broken(path)
    assert rows == [] and ended.why.startswith(said)
    assert cut_input(at(path), 1000) == [whole_part(at(path))]


@pytest.mark.parametrize("text", ["BZh9 is a word", "PK", "PARENT", "7z"])
def test_text_that_only_begins_like_something_else_is_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text)
    assert read(path) == [text]


def test_a_line_of_a_gigabyte_is_passed_over_in_little_memory(tmp_path: Path) -> None:
    import tracemalloc

    path = tmp_path / "a.jsonl"
    with path.open("wb") as file:
        file.write(lines(["before"]))
        file.seek(1_000_000_000, os.SEEK_CUR)  # a hole: no disk
        file.write(b"\n" + lines(["after"]))
    tracemalloc.start()
    rows = read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (rows[0], why(rows[1]), rows[2]) == (
        "before", "has 1,000,000,000 bytes, over the 1,048,576 of --max-document", "after",
    )  # fmt: skip
    assert peak < 16 << 20


def test_f02_nulls_are_nulls_and_words_are_words(tmp_path: Path) -> None:
    """F02: a column that is all null, in one file, in one chunk, or in some rows; and the word null."""
    pq.write_table(pa.table({"text": pa.nulls(3)}), tmp_path / "null.parquet")
    pq.write_table(pa.table({"text": [None, "null", "", "None", None]}), tmp_path / "mixed.parquet", row_group_size=1)
    (tmp_path / "a.jsonl").write_bytes(b'{"text": null}\n{"text": "null"}\n{"text": ""}\n')
    assert read(tmp_path / "null.parquet") == [None, None, None]
    assert read(tmp_path / "mixed.parquet") == [None, "null", "", "None", None]
    assert read(tmp_path / "a.jsonl") == [None, "null", ""]


def test_f01_parquet_without_rows_gives_none(tmp_path: Path) -> None:
    """F01: no row group, and one that is empty."""
    schema = pa.schema([("text", pa.string())])
    with pq.ParquetWriter(tmp_path / "none.parquet", schema):
        pass
    with pq.ParquetWriter(tmp_path / "empty.parquet", schema) as writer:
        writer.write_table(schema.empty_table())
    assert read(tmp_path / "none.parquet") == read(tmp_path / "empty.parquet") == []


def test_f07_arrow_as_file_and_stream_whole_and_cut(tmp_path: Path) -> None:
    """F07: the same rows from all; of cut ones the whole batches, and what is wrong."""
    table = pa.table({"id": range(30), "text": [f"row {n}" for n in range(30)]})
    texts = table.column("text").to_pylist()

    def written(kind: str, compression: str | None = None) -> bytes:
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression=compression)
        make = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
        with make(sink, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=10)
        return sink.getvalue().to_pybytes()

    path = tmp_path / "a.arrow"
    for content in (
        written("file"), written("stream"), written("stream")[:-8], written("file", "lz4"), written("stream", "zstd"),
    ):  # fmt: skip
        path.write_bytes(content)
        assert read(path) == texts
        assert read(path, skip=15) == texts[15:]
    path.write_bytes(written("file")[:-20])
    rows, error = until_broken(path)
    assert rows == texts and "is cut: 30 rows were recovered" in error.why
    path.write_bytes(written("stream")[:-200])
    rows, error = until_broken(path)
    assert rows == texts[:20] and error.row == 20


def test_f08_dictionaries_are_their_texts(tmp_path: Path) -> None:
    """F08: dictionary-encoded in the schema, in a part of a chunk, with nulls, and replaced within a stream."""
    texts = [None if n % 7 == 0 else f"text {n % 5}" for n in range(500)] + [f"long {n}" * 50 for n in range(500)]
    column = pa.array(texts)
    pq.write_table(
        pa.table({"text": column}), tmp_path / "part.parquet", dictionary_pagesize_limit=1024, data_page_size=512
    )
    pq.write_table(pa.table({"text": column.dictionary_encode()}), tmp_path / "schema.parquet")
    schema = pa.schema([("text", pa.dictionary(pa.int32(), pa.string()))])
    with pa.ipc.new_stream(str(tmp_path / "replaced.arrow"), schema) as writer:
        for start in range(0, 1000, 100):
            part = column.slice(start, 100).dictionary_encode()
            writer.write_batch(pa.record_batch([part.cast(schema.field(0).type)], schema=schema))
    for name in ("part.parquet", "schema.parquet", "replaced.arrow"):
        assert read(tmp_path / name) == texts, name


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()])
def test_every_type_of_text(tmp_path: Path, kind: pa.DataType) -> None:
    texts = ["one", None, "", "zwei ü"]
    values = [None if one is None else one.encode() for one in texts] if "binary" in str(kind) else texts
    with pa.ipc.new_file(str(tmp_path / "a.arrow"), pa.schema([("text", kind)])) as writer:
        writer.write_batch(pa.record_batch([pa.array(values, kind)], names=["text"]))
    assert read(tmp_path / "a.arrow") == texts


def test_a_missing_column_or_another_type_is_told_with_the_columns_there_are(tmp_path: Path) -> None:
    pq.write_table(pa.table({"body": ["x"], "id": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"text": [1]}), tmp_path / "b.parquet")
    assert until_broken(tmp_path / "a.parquet")[1].why == (
        "has no column 'text'; its columns are body, id: name it by --text-column, or leave the file out"
    )
    assert "has int64 in column 'text', which is no text" in until_broken(tmp_path / "b.parquet")[1].why
    assert read(tmp_path / "a.parquet", Wanted("body", 100)) == ["x"]


def test_a_damaged_parquet_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["x" * 100] * 1000}), path, compression="none", use_dictionary=False)
    whole = path.read_bytes()
    for content in (whole[:-20], whole[: len(whole) // 2], b"PAR1", b"junk" + whole[4:]):
        path.write_bytes(content)
        _, error = until_broken(path)
        assert error.row == 0


def test_plain_files_are_one_document_each(tmp_path: Path) -> None:
    content = "\ufeffTitle\r\n\r\nline\x85two\u2028end\n"
    (tmp_path / "a.txt").write_bytes(content.encode())
    (tmp_path / "b.md.gz").write_bytes(gzip.compress(content.encode()))
    (tmp_path / "c.txt").write_bytes(b"\xff\xfeno UTF-16")
    (tmp_path / "d.txt").write_bytes(b"x" * (1 << 21))
    (tmp_path / "e.txt").write_bytes(b'{"text": "no JSON lines by its name"}\n')
    assert read(tmp_path / "a.txt") == read(tmp_path / "b.md.gz") == [content.removeprefix("\ufeff")]
    assert "is not UTF-8" in why(read(tmp_path / "c.txt")[0])
    assert "over the 1,048,576" in why(read(tmp_path / "d.txt")[0])
    assert read(tmp_path / "e.txt") == ['{"text": "no JSON lines by its name"}\n']


def test_a_name_that_says_nothing_leaves_it_to_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "part-0.gz").write_bytes(gzip.compress(lines(THREE)))
    (tmp_path / "main.c").write_bytes(b"{\n  int x;\n}\n")
    assert read(tmp_path / "part-0.gz") == THREE
    assert read(tmp_path / "main.c") == ["{\n  int x;\n}\n"]


def test_a_file_that_grows_or_goes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    """F17: a file whose size changed since it was listed is reported, never half read."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines(THREE))
    part = whole_part(at(path))
    with path.open("ab") as file:
        file.write(lines(THREE))
    with pytest.raises(
        SourceError, match=r"a\.jsonl can't be read \(changed from \d+ to \d+ bytes since it was listed\)"
    ):
        list(read_part(part, WANTED, skip=0))
    path.unlink()
    with pytest.raises(SourceError, match=r"a\.jsonl can't be read \(No such file or directory\)"):
        list(read_part(part, WANTED, skip=0))


def test_f17_f18_f19_a_folder_gives_each_good_file_once(tmp_path: Path) -> None:
    """F17, F18, F19: helper files are left out and listed, links are followed once, and `=` means nothing."""
    good = ["a.jsonl", "lang=9319/b.parquet", "sub dir%#/ü.txt.gz"]
    for name in [*good, "_temporary/x.jsonl", ".staging/x.jsonl", "_SUCCESS", "._a.jsonl", "x.jsonl.tmp", "x.bin"]:
        path = tmp_path / "raw" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    (tmp_path / "raw" / "again.jsonl").symlink_to("a.jsonl")
    (tmp_path / "raw" / "loop").symlink_to(".")
    (tmp_path / "raw" / "broken.jsonl").symlink_to("nowhere")
    listing = list_inputs([Asked("", str(tmp_path / "raw"))])
    assert [item.path for item in listing.inputs] == good
    ignored = {Path(name).name: reason for name, reason in listing.ignored}
    assert ignored["x.bin"] == "no text file by its extension"
    assert ignored["again.jsonl"] == "same file as a.jsonl"
    assert set(ignored) == {
        "_temporary", ".staging", "_SUCCESS", "._a.jsonl", "x.jsonl.tmp", "x.bin", "again.jsonl", "loop",
        "broken.jsonl",
    }  # fmt: skip


LINE = st.one_of(st.just(b""), st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")))


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(LINE, min_size=1, max_size=40), st.booleans(), st.integers(1, 60))
def test_the_parts_of_a_file_have_its_lines_once_and_their_numbers(
    tmp_path: Path, content: list[bytes], ends: bool, target: int
) -> None:
    path = tmp_path / "a.jsonl"
    whole = b"\n".join(b'{"text": "%s"}' % line.hex().encode() if line else b"" for line in content)
    path.write_bytes(whole + b"\n" if ends or not whole else whole)
    item = at(path)
    expected = list(read_part(whole_part(item), WANTED, skip=0))
    found = [row for part in cut_input(item, target) for row in read_part(part, WANTED, skip=0)]
    assert found == expected
    for part in cut_input(item, target):
        rows = list(read_part(part, WANTED, skip=0))
        assert list(read_part(part, WANTED, skip=2)) == rows[2:]
