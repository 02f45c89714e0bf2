"""P8 backwards: a document leads to the steps that hold it, all of them and no others."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from headrace import ConfigError, Loader, Source, StateError
from headrace.find import Delivery

from tests.loader.corpora import Corpus, numbered, open_loader, random_corpus, take_step, write_corpus, write_shard

WEIGHTS = {"web": 0.6, "code": 0.4}
Stretch = tuple[int, int, int, int]
"step, slot, start, end"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return random_corpus(tmp_path_factory.mktemp("find"), {"web": 50, "code": 21}, mean=12)


def traced(loader: Loader, steps: range) -> dict[tuple[str, str, int], set[Stretch]]:
    """By document, everything that a walk over the traces of all steps names."""
    found = defaultdict(set)
    for step in steps:
        for slot, source, path, row, start, end in loader.trace(step):
            found[source, path, row].add((step, slot, start, end))
    return found


def stretches(deliveries: list[Delivery]) -> set[Stretch]:
    return {(d.step, d.slot, d.start, d.end) for d in deliveries}


def check_all(loader: Loader, steps: range) -> None:
    """Every document's steps are those that the traces name."""
    for (source, path, row), expected in traced(loader, steps).items():
        found = loader.find(path, row, source=source, first_step=steps.start, until_step=steps.stop - 1)
        assert stretches(found) == expected, (source, path, row)
        assert [d.step for d in found] == sorted(d.step for d in found)


@pytest.mark.parametrize("options", [{}, {"packing": "best_fit"}, {"shuffle": False}, {"bos_id": 0, "eos_id": None}])
def test_every_delivery_of_every_document_is_found(corpus: Corpus, options: dict[str, Any]) -> None:
    """Over several epochs, a change of the mix and a pause, from the middle of the run."""
    with open_loader(corpus.sources(**WEIGHTS), prefetch=0, **options) as loader:
        for _ in range(4):
            take_step(loader)
        loader.set_weights({"web": 0, "code": 1})
        for _ in range(4):
            take_step(loader)
        loader.set_weights({"web": 3, "code": 1}, ramp_steps=6)
        take_step(loader)
        check_all(loader, range(40))


def test_sources_dealt_over_lanes(tmp_path: Path) -> None:
    """Far above a single permutation, in windows of lanes, across the seam between epochs."""
    lengths = np.random.default_rng(2).geometric(1 / 90, 900).tolist()
    corpus = write_corpus(tmp_path, {"web": [numbered(lengths[n::2]) for n in range(2)]}, token_type=np.uint32)
    with open_loader(corpus.sources(), seq_len=8, global_batch_size=64, lanes=16) as loader:
        steps = range(150, 180)
        found = traced(loader, steps)
        for (source, path, row), expected in sorted(found.items())[::40]:
            ours = stretches(loader.find(path, row, source=source, first_step=150, until_step=179))
            assert ours == expected
        whole = loader.find("00000.arrow", 0, until_step=400)
        assert {d.epoch for d in whole} == {0, 1, 2}
        for epoch in (0, 1):
            assert sum(d.end - d.start for d in whole if d.epoch == epoch) == lengths[0]


def test_by_default_all_past_passes_and_the_next(corpus: Corpus) -> None:
    with open_loader(corpus.sources(**WEIGHTS), prefetch=0) as loader:
        first = loader.find("00001.arrow", 2, source="web")
        assert {d.epoch for d in first} == {0}
        while loader.step <= first[-1].step:
            take_step(loader)
        found = loader.find("00001.arrow", 2, source="web")
        assert found[: len(first)] == first
        assert {d.epoch for d in found} == {0, 1}
        assert stretches(found) <= traced(loader, range(found[-1].step + 1))["web", "00001.arrow", 2]
        assert loader.find("00001.arrow", 2, source="web", first_step=first[-1].step + 1) == found[len(first) :]


def test_a_paused_source_is_never_delivered(corpus: Corpus) -> None:
    with open_loader(corpus.sources(web=1, code=0)) as loader:
        assert loader.find("00000.arrow", 0, source="code") == []
        assert loader.find("00000.arrow", 0, source="code", until_step=10**6) == []


@pytest.mark.parametrize(
    "options",
    [
        {"epochs": 1},
        {"epochs": 1, "shuffle": False, "remainder": "drop"},
        {"epochs": 2, "packing": "best_fit"},
        {"on_exhausted": "stop"},
        {"on_exhausted": "renormalise"},
    ],
)
def test_runs_that_end(corpus: Corpus, options: dict[str, Any]) -> None:
    """Nothing is found after the last step, whichever way the run ends."""
    capped = "on_exhausted" in options
    sources = [
        Source(name, str(corpus.root / name), weight, max_epochs=1.5 if capped else None)
        for name, weight in WEIGHTS.items()
    ]
    with open_loader(sources, **options) as loader:
        steps = len(loader) // 2
        expected = traced(loader, range(steps))
        for (source, path, row), stretched in expected.items():
            assert stretches(loader.find(path, row, source=source, until_step=10**9)) == stretched
        for step in (steps, steps + 50):
            with pytest.raises(StateError, match=f"step is {step}; the run ends with step {steps - 1}"):
                loader.trace(step)


@pytest.mark.parametrize("packing", ["concat", "best_fit"])
@pytest.mark.filterwarnings("ignore:.*fewer than seq_len")
def test_a_run_that_goes_on_otherwise(tmp_path: Path, packing: str) -> None:
    """Eras: another batch size, skipped steps, longer sequences, a shard more, one less; from the last checkpoint."""
    corpus = random_corpus(tmp_path / "data", {"web": 70, "code": 30}, mean=12)
    late = (corpus.root / "web" / "00002.arrow").rename(tmp_path / "late.arrow")
    options: dict[str, Any] = {"prefetch": 0, "packing": packing}
    with open_loader(corpus.sources(**WEIGHTS), **options) as loader:
        for _ in range(3):
            take_step(loader)
        state = loader.state_dict()
    options["global_batch_size"] = 4
    with open_loader(corpus.sources(**WEIGHTS), **options) as loader:
        loader.load_state_dict(state, skip_steps=2)
        for _ in range(2):
            take_step(loader)
        state = loader.state_dict()
    late.rename(corpus.root / "web" / "00002.arrow")
    web, code = corpus.sources(**WEIGHTS)
    sources = [replace(web, exclude=("00000.arrow",)), code]
    with open_loader(sources, seq_len=32, allow_drop=True, on_data_change="append", **options) as loader:
        loader.load_state_dict(state)
        take_step(loader)
        expected: dict[tuple[str, str, int], set[Stretch]] = defaultdict(set)
        for steps in (range(3), range(5, 30)):
            for document, found in traced(loader, steps).items():
                expected[document] |= found
        assert len({path for source, path, _ in expected if source == "web"}) == 3
        for (source, path, row), stretched in expected.items():
            assert stretches(loader.find(path, row, source=source, until_step=29)) == stretched


def test_ways_to_name_a_shard(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        write_shard(tmp_path / "web" / folder / "0", numbered([5, 5]), "headrace", np.uint16)
    write_shard(tmp_path / "code" / "a" / "1", numbered([5, 5]), "headrace", np.uint16)
    sources = [Source("web", str(tmp_path / "web")), Source("code", str(tmp_path / "code"))]
    with open_loader(sources, seq_len=4) as loader:
        own = loader.find("a/0.arrow", 1)
        assert own == loader.find(str(tmp_path / "web" / "a" / "0.arrow"), 1) != []
        assert loader.find("1.arrow", 0) == loader.find("a/1.arrow", 0, source="code") != []
        for path, row, source, said in (
            ("0.arrow", 0, None, r"2 shards fit, such as a/0.arrow of 'web', b/0.arrow of 'web'"),
            ("c/0.arrow", 0, None, r"path is 'c/0.arrow'; there is no such shard in web, code"),
            ("1.arrow", 0, "web", r"there is no such shard in web"),
            ("a/0.arrow", 2, None, r"row is 2; a/0.arrow has rows 0 to 1"),
            ("a/0.arrow", -1, None, r"row is -1"),
            ("a/0.arrow", 0, "wbe", r"source is 'wbe'; the sources are web, code"),
        ):
            with pytest.raises(ConfigError, match=said):
                loader.find(path, row, source=source)


def test_rows_that_no_step_holds_are_told_from_those_that_come_late(tmp_path: Path) -> None:
    write_shard(tmp_path / "web" / "a", [[1, 2, 3], None, [], [4, 5]], "arrow", np.uint16)
    write_shard(tmp_path / "web" / "b", [[6, 7, 8, 9]], "arrow", np.uint16)
    sources = [Source("web", str(tmp_path / "web"), exclude=("b.arrow",))]
    with open_loader(sources, seq_len=3) as loader:
        assert loader.find("a.arrow", 3) != []
        for path, row in (("a.arrow", 1), ("a.arrow", 2), ("b.arrow", 0)):
            with pytest.raises(ConfigError, match=f"row {row} of {path} is empty, null or left out"):
                loader.find(path, row)


def test_steps_before_what_is_known_are_refused(corpus: Corpus) -> None:
    with open_loader(corpus.sources(**WEIGHTS), prefetch=0, global_batch_size=1, micro_batch_size=1) as loader:
        for step in range(300):
            loader.set_weights({"web": 1 + step % 3, "code": 1})
            take_step(loader)
        state = loader.state_dict()
    with open_loader(corpus.sources(**WEIGHTS), global_batch_size=1, micro_batch_size=1) as resumed:
        with pytest.warns(UserWarning, match="the checkpoint wins"):
            resumed.load_state_dict(state)
        with pytest.raises(StateError, match="first_step is 4; what this loader knows of the run reaches back to"):
            resumed.find("00000.arrow", 0, source="web", first_step=4)
        assert resumed.find("00000.arrow", 0, source="web") != []
