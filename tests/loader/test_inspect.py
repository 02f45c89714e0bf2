"""`headrace inspect`: what it says of a source is what the source holds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from headrace import cli, lengths
from headrace.formats.writer import ShardWriter

from tests.loader.corpora import numbered, write_shard


def seen(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.main(["inspect", *words]) == 0
    return capsys.readouterr().out


@pytest.fixture
def web(tmp_path: Path) -> Path:
    """Lengths 1 to 9, a null and an empty row, in row groups of 4; a helper file."""
    rows = [*numbered(range(1, 10)), None, []]
    write_shard(tmp_path / "web" / "a", rows, "parquet", np.uint16, batch_rows=4)
    (tmp_path / "web" / "_SUCCESS").touch()
    return tmp_path / "web"


def test_figures_of_a_source(web: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [source] = json.loads(seen(capsys, str(web), "--json"))["sources"]
    assert source["name"] == "web"
    assert source["dtype"] == "uint16"
    assert (source["shards"], source["blocks"], source["documents"], source["tokens"]) == (1, 3, 9, 45)
    assert source["null_rows"] + source["empty_rows"] == 2
    assert (source["min_token"], source["max_token"]) == (1, 45)
    assert [path for path, _ in source["ignored"]] == ["_SUCCESS"]
    assert source["bytes"] == (web / "a.parquet").stat().st_size
    measured = source["lengths"]
    assert measured["whole_source"]
    assert measured["histogram"] == [[1, 1, 1], [2, 3, 2], [4, 7, 4], [8, 15, 2]]
    assert (measured["min"], measured["median"], measured["p90"], measured["max"]) == (1, 5, 9, 9)
    assert (measured["min_token"], measured["max_token"]) == (1, 45)


def test_a_sample_is_exact_and_says_that_it_is_one(
    web: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.inspect.SAMPLE_BLOCKS", 2)
    [source] = json.loads(seen(capsys, str(web), "--json"))["sources"]
    assert source["lengths"]["blocks"] == 2
    assert not source["lengths"]["whole_source"]
    assert sum(count for _, _, count in source["lengths"]["histogram"]) == source["lengths"]["documents"] < 9
    assert "lengths of 2 of 3 blocks" in seen(capsys, str(web))
    assert "lengths of all documents" in seen(capsys, str(web), "--full")


def test_a_sample_of_huge_blocks_ends_early(
    web: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lengths, "SAMPLE_TOKENS", 1)
    [source] = json.loads(seen(capsys, str(web), "--json"))["sources"]
    assert source["lengths"]["blocks"] == 1


def test_ids_of_a_mapped_shard_are_those_of_its_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows that are left out lie between them."""
    with ShardWriter(tmp_path / "a.arrow", dtype=np.uint16) as shard:
        shard.write([[7, 9], [], [8, 500]])
    [source] = json.loads(seen(capsys, str(tmp_path / "a.arrow"), "--json"))["sources"]
    assert (source["lengths"]["min_token"], source["lengths"]["max_token"]) == (7, 500)


def test_epochs_of_a_planned_run(web: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By weight, separators counted: 54 tokens of web, 20 of code."""
    write_shard(tmp_path / "code" / "a", numbered([8, 10]), "headrace", np.uint16)
    words = (f"{web}:0.75", f"{tmp_path / 'code'}:0.25", "--steps", "10", "--global-batch-size", "8", "--seq-len", "5")
    shown = json.loads(seen(capsys, *words, "--eos-id", "0", "--json"))
    plan = {part["name"]: part for part in shown["forecast"]}
    assert plan["web"]["sequences"] == 60
    assert plan["web"]["epochs"] == pytest.approx(300 / 54)
    assert plan["code"]["tokens"] == 100
    assert plan["code"]["epochs"] == pytest.approx(5)
    assert "10 steps × 8 sequences × 5 tokens" in seen(capsys, *words)


def test_the_text_fits_a_terminal(web: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = seen(capsys, f"web={web}", "--steps", "1000000", "--seq-len", "9").replace(str(web), "/data/web")
    assert max(map(len, printed.splitlines())) <= 80
    assert "web: /data/web, column 'tokens'" in printed


def test_a_path_that_is_not_there_ends_with_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "web").mkdir()
    assert cli.main(["inspect", str(tmp_path / "wbe")]) == 1
    assert f"the closest existing path is {tmp_path / 'web'}" in capsys.readouterr().err
