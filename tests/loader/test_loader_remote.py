"""The loader on object storage: the stream of local files, whatever the network does, and an end at once."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from headrace import HeadraceError, Loader, ShardError, Source
from headrace.formats import Block
from headrace.reader import SourceReader

from tests.loader.corpora import Corpus, open_loader, random_corpus, sequences, take_step
from tests.loader.object_store import Faults, Proxy, Store

LAYOUTS = ("headrace", "parquet", "arrow")


@pytest.fixture
def proxy(store: Store) -> Iterator[Proxy]:
    with Proxy(store.port, Faults()) as proxy:
        yield proxy


@pytest.fixture
def corpus(store: Store, tmp_path: Path, request: pytest.FixtureRequest) -> Corpus:
    """Two sources of 150 and 100 documents, on disk and, under the test's name, on the store."""
    corpus = random_corpus(tmp_path / "data", {"web": 150, "code": 100}, layouts=LAYOUTS)
    store.put_folder(corpus.root, prefix_of(request))
    return corpus


def prefix_of(request: pytest.FixtureRequest) -> str:
    return f"loader/{request.node.name}"


@pytest.fixture
def sources(store: Store, corpus: Corpus, proxy: Proxy, request: pytest.FixtureRequest) -> list[Source]:
    """The same two, through the proxy."""
    return [
        Source(name, store.uri(f"{prefix_of(request)}/{name}", proxy.port), weight)
        for name, weight in (("web", 0.6), ("code", 0.4))
    ]


def deliver(sources: list[Source], steps: int = 45, **options: Any) -> list[list[tuple[int, ...]]]:
    with open_loader(sources, **options) as loader:
        return [sequences(take_step(loader)) for _ in range(steps)]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"packing": "best_fit"},
        {"disk_cache_bytes": 20_000, "cache_bytes": 1 << 20},
        {"prefetch": 0, "disk_cache_bytes": 1 << 20},
    ],
    ids=str,
)
def test_the_stream_is_that_of_local_files_through_every_fault(
    corpus: Corpus, sources: list[Source], proxy: Proxy, options: dict[str, Any]
) -> None:
    """P1, I02 (prefetch 0, a small disk cache): errors, resets, bodies cut short and slow answers."""
    expected = deliver(corpus.sources(web=0.6, code=0.4), **options)
    proxy.faults = Faults(latency_s=0.005, errors=0.05, resets=0.05, cuts=0.05, slow=0.01)
    assert deliver(sources, **options) == expected
    assert proxy.injected.total() > 3


def test_a_resumed_run_goes_on_the_same(corpus: Corpus, sources: list[Source]) -> None:
    whole = deliver(corpus.sources(web=0.6, code=0.4), 20)
    with open_loader(sources) as loader:
        delivered = [sequences(take_step(loader)) for _ in range(8)]
        state = loader.state_dict()
    with open_loader(sources) as loader:
        loader.load_state_dict(state)
        delivered += [sequences(take_step(loader)) for _ in range(6)]
        loader.load_state_dict(state)
        delivered += [sequences(take_step(loader)) for _ in range(12)][6:]
    assert delivered == whole


def test_what_is_left_out_on_a_resume_is_read_after_the_run_before_was_closed(
    corpus: Corpus, sources: list[Source], tmp_path: Path
) -> None:
    """Counting rows reads blocks between one run and the next."""
    (tmp_path / "drop.csv").write_text("path,row\n00000.arrow,1\n00000.arrow,3\n")
    web = replace(sources[0], exclude=str(tmp_path / "drop.csv"))
    with open_loader(sources) as loader:
        for _ in range(3):
            take_step(loader)
        state = loader.state_dict()
    with open_loader([web, sources[1]]) as loader:
        take_step(loader)
        loader.load_state_dict(state)
        take_step(loader)
        assert loader.trace(1)


def test_weights_that_change_midway_change_nothing_else(corpus: Corpus, sources: list[Source]) -> None:
    """What was fetched ahead for the old weights is dropped."""
    delivered = []
    for chosen in (corpus.sources(web=0.6, code=0.4), sources):
        with open_loader(chosen, prefetch=0) as loader:
            steps = [sequences(take_step(loader)) for _ in range(5)]
            loader.set_weights({"web": 0.1, "code": 0.9})
            delivered.append(steps + [sequences(take_step(loader)) for _ in range(15)])
    assert delivered[0] == delivered[1]


def test_the_disk_cache_spares_the_network(corpus: Corpus, sources: list[Source], proxy: Proxy) -> None:
    first = deliver(sources, disk_cache_bytes=1 << 30)
    before = proxy.bytes_served, proxy.counts["HEAD"]
    assert deliver(sources, disk_cache_bytes=1 << 30) == first
    listings = 2 * 10_000
    assert proxy.bytes_served - before[0] < listings
    assert proxy.counts["HEAD"] == before[1]


def test_blocks_are_there_before_they_are_needed(
    sources: list[Source], proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first steps, with every answer 100 ms late, whoever makes the batches fetches nothing itself."""
    fetched_by: list[str] = []
    fetch = SourceReader.fetch

    def recorded(reader: SourceReader, block: int) -> Block:
        fetched_by.append(threading.current_thread().name)
        return fetch(reader, block)

    monkeypatch.setattr(SourceReader, "fetch", recorded)
    with open_loader(sources, prefetch=0) as loader:
        proxy.faults = Faults(latency_s=0.1)
        for _ in range(3):
            take_step(loader)
        deadline = time.monotonic() + 20
        while (before := proxy.counts.total()) and time.monotonic() < deadline:
            time.sleep(0.5)
            if proxy.counts.total() == before:
                break
        del fetched_by[:]
        for _ in range(30):
            take_step(loader)
    assert set(fetched_by) <= {"headrace-fetch"}


def test_a_shard_that_goes_away_stops_the_run_by_name(
    corpus: Corpus, sources: list[Source], store: Store, request: pytest.FixtureRequest
) -> None:
    """F17: file, block and row, at the next read."""
    with open_loader(sources) as loader:
        for name in ("00000.arrow", "00001.parquet", "00002.arrow"):
            store.delete(f"{prefix_of(request)}/web/{name}")
        with pytest.raises(ShardError, match=r"block \d+ .*of s3://corpus/.*/web/0000\d\.\w+ can't be read: it is"):
            take_step(loader)


def test_a_store_that_goes_away_stops_the_run_by_name(
    sources: list[Source], proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.places.retry.LIMIT_S", 1.0)
    with open_loader(sources) as loader:
        proxy.faults = Faults(errors=1.0)
        began = time.monotonic()
        with pytest.raises(ShardError, match=r"s3://corpus/.*can't be read: .*HTTP status 50.*\(tried \d+ times"):
            take_step(loader)
        assert time.monotonic() - began < 20


def fetching() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "headrace-fetch"]


def test_close_is_quick_while_the_store_hangs(sources: list[Source], proxy: Proxy) -> None:
    loader = Loader(sources, seq_len=16, global_batch_size=8, micro_batch_size=4, seed=1, eos_id=0)
    proxy.faults = Faults(latency_s=30)
    failures: list[BaseException] = []

    def wait() -> None:
        try:
            next(loader)
        except HeadraceError as error:
            failures.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.5)
    began = time.monotonic()
    loader.close()
    assert time.monotonic() - began < 2.5
    waiting.join(3)
    assert not waiting.is_alive()
    assert failures
    while fetching() and time.monotonic() - began < 4:
        time.sleep(0.01)
    assert fetching() == []


def test_the_interpreter_ends_while_the_store_hangs(
    store: Store, corpus: Corpus, proxy: Proxy, request: pytest.FixtureRequest
) -> None:
    """With reads on their way that nobody waits for."""
    script = (
        "import sys, time\n"
        "from headrace.fetching import Fetcher\n"
        "from headrace.places import Listed, parse_place\n"
        "file = parse_place(sys.argv[1]).open(Listed('a', int(sys.argv[2])))\n"
        "fetcher = Fetcher(lambda leg, block: file.read(block, 1), 1000, 8)\n"
        "for number in range(20):\n"
        "    fetcher.want((0, number), 1, 0)\n"
        "time.sleep(0.5)\n"
        "print(len(fetcher._threads), flush=True)\n"
    )
    proxy.faults = Faults(latency_s=30)
    path = corpus.root / "web" / "00000.arrow"
    uri = store.uri(f"{prefix_of(request)}/web/{path.name}", proxy.port)
    command = [sys.executable, "-c", script, uri, str(path.stat().st_size)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"8\n"
        began = time.monotonic()
        assert process.wait(20) == 0
        assert time.monotonic() - began < 10
