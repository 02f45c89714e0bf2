"""Ranges on disk that many processes share: whole or not there, within the limit, whoever is killed when."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from headrace.places.disk_cache import DiskCache
from headrace.places.file import Memory

HEADER_BYTES = 64

WORKER = """
import sys
import numpy as np
from headrace.places.disk_cache import DiskCache

seed, limit, rounds = map(int, sys.argv[1:])
cache = DiskCache(limit)
rng = np.random.default_rng(seed)
print("ready", flush=True)
for _ in range(rounds):
    number = int(rng.integers(0, 40))
    content = np.full(2000 + number, number, np.uint8)
    found = cache.get(f"range {number}", content.size)
    if found is None:
        cache.put(f"range {number}", content)
    elif not (found == content).all():
        sys.exit("a range came back with other bytes")
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    return tmp_path / "blocks"


def bytes_of(size: int, value: int = 1) -> Memory:
    return np.full(size, value, np.uint8)


def on_disk(folder: Path) -> dict[str, int]:
    """Bytes by name, of what is still there when it is looked at: others may be removing files meanwhile."""
    sizes: dict[str, int] = {}
    for path in folder.glob("??/*"):
        with contextlib.suppress(FileNotFoundError):
            sizes[path.name] = path.stat().st_size
    return sizes


def test_what_was_put_comes_back_in_this_process_and_in_others(folder: Path) -> None:
    content = np.arange(200, dtype=np.uint8)
    DiskCache(10_000).put("a", content)
    found = DiskCache(10_000).get("a", 200)
    assert found is not None
    assert found.tolist() == content.tolist()
    assert DiskCache(10_000).get("a", 199) is None
    assert DiskCache(10_000).get("b", 200) is None


def test_the_least_recently_used_go_first_and_the_limit_holds(folder: Path) -> None:
    cache = DiskCache(10 * (100 + HEADER_BYTES))
    for number in range(10):
        cache.put(str(number), bytes_of(100, number))
        time.sleep(0.002)
    assert cache.get("0", 100) is not None
    cache.put("new", bytes_of(100))
    assert sum(on_disk(folder).values()) <= 10 * (100 + HEADER_BYTES)
    assert cache.get("0", 100) is not None
    assert cache.get("1", 100) is None
    assert cache.get("new", 100) is not None


def test_damaged_ranges_are_as_if_they_were_not_there(folder: Path) -> None:
    """Checked on reading: a flipped bit, a cut file, one of another kind."""
    cache = DiskCache(10_000)
    cache.put("a", bytes_of(500))
    (path,) = folder.glob("??/*")
    whole = path.read_bytes()
    for damaged in (whole[:-1] + b"\0", whole[:-1], b"", whole[:70], b"x" * len(whole)):
        path.write_bytes(damaged)
        assert cache.get("a", 500) is None
        assert not path.exists()
        path.write_bytes(whole)
    assert cache.get("a", 500) is not None


def test_a_limit_below_one_block_warns_once_and_works(folder: Path) -> None:
    """I02: 1 MB and blocks of 10 MB: no hang, both sizes said, nothing kept."""
    cache = DiskCache(1 << 20)
    with pytest.warns(RuntimeWarning, match=r"disk_cache_bytes is 1048576 and a block .* has 10485824 bytes"):
        cache.put("a", bytes_of(10 << 20))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.put("b", bytes_of(10 << 20))
    assert cache.get("a", 10 << 20) is None
    assert on_disk(folder) == {}


def test_a_full_disk_warns_once_and_works(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = DiskCache(1 << 20)
    cache.put("before", bytes_of(100))

    def full(self: object, *_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("headrace.places.disk_cache.DiskCache._write", full)
    with pytest.warns(RuntimeWarning, match=r"the disk cache .*blocks can't be written \(No space left on device\)"):
        cache.put("a", bytes_of(100))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.put("b", bytes_of(100))
    assert cache.get("before", 100) is not None


def test_a_really_full_disk_leaves_nothing_behind(folder: Path) -> None:
    """A file that may not grow is what a disk without room is: the write fails in the middle."""
    cache = DiskCache(1 << 20)
    limit = 4096
    script = (
        "import resource, signal, numpy as np\n"
        "from headrace.places.disk_cache import DiskCache\n"
        "import warnings; warnings.simplefilter('ignore')\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
        "cache = DiskCache(1 << 20)\n"
        "cache.put('a', np.ones(100_000, np.uint8))\n"
        "assert cache.get('a', 100_000) is None\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    assert on_disk(folder) == {}
    cache.put("b", bytes_of(100))
    assert cache.get("b", 100) is not None


def test_a_folder_that_cannot_be_made_warns_and_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "file"))
    with pytest.warns(RuntimeWarning, match="can't be written"):
        cache = DiskCache(1 << 20)
    cache.put("a", bytes_of(10))
    assert cache.get("a", 10) is None


def test_left_overs_of_the_dead_are_removed_and_those_of_the_living_are_not(folder: Path) -> None:
    """I01: left-overs from killed processes are cleaned."""
    DiskCache(10_000).put("a", bytes_of(100))
    (kept,) = folder.glob("??/*")
    dead, living = kept.with_name("dead.tmp"), kept.with_name("living.tmp")
    dead.write_bytes(b"x" * 50)
    with living.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        DiskCache(10_000)
        assert (dead.exists(), living.exists()) == (False, True)
    DiskCache(10_000)
    assert not living.exists()
    assert kept.exists()


def worker_on(seed: int, limit: int, is_to_be_killed: bool) -> subprocess.Popen[bytes]:
    rounds = "4000" if is_to_be_killed else "300"
    command = [sys.executable, "-c", WORKER, str(seed), str(limit), rounds]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_many_processes_and_sudden_deaths(folder: Path) -> None:
    """I01: 8 processes on the same ranges, some killed at any moment; the limit holds and no bytes are ever wrong."""
    limit = 40_000
    dice = random.Random(3)
    for round_ in range(2):
        with contextlib.ExitStack() as started:
            workers = [started.enter_context(worker_on(10 * round_ + number, limit, number < 4)) for number in range(8)]
            for worker in workers:
                assert worker.stdout is not None
                assert worker.stdout.readline() == b"ready\n"
            for worker in workers[:4]:
                time.sleep(dice.uniform(0, 0.03))
                os.kill(worker.pid, signal.SIGKILL)
                with (folder / "total").open("rb") as total:
                    # Nothing comes or goes meanwhile.
                    fcntl.flock(total, fcntl.LOCK_EX)
                    assert sum(on_disk(folder).values()) <= limit
            for number, worker in enumerate(workers):
                _, complaint = worker.communicate(timeout=60)
                assert worker.returncode == (-signal.SIGKILL if number < 4 else 0), complaint.decode()
    DiskCache(limit)
    left = on_disk(folder)
    assert not [name for name in left if name.endswith(".tmp")]
    assert sum(left.values()) <= limit
    assert int.from_bytes((folder / "total").read_bytes(), "little") == sum(left.values())
