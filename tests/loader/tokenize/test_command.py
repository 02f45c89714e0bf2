"""`headrace tokenize`: what it prints, what it refuses, and what it does about bad input."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace import cli

from tests.loader.tokenize.making import contents, rows, shards, text, write_lines


def said(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> tuple[str, str]:
    assert cli.main(["tokenize", *words]) == status
    return capsys.readouterr()


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """Good and bad rows and files side by side."""
    folder = tmp_path / "bad"
    folder.mkdir()
    good = [json.dumps({"text": text(n)}) for n in range(6)]
    (folder / "a.jsonl").write_text("\n".join([good[0], "{", good[1], '{"text": null}', '{"text": ""}']))
    cut = gzip.compress("\n".join(good[2:4] + ['{"text": "and more"}'] * 5000).encode())
    (folder / "b.jsonl.gz").write_bytes(cut[: len(cut) - 8])
    pq.write_table(pa.table({"body": ["x"]}), folder / "c.parquet")
    pq.write_table(pa.table({"text": [text(4), None]}), folder / "d.parquet")
    (folder / "e.txt").write_bytes(text(5).encode() + b"\xff")
    return folder


def test_error_stops_at_the_first_bad_row_and_names_it(
    bad: Path, tokenizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (str(bad), "--tokenizer", tokenizer, "-o", str(tmp_path / "out"), "--workers", "1")
    _, errors = said(capsys, *words, status=1)
    assert f"headrace tokenize: {bad}/a.jsonl, row 1 (line 2): it is not JSON (" in errors
    assert "go on without it by --on-bad skip (what is finished is kept)" in errors
    assert shards(tmp_path / "out") == []
    assert not json.loads((tmp_path / "out" / "manifest.json").read_text())["complete"]


def test_a_bad_row_that_is_mended_lets_the_run_go_on(
    tmp_path: Path, tokenizer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a file that is divided, and in one that isn't; what other units finished is kept."""
    for name, count in (("a.jsonl", 100), ("b.jsonl", 10), ("c.jsonl.gz", 10)):
        write_lines(tmp_path / "raw" / name, [text(n) for n in range(count)])
    large, small = tmp_path / "raw" / "a.jsonl", tmp_path / "raw" / "b.jsonl"
    whole = {path: path.read_bytes() for path in (large, small)}
    for path, content in whole.items():
        path.write_bytes(b"{\n" + content)
    out = tmp_path / "out"
    words = (str(tmp_path / "raw"), "--tokenizer", tokenizer, "-o", str(out), "--workers", "1", "--shard-size", "20kB")
    for path, content in whole.items():
        _, errors = said(capsys, *words, status=1)
        assert f"{path}, row 0 (line 1): it is not JSON" in errors
        path.write_bytes(content)
    said(capsys, *words)
    expected = [
        (str(tmp_path / "raw" / name), n)
        for name, k in (("a.jsonl", 100), ("b.jsonl", 10), ("c.jsonl.gz", 10))
        for n in range(k)
    ]
    assert sorted(origin for _, origin in rows(out)) == sorted(expected)
    made = contents(out)
    said(capsys, *words)
    assert contents(out) == made


def test_skip_goes_on_and_counts_and_names_everything(
    bad: Path, tokenizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = (str(bad), "--tokenizer", tokenizer, "-o", str(out), "--workers", "1")
    said(capsys, *words, status=1)
    printed, errors = said(capsys, *words, "--on-bad", "skip", "--json")
    summary = json.loads(printed)
    assert errors == ""
    total = summary["total"]
    assert (total["null"], total["empty"], total["bad"], total["bad_files"]) == (2, 1, 2, 2)
    assert total["rows"] == total["documents"] + total["null"] + total["empty"] + total["bad"]
    whys = {(Path(one["input"]).name, one["line"], one["file"]): one["why"] for one in summary["bad"]}
    assert whys.pop(("a.jsonl", 2, False)).startswith("is not JSON")
    assert whys.pop(("c.parquet", 1, True)).startswith("has no column 'text'; its columns are body")
    assert whys.pop(("e.txt", 1, False)).startswith("is not UTF-8")
    [((name, line, is_file), why)] = whys.items()
    assert (name, is_file) == ("b.jsonl.gz", True) and "is cut" in why
    assert total["documents"] == 2 + (line - 1) + 1
    found = {(Path(origin.input).name, origin.row) for _, origin in rows(out)}
    assert {("a.jsonl", 0), ("a.jsonl", 2), ("b.jsonl.gz", 0), ("d.parquet", 0)} <= found
    assert ("a.jsonl", 1) not in found
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["complete"] and manifest["bad"] == summary["bad"]
    table, _ = said(capsys, *words, "--on-bad", "skip")
    assert "left out: 1 empty rows, 2 null rows, 2 bad rows, 2 files not read to the end" in table
    assert f"  {bad}/a.jsonl, row 1 (line 2): it is not JSON" in table
    assert table.endswith("nothing was left to do\n")


def test_inputs_that_give_nothing_are_told_apart_from_nothing_to_do(
    tmp_path: Path, tokenizer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": null}\n')
    words = (str(path), "--tokenizer", tokenizer, "-o", str(tmp_path / "out"))
    first, _ = said(capsys, *words)
    assert first.endswith("/out: no new shard: the 1 new inputs gave no document\n")
    again, _ = said(capsys, *words)
    assert again.endswith("/out: nothing was left to do\n")


def test_the_table_and_the_progress(tmp_path: Path, tokenizer: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("web", "code"):
        write_lines(tmp_path / f"{name}.jsonl", [text(n) for n in range(50)])
    words = [f"{name}={tmp_path}/{name}.jsonl" for name in ("web", "code")]
    table, _ = said(capsys, *words, "--tokenizer", tokenizer, "-o", str(tmp_path / "out"))
    lines = table.splitlines()
    assert lines[0].split() == ["source", "shards", "documents", "tokens", "bytes/token", "left", "out"]
    assert [line.split()[:3] for line in lines[1:4]] == [["code", "1", "50"], ["web", "1", "50"], ["total", "2", "100"]]
    assert "2 new shards with" in lines[-1] and "M tokens/s" in lines[-1]
    assert max(map(len, lines[:4])) <= 80


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--shard-size", "many"], "argument --shard-size: it is 'many'; it must be a size, as in 256MB or 64MiB"),
        (["--workers", "0"], "argument --workers: it is '0'; it must be a whole number, 1 or more"),
        (["--split-long", "5"], "argument --split-long: it is '5'; it must be a whole number, 1,024 or more"),
        (["--on-bad", "ignore"], "argument --on-bad: invalid choice: 'ignore'"),
        (["--engin", "ray"], "unknown option '--engin'; did you mean '--engine'?"),
    ],
)
def test_misuse(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["tokenize", "x", "--tokenizer", "y", "-o", "z", *words])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--shard-size", "0"], "--shard-size is 0; it must be a whole number of bytes, 1,024 or more"),
        (["--text-column", ""], "--text-column is empty"),
        (["--ray-address", "auto"], "--ray-address is auto, and --engine is local; give --engine ray with it"),
    ],
)
def test_a_value_that_can_not_be_is_refused_before_anything_is_made(
    tmp_path: Path, tokenizer: str, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_lines(tmp_path / "a.jsonl", ["x"])
    out = tmp_path / "out"
    _, errors = said(capsys, str(tmp_path), "--tokenizer", tokenizer, "-o", str(out), *words, status=2)
    assert message in errors
    assert not out.exists()


def test_a_folder_that_can_not_be_written_is_refused(
    tmp_path: Path, tokenizer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_lines(tmp_path / "a.jsonl", ["x"])
    _, errors = said(capsys, str(tmp_path), "--tokenizer", tokenizer, "-o", str(tmp_path / "a.jsonl" / "out"), status=2)
    assert "can't be written (Not a directory); name another folder by -o" in errors


def test_split_long_keeps_a_document_one_document(
    tmp_path: Path, sentences: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_lines(tmp_path / "a.jsonl", [text(1, 2000), text(2)])
    for name, more in (("whole", []), ("split", ["--split-long", "1024"])):
        said(capsys, str(tmp_path / "a.jsonl"), "--tokenizer", sentences, "-o", str(tmp_path / name), *more)
    whole, split = rows(tmp_path / "whole"), rows(tmp_path / "split")
    assert [origin for _, origin in whole] == [origin for _, origin in split]
    assert whole[1] == split[1]
    assert contents(tmp_path / "whole")["000000-0000.arrow"] != b""
