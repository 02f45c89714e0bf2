"""A source's manifest: every shard, every block with a document, and the counts; the same wherever the folder lies."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace.errors import ShardError, SourceError
from headrace.formats.writer import ShardWriter
from headrace.manifest import SourceManifest, read_manifest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Documents = list[list[int] | None]
INTS = pa.list_(pa.int32())


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def parquet(path: Path, documents: Documents, type_: pa.DataType = INTS, row_group_size: int = 4) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"tokens": pa.array(documents, type_)}), path, row_group_size=row_group_size)
    return path


def arrow(path: Path, documents: Documents, type_: pa.DataType = INTS) -> Path:
    table = pa.table({"tokens": pa.array(documents, type_)})
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    return path


def written(path: Path, documents: list[list[int]]) -> Path:
    with ShardWriter(path, dtype=np.uint16) as writer:
        writer.write(documents)
    return path


def read_all(manifest: SourceManifest) -> list[tuple[str, int, list[int]]]:
    """Every document as (shard, row, ids), through the manifest's own blocks."""
    documents = []
    for shard, block in zip(manifest.block_shard, manifest.block_index, strict=True):
        opened = manifest.open_shard(int(shard)).open_block(int(block))
        for row, start, length in zip(opened.rows, opened.starts, opened.lengths, strict=True):
            documents.append((manifest.shards[shard].path, int(row), opened.tokens[start : start + length].tolist()))
    return documents


documents_strategy = st.lists(st.none() | st.lists(st.integers(0, 60_000), max_size=5), max_size=25)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from(("arrow", "parquet", "written")), documents_strategy), min_size=1, max_size=4)
)
def test_every_document_of_every_format_is_in_one_block(tmp_path: Path, shards: list[tuple[str, Documents]]) -> None:
    folder = tmp_path / "random"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    expected = []
    for number, (kind, documents) in enumerate(shards):
        path = folder / f"{number}.{'parquet' if kind == 'parquet' else 'arrow'}"
        if kind == "written":
            written(path, [document or [] for document in documents])
        else:
            (arrow if kind == "arrow" else parquet)(path, documents)
        expected += [(path.name, row, document) for row, document in enumerate(documents) if document]
    if not expected:
        with pytest.raises(SourceError, match="none is a document"):
            read_manifest("web", folder)
        return
    manifest = read_manifest("web", folder)
    assert read_all(manifest) == expected
    assert manifest.num_documents == len(expected)
    assert manifest.num_tokens == sum(len(document) for *_, document in expected)
    assert manifest.num_rows == sum(len(documents) for _, documents in shards)
    assert manifest.num_empty + manifest.num_null == manifest.num_rows - len(expected)
    assert (manifest.block_documents > 0).all()
    for number, shard in enumerate(manifest.shards):
        blocks = np.flatnonzero(manifest.block_shard == number)
        assert blocks.tolist() == list(range(shard.first_block, shard.first_block + shard.num_blocks))


def test_shapes_and_types_are_as_promised(folder: Path) -> None:
    parquet(folder / "a.parquet", [[1], [], [2, 3], None, [4]], row_group_size=2)
    manifest = read_manifest("web", folder)
    assert manifest.block_shard.dtype == manifest.block_index.dtype == np.int32
    assert manifest.block_documents.dtype == manifest.block_tokens.dtype == np.int64
    assert manifest.block_documents.tolist() == [1, 1, 1]
    assert manifest.block_tokens.tolist() == [1, 2, 1]
    assert (manifest.min_token, manifest.max_token, manifest.token_dtype.name) == (1, 4, "int32")
    assert manifest.num_blocks == 3


def test_files_without_documents_are_counted_and_read_past(folder: Path) -> None:
    """F01: a file without row groups and one with an empty row group beside a normal one."""
    schema = pa.schema([("tokens", INTS)])
    with pq.ParquetWriter(folder / "a.parquet", schema):
        pass
    with pq.ParquetWriter(folder / "b.parquet", schema) as writer:
        writer.write_table(schema.empty_table())
    parquet(folder / "c.parquet", [[1, 2], [3]])
    manifest = read_manifest("web", folder)
    assert [shard.num_blocks for shard in manifest.shards] == [0, 0, 1]
    assert read_all(manifest) == [("c.parquet", 0, [1, 2]), ("c.parquet", 1, [3])]
    (folder / "c.parquet").unlink()
    with pytest.raises(SourceError, match=r"source 'web': .* has 0 rows in 2 shards and none is a document"):
        read_manifest("web", folder)


@pytest.mark.parametrize("order", [("a", "b", "c"), ("c", "b", "a")])
def test_null_files_do_not_decide_the_type(folder: Path, order: tuple[str, str, str]) -> None:
    """F02: one file all null, one without nulls, one mixed, in both orders."""
    files: list[tuple[Documents, pa.DataType]] = [([None, None], pa.null()), ([[1]], INTS), ([None, [2]], INTS)]
    for name, (documents, type_) in zip(order, files, strict=True):
        parquet(folder / f"{name}.parquet", documents, type_)
    manifest = read_manifest("web", folder)
    assert sorted(ids for *_, ids in read_all(manifest)) == [[1], [2]]
    assert (manifest.token_dtype.name, manifest.max_token) == ("int32", 2)
    assert manifest.num_empty + manifest.num_null == 3


def test_a_source_of_empty_documents_is_refused_soon(folder: Path) -> None:
    """P07: an all-empty source ends in a clear error, no spin."""
    written(folder / "a.arrow", [[]] * 5)
    written(folder / "b.arrow", [[]] * 2)
    start = time.perf_counter()
    with pytest.raises(SourceError, match=r"has 7 rows in 2 shards and none is a document \(7 empty, 0 null\)"):
        read_manifest("web", folder)
    assert time.perf_counter() - start < 5


def test_empty_documents_are_skipped_and_counted(folder: Path) -> None:
    """P07: documents [], [5,6,7], [], [8], []."""
    written(folder / "a.arrow", [[], [5, 6, 7], [], [8], []])
    manifest = read_manifest("web", folder)
    assert [ids for *_, ids in read_all(manifest)] == [[5, 6, 7], [8]]
    assert manifest.num_empty == 3


def test_the_type_is_the_narrowest_and_the_bounds_are_proved_by_every_file(folder: Path) -> None:
    """F15: what the loader compares with the vocabulary."""
    written(folder / "a.arrow", [[1, 500]])
    parquet(folder / "b.parquet", [[7, 70_000]])
    manifest = read_manifest("web", folder)
    assert (manifest.token_dtype.name, manifest.min_token, manifest.max_token) == ("uint16", 1, 70_000)
    arrow(folder / "c.arrow", [[3]])
    manifest = read_manifest("web", folder)
    assert (manifest.min_token, manifest.max_token) == (None, None)


def test_the_fingerprint_is_of_names_sizes_and_counts(folder: Path, tmp_path: Path) -> None:
    parquet(folder / "x/a.parquet", [[1], [2]])
    arrow(folder / "b.arrow", [[3]])
    first = read_manifest("web", folder).fingerprint
    assert len(first) == 32
    assert int(first, 16) >= 0
    shutil.copytree(folder, tmp_path / "elsewhere")
    assert read_manifest("other", tmp_path / "elsewhere").fingerprint == first
    os.utime(folder / "b.arrow", (0, 0))
    assert read_manifest("web", folder).fingerprint == first
    (folder / "b.arrow").rename(folder / "c.arrow")
    renamed = read_manifest("web", folder).fingerprint
    parquet(folder / "x/a.parquet", [[1], [], [2]])
    assert len({first, renamed, read_manifest("web", folder).fingerprint}) == 3


def test_a_folder_with_equals_signs_reads_as_any_other(folder: Path, tmp_path: Path) -> None:
    """F19: a partition-like name adds no column and no type."""
    table = pa.table({"tokens": [[1, 2]], "lang": ["en"]})
    (folder / "lang=9319").mkdir()
    pq.write_table(table, folder / "lang=9319/a.parquet")
    (tmp_path / "plain").mkdir()
    pq.write_table(table, tmp_path / "plain/a.parquet")
    odd, plain = read_manifest("web", folder), read_manifest("web", tmp_path / "plain")
    assert [ids for *_, ids in read_all(odd)] == [ids for *_, ids in read_all(plain)] == [[1, 2]]
    odd_name = "date=2024-01-01/with space %20 #1/ü 数据.parquet"
    parquet(folder / odd_name, [[3]])
    assert read_all(read_manifest("web", folder))[0] == (odd_name, 0, [3])


def test_a_bad_shard_stops_the_source_with_both_names(folder: Path) -> None:
    """C03, F07: a cut shard among good ones; the first by name is shown."""
    for name in ("a", "b", "c"):
        arrow(folder / f"{name}.arrow", [[1]] * 50)
    for name in ("b", "c"):
        (folder / f"{name}.arrow").write_bytes((folder / f"{name}.arrow").read_bytes()[:-20])
    with pytest.raises(ShardError, match=r"source 'web': .*b\.arrow is cut"):
        read_manifest("web", folder)


def test_a_wrong_column_stops_the_source_with_both_names(folder: Path) -> None:
    """C03: the columns there are, are named."""
    arrow(folder / "a.arrow", [[1]])
    with pytest.raises(
        SourceError, match=r"source 'web': .*a\.arrow has no column 'input_ids'; its columns are 'tokens'"
    ):
        read_manifest("web", folder, column="input_ids")


def test_a_file_that_grows_after_it_was_listed_is_refused(folder: Path) -> None:
    """F17: a size that changed since start."""
    path = arrow(folder / "a.arrow", [[1]])
    manifest = read_manifest("web", folder)
    with path.open("ab") as file:
        file.write(b"more")
    with pytest.raises(ShardError, match=r"a\.arrow has \d+ bytes and had \d+ when the source was listed"):
        manifest.open_shard(0)


def test_ignored_files_are_in_the_manifest(folder: Path) -> None:
    """F17, F18: everything left out is reported."""
    arrow(folder / "a.arrow", [[1]])
    (folder / "_SUCCESS").touch()
    (folder / "b.arrow").symlink_to("a.arrow")
    manifest = read_manifest("web", folder)
    assert manifest.ignored == (("_SUCCESS", "starts with an underscore"), ("b.arrow", "same file as a.arrow"))
    assert len(manifest.shards) == 1


def test_one_file_is_a_source(folder: Path) -> None:
    path = arrow(folder / "a.arrow", [[1], [2]])
    assert len(read_all(read_manifest("web", path))) == 2


@pytest.mark.parametrize("max_blocks", [1, 3, 4, 5, 9, 10, 12])
def test_blocks_are_joined_until_the_source_has_few_enough(folder: Path, max_blocks: int) -> None:
    documents: Documents = [[row] for row in range(18)]
    parquet(folder / "a.parquet", documents[:10], row_group_size=1)
    parquet(folder / "b.parquet", documents[10:], row_group_size=1)
    manifest = read_manifest("web", folder, max_blocks=max_blocks)
    assert [ids for *_, ids in read_all(manifest)] == documents
    fewest = next(factor for factor in (1, 2, 4, 8, 16) if -(-10 // factor) + -(-8 // factor) <= max(max_blocks, 2))
    assert manifest.join_factor == fewest
    assert manifest.num_blocks == -(-10 // fewest) + -(-8 // fewest)


def test_progress_counts_every_shard(folder: Path) -> None:
    for name in range(5):
        arrow(folder / f"{name}.arrow", [[1]])
    seen: list[tuple[int, int]] = []
    read_manifest("web", folder, on_progress=lambda done, total: seen.append((done, total)))
    assert seen == [(done, 5) for done in range(1, 6)]


def test_a_foreign_shard_is_counted_once(folder: Path, cache: Path) -> None:
    """P4: the pass is cached."""
    arrow(folder / "a.arrow", [[1], [2]])
    first = read_manifest("web", folder)
    (entry,) = (cache / "index").iterdir()
    before = entry.stat().st_mtime_ns
    assert read_manifest("web", folder).fingerprint == first.fingerprint
    assert entry.stat().st_mtime_ns == before


def test_a_thousand_shards_are_listed_quickly(folder: Path, cache: Path) -> None:
    """P4: Headrace shards start from their footers alone; in processor time, which other work stretches little."""
    content = written(folder / "0.arrow", [[1, 2, 3]] * 50).read_bytes()
    for number in range(1, 1000):
        (folder / f"{number}.arrow").write_bytes(content)
    took_s = []
    for _ in range(3):
        start = time.process_time()
        manifest = read_manifest("web", folder)
        took_s.append(time.process_time() - start)
    assert manifest.num_documents == 50_000
    assert not (cache / "index").exists()
    assert min(took_s) < 0.6
