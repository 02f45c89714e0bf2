"""Shards on a real S3-compatible server: what a local file holds, by reading parts of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace.errors import DataError, ShardError, SourceError
from headrace.formats import ShardFile, open_shard
from headrace.formats.allowance import Allowance
from headrace.formats.writer import ShardWriter
from headrace.places import Listed, parse_place

from tests.loader.formats.shards import expected, read_back, write_arrow, write_flat, write_lists
from tests.loader.object_store import Faults, Proxy, Store

Rows = list[list[int] | None]
RNG = np.random.default_rng(11)
ROWS: Rows = [RNG.integers(0, 60_000, n).tolist() if n else [] for n in RNG.geometric(1 / 60, 400).tolist()]
for _row in (0, 5, 17, 399):
    ROWS[_row] = None
ROWS[6] = []
DOCUMENTS = [row or [] for row in ROWS]
U16 = pa.list_(pa.uint16())


def with_text(path: Path, rows: Rows, batch_rows: int, **options: Any) -> Path:
    """The token column between two others that are far larger."""
    text = pa.array(["x" * 4000] * len(rows))
    table = pa.table({"text": text, "tokens": pa.array(rows, pa.large_list(pa.uint16())), "more": text})
    return write_arrow(path, table.to_batches(max_chunksize=batch_rows), **options)


def headrace(path: Path) -> Path:
    with ShardWriter(path, dtype=np.uint16) as shard:
        shard.write(DOCUMENTS)
    return path


def parquet(path: Path, **options: Any) -> Path:
    table = pa.table({"text": ["x" * 500] * len(ROWS), "tokens": pa.array(ROWS, U16)})
    pq.write_table(table, path, row_group_size=90, **options)
    return path


LAYOUTS: dict[str, Callable[[Path], Path]] = {
    "headrace": headrace,
    "lists": lambda path: write_lists(path, ROWS, U16, 7),
    "one large batch": lambda path: write_lists(path, ROWS, U16),
    "large lists beside text": lambda path: with_text(path, ROWS, 50),
    "one batch beside text": lambda path: with_text(path, ROWS, 1000),
    "compressed beside text": lambda path: with_text(path, ROWS, 50, compression="lz4"),
    "compressed": lambda path: write_lists(path, ROWS, U16, 30, compression="zstd"),
    "stream": lambda path: write_lists(path, ROWS, U16, 20, stream=True),
    "fixed": lambda path: write_lists(path, [row[:8] for row in DOCUMENTS if len(row) > 7], pa.list_(pa.int64(), 8), 9),
    "flat": lambda path: write_flat(path, DOCUMENTS, pa.uint32()),
    "null column": lambda path: write_lists(path, [None] * 5, pa.null()),
    "parquet": lambda path: parquet(path, compression="zstd"),
    "parquet plain": lambda path: parquet(path, use_dictionary=False, data_page_version="2.0"),
    "parquet without statistics": lambda path: parquet(path, write_statistics=False),
}


@pytest.fixture
def proxy(store: Store) -> Iterator[Proxy]:
    with Proxy(store.port, Faults()) as proxy:
        yield proxy


@pytest.fixture
def place(store: Store, proxy: Proxy, request: pytest.FixtureRequest) -> Callable[[Path], ShardFile]:
    """Puts a file on the store and opens it there, through the proxy."""

    def put(path: Path, **options: Any) -> ShardFile:
        key = f"formats/{request.node.name}/{path.name}"
        store.put(key, path.read_bytes())
        listed = Listed(path.name, path.stat().st_size)
        return open_shard(parse_place(store.uri(key, proxy.port)), column="tokens", listed=listed, **options)

    return put


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_shard_holds_what_it_holds_on_disk(tmp_path: Path, place: Callable[..., ShardFile], layout: str) -> None:
    """F01, F02, F06, F07: every layout, and again once its counts are remembered."""
    path = LAYOUTS[layout](tmp_path / "a.shard")
    local = open_shard(path, column="tokens")
    for _ in range(2):
        remote = place(path)
        assert read_back(remote) == read_back(local)
        for name in ("first_row", "num_rows", "num_documents", "num_tokens"):
            assert getattr(remote.table(), name).tolist() == getattr(local.table(), name).tolist()
        for name in ("num_empty", "num_null", "token_dtype", "min_token", "max_token"):
            assert getattr(remote.table(), name) == getattr(local.table(), name)
    if layout not in ("fixed", "null column", "flat"):
        assert read_back(local) == expected(ROWS)


@pytest.mark.parametrize("layout", ["headrace", "lists", "compressed", "stream", "parquet"])
def test_content_is_exact_through_faults(
    tmp_path: Path, place: Callable[..., ShardFile], proxy: Proxy, layout: str
) -> None:
    path = LAYOUTS[layout](tmp_path / "a.shard")
    proxy.faults = Faults(errors=0.1, resets=0.1, cuts=0.1, only="formats")
    assert read_back(place(path)) == expected(ROWS)


def test_a_block_of_a_large_batch_reads_its_own_rows_alone(
    tmp_path: Path, place: Callable[..., ShardFile], proxy: Proxy
) -> None:
    """A record batch of 4 M tokens is 16 blocks; each reads its rows' offsets and tokens."""
    rows = [[n % 60_000] * 4096 for n in range(1024)]
    shard = place(write_lists(tmp_path / "a.arrow", rows, pa.list_(pa.uint16())))
    assert shard.table().num_blocks == 16
    before = proxy.bytes_served
    block = shard.open_block(9)
    assert proxy.bytes_served - before < 1.3 * (1 << 18) * 2 + (1 << 18)
    assert block.tokens[block.starts[3]] == rows[9 * 64 + 3][0]
    assert block.nbytes < 1.5 * (1 << 18) * 2


def test_a_row_group_reads_its_token_column_alone(
    tmp_path: Path, place: Callable[..., ShardFile], proxy: Proxy
) -> None:
    path = parquet(tmp_path / "a.parquet", compression="none")
    shard = place(path)
    column = pq.read_metadata(path).row_group(2).column(1)
    before = proxy.bytes_served
    shard.open_block(2)
    assert proxy.bytes_served - before == column.total_compressed_size


def test_a_long_document_is_one_block(tmp_path: Path, place: Callable[..., ShardFile]) -> None:
    """F06: ten million tokens in one row, as Arrow and as Parquet, which is decoded in parts."""
    long = (np.arange(10_000_000) % 251).astype(np.uint8)
    offsets = pa.array([0, 2, 10_000_002, 10_000_003], pa.int64())
    values = pa.array(np.concatenate(([7, 8], long, [9])), pa.uint8())
    table = pa.table({"tokens": pa.LargeListArray.from_arrays(offsets, values)})
    pq.write_table(table, tmp_path / "a.parquet", use_dictionary=False)
    write_arrow(tmp_path / "a.arrow", table.to_batches())
    for name in ("a.parquet", "a.arrow"):
        shard = place(tmp_path / name)
        blocks = [shard.open_block(number) for number in range(shard.table().num_blocks)]
        (block,) = (block for block in blocks if block.lengths.max() > 100)
        which = int(np.argmax(block.lengths))
        begin = int(block.starts[which])
        assert (block.tokens[begin : begin + 10_000_000] == long).all()
        assert block.rows[which] == 1
        assert block.nbytes < 11_000_000


def test_what_is_remembered_needs_no_footer(tmp_path: Path, place: Callable[..., ShardFile], proxy: Proxy) -> None:
    """P4: the pass over a foreign shard is made once."""
    path = write_lists(tmp_path / "a.arrow", ROWS, U16, 7)
    first = place(path).table()
    before = proxy.counts.total()
    second = place(path).table()
    assert proxy.counts.total() == before
    assert second.num_tokens.tolist() == first.num_tokens.tolist()


@pytest.mark.parametrize("stream", [False, True])
def test_too_many_batches_without_counts_are_refused(
    tmp_path: Path, place: Callable[..., ShardFile], *, stream: bool
) -> None:
    path = write_lists(tmp_path / "a.arrow", ROWS, U16, 7, stream=stream)
    with pytest.raises(SourceError, match=r"a\.arrow: more than 20 record batches .* run `headrace index PATH -o"):
        place(path, allowance=Allowance(20))


@pytest.mark.parametrize(
    ("layout", "cut", "complaint"),
    [
        ("lists", 20, "is cut: it starts as an Arrow IPC file and has no footer"),
        ("stream", 30, "is cut inside the message at byte .* record batches before the cut are whole"),
        ("parquet", 20, "is cut: it starts as a Parquet file and has no footer"),
        ("headrace", 20, "is cut: it starts as an Arrow IPC file and has no footer"),
    ],
)
def test_a_cut_shard_is_refused_at_start(
    tmp_path: Path, place: Callable[..., ShardFile], layout: str, cut: int, complaint: str
) -> None:
    """F07: named with what is wrong, as for local files."""
    path = LAYOUTS[layout](tmp_path / "a.shard")
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(ShardError, match=rf"s3://corpus/.*a\.shard {complaint}"):
        place(path)


@pytest.mark.parametrize("layout", ["headrace", "lists", "stream", "parquet"])
def test_a_corrupt_block_is_named_at_first_touch_and_never_tried_again(
    tmp_path: Path, place: Callable[..., ShardFile], proxy: Proxy, layout: str
) -> None:
    """Damage that no footer shows: file, block and row."""
    path = LAYOUTS[layout](tmp_path / "a.shard")
    raw = bytearray(path.read_bytes())
    raw[600 : len(raw) * 3 // 4] = bytes(len(raw) * 3 // 4 - 600)
    path.write_bytes(raw)
    before = proxy.counts.total()
    with pytest.raises(DataError, match=r"(block \d+ \(from row \d+\)|row \d+) of s3://.*a\.shard|^s3://.*a\.shard "):
        read_back(place(path))
    assert proxy.counts.total() - before < 40


def test_a_shard_that_goes_away_is_named_with_block_and_row(
    tmp_path: Path, store: Store, place: Callable[..., ShardFile], request: pytest.FixtureRequest
) -> None:
    """F17: vanished, then replaced by one of another size."""
    shard = place(parquet(tmp_path / "a.parquet"))
    key = f"formats/{request.node.name}/a.parquet"
    store.delete(key)
    with pytest.raises(
        ShardError, match=r"block 2 \(from row 180\) of s3://.*a\.parquet can't be read: it is gone since"
    ):
        shard.open_block(2)
    store.put(key, b"x" * 10)
    with pytest.raises(ShardError, match=r"block 1 \(from row 90\) of s3://.*changed from \d+ to 10 bytes"):
        shard.open_block(1)
