"""P9: what is wrong stops the loader before the first batch, with the source, the file, the value and what to do."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from headrace import ConfigError, DataError, HeadraceError, Loader, ShardError, Source, SourceError

from tests.loader.corpora import Corpus, numbered, open_loader, random_corpus, take_step, write_corpus, write_shard


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return random_corpus(tmp_path_factory.mktemp("errors"), {"web": 40, "code": 30})


def refused(sources: list[Source], kind: type[HeadraceError] = HeadraceError, **options: Any) -> str:
    """The message with which the first batch, or what comes before it, is refused."""
    with pytest.raises(kind) as caught, open_loader(sources, **options) as loader:
        next(loader)
    return str(caught.value)


def test_a_path_that_does_not_exist(corpus: Corpus) -> None:
    """C03: one of two sources mistyped; its share is given to nobody."""
    sources = [Source("web", str(corpus.root / "web"), 0.5), Source("code", str(corpus.root / "cdoe"), 0.5)]
    began = time.monotonic()
    message = refused(sources, SourceError)
    assert time.monotonic() - began < 5
    assert message == (
        f"source 'code': {corpus.root / 'cdoe'} does not exist; the closest existing path is {corpus.root / 'code'}"
    )


def test_a_folder_without_shards(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    message = refused([Source("web", str(tmp_path))], SourceError)
    assert message.startswith(f"source 'web': {tmp_path} holds no shards (1 ignored, such as notes.txt: ")
    assert "a source is a folder with files ending in .arrow" in message


@pytest.mark.parametrize("layout", ["headrace", "arrow", "flat", "parquet"])
def test_a_column_that_is_not_there(tmp_path: Path, layout: str) -> None:
    corpus = write_corpus(tmp_path, {"web": [numbered([5, 6])]}, layouts=(layout,))
    sources = [Source("web", str(corpus.root / "web"), column="input_ids")]
    message = refused(sources, SourceError)
    for part in ("source 'web'", "00000.", "'input_ids'", "tokens"):
        assert part in message, message


@pytest.mark.parametrize("write", ["arrow", "parquet"])
@pytest.mark.parametrize("type_", [pa.list_(pa.float32()), pa.string(), pa.list_(pa.string())])
def test_a_column_that_holds_no_token_ids(tmp_path: Path, write: str, type_: pa.DataType) -> None:
    values: list[Any] = ["words", "words"] if pa.types.is_string(type_) else [[], []]
    table = pa.table({"tokens": pa.array(values, type_)})
    if write == "parquet":
        pq.write_table(table, tmp_path / "0.parquet")
    else:
        with pa.ipc.new_file(str(tmp_path / "0.arrow"), table.schema) as writer:
            writer.write_table(table)
    message = refused([Source("web", str(tmp_path))], SourceError)
    assert "source 'web'" in message
    assert str(tmp_path / "0.") in message
    assert "'tokens'" in message


@pytest.mark.parametrize("layout", ["headrace", "parquet"])
def test_an_id_outside_the_vocabulary_is_known_from_the_footer(tmp_path: Path, layout: str) -> None:
    corpus = write_corpus(tmp_path, {"web": [[[1, 2, 3], [900]]]}, layouts=(layout,))
    (file,) = (corpus.root / "web").iterdir()
    with pytest.raises(SourceError) as caught:
        Loader(corpus.sources(), seq_len=4, global_batch_size=1, micro_batch_size=1, seed=1, eos_id=0, vocab_size=900)
    assert str(caught.value) == (
        f"source 'web': {file} has id 900 in column 'tokens'; with vocab_size 900 ids must be from 0 to 899: correct "
        "vocab_size, make the shard again with the right tokenizer, or leave it out with exclude"
    )


@pytest.mark.parametrize("layout", ["arrow", "flat"])
def test_an_id_outside_the_vocabulary_is_found_before_it_is_handed_out(tmp_path: Path, layout: str) -> None:
    corpus = write_corpus(tmp_path, {"web": [[[1, 2, 3], [4, 900, 5]]]}, layouts=(layout,))
    message = refused(corpus.sources(), ShardError, seq_len=8, vocab_size=900)
    file = corpus.root / "web" / "00000.arrow"
    assert message == (
        f"token 1 of row 1 of {file} is 900 (source 'web'); ids must be from 0 to 899: correct vocab_size, or make the "
        "shard again with the right tokenizer"
    )


@pytest.mark.parametrize("layout", ["headrace", "arrow", "flat", "parquet"])
def test_negative_ids(tmp_path: Path, layout: str) -> None:
    """F15: refused with and without a vocabulary."""
    corpus = write_corpus(tmp_path, {"web": [[[1, 2, 3], [4, -7, 5]]]}, layouts=(layout,), token_type="int16")
    for vocab_size in (None, 900):
        message = refused(corpus.sources(), DataError, seq_len=8, vocab_size=vocab_size)
        assert "-7" in message
        assert "source 'web'" in message


@pytest.mark.parametrize("layout", ["headrace", "arrow", "flat", "parquet"])
def test_a_type_that_cannot_hold_the_vocabulary(tmp_path: Path, layout: str) -> None:
    """F15: ids above 65,535 would have wrapped when they were written; 65,536 fits."""
    corpus = write_corpus(tmp_path, {"web": [numbered([9, 9, 9])]}, layouts=(layout,), token_type="uint16")
    for vocab_size in (65_537, 128_256):
        message = refused(corpus.sources(), SourceError, seq_len=8, vocab_size=vocab_size)
        assert f"stores ids as uint16, which holds ids up to 65535, but vocab_size is {vocab_size}" in message
    with open_loader(corpus.sources(), seq_len=8, vocab_size=65_536) as loader:
        take_step(loader)


@pytest.mark.parametrize(
    ("layout", "kind", "message"),
    [
        (
            "headrace",
            SourceError,
            "has id 300 in column 'tokens'; torch.uint8 holds ids below 256, so ids must be from 0 to 255: use a wider",
        ),
        ("arrow", ShardError, "is 300 (source 'web'); ids must be from 0 to 255: use a wider token_dtype"),
    ],
)
def test_ids_that_token_dtype_cannot_hold(tmp_path: Path, layout: str, kind: type[HeadraceError], message: str) -> None:
    """They would wrap silently."""
    corpus = write_corpus(tmp_path, {"web": [[[1, 2, 3], [4, 300, 5]]]}, layouts=(layout,))
    assert message in refused(corpus.sources(), kind, seq_len=8, token_dtype=torch.uint8)


@pytest.mark.parametrize(
    ("batch", "micro", "message"),
    [
        (10, 4, "which 1 data ranks × micro_batch_size 4 = 4 does not divide; the nearest that fit are 8 or 12"),
        (3, 4, "the nearest that fit are 4"),
    ],
)
def test_a_batch_that_does_not_divide(corpus: Corpus, batch: int, micro: int, message: str) -> None:
    found = refused(corpus.sources(), ConfigError, global_batch_size=batch, micro_batch_size=micro)
    assert found.startswith(f"global_batch_size is {batch}, ")
    assert message in found


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def blank(path: Path) -> None:
    path.write_bytes(b"")


def overwrite(path: Path) -> None:
    path.write_bytes(b"this is no shard at all, whatever its name says")


@pytest.mark.parametrize("spoil", [cut, overwrite])
@pytest.mark.parametrize("layout", ["headrace", "arrow", "parquet"])
def test_a_file_that_cannot_be_read(tmp_path: Path, layout: str, spoil: Callable[[Path], None]) -> None:
    corpus = write_corpus(tmp_path, {"web": [numbered([5] * 9), numbered([5] * 9)]}, layouts=(layout,))
    file = next((corpus.root / "web").glob("00001.*"))
    spoil(file)
    message = refused(corpus.sources(), DataError)
    assert "source 'web'" in message
    assert str(file) in message


def test_a_file_without_a_byte_is_left_out_and_only_such_files_are_no_source(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, {"web": [numbered([5] * 9), numbered([5] * 9)]})
    for file in (corpus.root / "web").iterdir():
        blank(file)
    assert "holds no shards" in refused(corpus.sources(), SourceError)


def test_a_source_of_nothing_but_empty_documents(tmp_path: Path) -> None:
    """P07"""
    corpus = write_corpus(tmp_path, {"web": [[[], None, []]]}, layouts=("arrow",))
    message = refused([Source("web", str(corpus.root / "web"))], SourceError)
    assert "has 3 rows in 1 shards and none is a document (2 empty, 1 null)" in message


def test_a_file_that_is_replaced_while_it_is_read(tmp_path: Path) -> None:
    """Noticed when its block is opened, before a token of it is handed out."""
    corpus = write_corpus(tmp_path, {"web": [numbered([15] * 4)]})
    with open_loader(corpus.sources(), prefetch=0, global_batch_size=4) as loader:
        write_shard(corpus.root / "web" / "00000", numbered([15] * 5), "headrace", "uint32")
        with pytest.raises(ShardError, match=r"00000\.arrow"):
            next(loader)


def test_a_file_that_disappears(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, {"web": [numbered([15] * 4)]})
    with open_loader(corpus.sources(), prefetch=2) as loader:
        (corpus.root / "web" / "00000.arrow").unlink()
        with pytest.raises(ShardError, match=r"00000\.arrow"):
            next(loader)


def test_a_source_shorter_than_a_sequence_is_warned_about(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, {"web": [numbered([5])]})
    with pytest.warns(UserWarning, match=r"source 'web' holds 6 tokens, fewer than seq_len 16: each of its sequences"):
        Loader(corpus.sources(), seq_len=16, global_batch_size=1, micro_batch_size=1, seed=1, eos_id=0)


def test_a_relative_path_and_a_single_file(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(corpus.root)
    with open_loader([Source("web", "web", 1), Source("code", str(Path("code") / "00000.arrow"), 1)]) as loader:
        assert take_step(loader)[0].input_ids.shape == (4, 16)


def test_a_cache_smaller_than_one_block(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """I02: row groups of 4 MB in a cache of 1 MiB, with and without read-ahead: warned of with both sizes, not hung."""
    rng = np.random.default_rng(3)
    for number in range(3):
        write_shard(tmp_path / "web" / f"{number}", [rng.integers(1, 1000, 500_000).tolist()] * 2, "parquet", np.int32)
    for prefetch in (0, 2):
        began = time.monotonic()
        with open_loader([Source("web", str(tmp_path / "web"))], cache_bytes=1 << 20, prefetch=prefetch) as loader:
            batch = next(loader)
        assert time.monotonic() - began < 5
        assert batch.input_ids.shape == (4, 16)
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    sizes = (r"0\.parquet takes about 4 MiB by itself, and cache_bytes is 1 MiB", r"MiB of open blocks .* is 1 MiB")
    for words in sizes:
        assert len([line for line in warned if re.search(words, line)]) == 2


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("cache_bytes", 0, "1048576 to"),
        ("cache_bytes", -1, "1048576 to"),
        ("prefetch", -1, "0 to 1024"),
        ("micro_batch_size", 0, "1 to"),
        ("lanes", 0, "1 to"),
        ("mix_lease_steps", 0, "1 to"),
    ],
)
def test_sizes_that_can_hold_nothing_are_refused(option: str, value: int, allowed: str) -> None:
    """I02"""
    options: dict[str, Any] = {"seq_len": 8, "global_batch_size": 1, "micro_batch_size": 1, "seed": 1, "eos_id": 0}
    with pytest.raises(ConfigError, match=rf"^{option} is {value}; it must be a whole number from {allowed}"):
        Loader([Source("web", "/data/web")], **{**options, option: value})
