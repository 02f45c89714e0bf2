"""What a source leaves out is in no count and in no block; as holes it keeps every other document's place."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from headrace import manifest as manifests
from headrace import row_counts
from headrace.errors import ShardError, SourceError
from headrace.exclusions import Exclusions, read_exclusions
from headrace.formats import Block, ShardFile
from headrace.holes import HOLE
from headrace.manifest import SourceManifest, read_manifest
from headrace.reader import SourceReader
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loader.corpora import LAYOUTS, Documents, write_corpus

ROWS: list[Documents] = [
    [[10, 11], None, [12], [], [13, 14, 15], [16], [17], [18], [19, 20]],
    [[30], [31, 32]],
    [[40, 41, 42, 43], [44], [45], [46], [47], [48], [49], [50], [51]],
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def source(folder: Path, layout: str = "parquet") -> SourceManifest:
    """Three shards; seven rows a block."""
    write_corpus(folder, {"web": ROWS}, layouts=(layout,))
    return read_manifest("web", folder / "web")


def listed(folder: Path, pairs: Iterable[tuple[str, int]], name: str = "list.jsonl") -> str:
    """A file of pairs."""
    (folder / name).write_text("".join(json.dumps({"path": path, "row": row}) + "\n" for path, row in pairs))
    return str(folder / name)


def suffix(manifest: SourceManifest) -> str:
    return Path(manifest.shards[0].path).suffix


def contents(manifest: SourceManifest) -> list[tuple[int, int, int]]:
    """(first id, or 0 of a hole; tokens; row) of every document, through the reader, with its counts checked."""
    reader, found = SourceReader(manifest), []
    for number in range(manifest.num_blocks):
        block = reader.open_block(number)
        for start, length, row in zip(block.starts, block.lengths, block.rows, strict=True):
            found.append((0 if start == HOLE else int(block.tokens[start]), int(length), int(row)))
    reader.close()
    return found


def left_out(manifest: SourceManifest, *texts: str) -> SourceManifest:
    exclusions = read_exclusions(manifest.name, texts)
    exclusions.check(manifest)
    return exclusions.left_out(manifest, exclusions.items)


@pytest.mark.parametrize(("layout", "factor"), [*((layout, 1) for layout in LAYOUTS), ("parquet", 2)])
def test_left_out_documents_are_in_no_count_and_no_block(layout: str, factor: int, tmp_path: Path) -> None:
    """By glob and by pairs together, blocks emptied and not, rows that were skipped anyway, blocks joined or not."""
    source(tmp_path, layout)
    whole = read_manifest("web", tmp_path / "web", max_blocks=5 if factor == 1 else 4)
    assert whole.join_factor == factor
    end = suffix(whole)
    pairs = [(f"00000{end}", 0), (f"00000{end}", 1), (f"00000{end}", 7), (f"00000{end}", 8), (f"00002{end}", 3)]
    kept = left_out(whole, f"00001{end}", listed(tmp_path, pairs))
    wanted = [(12, 1, 2), (13, 3, 4), (16, 1, 5), (17, 1, 6), (40, 4, 0), (44, 1, 1), (45, 1, 2)]
    wanted += [(47 + n, 1, 4 + n) for n in range(5)]
    assert contents(kept) == wanted
    assert kept.num_excluded == 6
    assert (kept.num_documents, kept.num_tokens) == (len(wanted), sum(length for _, length, _ in wanted))
    assert whole.num_documents - kept.num_documents == 6
    assert kept.fingerprint == whole.fingerprint
    assert [shard.path for shard in kept.shards] == [shard.path for shard in whole.shards]
    for number, shard in enumerate(kept.shards):
        own = slice(shard.first_block, shard.first_block + shard.num_blocks)
        assert (kept.block_shard[own] == number).all()
        assert (kept.block_shard == number).sum() == shard.num_blocks


@pytest.mark.parametrize("layout", LAYOUTS)
def test_holes_keep_counts_and_places(layout: str, tmp_path: Path) -> None:
    """Documents left out before are not holes; with_holes opens no file."""
    whole = source(tmp_path, layout)
    end = suffix(whole)
    exclusions = read_exclusions(
        "web",
        (
            listed(tmp_path, [(f"00000{end}", 0)], "old.jsonl"),
            listed(tmp_path, [(f"00000{end}", 0), (f"00000{end}", 5)], "new.jsonl"),
            f"**/00002{end}",
        ),
    )
    kept = exclusions.left_out(whole, exclusions.items[:1])
    view = exclusions.with_holes(kept, exclusions.items[1:])
    assert np.array_equal(view.block_tokens, kept.block_tokens)
    assert np.array_equal(view.block_documents, kept.block_documents)
    wanted = [(12, 1, 2), (13, 3, 4), (0, 1, 5), (17, 1, 6), (18, 1, 7), (19, 2, 8), (30, 1, 0), (31, 2, 1)]
    assert contents(view) == wanted + [(0, 4, 0)] + [(0, 1, n) for n in range(1, 9)]
    assert exclusions.left_out(whole, exclusions.items).num_documents == 7


def test_rows_by_their_full_path_and_twice(tmp_path: Path) -> None:
    whole = source(tmp_path)
    pairs = [(f"{tmp_path}/web/00000.parquet", 0), ("00000.parquet", 0), ("00000.parquet", 2)]
    kept = left_out(whole, listed(tmp_path, pairs), listed(tmp_path, pairs[:1], "again.jsonl"))
    assert kept.num_excluded == 2
    assert kept.num_tokens == whole.num_tokens - 3


def test_counts_of_rows_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the touched blocks are opened, once; a file that was written again is read again."""
    opened: list[tuple[int, int]] = []
    real = SourceManifest.open_shard

    def open_shard(manifest: SourceManifest, shard: int) -> ShardFile:
        file = real(manifest, shard)
        read = file.open_block

        def open_block(index: int) -> Block:
            opened.append((shard, index))
            return read(index)

        monkeypatch.setattr(file, "open_block", open_block)
        return file

    whole = source(tmp_path)
    text = listed(tmp_path, [("00002.parquet", 8), ("00000.parquet", 4), ("00000.parquet", 5)])
    monkeypatch.setattr(manifests.SourceManifest, "open_shard", open_shard)
    first = left_out(whole, text)
    assert sorted(opened) == [(0, 0), (2, 1)]
    again = left_out(whole, text)
    assert len(opened) == 2
    assert np.array_equal(again.block_tokens, first.block_tokens)
    shard = tmp_path / "web" / "00002.parquet"
    content = shard.read_bytes()
    shard.unlink()
    shard.write_bytes(content)
    left_out(read_manifest("web", tmp_path / "web"), text)
    assert len(opened) == 4


def test_a_damaged_cache_is_read_over(tmp_path: Path, cache: Path) -> None:
    whole = source(tmp_path)
    text = listed(tmp_path, [("00000.parquet", 4)])
    first = left_out(whole, text)
    (entry,) = (cache / "excluded").iterdir()
    for damage in (b"", b"\xff\n" + b"x" * 24, entry.read_bytes()[:-1]):
        entry.write_bytes(damage)
        assert np.array_equal(left_out(whole, text).block_tokens, first.block_tokens)


def test_digests_name_what_is_left_out(tmp_path: Path) -> None:
    """The same for the same glob, and for the same list under any name; another for another."""
    one = listed(tmp_path, [("a", 1)], "one.jsonl")
    items = read_exclusions("web", ("a/*", "a/**", one, listed(tmp_path, [("a", 1)], "two.jsonl"))).items
    assert [item.text for item in items] == ["a/*", "a/**", one, str(tmp_path / "two.jsonl")]
    assert items[0].digest != items[1].digest
    assert items[2].digest == items[3].digest
    assert {len(item.digest) for item in items} == {16}
    assert Exclusions().items == ()


@pytest.mark.parametrize(
    ("items", "complaint"),
    [
        (["*.arrow"], r"exclude has '\*\.arrow', which matches none of the 3 shards below .*such as '00000\.parquet'"),
        (["web"], "matches none"),
        (["00000.parquet", "0000[1].parquet"], "'0000.1..parquet', which matches none"),
        (["**"], "exclude leaves out all of its 18 documents"),
        ([[("00009.parquet", 0)]], "names row 0 of '00009.parquet', which is none of the 3 shards"),
        ([[("00001.parquet", 2)]], r"names row 2 of '00001.parquet', which has 2 rows \(0 to 1\)"),
        ([[("00000.parquet", 0), ("", 2)]], "names row 2 of ''"),
    ],
)
def test_what_matches_nothing_is_refused_by_name(
    items: list[str | list[tuple[str, int]]], complaint: str, tmp_path: Path
) -> None:
    texts = [item if isinstance(item, str) else listed(tmp_path, item) for item in items]
    with pytest.raises(SourceError, match=rf"source 'web'.*{complaint}"):
        left_out(source(tmp_path), *texts)


def test_hints_lead_to_what_was_probably_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_corpus(tmp_path / "x", {"web": ROWS})
    manifest = read_manifest("web", tmp_path)
    with pytest.raises(SourceError, match=r"write 'x/\*\*' for everything in that folder"):
        left_out(manifest, "x")
    with pytest.raises(SourceError, match=r"write 'x/web/\*\*' for everything"):
        left_out(manifest, "x/web/")
    with pytest.raises(SourceError, match=r"'\*\*/name\*' finds names in any folder"):
        left_out(manifest, "0*")
    monkeypatch.chdir(tmp_path)
    listed(tmp_path, [("x", 1)], "drop.jsonl")
    with pytest.raises(SourceError, match=r"write './drop\.jsonl' if it is a file of"):
        left_out(manifest, "drop.jsonl")


def test_a_list_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"source 'web': exclude names the file /nowhere/l\.csv, .*No such file"):
        read_exclusions("web", ["/nowhere/l.csv"])
    with pytest.raises(SourceError, match=r"source 'web': exclude: .*l\.csv has no \(path, row\) pair"):
        (tmp_path / "l.csv").write_text("path,row\n")
        read_exclusions("web", [str(tmp_path / "l.csv")])


def test_a_block_that_cant_be_counted_is_named(tmp_path: Path) -> None:
    whole = source(tmp_path)
    shard = tmp_path / "web" / "00002.parquet"
    content = bytearray(shard.read_bytes())
    content[4:60] = bytes(56)
    shard.write_bytes(content)
    with pytest.raises(ShardError, match=r"source 'web': exclude: .*00002\.parquet"):
        left_out(whole, listed(tmp_path, [("00002.parquet", 0)]))
    assert left_out(whole, "00002.parquet").num_excluded == 9


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_left_out_in_steps_is_left_out_at_once(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """In any order, and a hole is what would be left out."""
    folder = tmp_path_factory.mktemp("steps")
    whole = source(folder)
    pair = st.tuples(st.sampled_from(range(3)), st.integers(0, 1))
    named = st.lists(pair, min_size=1).map(lambda pairs: [(f"0000{n}.parquet", row) for n, row in pairs])
    lists = data.draw(st.lists(named, min_size=1, max_size=4))
    exclusions = read_exclusions("web", [listed(folder, pairs, f"{n}.jsonl") for n, pairs in enumerate(lists)])
    items = data.draw(st.permutations(exclusions.items))
    cut = data.draw(st.integers(0, len(items)))
    at_once = exclusions.left_out(whole, items)
    first = exclusions.left_out(whole, items[:cut])
    assert contents(exclusions.left_out(first, items[cut:])) == contents(at_once)
    masked = contents(exclusions.with_holes(first, items[cut:]))
    assert [found for found in masked if found[0]] == contents(at_once)
    assert [(length, row) for _, length, row in masked] == [(length, row) for _, length, row in contents(first)]


def test_listed_rows_are_found() -> None:
    rows = np.array([3, 5, 9, 11], np.int64)
    for wanted in ([], [1], [5], [3, 4, 11], [12], [2, 9, 10, 13]):
        found = row_counts.is_listed(rows, np.array(wanted, np.int64))
        assert found.tolist() == [row in wanted for row in rows.tolist()]
