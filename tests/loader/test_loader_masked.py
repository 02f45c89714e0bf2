"""Data that can't be used: by default it ends the run, masked it keeps its place, on whichever rank it falls."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace import ConfigError, DataError, Loader, ShardError, Source
from headrace.packing import IGNORED
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loader.corpora import (
    LAYOUTS,
    Corpus,
    numbered,
    open_loader,
    random_corpus,
    take_step,
    write_corpus,
    write_shard,
)
from tests.loader.several_ranks import Row, data_of, finished_steps, rows_of, whole_steps

NUMBER = 12
"steps that are looked at: more than an epoch of every source here"


def corrupt(file: Path) -> None:
    """Make a shard unreadable from here on, whatever its format."""
    file.write_bytes(file.read_bytes() + b"x")


def shard(root: Path, number: int) -> Path:
    (found,) = root.glob(f"{number:05}.*")
    return found


def is_gone(row: Row, column: int, gone: set[int]) -> bool:
    """Whether a place is of a document of tokens `gone`, or the separator after one of them in this sequence."""
    if row.ids[column] or not row.positions[column]:
        return row.ids[column] in gone
    return row.ids[column - 1] in gone


def masked(row: Row, gone: set[int]) -> Row:
    """A sequence with documents of tokens `gone`, and their separators, as holes."""
    ids = [0 if is_gone(row, column, gone) else token for column, token in enumerate(row.ids)]
    labels = [IGNORED if is_gone(row, column, gone) else label for column, label in enumerate(row.labels)]
    return Row(row.source, tuple(ids), tuple(labels), row.positions)


@pytest.mark.parametrize("packing", ["concat", "best_fit"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_documents_with_bad_ids_keep_their_places(layout: str, packing: str, tmp_path: Path) -> None:
    """F15, and what holes promise: every other token, label and position stays where it was, on any rank."""
    rng = np.random.default_rng(4)
    good = [numbered(rng.integers(1, 30, 40).tolist(), 1 + 1000 * n) for n in range(2)]
    bad = [[list(document or []) for document in rows] for rows in good]
    chosen = [(0, 3), (0, 17), (1, 0), (1, 39)]
    gone = set()
    for n, row in chosen:
        gone.update(bad[n][row])
        bad[n][row][-1] = 9_999 if n else -5
    write_corpus(tmp_path / "good", {"web": good}, layouts=(layout,), token_type=np.int32)
    write_corpus(tmp_path / "bad", {"web": [list(rows) for rows in bad]}, layouts=(layout,), token_type=np.int32)
    options: dict[str, Any] = {"packing": packing, "vocab_size": 5000}
    before, _ = whole_steps(data_of([Source("web", str(tmp_path / "good" / "web"))], **options), 1, NUMBER)
    opened = data_of([Source("web", str(tmp_path / "bad" / "web"))], **options, on_bad_data="mask")
    for world_size in (1, 4):
        now, _ = whole_steps(opened, world_size, NUMBER)
        for step, expected in zip(now, before, strict=True):
            assert step == [masked(row, gone) for row in expected]
    done = finished_steps(opened, NUMBER)
    # A separator alone at a sequence's start is of a document that it can't be told from.
    alone = sum(row.ids[0] == 0 for step in before for row in step)
    counted = sum(is_gone(row, at, gone) for step in before for row in step for at in range(len(row.ids)))
    assert counted <= sum(step.masked_tokens for step in done) <= counted + alone
    places = {(f.masked_at.file, f.masked_at.row) for f in done if f.masked_at is not None}
    assert places
    assert places <= {(shard(tmp_path / "bad" / "web", n).name, row) for n, row in chosen}


@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_a_block_that_cant_be_read_keeps_every_other_token_in_place(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Joined documents: the whole block is one stretch of padding, the same at any world size and after a resume."""
    folder = tmp_path_factory.mktemp("corrupt")
    layout = data.draw(st.sampled_from(LAYOUTS))
    corpus = random_corpus(folder, {"web": 60, "code": 20}, layouts=(layout,))
    good = data_of(corpus.sources(), on_bad_data="mask")
    before, _ = whole_steps(good, 1, NUMBER)
    opened = data_of(corpus.sources(), on_bad_data="mask")
    corrupt(shard(folder / "web", 1))
    gone = {token for document in corpus.documents["web"][20:40] for token in document}
    first, second = (data.draw(st.sampled_from((1, 2, 4))) for _ in range(2))
    cut = data.draw(st.integers(1, NUMBER - 1))
    now, position = whole_steps(opened, first, cut)
    rest, _ = whole_steps(opened, second, NUMBER - cut, position)
    for step, expected in zip(now + rest, before, strict=True):
        for row, other in zip(step, expected, strict=True):
            assert row.source == other.source
            for token, label, was, then in zip(row.ids, row.labels, other.ids, other.labels, strict=True):
                if was in gone:
                    assert (token, label) == (0, IGNORED)
                elif was:
                    assert (token, label) == (was, then)


def test_best_fit_masks_a_block_by_its_counts(tmp_path: Path) -> None:
    """Lengths are unknown, so others may move, yet each arrives once, and every rank packs alike."""
    corpus = random_corpus(tmp_path, {"web": 90}, layouts=("parquet",))
    opened = data_of(corpus.sources(), on_bad_data="mask", packing="best_fit", epochs=1)
    corrupt(shard(tmp_path / "web", 2))
    one, _ = whole_steps(opened, 1)
    assert whole_steps(opened, 4)[0] == one
    ids = Counter(token for step in one for row in step for token in row.ids if token)
    assert ids == Counter(token for document in corpus.documents["web"][:60] for token in document)
    done = finished_steps(opened, len(one))
    lost = sum(map(len, corpus.documents["web"][60:])) + 30
    assert sum(step.masked_tokens for step in done) == lost


@pytest.mark.parametrize("layout", LAYOUTS)
def test_by_default_the_run_stops_with_the_place_named(layout: str, tmp_path: Path) -> None:
    corpus = random_corpus(tmp_path, {"web": 30}, layouts=(layout,))
    with open_loader(corpus.sources(), prefetch=1) as loader:
        file = shard(tmp_path / "web", 1)
        corrupt(file)
        with pytest.raises(DataError, match=file.name):
            for _ in range(NUMBER):
                take_step(loader)


def test_counted_and_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """By rank, in the loop's own pace, and once a block in the log."""
    corpus = random_corpus(tmp_path, {"web": 60}, layouts=("arrow",))
    caplog.set_level(logging.WARNING, "headrace")
    with open_loader(corpus.sources(), on_bad_data="mask", prefetch=4) as loader:
        corrupt(shard(tmp_path / "web", 0))
        counted = 0
        for _ in range(NUMBER):
            rows = [row for batch in take_step(loader) for row in rows_of(batch)]
            counted += sum(row.ids.count(0) for row in rows)
            assert any(token for row in rows for token in row.ids)
            assert all(piece.path != "00000.arrow" for piece in loader.trace(loader.step - 1))
        assert 0 < loader.num_masked_tokens <= counted
    (told,) = [message for message in caplog.messages if "masked" in message]
    assert "block 0 of 00000.arrow can't be read, so its 20 documents of" in told


def test_ids_that_a_footer_shows_to_be_bad_are_masked_too(tmp_path: Path) -> None:
    write_shard(tmp_path / "web" / "0", [[1, 2], [700, 3], [4, 5, 6]], "parquet", np.int32)
    sources = [Source("web", str(tmp_path / "web"))]
    options: dict[str, Any] = {
        "vocab_size": 100,
        "epochs": 1,
        "seq_len": 4,
        "global_batch_size": 1,
        "micro_batch_size": 1,
    }
    with pytest.raises(DataError, match=r"has id 700 in column 'tokens'; with vocab_size 100 ids must be from 0 to 99"):
        data_of(sources, **options)
    steps, _ = whole_steps(data_of(sources, on_bad_data="mask", **options), 1)
    assert sorted(token for step in steps for row in step for token in row.ids if token) == [1, 2, 4, 5, 6]


@pytest.mark.parametrize("value", ["skip", None, True])
def test_other_policies_are_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match=r"on_bad_data is .*; it must be one of 'stop', 'mask'"):
        Loader(
            [Source("web", "/x")],
            seq_len=4,
            global_batch_size=1,
            micro_batch_size=1,
            seed=1,
            eos_id=0,
            on_bad_data=value,
        )


def test_cursors_and_traces_of_masked_blocks(tmp_path: Path) -> None:
    """P8: where a block can't be read, its file is named and its rows are not."""
    corpus: Corpus = random_corpus(tmp_path, {"web": 30}, layouts=("arrow",))
    opened = data_of(corpus.sources(), on_bad_data="mask")
    for number in range(3):
        corrupt(shard(tmp_path / "web", number))
    done = finished_steps(opened, 2)
    assert {source.row for step in done for source in step.sources} == {None}
    assert all(source.file for step in done for source in step.sources)
    assert {step.masked_tokens for step in done} == {8 * 16}


def test_ids_that_damage_made_of_others_are_found_whatever_the_footer_proved(tmp_path: Path) -> None:
    """A page that still decodes: the footer's bounds are of what was written, not of what is there now."""
    rows = [[7] * 50 for _ in range(200)]
    table = pa.table({"tokens": pa.array(rows, pa.list_(pa.int32()))})
    (tmp_path / "web").mkdir()
    file = tmp_path / "web" / "a.parquet"
    pq.write_table(table, file, row_group_size=50, compression="none", use_dictionary=False)
    whole = file.read_bytes()
    place = whole.index(b"\x07\0\0\0" * 100, len(whole) // 2) + 160
    file.write_bytes(whole[:place] + (70_000).to_bytes(4, "little") + whole[place + 4 :])
    sources = [Source("web", str(tmp_path / "web"))]
    options = {"vocab_size": 100, "epochs": 1}
    with (
        open_loader(sources, **options) as loader,
        pytest.raises(ShardError, match=r"of \S*a.parquet is 70000 \(source 'web'\); ids must be from 0 to 99"),
    ):
        list(loader)
    with open_loader(sources, **options, on_bad_data="mask") as loader:
        ids = {int(token) for batch in loader for token in batch.input_ids.unique()}
        assert ids == {0, 7}
        assert loader.num_masked_tokens == 51
