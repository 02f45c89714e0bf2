"""The loader among processes: forks, exits, kills. Real child processes, and never a hang.

Children are forked before any loader of theirs is made, unless the test is about that.
"""

from __future__ import annotations

import copy
import multiprocessing as mp
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from headrace import HeadraceError, Loader, Source
from headrace.bench.memory import memory_now
from headrace.cache import cache_root
from headrace.formats.writer import ShardWriter

from tests.loader.corpora import Corpus, open_loader, random_corpus, take_step, write_shard

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

MIB = 1 << 20
LIMIT_S = 30.0
EXIT_S = 2.0


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return random_corpus(tmp_path_factory.mktemp("processes"), {"web": 60, "code": 25}, layouts=("parquet", "headrace"))


def forked(action: Callable[[], object], limit_s: float = LIMIT_S) -> str:
    """What `action` says in a forked child, or the error it raises; the child must be done within `limit_s`."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            said = str(action())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(write, said.encode())
        os.close(write)
        os._exit(0)
    os.close(write)
    ended = _wait(child, limit_s)
    with os.fdopen(read) as pipe:
        said = pipe.read() if ended else ""
    assert ended, f"a forked child still ran after {limit_s} s"
    return said


def _wait(child: int, limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if os.waitpid(child, os.WNOHANG)[0]:
            return True
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def test_a_started_loader_is_refused_in_a_forked_child(corpus: Corpus) -> None:
    """I06: every method says so at once, at any moment of the parent's threads; leaving it does nothing."""
    with open_loader(corpus.sources(), prefetch=2) as loader:
        uses: list[Callable[[], object]] = [
            lambda: next(loader),
            loader.state_dict,
            lambda: loader.trace(0),
            lambda: loader.set_weights({"web": 1, "code": 1}),
            lambda: loader.weights_ppm,
        ]
        for turn in range(20):
            take_step(loader)
            assert "its threads did not survive the fork" in forked(uses[turn % len(uses)])
        assert forked(loader.close) == "None"
        assert forked(lambda: loader.__exit__(None, None, None)) == "None"
        take_step(loader)  # and the parent never noticed


def test_a_loader_does_not_travel_to_another_process(corpus: Corpus) -> None:
    """I06: spawned workers get their data by pickle; a loader says at once that it can't be."""
    with open_loader(corpus.sources()) as loader:
        for travel in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(HeadraceError, match="a Loader can't be pickled or copied; make it in the process that"):
                travel(loader)


def first_batch(sources: list[Source]) -> int:
    with open_loader(sources) as loader:
        return int(next(loader).input_ids.sum())


def test_forked_children_make_loaders_of_their_own(corpus: Corpus) -> None:
    """I06: after the parent counted and read Parquet with threads, 20 rounds of two children, none of which hangs."""
    sources = corpus.sources()
    expected = str(first_batch(sources))
    with open_loader(sources) as loader:
        for _ in range(20):
            take_step(loader)
            for _ in range(2):
                assert forked(lambda: first_batch(sources)) == expected


def _first_batch_into(box: Any, sources: list[Source]) -> None:
    box.put(first_batch(sources))


def test_spawned_children_make_loaders_of_their_own(corpus: Corpus) -> None:
    """I06: Sources travel to a fresh interpreter."""
    context = mp.get_context("spawn")
    box = context.Queue()
    child = context.Process(target=_first_batch_into, args=(box, corpus.sources()))
    child.start()
    assert box.get(timeout=180) == first_batch(corpus.sources())
    child.join(LIMIT_S)
    assert child.exitcode == 0


@pytest.mark.parametrize("prefetch", [0, 2])
def test_an_index_in_arrays_costs_a_forked_child_nothing(tmp_path: Path, prefetch: int) -> None:
    """I05: 200,000 documents, every entry of the manifest touched in the child: no page of it is copied."""
    write_shard(tmp_path / "web", [[1]] * 200_000, "headrace", np.uint16)
    with open_loader([Source("web", str(tmp_path / "web.arrow"))], prefetch=prefetch) as loader:
        take_step(loader)
        [manifest] = loader.manifests
        arrays = (manifest.block_shard, manifest.block_index, manifest.block_documents, manifest.block_tokens)
        assert sum(array.nbytes for array in arrays) < 0.1 * manifest.num_documents

        def touch() -> int:
            before = memory_now().own
            assert sum(int(array.sum()) for array in arrays) > 0
            return memory_now().own - before

        assert int(forked(touch)) < MIB


def test_ranks_share_the_pages_of_a_shard(tmp_path: Path) -> None:
    """I04: reading a whole shard of 96 MiB costs a process of its own far less than the shard."""
    tokens = np.arange(48 * MIB, dtype=np.uint16)
    (tmp_path / "large").mkdir()
    with ShardWriter(tmp_path / "large" / "0.arrow", dtype=np.uint16) as shard:
        shard.write(np.split(tokens, 48 * 16))

    def grown(path: Path) -> int:
        options = {"seq_len": 65_536, "global_batch_size": 8, "micro_batch_size": 8, "outputs": ("input_ids",)}
        with open_loader([Source("web", str(path))], **options) as loader:
            next(loader)
            before = memory_now()
            for _ in range(48 * MIB // (8 * 65_536)):
                next(loader)
            after = memory_now()
            assert after.mapped - before.mapped > 32 * MIB  # it did read the shard
            return after.own - before.own

    assert int(forked(lambda: grown(tmp_path / "large"), 60)) < 24 * MIB


def started(corpus: Corpus, **options: Any) -> Loader:
    """A loader that is in full swing, and nobody closes."""
    loader = Loader(corpus.sources(), seq_len=16, global_batch_size=8, micro_batch_size=4, seed=1, eos_id=0, **options)
    next(loader)
    return loader


class Stuck:
    """A producer that waits for a disk that never answers, in a call that no signal interrupts."""

    def __iter__(self) -> Iterator[int]:
        yield 0
        read, _ = os.pipe()
        while True:
            os.read(read, 1)


_SCRIPT = """
import atexit, os, sys, threading, time
from pathlib import Path
from headrace.prefetch import Prefetcher
from tests.loader.corpora import Corpus
from tests.loader.test_processes import Stuck, started
corpus = Corpus(Path(sys.argv[1]), {"web": [], "code": []})

def start():
    global loader, began
    loader = started(corpus, job="away", url="http://127.0.0.1:9")
    began = time.monotonic()

def tell(what):
    left = [thread.name for thread in threading.enumerate() if thread.name.startswith("headrace")]
    print(what, time.monotonic() - began, *left, flush=True)

start()
loader.close()
tell("closed")
start()
del loader
tell("dropped")
for name in ("forgotten", "failed"):
    child = os.fork()
    if child == 0:
        sys.stderr = open(os.devnull, "w")
        atexit.register(tell, name)  # the first registered runs last
        start()
        sys.exit(0) if name == "forgotten" else 1 / 0
    print("status", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
start()
loader._run._prefetcher = Prefetcher(iter(Stuck()), 2, int)
time.sleep(0.1)
began = time.monotonic()
loader.close()
tell("stuck")
os._exit(0)
"""


def test_every_way_out_is_quick_and_leaves_nothing(corpus: Corpus, tmp_path: Path) -> None:
    """close(), and all that the loader does at the interpreter's end, within 2 s, with a service that is away.

    A thread that hangs in a read that nothing can end is left behind, and holds nobody up.
    """
    environment = os.environ | {"HEADRACE_CACHE": str(tmp_path)}
    (tmp_path / "kernels").symlink_to(cache_root() / "kernels")
    command = [sys.executable, "-W", "ignore", "-c", _SCRIPT, str(corpus.root)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=root)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[1] for line in lines if line[0] == "status"] == ["0", "1"]
    took = {name: (float(seconds), left) for name, seconds, *left in lines if name != "status"}
    assert list(took) == ["closed", "dropped", "forgotten", "failed", "stuck"]
    assert all(seconds < EXIT_S for seconds, _ in took.values()), took
    assert all(not left for name, (_, left) in took.items() if name != "stuck"), took
