"""`tokenize`: the same shards however they are made, each document once, and nothing done twice."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tokenizers
from headrace import ConfigError, SourceError
from headrace.manifest import read_manifest
from headrace.tokenize import Options, tokenize
from headrace.tokenize.local import shares

from tests.loader.tokenize.making import compressed, contents, rows, shards, text, train_tokenizer, write_lines

SMALL = Options(shard_bytes=8_000)


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """Five files of four kinds: 200 documents, and a null and an empty one in each."""
    folder = tmp_path / "raw"
    texts = [[text(40 * n + i) for i in range(40)] + [None, ""] for n in range(5)]
    write_lines(folder / "a.jsonl", texts[0])
    write_lines(folder / "b.jsonl.gz", texts[1])
    write_lines(folder / "c" / "deep.jsonl.zst", texts[2])
    pq.write_table(pa.table({"id": range(42), "text": texts[3]}), folder / "d.parquet", row_group_size=11)
    with pa.ipc.new_file(str(folder / "e.arrow"), pa.schema([("text", pa.large_string())])) as file:
        file.write_table(pa.table({"text": pa.array(texts[4], pa.large_string())}), max_chunksize=13)
    return folder


def expected(tokenizer: str, numbers: range = range(200)) -> list[list[int]]:
    """What the bare library makes of the documents."""
    bare = tokenizers.Tokenizer.from_file(tokenizer)
    bare.encode_special_tokens = True
    return [bare.encode(text(n), add_special_tokens=False).ids for n in numbers]


def test_every_document_once_and_as_the_library_encodes_it(raw: Path, tokenizer: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    summary = tokenize(str(raw), tokenizer, out, options=SMALL, workers=2)
    found = rows(out)
    assert [ids for ids, _ in found] == expected(tokenizer)
    names = ["a.jsonl", "b.jsonl.gz", "c/deep.jsonl.zst", "d.parquet", "e.arrow"]
    assert [origin for _, origin in found] == [(str(raw / name), row) for name in names for row in range(40)]
    total = summary.total
    assert (total.rows, total.documents, total.null, total.empty, total.bad) == (210, 200, 5, 5, 0)
    assert total.tokens == sum(len(ids) for ids, _ in found)
    assert total.text_bytes == sum(len(text(n).encode()) for n in range(200))


@pytest.mark.parametrize("where", ["raw/out", "link/out"])
def test_what_it_made_is_never_its_input(raw: Path, tokenizer: str, tmp_path: Path, where: str) -> None:
    """Shards may go below the text, by another name too; those of an earlier folder there are left out as well."""
    (tmp_path / "link").symlink_to(raw)
    first = tokenize(str(raw), tokenizer, raw / "earlier", options=SMALL, workers=2)
    out = tmp_path / where
    assert tokenize(str(raw), tokenizer, out, options=SMALL, workers=2).total == first.total
    write_lines(raw / "f.jsonl", [text(200)])
    again = tokenize(str(raw), tokenizer, out, options=SMALL, workers=2)
    assert (again.new_inputs, again.total.documents) == (1, 201)
    made = {name for name, why in again.ignored if why == "made by headrace tokenize"}
    assert {str(raw / "earlier" / name) for name in ("manifest.json", "tokenize.json", "000000-0000.arrow")} <= made
    with pytest.raises(SourceError, match=r"all \d+ files found, such as .*, were made by headrace tokenize"):
        tokenize(str(raw / "earlier"), tokenizer, tmp_path / "third")


def test_text_that_is_called_like_a_book_is_read_outside_the_folder_of_shards(tokenizer: str, tmp_path: Path) -> None:
    write_lines(tmp_path / "raw" / "manifest.json", [text(0)])
    for _ in range(2):
        summary = tokenize(str(tmp_path), tokenizer, tmp_path, options=SMALL)
        assert summary.total.documents == 1


def test_an_empty_input_is_refused(tokenizer: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="an input is empty"):
        tokenize("", tokenizer, tmp_path / "out")


@pytest.fixture
def raw_in_order(tmp_path: Path) -> Path:
    folder = tmp_path / "ordered"
    for n in range(4):
        write_lines(folder / f"{n}.jsonl{['', '.gz', '.zst', ''][n]}", [text(50 * n + i) for i in range(50)])
    return folder


def test_any_number_of_workers_makes_the_same_bytes(raw: Path, tokenizer: str, tmp_path: Path) -> None:
    made = []
    for workers in (1, 2, 9):
        tokenize(str(raw), tokenizer, tmp_path / f"out{workers}", options=SMALL, workers=workers)
        made.append(contents(tmp_path / f"out{workers}"))
    assert made[0] == made[1] == made[2]
    assert len(shards(tmp_path / "out1")) > 5


@pytest.mark.parametrize(
    ("cores", "threads", "units", "expected"),
    [
        (2, 4, 9, [2]),
        (4, 4, 9, [4]),
        (9, 4, 9, [3, 3, 3]),
        (10, 4, 9, [4, 3, 3]),
        (3, 1, 9, [1, 1, 1]),
        (3, 1, 2, [2, 1]),
        (16, 4, 1, [16]),
        (8, 4, 0, []),
    ],
)
def test_processes_share_out_all_cores(cores: int, threads: int, units: int, expected: list[int]) -> None:
    assert shares(cores, threads, units) == expected


def test_one_unit_on_many_threads_makes_the_same_bytes(tmp_path: Path, tokenizer: str) -> None:
    """A single compressed file can't be divided: its documents are encoded on all cores."""
    path = write_lines(tmp_path / "all.jsonl.gz", [text(n) for n in range(300)])
    for workers in (1, 3):
        tokenize(str(path), tokenizer, tmp_path / f"out{workers}", options=SMALL, workers=workers)
    assert contents(tmp_path / "out1") == contents(tmp_path / "out3")
    assert len(shards(tmp_path / "out1")) > 3


def test_a_large_file_of_lines_is_divided_and_its_rows_keep_their_numbers(tmp_path: Path, tokenizer: str) -> None:
    path = write_lines(tmp_path / "all.jsonl", [text(n) for n in range(300)])
    out = tmp_path / "out"
    tokenize(str(path), tokenizer, out, options=SMALL, workers=1)
    found = rows(out)
    assert len({shard.name.split("-")[0] for shard in shards(out)}) > 3
    assert [ids for ids, _ in found] == expected(tokenizer, range(300))
    assert [origin.row for _, origin in found] == list(range(300))


def test_a_large_parquet_file_is_divided_by_row_groups(tmp_path: Path, tokenizer: str) -> None:
    path = tmp_path / "all.parquet"
    pq.write_table(pa.table({"text": [text(n) for n in range(300)]}), path, row_group_size=25)
    out = tmp_path / "out"
    tokenize(str(path), tokenizer, out, options=SMALL, workers=1)
    assert [ids for ids, _ in rows(out)] == expected(tokenizer, range(300))
    assert [origin.row for _, origin in rows(out)] == list(range(300))
    assert len({shard.name.split("-")[0] for shard in shards(out)}) > 3


def test_the_loader_reads_the_shards_and_their_counts(raw: Path, tokenizer: str, tmp_path: Path) -> None:
    """P05: there is no filler, so what is trained on is every token of every document, and one separator each."""
    from headrace import Source

    from tests.loader.corpora import open_loader, take_step

    out = tmp_path / "out"
    tokenize(str(raw), tokenizer, out, options=Options(shard_bytes=8_000, compression="zstd"), workers=2)
    manifest = read_manifest("text", out)
    told = json.loads((out / "manifest.json").read_text())
    assert told["complete"]
    assert manifest.num_documents == sum(shard["documents"] for shard in told["shards"]) == 200
    assert manifest.num_tokens == sum(shard["tokens"] for shard in told["shards"])
    assert [shard.path for shard in manifest.shards] == [shard["path"] for shard in told["shards"]]
    assert manifest.token_dtype == np.uint16 == np.dtype(told["dtype"])
    with open_loader([Source("text", str(out))], eos_id=0, vocab_size=400, prefetch=0) as loader:
        take_step(loader)


def test_shards_are_bounded(tmp_path: Path, tokenizer: str) -> None:
    path = write_lines(tmp_path / "all.jsonl.gz", [text(n) for n in range(300)] + [text(7, 30_000)])
    tokenize(str(path), tokenizer, tmp_path / "out", options=SMALL, workers=1)
    for shard in shards(tmp_path / "out"):
        with pa.OSFile(str(shard), "rb") as file:
            table = pa.ipc.open_file(file).read_all()
        assert table.num_rows == 1 or table.nbytes <= SMALL.shard_bytes + 64


def test_a_second_run_does_nothing_and_changes_nothing(raw: Path, tokenizer: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = tokenize(str(raw), tokenizer, out, options=SMALL, workers=2)
    before = {path: path.stat().st_mtime_ns for path in shards(out)}
    made = contents(out)
    again = tokenize(str(raw), tokenizer, out, options=SMALL, workers=2)
    assert (again.new_shards, again.new_inputs, again.new_tokens) == (0, 0, 0)
    assert again.sources == first.sources
    assert contents(out) == made
    assert {path: path.stat().st_mtime_ns for path in shards(out)} == before


def test_new_inputs_alone_are_tokenised_and_their_shards_come_behind(
    raw_in_order: Path, tokenizer: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    tokenize(str(raw_in_order), tokenizer, out, options=SMALL, workers=2)
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in shards(out)}
    write_lines(raw_in_order / "00-first.jsonl", [text(n) for n in range(200, 230)])
    write_lines(tmp_path / "more.jsonl.gz", [text(n) for n in range(230, 260)])
    summary = tokenize([str(raw_in_order), str(tmp_path / "more.jsonl.gz")], tokenizer, out, options=SMALL, workers=2)
    assert summary.new_inputs == 2
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in before} == before
    assert shards(out)[: len(before)] == list(before)
    found = [ids for ids, _ in rows(out)]
    assert found[:200] == expected(tokenizer)
    assert sorted(found[200:]) == sorted(expected(tokenizer, range(200, 260)))
    alone = tokenize(str(tmp_path / "more.jsonl.gz"), tokenizer, out, options=SMALL, workers=2)
    assert (alone.new_inputs, alone.total.documents) == (0, 260), "inputs of earlier runs need not be named again"


def test_sources_by_name_have_folders_and_counts_of_their_own(
    raw_in_order: Path, tokenizer: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    asked = [f"web={raw_in_order}/[01]*", f"web={raw_in_order}/0.jsonl", f"code={raw_in_order}/2.jsonl.zst"]
    with pytest.raises(SourceError, match=r"\[01\]\* matches none of the 4 files"):  # brackets mean themselves
        tokenize(asked, tokenizer, out, options=SMALL)
    asked[0] = f"web={raw_in_order}/1.*"
    summary = tokenize(asked, tokenizer, out, options=SMALL, workers=2)
    assert {name: counts.documents for name, counts in summary.sources.items()} == {"code": 50, "web": 100}
    assert [ids for ids, _ in rows(out / "web")] == expected(tokenizer, range(100))
    assert [ids for ids, _ in rows(out / "code")] == expected(tokenizer, range(100, 150))
    assert read_manifest("web", out / "web").num_documents == 100


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"text_column": "body"}, "--text-column is body and was text when"),
        ({"shard_bytes": 9_000}, "--shard-size is 9000 and was 8000 when"),
        ({"vocab_size": 50_000}, "--vocab-size is 50000 and was None when"),
        ({"compression": "zstd"}, "--compression is zstd and was none when"),
        ({"special_tokens": "ids"}, "--special-tokens is ids and was text when"),
        ({"split_long": 4096}, "--split-long is 4096 and was None when"),
        ({"max_document_bytes": 1000}, "--max-document is 1000 and was 67108864 when"),
    ],
)
def test_another_option_is_refused_by_name(
    raw_in_order: Path, tokenizer: str, tmp_path: Path, changed: dict[str, object], said: str
) -> None:
    out = tmp_path / "out"
    tokenize(str(raw_in_order / "0.jsonl"), tokenizer, out, options=SMALL, workers=1)
    made = contents(out)
    with pytest.raises(ConfigError, match=said):
        tokenize(str(raw_in_order), tokenizer, out, options=Options(**{"shard_bytes": 8_000, **changed}), workers=1)  # type: ignore[arg-type]
    assert contents(out) == made


def test_another_tokenizer_is_refused_and_another_path_to_it_is_not(
    raw_in_order: Path, tokenizer: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    tokenize(str(raw_in_order / "0.jsonl"), tokenizer, out, options=SMALL, workers=1)
    other = train_tokenizer(tmp_path / "other.json", vocab_size=300)
    with pytest.raises(
        ConfigError, match=r"--tokenizer .*other\.json is another tokenizer: it has sha256 \w{12}, and it was"
    ):
        tokenize(str(raw_in_order), str(other), out, options=SMALL)
    copy = tmp_path / "copy.json"
    copy.write_bytes(Path(tokenizer).read_bytes())
    assert tokenize(str(raw_in_order / "0.jsonl"), str(copy), out, options=SMALL).new_shards == 0
    assert tokenize(str(raw_in_order / "0.jsonl"), str(out), out, options=SMALL).new_shards == 0, (
        "the folder's own copy"
    )


def test_an_input_that_was_changed_is_refused(raw_in_order: Path, tokenizer: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    tokenize(str(raw_in_order), tokenizer, out, options=SMALL, workers=1)
    path = raw_in_order / "0.jsonl"
    status = path.stat()
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(
        SourceError,
        match=r"0\.jsonl was changed since .* took it in, and shards were made of it: it had \d+ bytes and has \d+",
    ):
        tokenize(str(raw_in_order), tokenizer, out, options=SMALL)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(SourceError, match=r"it has another time of change; put it back"):
        tokenize(str(raw_in_order), tokenizer, out, options=SMALL)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert tokenize(str(raw_in_order), tokenizer, out, options=SMALL).new_shards == 0


@pytest.mark.parametrize("damage", ["gone", "cut"])
def test_a_shard_that_is_gone_or_cut_is_made_again_alone(
    raw_in_order: Path, tokenizer: str, tmp_path: Path, damage: str
) -> None:
    out = tmp_path / "out"
    tokenize(str(raw_in_order), tokenizer, out, options=SMALL, workers=1)
    made = contents(out)
    victim = shards(out)[1]
    os.truncate(victim, 100) if damage == "cut" else victim.unlink()
    summary = tokenize(str(raw_in_order), tokenizer, out, options=SMALL, workers=1)
    assert summary.remade == [victim.name]
    assert contents(out) == made


def test_a_folder_with_shards_of_others_is_left_alone(raw_in_order: Path, tokenizer: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.parquet").write_bytes(b"x")
    with pytest.raises(ConfigError, match=r"out holds 1 shards that are not of this command, such as mine\.parquet"):
        tokenize(str(raw_in_order), tokenizer, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir() if path.is_file()] == ["mine.parquet"]


def test_names_for_all_inputs_or_for_none(raw_in_order: Path, tokenizer: str, tmp_path: Path) -> None:
    first, second = str(raw_in_order / "0.jsonl"), f"web={raw_in_order / '1.jsonl.gz'}"
    with pytest.raises(ConfigError, match=r"0\.jsonl has no name and others have"):
        tokenize([first, second], tokenizer, tmp_path / "out")
    tokenize(first, tokenizer, tmp_path / "out", workers=1)
    with pytest.raises(ConfigError, match=r"inputs have names now, and it was the other way when"):
        tokenize(second, tokenizer, tmp_path / "out")


@pytest.mark.parametrize(("vocab_size", "dtype"), [(None, "uint16"), (65_536, "uint16"), (65_537, "uint32")])
def test_f15_ids_are_stored_in_the_smallest_type_that_holds_the_vocabulary(
    raw_in_order: Path, tokenizer: str, tmp_path: Path, vocab_size: int | None, dtype: str
) -> None:
    """F15: 65,536 entries fit in 16 bits, 65,537 do not."""
    tokenize(
        str(raw_in_order / "0.jsonl"), tokenizer, tmp_path / "out", options=Options(vocab_size=vocab_size), workers=1
    )
    assert read_manifest("web", tmp_path / "out").token_dtype == np.dtype(dtype)


def test_f15_a_vocabulary_below_the_tokenizers_is_refused(raw_in_order: Path, tokenizer: str, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"--vocab-size is 399, and --tokenizer .* has ids up to 399; give 400 or more"
    ):
        tokenize(str(raw_in_order), tokenizer, tmp_path / "out", options=Options(vocab_size=399))


def test_c03_a_mistyped_input_is_refused_with_the_closest_name(
    raw_in_order: Path, tokenizer: str, tmp_path: Path
) -> None:
    """C03: nothing is made, also where one of several is wrong."""
    with pytest.raises(SourceError, match=r"ordred does not exist; the closest existing path is .*ordered"):
        tokenize([str(raw_in_order), str(tmp_path / "ordred")], tokenizer, tmp_path / "out")
    with pytest.raises(SourceError, match=r"matches none of the 4 files below"):
        tokenize(f"{raw_in_order}/*.txt", tokenizer, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_compressed_shard_of_zstd_holds_the_same(raw_in_order: Path, tokenizer: str, tmp_path: Path) -> None:
    for compression in ("none", "zstd"):
        options = Options(shard_bytes=8_000, compression=compression)  # type: ignore[arg-type]
        tokenize(str(raw_in_order), tokenizer, tmp_path / compression, options=options, workers=1)
    assert rows(tmp_path / "none") == rows(tmp_path / "zstd")
    assert sum(map(len, map(Path.read_bytes, shards(tmp_path / "zstd")))) < sum(
        map(len, map(Path.read_bytes, shards(tmp_path / "none")))
    )
    assert compressed(b"", ".txt") == b""


@pytest.mark.parametrize(
    ("can_cut", "given", "split_long", "most"),
    [
        (True, None, None, 64 << 20),
        (False, None, None, 8 << 20),
        (False, None, 4096, 64 << 20),
        (False, None, 64 << 20, 8 << 20),
        (False, 1 << 30, None, 1 << 30),
        (True, 100, None, 100),
    ],
)
def test_a_document_that_a_tokenizer_needs_whole_is_bounded_by_memory(
    can_cut: bool, given: int | None, split_long: int | None, most: int
) -> None:
    options = Options(max_document_bytes=given, split_long=split_long)
    assert options.completed(can_cut=can_cut).max_document_bytes == most


def test_a_document_too_long_for_a_tokenizer_that_takes_it_whole_is_named(sentences: str, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "long.jsonl", ["short", "x " * (5 << 20), "short too"])
    with pytest.raises(SourceError, match="over the 8,388,608 of --max-document"):
        tokenize(str(path), sentences, tmp_path / "out", workers=1)
    summary = tokenize(str(path), sentences, tmp_path / "skipped", workers=1, on_bad="skip")
    assert (summary.total.documents, summary.total.bad) == (2, 1)
