"""What is left out never arrives, everything else once an epoch, whatever the ranks and wherever a run is cut."""

from __future__ import annotations

import json
import logging
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from headrace import ShardError, Source, StateError
from headrace.packing import IGNORED
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loader.corpora import LAYOUTS, Corpus, open_loader, random_corpus, take_step
from tests.loader.several_ranks import Row, data_of, rows_of, whole_steps


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Three shards a source, one of each layout."""
    return random_corpus(tmp_path_factory.mktemp("exclude"), {"web": 130, "code": 40}, mean=9, layouts=LAYOUTS)


def listed(folder: Path, pairs: list[tuple[str, int]], name: str = "drop.jsonl") -> str:
    (folder / name).write_text("".join(json.dumps({"path": path, "row": row}) + "\n" for path, row in pairs))
    return str(folder / name)


def shard(corpus: Corpus, source: str, number: int) -> str:
    """A shard's path, relative to its source."""
    (found,) = (corpus.root / source).glob(f"{number:05}.*")
    return found.name


def documents(corpus: Corpus, source: str, number: int) -> list[list[int]]:
    """The rows of one shard."""
    every = corpus.documents[source]
    sizes = [-(-(len(every) - n) // 3) for n in range(3)]
    first = sum(sizes[:number])
    return every[first : first + sizes[number]]


def tokens(rows: list[Row]) -> Counter[int]:
    return Counter(token for row in rows for token in row.ids if token)


@pytest.mark.parametrize("packing", ["concat", "best_fit"])
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_the_rest_arrives_once_through_any_chain_of_rescales(
    packing: str, corpus: Corpus, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """P2: shards and rows left out, in every layout, in a finite run that is cut and resumed at other world sizes."""
    dropped = data.draw(st.sets(st.tuples(st.integers(1, 2), st.integers(0, 12)), max_size=20))
    text = listed(
        tmp_path_factory.mktemp("lists"),
        [(shard(corpus, "web", n), row) for n, row in dropped] or [(shard(corpus, "web", 0), 0)],
    )
    without_shard = data.draw(st.booleans()) or not dropped
    exclude = [text, *([f"{shard(corpus, 'web', 0)[:5]}*"] if without_shard else [])]
    sources = [Source("web", str(corpus.root / "web"), exclude=exclude), Source("code", str(corpus.root / "code"))]
    opened = data_of(sources, packing=packing, epochs=1)
    position, rows = None, []
    for _ in range(data.draw(st.integers(0, 3))):
        more, position = whole_steps(
            opened, data.draw(st.sampled_from((1, 2, 4))), data.draw(st.integers(1, 4)), position
        )
        rows += [row for step in more for row in step]
    more, _ = whole_steps(opened, data.draw(st.sampled_from((1, 2, 4))), None, position)
    rows += [row for step in more for row in step]
    kept = list(corpus.documents["code"])
    for number in range(3):
        if number or not without_shard:
            own = documents(corpus, "web", number)
            kept += [document for row, document in enumerate(own) if (number, row) not in dropped]
    assert tokens(rows) == Counter(token for document in kept for token in document)


def test_counted_shown_and_part_of_the_checkpoint(
    corpus: Corpus, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "headrace")
    text = listed(tmp_path, [(shard(corpus, "web", 1), 3), (shard(corpus, "web", 1), 4)])
    sources = [Source("web", str(corpus.root / "web"), exclude=text)]
    with open_loader(sources) as loader:
        assert loader.manifests[0].num_excluded == 2
        assert loader.manifests[0].num_documents == 128
        assert "source 'web': 2 documents left out by exclude" in caplog.messages
        steps = [[batch.input_ids.tolist() for batch in take_step(loader)] for _ in range(4)]
        state = loader.state_dict()
        after = [batch.input_ids.tolist() for batch in take_step(loader)]
    assert steps
    with open_loader(sources) as loader:
        loader.load_state_dict(state)
        assert [batch.input_ids.tolist() for batch in take_step(loader)] == after
        loader.load_state_dict(state)
    with open_loader([Source("web", str(corpus.root / "web"))]) as loader, pytest.raises(StateError, match="exclu"):
        loader.load_state_dict(state)


def test_a_shard_that_cant_be_read_can_be_left_out(corpus: Corpus, tmp_path: Path) -> None:
    """One that is cut, and one with ids that are not allowed: named when read, gone when excluded."""
    broken = random_corpus(tmp_path, {"web": 30}, layouts=("parquet",))
    file = tmp_path / "web" / "00001.parquet"
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(ShardError, match=r"00001\.parquet"):
        data_of(broken.sources())
    opened = data_of([Source("web", str(tmp_path / "web"), exclude="00001.*")], epochs=1)
    rows = [row for step in whole_steps(opened, 1)[0] for row in step]
    own = broken.documents["web"][:10] + broken.documents["web"][20:]
    assert tokens(rows) == Counter(token for document in own for token in document)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_ids_that_are_not_allowed_can_be_left_out_by_row(layout: str, tmp_path: Path) -> None:
    """F15: though a footer still shows them."""
    corpus = random_corpus(tmp_path, {"web": 30}, layouts=(layout,))
    every = {token for document in corpus.documents["web"] for token in document}
    places = [(n, row, own) for n in range(3) for row, own in enumerate(documents(corpus, "web", n))]
    number, row, bad = next(place for place in places if max(every) in place[2])
    exclude = listed(tmp_path, [(shard(corpus, "web", number), row)])
    opened = data_of([Source("web", str(tmp_path / "web"), exclude=exclude)], epochs=1, vocab_size=max(every))
    rows = [row for step in whole_steps(opened, 1)[0] for row in step]
    assert set(tokens(rows)) == every - set(bad)


@pytest.mark.parametrize("packing", ["concat", "best_fit"])
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_rows_added_on_a_resume_are_holes_and_then_gone(
    packing: str, corpus: Corpus, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Until the epoch ends every other token is where it would have been; the next one is without them."""
    folder = tmp_path_factory.mktemp("grown")
    pair = st.tuples(st.integers(0, 2), st.integers(0, 12))
    dropped = data.draw(st.sets(pair, min_size=1, max_size=12))
    first = listed(folder, [(shard(corpus, "code", 0), 0)], "first.jsonl")
    second = listed(folder, [(shard(corpus, "code", n), row) for n, row in dropped | {(0, 1)}], "second.jsonl")
    own = [documents(corpus, "code", n) for n in range(3)]
    old = set(own[0][0])
    gone = {token for n, row in dropped | {(0, 1)} if row < len(own[n]) for token in own[n][row]} - old
    rest = {token for rows in own for document in rows for token in document} - gone - old
    options: dict[str, Any] = {"packing": packing, "global_batch_size": 1, "micro_batch_size": 1, "prefetch": 0}
    path = str(corpus.root / "code")
    with open_loader([Source("code", path, exclude=first)], **options) as loader:
        cut = data.draw(st.integers(1, 20))
        for _ in range(cut):
            take_step(loader)
        state = loader.state_dict()
        before = [row for _ in range(40) for batch in take_step(loader) for row in rows_of(batch)]
    with open_loader([Source("code", path, exclude=[first, second])], **options) as loader:
        loader.load_state_dict(state)
        assert loader.changes[cut]["exclusions"] == {"code": 1}
        ends = loader._data.legs[1].end_ordinal
        after = [row for _ in range(ends - cut + 80) for batch in take_step(loader) for row in rows_of(batch)]
    straddling = set()
    for at, (row, other) in enumerate(zip(after[: ends - cut], before, strict=False)):
        for token, label, was, then in zip(row.ids, row.labels, other.ids, other.labels, strict=True):
            if was in gone:
                assert (token, label) == (0, IGNORED)
            elif token:
                assert (token, label) == (was, then)
            elif was:
                straddling.add(at)
    assert len(straddling) <= 1, "only the last sequence of the epoch is padded"
    found = tokens(after[ends - cut :])
    assert not set(found) & (gone | old)
    assert set(found) == rest
