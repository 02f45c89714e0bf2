"""What may change on a resume: nothing is lost or repeated but what is counted, and every step can still be named."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from headrace import Batch, ConfigError, Loader, Source, StateError
from headrace.agreement import World
from headrace.config import parse_config
from headrace.data import open_data
from headrace.mix import PPM
from headrace.resume import resume
from headrace.run import Run
from headrace.state import decode
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loader.corpora import Corpus, numbered, open_loader, random_corpus, take_step, write_corpus, write_shard

ONE: dict[str, Any] = {"global_batch_size": 1, "micro_batch_size": 1, "prefetch": 0, "eos_id": None, "lanes": 8}


def trained_ids(batches: list[Batch]) -> list[int]:
    """Every id of a row that is not padding, in order, but for the padding at the end of rows (id 0)."""
    return [
        token
        for batch in batches
        for row, source in zip(batch.input_ids.tolist(), batch.source.tolist(), strict=True)
        if source >= 0
        for token in row
        if token
    ]


def drain(loader: Loader, number: int | None = None) -> list[Batch]:
    """So many micro-batches, or all that are left."""
    found: list[Batch] = []
    for batch in loader:
        found.append(batch)
        if len(found) == number:
            break
    return found


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """A source of lanes and windows, at a `seq_len` of 2: some 10,000 sequences an epoch, in small blocks."""
    rng = np.random.default_rng(2)
    documents = numbered(rng.integers(1, 40, 1000).tolist())
    shards = [documents[first : first + 50] for first in range(0, 1000, 50)]
    return write_corpus(tmp_path_factory.mktemp("large"), {"web": shards}, layouts=("arrow",))


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_every_token_is_delivered_once_an_epoch_through_changes_of_seq_len(large: Corpus, data: st.DataObject) -> None:
    """P2: long-context stages, in the middle of any epoch; only what a straddling sequence took early comes twice."""
    sources = [Source("web", str(large.root / "web"), max_epochs=2)]
    lengths = data.draw(st.lists(st.sampled_from((2, 3, 8, 50)), min_size=2, max_size=4))
    state, seen, repeated = None, [], 0
    for number, seq_len in enumerate(lengths):
        with open_loader(sources, **{**ONE, "seq_len": seq_len}) as loader:
            if state is not None:
                loader.load_state_dict(state)
            last = number == len(lengths) - 1
            seen += trained_ids(drain(loader, None if last else data.draw(st.integers(1, 9000 // seq_len))))
            state = json.loads(json.dumps(loader.state_dict()))
            repeated = sum(change.get("repeated_tokens", {}).get("web", 0) for change in loader.changes.values())
    counts = Counter(seen)
    assert set(counts) == {token for document in large.documents["web"] for token in document}
    assert min(counts.values()) >= 2
    assert sum(counts.values()) == 2 * len(counts) + repeated
    assert repeated < sum(lengths)


def test_steps_before_a_change_of_seq_len_are_named_after_it(large: Corpus) -> None:
    """P8: each with the documents that it held then."""
    sources = large.sources()
    steps: list[list[int]] = []
    traces = []
    state = None
    for seq_len in (4, 32):
        with open_loader(sources, **{**ONE, "seq_len": seq_len}) as loader:
            if state is not None:
                loader.load_state_dict(state)
            steps += [trained_ids(take_step(loader)) for _ in range(30)]
            traces = [loader.trace(step) for step in range(len(steps))]
            state = loader.state_dict()
            changes = loader.changes
    assert list(changes) == [30]
    assert changes[30]["seq_len"] == [4, 32]
    for step, traced in enumerate(traces):
        named = []
        for piece in traced:
            shard = int(piece.path.partition(".")[0])
            named += large.documents["web"][50 * shard + piece.row][piece.start : piece.end]
        assert named == steps[step], step


def test_best_fit_drops_the_windows_it_had_begun_and_no_more(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    documents = numbered(rng.integers(1, 60, 60_000).tolist())
    shards = [documents[first : first + 3_000] for first in range(0, 60_000, 3_000)]
    corpus = write_corpus(tmp_path, {"web": shards}, token_type=np.uint32)
    sources = [Source("web", str(tmp_path / "web"), max_epochs=1)]
    options = {**ONE, "packing": "best_fit", "lanes": 1, "global_batch_size": 64, "micro_batch_size": 64}
    with open_loader(sources, **{**options, "seq_len": 64}) as loader:
        seen = trained_ids(drain(loader, 100))
        state = loader.state_dict()
    with (
        open_loader(sources, **{**options, "seq_len": 256}) as loader,
        pytest.raises(StateError, match=r"seq_len 64 → 256 would drop \d+ tokens of source 'web'.*allow_drop=True"),
    ):
        loader.load_state_dict(state)
    with open_loader(sources, **{**options, "seq_len": 256, "allow_drop": True}) as loader:
        loader.load_state_dict(state)
        seen += trained_ids(drain(loader))
        dropped = loader.changes[100]["dropped_tokens"]["web"]
    counts = Counter(seen)
    assert max(counts.values()) == 1
    missing = corpus.num_tokens("web") - len(counts)
    assert 0 < missing <= dropped < 0.3 * corpus.num_tokens("web")


def grow(root: Path, rows: int, name: str, first: int, length: int = 7) -> list[list[int]]:
    """Another shard of a source; returns its documents."""
    documents = numbered([length] * rows, first)
    write_shard(root / name, documents, "arrow", np.uint32)
    return [row for row in documents if row]


@pytest.mark.parametrize("name", ["99999", "00000-between"])
def test_appended_shards_play_once_and_then_epochs_cover_the_union(tmp_path: Path, name: str) -> None:
    """Wherever their names sort."""
    corpus = random_corpus(tmp_path, {"web": 90}, mean=10)
    old = [token for document in corpus.documents["web"] for token in document]
    options = {**ONE, "seq_len": 8}
    with open_loader(corpus.sources(), **options) as loader:
        seen = trained_ids(drain(loader, len(old) // 20))
        state = loader.state_dict()
    new = [token for row in grow(tmp_path / "web", 20, name, 50_000) for token in row]
    more = f"source 'web' has 1 shards more .* such as '{name}.arrow'.*append"
    with open_loader(corpus.sources(), **options) as loader, pytest.raises(StateError, match=more):
        loader.load_state_dict(state)
    with open_loader(corpus.sources(), **options, on_data_change="append") as loader:
        loader.load_state_dict(state)
        (change,) = loader.changes.values()
        repeated = change.get("repeated_tokens", {}).get("web", 0)
        assert change["appended_shards"] == {"web": 1}
        while len(seen) < len(old) + repeated:
            seen += trained_ids(drain(loader, 1))
        first = Counter(seen)
        assert set(first) == set(old), "the epoch that was under way ends first"
        once: list[int] = []
        while len(once) < len(new):
            once += trained_ids(drain(loader, 1))
        assert sorted(once) == sorted(new), "then what was appended, once"
        state = loader.state_dict()
    union: list[int] = []
    with open_loader(corpus.sources(), **options) as loader:
        loader.load_state_dict(state)
        assert loader.state_dict() == state, "nothing is new any more"
        while len(union) < len(old) + len(new):
            union += trained_ids(drain(loader, 1))
    assert set(union) >= set(old) | set(new) or len(set(old + new) - set(union)) < 8, "then both"


def test_shards_appended_twice_in_an_epoch_are_all_owed(tmp_path: Path) -> None:
    """A second append before the first has played, and a third while it plays."""
    corpus = random_corpus(tmp_path, {"web": 60}, mean=10)
    sources = [Source("web", str(tmp_path / "web"), max_epochs=2)]
    options = {**ONE, "seq_len": 8, "on_data_change": "append"}
    everything = Counter(token for document in corpus.documents["web"] for token in document)
    state, seen, repeated = None, [], 0
    for number, take in enumerate((20, 10, 45, 17, None)):
        with open_loader(sources, **options) as loader:
            if state is not None:
                loader.load_state_dict(state)
            seen += trained_ids(drain(loader, take))
            state = loader.state_dict()
            repeated = sum(sum(change.get("repeated_tokens", {}).values()) for change in loader.changes.values())
        if take is not None and number < 3:
            rows = grow(tmp_path / "web", 10, f"7{number}", 90_000 + 1000 * number)
            everything.update(token for row in rows for token in row)
    counts = Counter(seen)
    assert set(counts) == set(everything)
    assert sum(counts.values()) == sum(2 for _ in everything) + repeated


def test_shards_that_changed_went_or_shrank_are_named(tmp_path: Path) -> None:
    corpus = random_corpus(tmp_path, {"web": 60}, mean=10, layouts=("arrow",))
    with open_loader(corpus.sources(), **ONE) as loader:
        drain(loader, 3)
        state = loader.state_dict()
    shard = tmp_path / "web" / "00001.arrow"
    kept = shard.read_bytes()

    def refused() -> str:
        with open_loader(corpus.sources(), **ONE, on_data_change="append") as loader:
            with pytest.raises(StateError) as error:
                loader.load_state_dict(state)
            return str(error.value)

    shard.unlink()
    assert "the shards of source 'web' have changed" in refused()
    assert "00001.arrow is missing" in refused()
    write_shard(shard.with_suffix(""), [[1, 2, 3]], "arrow", np.uint32)
    assert f"00001.arrow had {len(kept)} bytes and has {shard.stat().st_size}" in refused()
    shard.write_bytes(kept)
    with open_loader(corpus.sources(), **ONE) as loader:
        loader.load_state_dict(state)
    shutil.rmtree(Path(loader_cache()) / "listings")
    shard.unlink()
    assert "it had 3 shards and has 2" in refused()


def loader_cache() -> Path:
    from headrace.cache import cache_root

    return cache_root()


def test_grown_exclusions_are_holes_until_the_epoch_ends(tmp_path: Path) -> None:
    corpus = random_corpus(tmp_path, {"web": 90}, mean=10, layouts=("arrow",))
    options = {**ONE, "seq_len": 8}
    gone = {token for document in corpus.documents["web"][:30] for token in document}
    everything = {token for document in corpus.documents["web"] for token in document}
    begun = len(everything) // 16
    with open_loader(corpus.sources(), **options) as loader:
        seen = trained_ids(drain(loader, begun))
        state = loader.state_dict()
        through = [batch.input_ids.tolist()[0] for batch in drain(loader, len(everything) // 8 - begun - 2)]
    less = [Source("web", str(tmp_path / "web"), exclude=["00000.*"])]
    with open_loader(less, **options) as loader:
        loader.load_state_dict(state)
        assert loader.changes[begun]["exclusions"] == {"web": 1}
        batches = drain(loader, len(through))
        differs = 0
        for now, before in zip((batch.input_ids.tolist()[0] for batch in batches), through, strict=True):
            masked = [0 if token in gone else token for token in before]
            differs += now != masked
            assert all(token in (0, kept) for token, kept in zip(now, masked, strict=True)), "tokens keep their places"
        assert differs <= 1, "only the last sequence of the epoch, which no longer reaches into the next"
        for batch, before in zip(batches, through, strict=True):
            assert all(
                label < 0 for label, token in zip(batch.labels.tolist()[0], before, strict=True) if token in gone
            )
        assert not any(piece.path == "00000.arrow" for step in range(begun, begun + 20) for piece in loader.trace(step))
        assert any(piece.path == "00000.arrow" for step in range(begun) for piece in loader.trace(step))
        state = loader.state_dict()
    with open_loader(less, **options) as loader:
        loader.load_state_dict(state)
        drain(loader, 4)
        later = Counter(trained_ids(drain(loader, 2 * (len(everything) - len(gone)) // 8)))
    assert set(later) == everything - gone, "then they are gone, and leave no hole"
    assert seen
    with open_loader(corpus.sources(), **options) as loader, pytest.raises(StateError, match="exclude may only grow"):
        loader.load_state_dict(state)


def test_sources_come_go_and_come_back_where_they_were(tmp_path: Path) -> None:
    """A dropped source keeps its place; an added one gets its share, the others what is left, as before."""
    corpus = random_corpus(tmp_path, {"web": 60, "code": 40, "math": 30}, mean=10)
    options: dict[str, Any] = {"eos_id": None, "prefetch": 0}
    per_source: dict[str, list[int]] = {"web": [], "code": [], "math": []}
    steps: list[list[tuple[str, int]]] = []

    def run(
        weights: dict[str, float], number: int, state: dict[str, Any] | None
    ) -> tuple[dict[str, Any], dict[str, int]]:
        with open_loader(corpus.sources(**weights), **options) as loader:
            if state is not None:
                loader.load_state_dict(state)
            ppm = loader.weights_ppm
            for _ in range(number):
                batches = take_step(loader)
                steps.append([])
                for batch in batches:
                    for row, source in zip(batch.input_ids.tolist(), batch.source.tolist(), strict=True):
                        per_source[loader.source_names[source]] += row
                        steps[-1].append((loader.source_names[source], row[0]))
            return loader.state_dict(), ppm

    state, _ = run({"web": 0.75, "code": 0.25}, 9, None)
    state, ppm = run({"web": 0.3, "code": 0.3, "math": 0.4}, 9, state)
    assert ppm == {"web": 450_000, "code": 150_000, "math": 400_000}
    state, ppm = run({"math": 0.5, "web": 0.5}, 9, state)
    assert ppm == {"math": 470_588, "web": 529_412}
    state, ppm = run({"math": 0.25, "code": 0.5, "web": 0.25}, 9, state)
    assert ppm == {"math": 235_294, "code": 500_000, "web": 264_706}
    for name, tokens in per_source.items():
        size = corpus.num_tokens(name)
        ordered = []
        with open_loader(corpus.sources(**{name: 1}), **{**ONE, **options}) as alone:
            while len(ordered) < len(tokens):
                ordered += next(alone).input_ids.tolist()[0]
        assert sorted(tokens) == sorted(ordered[: len(tokens)]), (name, size)
    everyone = {"math": 0.25, "code": 0.5, "web": 0.25}
    with open_loader(corpus.sources(**everyone), **options) as loader:
        loader.load_state_dict(state)
        for step, sequences in enumerate(steps):
            first = {piece.slot: piece.source for piece in reversed(loader.trace(step))}
            assert [first[slot] for slot in range(8)] == [name for name, _ in sequences]
    assert [sorted(change) for change in loader.changes.values()] == [
        ["added_sources", "configured_weights_ppm"],
        ["configured_weights_ppm", "dropped_sources"],
        ["added_sources", "configured_weights_ppm"],
    ]
    with open_loader(corpus.sources(math=1, web=1), **options) as loader:
        loader.load_state_dict(state)
        with pytest.raises(StateError, match="it had source 'code', which is no longer configured"):
            loader.trace(3)


def test_steps_that_are_moved_past_are_recorded_and_not_delivered(tmp_path: Path) -> None:
    corpus = random_corpus(tmp_path, {"web": 60, "code": 40}, mean=10)
    with open_loader(corpus.sources(web=3, code=1)) as loader:
        steps = [[batch.input_ids.tolist() for batch in take_step(loader)] for _ in range(5)]
        state = loader.state_dict()
        steps += [[batch.input_ids.tolist() for batch in take_step(loader)] for _ in range(30)]
    with open_loader(corpus.sources(web=3, code=1)) as loader:
        loader.load_state_dict(state, skip_steps=20)
        assert loader.step == 25
        for step in range(25, 30):
            batches = take_step(loader)
            assert {batch.step for batch in batches} == {step}
            assert [batch.input_ids.tolist() for batch in batches] == steps[step]
        assert loader.changes == {25: {"skipped_steps": 20}}
        state = json.loads(json.dumps(loader.state_dict()))
        with pytest.raises(StateError, match="step is 24; it was moved past"):
            loader.trace(24)
        assert len({piece.slot for piece in loader.trace(4)}) == 8
    with open_loader(corpus.sources(web=3, code=1)) as loader:
        loader.load_state_dict(state)
        assert [batch.input_ids.tolist() for batch in take_step(loader)] == steps[30]
        assert loader.changes == {25: {"skipped_steps": 20}}
        for wrong in (-1, 1.5, True):
            with pytest.raises(ConfigError, match="skip_steps is"):
                loader.load_state_dict(state, skip_steps=wrong)  # type: ignore[arg-type]


def test_a_schedule_of_batch_sizes_leaves_each_sources_order_alone(tmp_path: Path) -> None:
    """S02, S04: the same sequences of each source in the same order, whatever the sizes, and however it is resumed."""
    corpus = random_corpus(tmp_path, {"web": 60, "code": 40}, mean=10)
    orders = []
    for sizes in (8, [(0, 4), (5, 20)], [(0, 4), (3, 8), (4, 20)], 24):
        with open_loader(corpus.sources(web=3, code=1), global_batch_size=sizes) as loader:
            taken: list[Batch] = []
            while sum(len(batch.source) for batch in taken) < 120:
                taken += take_step(loader)
            state = loader.state_dict()
        assert json.loads(state["eras"])[0][4] == (
            [list(pair) for pair in sizes] if isinstance(sizes, list) else [[0, sizes]]
        )
        by_source = [
            sorted(
                tuple(row)
                for batch in taken
                for row, source in zip(batch.input_ids.tolist(), batch.source.tolist(), strict=True)
                if source == k
            )
            for k in (0, 1)
        ]
        orders.append(by_source)
    assert orders[0] == orders[1] == orders[2] == orders[3]


def test_a_schedule_must_fit_the_ranks_at_every_size(tmp_path: Path) -> None:
    corpus = random_corpus(tmp_path, {"web": 60}, mean=10)
    with pytest.raises(ConfigError, match="global_batch_size is 6, which 1 data ranks × micro_batch_size 4"):
        Loader(corpus.sources(), seq_len=16, global_batch_size=[(0, 8), (9, 6)], micro_batch_size=4, seed=1, eos_id=0)


def test_every_change_at_once_is_the_same_at_any_world_size(tmp_path: Path) -> None:
    """P1, P3: the legs follow from the state alone, on any number of ranks."""
    corpus = random_corpus(tmp_path, {"web": 200, "code": 80}, mean=10, layouts=("arrow",))
    with open_loader(corpus.sources(web=3, code=1), eos_id=None) as loader:
        for _ in range(7):
            take_step(loader)
        state = loader.state_dict()
    grow(tmp_path / "web", 40, "77777", 90_000)
    math = write_corpus(tmp_path, {"math": [numbered([9] * 50, 200_000)]})
    sources = [
        Source("math", str(math.root / "math"), 2),
        Source("web", str(tmp_path / "web"), 3, exclude=["00001.*"]),
        Source("code", str(tmp_path / "code"), 1),
    ]
    options = {"seq_len": 24, "global_batch_size": 12, "micro_batch_size": 2, "seed": 1, "eos_id": None}
    config = parse_config({"sources": sources, **options, "on_data_change": "append", "prefetch": 0})
    restored, data = resume(decode(state, config), open_data(config))
    assert set(restored.eras[-1].changes) >= {"added_sources", "appended_shards", "exclusions", "seq_len"}

    def global_batches(world_size: int) -> list[list[list[int]]]:
        found: list[list[list[int]]] = [[] for _ in range(12)]
        for rank in range(world_size):
            run = Run(data, World(0, 1, rank, world_size), restored, lambda **_: None)
            for rows in found:
                for _ in range(12 // (2 * world_size)):
                    rows.extend(run.take().batch.input_ids.tolist())
            run.close(None)
        return found

    assert global_batches(1) == global_batches(2) == global_batches(3)


def test_weights_of_all_sources_still_sum_up(tmp_path: Path) -> None:
    """Adding when every old source is paused, and dropping the only one with weight."""
    corpus = random_corpus(tmp_path, {"web": 30, "code": 30}, mean=10)
    with open_loader(corpus.sources(web=1)) as loader:
        take_step(loader)
        state = loader.state_dict()
    with open_loader(corpus.sources(web=0, code=1)) as loader:
        loader.load_state_dict(state)
        assert loader.weights_ppm == {"web": 0, "code": PPM}
        take_step(loader)
        state = loader.state_dict()
    with open_loader(corpus.sources(web=1)) as loader:
        loader.load_state_dict(state)
        assert loader.weights_ppm == {"web": PPM}
        take_step(loader)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_chain_of_changes_delivers_every_token_of_every_epoch_once(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """P2: shards appended, excluded and re-cut in any order, at any moment, with either packing, shuffled or not."""
    root = tmp_path_factory.mktemp("chain")
    packing = data.draw(st.sampled_from(("concat", "concat", "best_fit")))
    options = {**ONE, "packing": packing, "shuffle": data.draw(st.booleans()), "on_data_change": "append"}
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 20)))
    shards: dict[str, set[int]] = {}

    def add(name: str) -> None:
        documents = grow(
            root / "web", int(rng.integers(5, 40)), name, 1 + 10_000 * len(shards), int(rng.integers(4, 20))
        )
        shards[name] = {token for document in documents for token in document}

    for name in ("10", "20", "30"):
        add(name)
    excluded: list[str] = []
    seq_len, state, seen = 8, None, Counter[int]()
    repeated: dict[int, int] = {}
    is_over = False
    for change in [*data.draw(st.lists(st.sampled_from(("append", "exclude", "recut", "none")), max_size=4)), "end"]:
        sources = [Source("web", str(root / "web"), max_epochs=2, exclude=[f"{name}.*" for name in excluded])]
        with open_loader(sources, **options, seq_len=seq_len) as loader:
            if state is not None:
                loader.load_state_dict(state)
            left = None if change == "end" else data.draw(st.integers(0, 120))
            taken = drain(loader, left) if left != 0 else []
            is_over = is_over or len(taken) < (left or 0)
            seen.update(trained_ids(taken))
            state = json.loads(json.dumps(loader.state_dict()))
            repeated = {
                step: change.get("repeated_tokens", {}).get("web", 0) for step, change in loader.changes.items()
            }
        if change == "append" and not is_over:
            add(data.draw(st.sampled_from(("05", "15", "40"))) + str(len(shards)))
        elif change == "exclude" and len(excluded) < len(shards) - 1:
            excluded.append(data.draw(st.sampled_from(sorted(set(shards) - set(excluded)))))
        elif change == "recut" and packing == "concat":
            seq_len = data.draw(st.sampled_from((3, 5, 16)))
    extra = 0
    for name, tokens in shards.items():
        if name in excluded:
            assert max((seen[token] for token in tokens), default=0) <= 2 + sum(repeated.values())
            continue
        times = Counter(seen[token] for token in tokens)
        usual = 2 if name in ("10", "20", "30") else min(times)
        assert usual >= 1 and min(times) == usual, (name, times)
        extra += sum((number - usual) * size for number, size in times.items())
    assert extra <= sum(repeated.values())
