"""What a training loop gets from a loader: every token once, right tensors, a clean end."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from headrace import Batch, HeadraceError, Loader, ShardError, Source
from headrace.packing import IGNORED
from headrace.state import revisions_of

from tests.loader.corpora import (
    LAYOUTS,
    Corpus,
    numbered,
    open_loader,
    random_corpus,
    sequences,
    take_step,
    write_corpus,
)


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("headrace")]


def tokens_of(loader: Loader, number: int) -> list[int]:
    """The ids of the next `number` sequences, at a global batch of 1."""
    return [token for _ in range(number) for token in take_step(loader)[0].input_ids[0].tolist()]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return random_corpus(tmp_path_factory.mktemp("loader"), {"web": 150, "code": 60, "books": 9})


@pytest.mark.parametrize("layout", [*LAYOUTS, "mixed"])
def test_every_token_exactly_once_an_epoch_from_every_layout(layout: str, tmp_path: Path) -> None:
    """P2, over three epochs of odd sizes: ids that occur nowhere twice are counted.

    Where an epoch ends inside a sequence, the rest of that sequence is the beginning of the next.
    """
    layouts = LAYOUTS if layout == "mixed" else (layout,)
    corpus = random_corpus(tmp_path, {"web": 101}, mean=11, layouts=layouts)
    tokens = [token for document in corpus.documents["web"] for token in document]
    total = len(tokens) + 101
    found: Counter[int] = Counter()
    with open_loader(corpus.sources(), global_batch_size=1, micro_batch_size=1, seq_len=17) as loader:
        for epoch in (1, 2, 3):
            found.update(tokens_of(loader, -(-epoch * total // 17) - loader.step))
            over = -epoch * total % 17
            extra = [found[token] - epoch for token in tokens] + [found[0] - epoch * 101]
            assert min(extra) == 0
            assert sum(extra) == over


def test_labels_and_positions_follow_the_documents(corpus: Corpus) -> None:
    """P04: a label is the next token of the same document, its separator, or ignored."""
    following: dict[int, int] = {}
    for name in ("web", "code", "books"):
        for document in corpus.documents[name]:
            following.update(zip(document, [*document[1:], 0], strict=True))
    with open_loader(
        corpus.sources(web=2, code=1, books=1), outputs=("input_ids", "labels", "position_ids", "cu_seqlens")
    ) as loader:
        for _ in range(12):
            for batch in take_step(loader):
                ids, labels, positions = batch.input_ids, batch.labels, batch.position_ids
                assert labels is not None
                assert positions is not None
                assert batch.cu_seqlens is not None
                assert ids.shape == labels.shape == positions.shape == (4, 16)
                assert (labels == ids.apply_(lambda token: following.get(token, IGNORED))).all()
                begins = positions == 0
                assert batch.num_trained_tokens == int((labels != IGNORED).sum())
                assert batch.cu_seqlens.tolist() == [*begins.reshape(-1).nonzero().squeeze(-1).tolist(), 64]
                assert batch.max_seqlen == int(batch.cu_seqlens.diff().max())


def test_positions_begin_again_at_each_document_and_sequence(corpus: Corpus) -> None:
    with open_loader(corpus.sources(web=2, code=1, books=1)) as loader:
        firsts = {document[0] for documents in corpus.documents.values() for document in documents}
        for _ in range(12):
            for batch in take_step(loader):
                assert batch.position_ids is not None
                for ids, positions in zip(batch.input_ids.tolist(), batch.position_ids.tolist(), strict=True):
                    for column, (token, position) in enumerate(zip(ids, positions, strict=True)):
                        begins = column == 0 or token in firsts or (token == 0 and ids[column - 1] == 0)
                        assert position == (0 if begins else positions[column - 1] + 1)


@pytest.mark.parametrize("token_dtype", [torch.int64, torch.int32, torch.uint16, torch.int16])
@pytest.mark.parametrize(
    "outputs", [("input_ids",), ("input_ids", "labels"), ("input_ids", "position_ids", "cu_seqlens")]
)
def test_outputs_and_types(corpus: Corpus, token_dtype: torch.dtype, outputs: tuple[str, ...]) -> None:
    """`token_dtype` narrows ids only; labels are then int32; what is not asked for is None; the tokens are the same."""
    sources = corpus.sources(web=2, code=1, books=1)
    with open_loader(sources) as loader:
        wanted = take_step(loader)
    with open_loader(sources, token_dtype=token_dtype, outputs=outputs) as loader:
        for batch, expected in zip(take_step(loader), wanted, strict=True):
            assert batch.input_ids.dtype == token_dtype
            assert batch.input_ids.long().tolist() == expected.input_ids.tolist()
            assert batch.source.dtype == torch.int64
            assert batch.source.tolist() == expected.source.tolist()
            if "labels" in outputs:
                assert batch.labels is not None
                assert expected.labels is not None
                assert batch.labels.dtype == (torch.int64 if token_dtype == torch.int64 else torch.int32)
                assert batch.labels.tolist() == expected.labels.tolist()
            else:
                assert batch.labels is None
            assert (batch.position_ids is None) == ("position_ids" not in outputs)
            assert (batch.cu_seqlens is None) == (batch.max_seqlen is None) == ("cu_seqlens" not in outputs)
            if batch.cu_seqlens is not None:
                assert batch.cu_seqlens.dtype == torch.int32


def test_batches_are_numbered_and_never_written_to_again(corpus: Corpus) -> None:
    with open_loader(corpus.sources(web=1, code=1, books=1), micro_batch_size=2) as loader:
        batches = [next(loader) for _ in range(12)]
        copies = [batch.input_ids.clone() for batch in batches]
        for _ in range(20):
            next(loader)
    assert [(batch.step, batch.micro_step, batch.last_of_step) for batch in batches] == [
        (step, micro, micro == 3) for step in range(3) for micro in range(4)
    ]
    assert all(torch.equal(batch.input_ids, copy) for batch, copy in zip(batches, copies, strict=True))


@pytest.mark.parametrize(
    "options",
    [
        {"prefetch": 0},
        {"prefetch": 7},
        {"micro_batch_size": 1},
        {"micro_batch_size": 8},
        {"cache_bytes": 1 << 20},
        {"mix_lease_steps": 16},
    ],
)
def test_what_does_not_change_the_stream(corpus: Corpus, options: dict[str, Any]) -> None:
    """P1"""
    sources = corpus.sources(web=5, code=3, books=2)
    with open_loader(sources) as loader:
        expected = [sequences(take_step(loader)) for _ in range(10)]
    with open_loader(sources, **options) as loader:
        assert [sequences(take_step(loader)) for _ in range(10)] == expected


def test_three_epochs_are_three_orders_and_a_seed_repeats_them(tmp_path: Path) -> None:
    """H01: nobody has to announce an epoch."""
    corpus = write_corpus(tmp_path, {"web": [numbered([7] * 50), numbered([7] * 50, 351)]})
    runs = []
    for seed in (1, 1, 2):
        with open_loader(corpus.sources(), seq_len=8, global_batch_size=100, micro_batch_size=100, seed=seed) as loader:
            runs.append([[row[0] for row in sequences(take_step(loader))] for _ in range(3)])
    for run in runs:
        assert all(sorted(epoch) == list(range(1, 701, 7)) for epoch in run)
        assert len({tuple(epoch) for epoch in run}) == 3
    assert runs[0] == runs[1]
    assert all(ours != theirs for ours, theirs in zip(runs[0], runs[2], strict=True))


def test_no_weights_means_in_proportion_to_tokens(tmp_path: Path) -> None:
    """M03: a quarter of every stretch from the source that holds a quarter; both epochs end together."""
    corpus = write_corpus(tmp_path, {"small": [numbered([15] * 100)], "large": [numbered([15] * 300, 9000)]})
    with open_loader(corpus.sources(), global_batch_size=40, micro_batch_size=40) as loader:
        steps = [take_step(loader)[0] for _ in range(10)]
    assert [batch.source.tolist().count(0) for batch in steps] == [10] * 10
    rows = [row for batch in steps for row in sequences([batch])]
    assert len(set(rows)) == 400


def test_extreme_weights_wrap_the_small_source(tmp_path: Path) -> None:
    """M01: 1 ± 1 and 999 ± 1 of 1,000; every document of the second 9 or 10 times."""
    documents = numbered([15] * 100)
    corpus = write_corpus(tmp_path, {"a": [documents], "b": [documents]})
    with open_loader(corpus.sources(a=0.001, b=0.999), global_batch_size=100, micro_batch_size=100) as loader:
        batches = [take_step(loader)[0] for _ in range(10)]
    drawn = [(source, row[0]) for b in batches for source, row in zip(b.source.tolist(), sequences([b]), strict=True)]
    counts = Counter(source for source, _ in drawn)
    assert abs(counts[0] - 1) <= 1
    assert abs(counts[1] - 999) <= 1
    of_b = Counter(token for source, token in drawn if source == 1)
    assert len(of_b) == 100
    assert set(of_b.values()) <= {9, 10}


def test_a_paused_source_comes_back_at_its_own_position(tmp_path: Path) -> None:
    """M05: weight 0 contributes nothing, and nothing of it is skipped."""
    corpus = write_corpus(tmp_path, {"a": [numbered([15] * 60)], "b": [numbered([15] * 60, 5001)]})

    def of_b(batches: list[Batch]) -> list[int]:
        return [row[0] for row in sequences(batches) if row[0] >= 5001]

    with open_loader(corpus.sources(a=1, b=1), prefetch=0) as loader:
        expected = [token for _ in range(15) for token in sorted(of_b(take_step(loader)))]
    with open_loader(corpus.sources(a=1, b=1), prefetch=0) as loader:
        found = [token for _ in range(5) for token in sorted(of_b(take_step(loader)))]
        loader.set_weights({"a": 1, "b": 0})
        assert not [token for _ in range(10) for token in of_b(take_step(loader))]
        loader.set_weights({"a": 1, "b": 1})
        found += [token for _ in range(10) for token in sorted(of_b(take_step(loader)))]
    assert found == expected[:60]
    with open_loader(corpus.sources(a=1, b=0)) as loader:
        assert not [token for _ in range(20) for token in of_b(take_step(loader))]


def test_wildly_uneven_documents(tmp_path: Path) -> None:
    """F20, P07: one very long document, many of 0 and 1 tokens, null rows: cut, interleaved, resumed inside."""
    long = list(range(1_000_000, 1_100_000))
    shards = [[None, [], [5], None], [long], [[n] for n in range(10, 400)] + [[] for _ in range(50)]]
    corpus = write_corpus(tmp_path, {"web": shards}, layouts=("arrow", "parquet"))  # type: ignore[dict-item]
    total = corpus.num_tokens("web", 1)
    options = {"seq_len": 64, "global_batch_size": 8, "micro_batch_size": 8}
    with open_loader(corpus.sources(), **options) as loader:
        steps, states = [], []
        for _ in range(-(-total // (64 * 8))):
            states.append(loader.state_dict())
            steps.append(sequences(take_step(loader)))
    found = Counter(token for step in steps for row in step for token in row)
    assert all(found[token] >= 1 for document in corpus.documents["web"] for token in document)
    assert sum(found.values()) - total < 64 * 9
    with open_loader(corpus.sources(), **options) as loader:
        loader.load_state_dict(states[100])
        assert sequences(take_step(loader)) == steps[100]


def test_empty_documents_are_left_out(tmp_path: Path) -> None:
    """P07"""
    corpus = write_corpus(tmp_path, {"web": [[[], [5, 6, 7], [], [8], []]]}, layouts=("arrow",))
    with open_loader(corpus.sources(), seq_len=6, global_batch_size=4, micro_batch_size=4) as loader:
        rows = sequences(take_step(loader))
    assert Counter(token for row in rows for token in row) == {5: 4, 6: 4, 7: 4, 8: 4, 0: 8}


@pytest.mark.parametrize("prefetch", [0, 2])
def test_close_ends_every_thread_and_refuses_what_follows(corpus: Corpus, prefetch: int) -> None:
    with open_loader(corpus.sources(web=1, code=1, books=1), prefetch=prefetch) as loader:
        take_step(loader)
        before = loader.state_dict()
        began = time.monotonic()
        loader.close()
        assert time.monotonic() - began < 2
        assert not threads()
        for use in (lambda: next(loader), lambda: loader.set_weights({"web": 1, "code": 1, "books": 1})):
            with pytest.raises(HeadraceError, match="this loader is closed; make a new one"):
                use()
        assert not threads()
        assert loader.state_dict() == before
        loader.close()


def test_what_was_agreed_is_still_in_the_state_after_close(corpus: Corpus) -> None:
    with open_loader(corpus.sources(web=1, code=1, books=1), prefetch=0) as loader:
        take_step(loader)
        loader.set_weights({"web": 1, "code": 0, "books": 0})
        take_step(loader)
        state = loader.state_dict()
        assert len(revisions_of(state)) == 2
    assert loader.state_dict() == state


def test_a_loader_that_is_dropped_takes_its_threads_along(corpus: Corpus) -> None:
    """A loader made anew for each evaluation must not leave its thread and files behind."""
    options: dict[str, Any] = {"seq_len": 16, "global_batch_size": 8, "micro_batch_size": 4, "seed": 1, "eos_id": 0}
    for _ in range(3):
        loader = Loader(corpus.sources(web=1, code=1, books=1), **options)
        next(loader)
        assert threads() == ["headrace-prefetch"]
        del loader
        gc.collect()
        assert not threads()


def test_close_before_the_first_batch_and_in_the_middle_of_a_step(corpus: Corpus) -> None:
    with open_loader(corpus.sources(web=1, code=1, books=1)) as loader:
        loader.close()
    with open_loader(corpus.sources(web=1, code=1, books=1), micro_batch_size=2) as loader:
        next(loader)
    assert not threads()


SCRIPT = """
import sys
from headrace import Loader, Source
loader = Loader([Source("web", sys.argv[1])], seq_len=16, global_batch_size=4, micro_batch_size=2, seed=1, eos_id=0)
for batch in loader:
    if batch.step == 3:
        break
print("left the loop", flush=True)
{end}
"""


@pytest.mark.parametrize(("end", "code"), [("", 0), ("raise KeyError('lost')", 1), ("sys.exit(7)", 7)])
def test_a_script_that_forgets_to_close_ends_at_once(corpus: Corpus, end: str, code: int) -> None:
    command = [sys.executable, "-c", SCRIPT.replace("{end}", end), str(corpus.root / "web")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as script:
        assert script.stdout is not None
        assert script.stdout.readline() == "left the loop\n"
        out, err = script.communicate(timeout=30)
    assert script.returncode == code, err
    assert out == ""
    assert ("KeyError: 'lost'" in err) == (code == 1)


def test_a_failure_in_the_data_stays_a_failure(tmp_path: Path) -> None:
    """A loop that catches it and goes on gets it again; what was delivered before can still be saved."""
    corpus = write_corpus(tmp_path, {"web": [numbered([15] * 4), numbered([15] * 4, 100)]}, layouts=("arrow",))
    for prefetch in (0, 2):
        with open_loader(
            corpus.sources(), prefetch=prefetch, vocab_size=150, global_batch_size=1, micro_batch_size=1
        ) as loader:
            with pytest.raises(ShardError, match=r"is 150 \(source 'web'\); ids must be from 0 to 149"):
                for _ in range(9):
                    next(loader)
            for _ in range(3):
                with pytest.raises(ShardError):
                    next(loader)
            assert loader.state_dict()["step"] == loader.step < 8


def test_sources_may_be_a_single_one(corpus: Corpus) -> None:
    one = Source("web", str(corpus.root / "web"))
    with Loader(one, seq_len=16, global_batch_size=2, micro_batch_size=1, seed=1, eos_id=None) as loader:  # type: ignore[arg-type]
        batch = next(loader)
        assert loader.source_names == ("web",)
        assert not (batch.input_ids == 0).any()
        assert np.array_equal(batch.source.numpy(), [0])
