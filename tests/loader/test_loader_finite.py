"""Runs that end, and best-fit packing, through the loader: what each rank gets, and what every epoch delivered."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from headrace import Batch, ConfigError, Loader, Source
from headrace.assemble import Assembler
from headrace.config import parse_config
from headrace.data import open_data
from headrace.mix import Revision
from headrace.packing import IGNORED
from headrace.plan import Position
from headrace.stream import Stream

from tests.loader.corpora import Corpus, numbered, open_loader, random_corpus, write_corpus


class Sealed:
    """Seals of a run whose mix never changes."""

    def through(self, step: int) -> list[Revision]:
        return []


def batches_of_rank(corpus: Corpus, rank: int, world_size: int, **options: Any) -> list[Batch]:
    """Every micro-batch that one rank of several gets."""
    chosen: dict[str, Any] = {"seq_len": 4, "micro_batch_size": 1, "seed": 1, "eos_id": None}
    data = open_data(parse_config({"sources": corpus.sources(), **chosen, **options}))
    orders, blocks = data.orders(), data.blocks()
    courses = data.courses(orders)
    stream = Stream(
        start=Position.start(len(data.config.names)),
        log=[Revision("config:1", 0, data.weights_ppm)],
        seals=Sealed(),
        courses=courses,
        names=data.config.names,
        assembler=Assembler(data.config, data.manifests, courses, data.pieces(orders, blocks), blocks),
        batch_sizes=data.config.batch_sizes,
        micro_batch_size=data.config.micro_batch_size,
        dp_rank=rank,
        dp_size=world_size,
        tokens_a_sequence=0,
        ending=data.ending(),
    )
    return [item.batch for item in stream.items()]


def trained(batches: list[Batch]) -> Counter[int]:
    """How often each id is in a sequence that is not padding."""
    ids: Counter[int] = Counter()
    for batch in batches:
        for row, source in zip(batch.input_ids.tolist(), batch.source.tolist(), strict=True):
            ids.update(token for token in row if source >= 0 and token)
    return ids


@pytest.mark.parametrize("world_size", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("packing", ["concat", "best_fit"])
def test_evaluation_does_not_depend_on_the_number_of_ranks(tmp_path: Path, world_size: int, packing: str) -> None:
    """E01, E04: ten documents of one token; every rank steps as often, and each document counts once."""
    corpus = write_corpus(tmp_path, {"eval": [[[value] for value in range(1, 11)]]})
    options = {"epochs": 1, "shuffle": False, "global_batch_size": 24, "packing": packing, "seq_len": 2}
    ranks = [batches_of_rank(corpus, rank, world_size, **options) for rank in range(world_size)]
    assert len({len(batches) for batches in ranks}) == 1
    together = sum((trained(batches) for batches in ranks), Counter[int]())
    assert together == Counter(range(1, 11))
    assert sum(value * count for value, count in together.items()) == 55


def test_one_pass_without_shuffling_is_in_the_order_of_the_shards(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, {"eval": [numbered([3, 5, 2]), numbered([4, 1, 6], first=11)]})
    with open_loader(corpus.sources(), epochs=1, shuffle=False, eos_id=None, seq_len=7, global_batch_size=1,
                     micro_batch_size=1) as loader:  # fmt: skip
        assert len(loader) == 3
        rows = [token for batch in loader for token in batch.input_ids[0].tolist()]
    assert rows == [*range(1, 22)]


@pytest.mark.parametrize(("remainder", "steps"), [("pad", 4), ("drop", 3)])
def test_the_length_is_what_is_delivered_and_a_second_loop_is_a_second_pass(
    tmp_path: Path, remainder: str, steps: int
) -> None:
    """E01, E02: known beforehand, the same in every pass, and asking has no effect."""
    corpus = random_corpus(tmp_path, {"web": 40, "code": 10})
    sources = [Source(name, str(tmp_path / name)) for name in ("web", "code")]
    tokens = sum(corpus.num_tokens(name, 1) for name in ("web", "code"))
    seq_len = tokens // 28
    with Loader(sources, seq_len=seq_len, global_batch_size=8, micro_batch_size=4, seed=1, eos_id=0, epochs=1,
                remainder=remainder, job=None) as loader:  # fmt: skip
        for _ in range(2):
            assert len(loader) == 2 * steps
            passed = list(loader)
            assert [batch.step for batch in passed] == [step for step in range(steps) for _ in range(2)]
    if remainder == "pad":
        assert sum(batch.num_trained_tokens for batch in passed) == tokens - corpus_documents(corpus)


def corpus_documents(corpus: Corpus) -> int:
    return sum(len(documents) for documents in corpus.documents.values())


def test_a_pass_resumes_exactly_and_ends_where_it_would_have(tmp_path: Path) -> None:
    corpus = random_corpus(tmp_path, {"web": 40, "code": 10})
    with open_loader(corpus.sources(), epochs=2) as loader:
        states, rows = [], []
        for batch in loader:
            rows.append(batch.input_ids.tolist())
            if batch.last_of_step:
                states.append((len(rows), loader.state_dict()))
    for at, state in states[::7]:
        with open_loader(corpus.sources(), epochs=2) as resumed:
            resumed.load_state_dict(state)
            assert [batch.input_ids.tolist() for batch in resumed] == rows[at:]


def test_a_source_is_used_up_and_the_others_take_its_place_or_the_run_stops(tmp_path: Path) -> None:
    """M01: `max_epochs` is exact inside a step."""
    corpus = random_corpus(tmp_path, {"web": 60, "code": 10})
    web, code = corpus.sources(web=1, code=1)
    capped = Source(code.name, code.path, 1, max_epochs=1.5)
    with open_loader([web, capped]) as loader:
        for _ in range(200):
            next(loader)
        cap = -(-3 * corpus.num_tokens("code", 1) // (2 * 16))
        assert sum(piece.source == "code" for step in range(40) for piece in once_a_slot(loader, step)) == cap
    with open_loader([web, capped], on_exhausted="stop") as loader:
        expected = len(loader)
        assert len(list(loader)) == expected


def once_a_slot(loader: Loader, step: int) -> list[Any]:
    pieces = loader.trace(step)
    return pieces[:1] + [after for before, after in pairwise(pieces) if after.slot != before.slot]


def test_a_run_without_an_end_has_no_length(tmp_path: Path) -> None:
    corpus = random_corpus(tmp_path, {"web": 20})
    with open_loader(corpus.sources()) as loader, pytest.raises(TypeError, match="goes on for ever; give epochs"):
        len(loader)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"epochs": 0}, "epochs is 0; it must be a finite number above 0"),
        ({"epochs": float("nan")}, "epochs is nan"),
        ({"remainder": "keep"}, "remainder is 'keep'; it must be one of 'pad', 'drop'"),
        ({"on_exhausted": "loop"}, "on_exhausted is 'loop'"),
        ({"packing": "bestfit"}, "packing is 'bestfit'; it must be one of 'concat', 'best_fit'"),
        ({"shuffle": "no"}, "shuffle is 'no'; it must be True or False"),
    ],
)
def test_what_is_not_allowed_is_named(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    corpus = random_corpus(tmp_path, {"web": 20})
    with pytest.raises(ConfigError, match=said):
        open_loader(corpus.sources(), **options).__enter__()


def test_epochs_and_max_epochs_are_not_both_given(tmp_path: Path) -> None:
    corpus = random_corpus(tmp_path, {"web": 20})
    (web,) = corpus.sources()
    with pytest.raises(ConfigError, match="epochs is 1 but source 'web' has max_epochs 2"):
        open_loader([Source(web.name, web.path, max_epochs=2)], epochs=1).__enter__()


@pytest.mark.parametrize("packing", ["concat", "best_fit"])
@pytest.mark.parametrize("remainder", ["pad", "drop"])
def test_what_was_padded_and_left_out_is_said(
    packing: str, remainder: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """By a property and a line in the log at the end, again for a second pass; `len` changes nothing."""
    corpus = random_corpus(tmp_path, {"web": 40, "code": 11})
    caplog.set_level("INFO", "headrace")
    options: dict[str, Any] = {"epochs": 1, "remainder": remainder, "packing": packing, "global_batch_size": 16}
    said = []
    with open_loader(corpus.sources(), **options) as loader:
        for _ in range(2):
            length, before = len(loader), loader.remainder
            batches = list(loader)
            left = loader.remainder
            assert (len(batches), len(loader)) == (length, length)
            assert left is not None
            assert left is not before
            filled = sum(batch.input_ids.numel() for batch in batches) - left.padded_tokens
            tokens = trained(batches).total()
            if remainder == "pad":
                assert filled == tokens + 51
                assert left.dropped_sequences == {}
            else:
                assert sum(left.dropped_sequences.values()) in range(1, 16)
                assert tokens < filled <= tokens + 51
            shown = f"left out: {left.dropped_sequences} seq" if left.dropped_sequences else "nothing was left out"
            said.append(f"{length // 4} steps: {left.padded_tokens} tokens of padding on this rank; {shown}")
            assert next(loader, None) is None
    told = [message for message in caplog.messages if message.startswith("the run ended after ")]
    assert len(told) == 2
    assert all(words in line for words, line in zip(said, told, strict=True))


def test_short_sources_are_no_news_in_a_run_that_ends(tmp_path: Path) -> None:
    """A pass over a source pads it and repeats nothing; without an end it is repeated in each sequence."""
    corpus = write_corpus(tmp_path, {"web": [numbered([3, 4])]})
    with open_loader(corpus.sources(), epochs=1) as loader:
        assert len(list(loader)) == 2
    with pytest.warns(UserWarning, match="fewer than seq_len 16: each of its sequences repeats it"):
        open_loader(corpus.sources()).__enter__().close()


@pytest.mark.parametrize("packing", ["concat", "best_fit"])
def test_what_fills_a_sequence_is_not_trained(packing: str, tmp_path: Path) -> None:
    """P05: three documents of three tokens in a sequence of 64: twelve places with their separators, nine labels."""
    corpus = write_corpus(tmp_path, {"web": [numbered([3, 3, 3])]})
    options: dict[str, Any] = {"seq_len": 64, "global_batch_size": 1, "micro_batch_size": 1, "packing": packing}
    with open_loader(corpus.sources(), epochs=1, outputs=("input_ids", "labels", "cu_seqlens"), **options) as loader:
        (batch,) = list(loader)
    assert batch.labels is not None
    assert batch.cu_seqlens is not None
    ids, labels = batch.input_ids[0].tolist(), batch.labels[0].tolist()
    assert sorted(ids[:12]) == [0, 0, 0, *range(1, 10)]
    assert ids[12:] == [0] * 52
    assert labels[12:] == [IGNORED] * 52
    assert [label >= 0 for label in labels[:12]] == [True, True, True, False] * 3
    assert batch.num_trained_tokens == 9
    assert batch.cu_seqlens.tolist() == [0, 4, 8, 12, 64]
    assert loader.remainder is not None
    assert loader.remainder.padded_tokens == 52
