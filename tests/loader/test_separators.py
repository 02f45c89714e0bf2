"""Documents that end in the separator that would be put after them are noticed before anyone trains on two."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace import ShardError, Source, SourceError, separators
from headrace.manifest import read_manifest

from tests.loader.corpora import LAYOUTS, Documents, open_loader, take_step, write_corpus
from tests.loader.several_ranks import data_of

EOS, BOS = 2, 1


def rows(number: int, *, ended: int = 0, begun: int = 0, length: int = 5) -> Documents:
    """Documents of ids from 10 on; so many of them end in `EOS`, and so many begin with `BOS`."""
    made = [[10 + (n * 7 + at) % 80 for at in range(length)] for n in range(number)]
    for document in made[:ended]:
        document[-1] = EOS
    for document in made[number - begun :]:
        document[0] = BOS
    return [*made]


def opened(folder: Path, shards: list[Documents], layout: str = "headrace", **options: Any) -> None:
    corpus = write_corpus(folder, {"web": shards}, layouts=(layout,), token_type=np.uint16)
    data_of(corpus.sources(), **{"eos_id": EOS, "seq_len": 2, **options})


@pytest.mark.parametrize("layout", LAYOUTS)
def test_documents_that_end_in_eos_are_refused_by_name(layout: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        opened(tmp_path, [rows(30, ended=30)], layout)
    assert "source 'web'" in str(caught.value)
    assert "documents sampled already end in eos_id 2, so each would get a second one; give eos_id=None to take" in str(
        caught.value
    )
    for options in ({"eos_id": None}, {"eos_id": 3}):
        opened(tmp_path, [rows(30, ended=30)], layout, **options)


def test_documents_that_begin_with_bos_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(
        SourceError, match=r"9 of 10 documents sampled already begin with bos_id 1, .*; give bos_id=None"
    ):
        opened(tmp_path, [rows(10, begun=9)], bos_id=BOS)
    opened(tmp_path, [rows(10, begun=9)])


@pytest.mark.parametrize(
    ("document_rows", "refused"),
    [
        (rows(100, ended=51), True),
        (rows(100, ended=50), False),
        (rows(2, ended=2), True),
        (rows(1, ended=1), False),
        ([[EOS]] * 40, False),
        ([[EOS]] * 40 + rows(2, ended=2), True),
        ([[EOS]] * 40 + rows(3, ended=1), False),
        ([[EOS, 5, EOS, 7]] * 40, False),
    ],
)
def test_most_documents_of_two_tokens_and_more_decide(document_rows: Documents, refused: bool, tmp_path: Path) -> None:
    """A document that is a separator and nothing else says nothing; half may end so by chance of a small vocabulary."""
    if refused:
        with pytest.raises(SourceError, match="already end in eos_id 2"):
            opened(tmp_path, [document_rows])
    else:
        opened(tmp_path, [document_rows])


def test_a_few_are_told_and_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """One in a hundred is chance or text: it is said, not refused."""
    caplog.set_level(logging.WARNING, "headrace")
    opened(tmp_path / "few", [rows(100, ended=1)])
    assert not caplog.messages
    opened(tmp_path / "more", [rows(100, ended=2)])
    (told,) = caplog.messages
    assert told == "source 'web': 2 of 100 documents sampled already end in eos_id 2, and get a second one"


def test_a_few_small_blocks_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first, the last and one between, of many; none that is large."""
    read: list[int] = []
    real = separators._open

    def open_block(manifest: Any, block: int) -> Any:
        read.append(block)
        return real(manifest, block)

    monkeypatch.setattr(separators, "_open", open_block)
    write_corpus(tmp_path, {"web": [rows(7)] * 21}, layouts=("parquet",), token_type=np.uint16)
    manifest = read_manifest("web", tmp_path / "web")
    separators.check_separators(manifest, None, EOS, may_fail=False)
    assert read == [0, 10, 20]
    separators.check_separators(manifest, None, None, may_fail=False)
    assert len(read) == 3
    monkeypatch.setattr(separators, "SAMPLE_BYTES", 7 * 5 * 2 - 1)
    separators.check_separators(manifest, BOS, EOS, may_fail=False)
    assert len(read) == 3


def test_large_blocks_are_looked_at_when_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first batch, masked or not; the sample itself reads nothing."""
    monkeypatch.setattr(separators, "SAMPLE_BYTES", 10)
    corpus = write_corpus(tmp_path, {"web": [rows(30, ended=30)]}, layouts=("parquet",), token_type=np.uint16)
    for policy in ("stop", "mask"):
        with (
            open_loader(corpus.sources(), eos_id=EOS, on_bad_data=policy) as loader,
            pytest.raises(SourceError, match="7 of 7 documents sampled already end in eos_id 2"),
        ):
            take_step(loader)
    with open_loader(corpus.sources(), eos_id=None) as loader:
        take_step(loader)


def test_a_block_of_the_sample_that_cant_be_read(tmp_path: Path) -> None:
    """Named at start, or passed over where bad data is masked."""
    (tmp_path / "web").mkdir()
    table = pa.table({"tokens": pa.array([[1, 2], [3, None]], pa.list_(pa.int32()))})
    pq.write_table(table, tmp_path / "web" / "0.parquet")
    sources = [Source("web", str(tmp_path / "web"))]
    with pytest.raises(ShardError, match=r"row 1 of .*0\.parquet has a null among its tokens"):
        data_of(sources, seq_len=2, eos_id=EOS)
    data_of(sources, seq_len=2, eos_id=EOS, on_bad_data="mask")
