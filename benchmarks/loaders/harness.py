"""What a driver is asked to do, in a process of its own and the loader's own environment: torch, numpy and psutil only.

A driver calls `main` with its class. The command line says what to measure; one line of JSON comes out.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import threading
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import psutil
import torch

SEQ_LEN = 4096
IGNORED = -100
SOURCES = ("web", "code", "math")
WEIGHTS = (0.6, 0.3, 0.1)
RANGE = 16_000
"ids of source number s are s * RANGE + 1 to (s + 1) * RANGE, so that a row tells where it is from; 0 ends documents"

Batch = tuple[torch.Tensor, torch.Tensor]
"""ids and labels, int64 (batch_size, SEQ_LEN); labels are the ids one place on, IGNORED at the end of a row."""


@dataclass(frozen=True)
class Work:
    """What to load. `batch_size` is of this rank; `prepared` holds what `prepare` made of the corpus."""

    corpus: Path
    prepared: Path
    rank: int
    world_size: int
    batch_size: int
    workers: int
    seed: int = 1


class Driver(Protocol):
    """A loader at work. Made anew in each process; `load` comes before the first batch."""

    shares_state: bool
    "whether one rank's state is everybody's, so that a checkpoint of 8 ranks holds it once"
    counts: bool
    "whether a state is no more than a count of sequences, so that `state_at` can make any"

    def __init__(self, work: Work) -> None: ...

    @staticmethod
    def prepare(corpus: Path, prepared: Path) -> None:
        """Turn the corpus into the format that the loader likes best."""

    def __iter__(self) -> Iterator[Batch]:
        """Batches, for ever."""

    def state(self) -> Any:
        """What a checkpoint keeps of this rank; None where the loader has nothing."""

    def load(self, states: list[Any]) -> None:
        """Go on from what the ranks that saved kept, in their order; there may be more or fewer of them than now."""

    def state_at(self, sequences: int) -> Any:
        """The state after `sequences` of all ranks, where it `counts`."""

    def change_weights(self, weights: tuple[float, ...]) -> None:
        """Mix by other weights from the next batch that can; NotImplementedError where that can't be done."""


class Looping:
    """The part of a driver that a loader with a `state_dict` of its own does; the rest makes `_loader`."""

    counts = False
    _loader: Any
    _rank = int(os.environ.get("RANK", "0"))

    def __iter__(self) -> Iterator[Batch]:
        """Batches, epoch after epoch."""
        while True:
            yield from self._loader

    def state(self) -> Any:
        """The loader's own state."""
        return self._loader.state_dict()

    def state_at(self, sequences: int) -> Any:
        """Not without having been there."""
        raise NotImplementedError

    def load(self, states: list[Any]) -> None:
        """Have the loader go on from its rank's state, or where there are fewer, from one of them."""
        self._loader.load_state_dict(states[self._rank % len(states)])


Make = Callable[[], Driver]
"Makes the driver of a process; what it takes is part of what is measured."


def with_labels(rows: npt.NDArray[np.integer[Any]]) -> Batch:
    """Rows of tokens as a batch with labels."""
    ids = torch.from_numpy(rows.astype(np.int64))
    labels = torch.full_like(ids, IGNORED)
    labels[:, :-1] = ids[:, 1:]
    return ids, labels


def tokens_of(corpus: Path, source: str) -> npt.NDArray[np.uint16]:
    """All tokens of a source, mapped, documents one after the other with a 0 at the end of each."""
    return np.memmap(corpus / "raw" / source / "tokens.bin", np.uint16, "r")


def rows_of(corpus: Path, source: str) -> npt.NDArray[np.uint16]:
    """The tokens of a source cut into rows (num_rows, SEQ_LEN), mapped; the rest is left out."""
    tokens = tokens_of(corpus, source)
    return tokens[: len(tokens) // SEQ_LEN * SEQ_LEN].reshape(-1, SEQ_LEN)


def offsets_of(corpus: Path, source: str) -> npt.NDArray[np.int64]:
    """Where each document of a source begins, and the end of the last; int64 (num_documents + 1,)."""
    offsets: npt.NDArray[np.int64] = np.load(corpus / "raw" / source / "offsets.npy")
    return offsets


def own_bytes() -> int:
    """Memory of this process and its children that is nobody else's: anonymous and shared, not pages of files."""
    own = 0
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        try:
            status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        except OSError:
            continue
        own += sum(int(x.split()[1]) * 1024 for x in status.splitlines() if x.startswith(("RssAnon", "RssShmem")))
    return own


class _Memory(threading.Thread):
    """The most that `own_bytes` was, seen ten times a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most_bytes = 0
        self._ended = threading.Event()
        self.start()

    def run(self) -> None:
        while not self._ended.wait(0.1):
            self.most_bytes = max(self.most_bytes, own_bytes())

    def end(self) -> int:
        """Look once more; the most there was."""
        self._ended.set()
        return max(self.most_bytes, own_bytes())


def _cpu_s() -> float:
    """Seconds of CPU of this process and its children, those that have ended too."""
    mine = os.times()
    total = mine.user + mine.system + mine.children_user + mine.children_system
    for process in psutil.Process().children(recursive=True):
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system
    return total


def _crcs(ids: torch.Tensor) -> list[int]:
    return [zlib.crc32(np.ascontiguousarray(row).tobytes()) for row in ids.numpy()]


def _sources(ids: torch.Tensor) -> list[int]:
    """Where each row is from: which range its first id that is not 0 lies in."""
    rows = ids.numpy()
    first = rows[np.arange(len(rows)), (rows != 0).argmax(axis=1)]
    return ((first - 1) // RANGE).tolist()


def _check(batch: Batch, work: Work) -> None:
    ids, labels = batch
    shape = (work.batch_size, SEQ_LEN)
    assert ids.dtype == labels.dtype == torch.int64 and ids.shape == labels.shape == shape, (ids.shape, labels.shape)


def _rate(make: Make, work: Work, args: argparse.Namespace) -> dict[str, Any]:
    """Tokens a second, CPU, and when the first batch was there, counted from when the process was started."""
    batches = iter(make())
    _check(next(batches), work)
    first_batch_s = time.time() - args.began
    until = time.perf_counter() + args.warm
    while time.perf_counter() < until:
        next(batches)
    began, cpu, tokens = time.perf_counter(), _cpu_s(), 0
    while (took := time.perf_counter() - began) < args.seconds:
        tokens += next(batches)[0].numel()
    return {
        "first_batch_s": first_batch_s,
        "tokens_per_s": tokens / took,
        "cpu_ns_per_token": (_cpu_s() - cpu) / tokens * 1e9,
    }


def _save(make: Make, work: Work, args: argparse.Namespace) -> dict[str, Any]:
    """Go to a position; keep the state, the rows that come after it, and where those before it were from."""
    memory, driver = _Memory(), make()
    batches, done, began, sources = iter(driver), 0, time.perf_counter(), np.zeros(len(SOURCES), np.int64)
    while done < args.sequences:
        ids, _ = next(batches)
        done += len(ids) * work.world_size
        sources += np.bincount(_sources(ids), minlength=len(SOURCES))
        if time.perf_counter() - began > args.limit:
            return {"error": f"at sequence {done:,} after {args.limit:g} s"}
    most_bytes, state = memory.end(), driver.state()
    kept = pickle.dumps(state)  # now, since some states are what the loader goes on to work with
    after = [_crcs(next(batches)[0]) for _ in range(args.batches)]
    _file(args.file, work.rank).write_bytes(pickle.dumps({"state": kept, "after": after}))
    return {
        "reached": done,
        "state_bytes": None if state is None else len(kept),
        "shares_state": driver.shares_state,
        "counts": driver.counts and driver.state_at(done) == pickle.loads(kept),
        "peak_own_bytes": most_bytes,
        "sources": sources.tolist(),
        "after": after,
    } | ({} if work.world_size > 1 else {"changed": _changed(driver, batches)})


def _file(folder: Path, rank: int) -> Path:
    """What a rank keeps."""
    return folder / f"{rank:03d}"


def _resume(make: Make, work: Work, args: argparse.Namespace) -> dict[str, Any]:
    """Go on from what all ranks kept, or, without, from a state that counts up to a position."""
    kept = [pickle.loads(file.read_bytes()) for file in sorted(args.file.iterdir())] if args.file else []
    began = time.perf_counter()
    driver = make()
    driver.load([pickle.loads(one["state"]) for one in kept] or [driver.state_at(args.sequences)])
    batches = iter(driver)
    first = next(batches)
    took = time.perf_counter() - began
    after = [_crcs(first[0]), *(_crcs(next(batches)[0]) for _ in range(args.batches - 1))]
    return {"resume_s": took, "same": bool(kept) and after == kept[work.rank % len(kept)]["after"], "after": after}


def _rows(make: Make, work: Work, args: argparse.Namespace) -> dict[str, Any]:
    """The rows of each batch."""
    batches = iter(make())
    return {"rows": [_crcs(next(batches)[0]) for _ in range(args.batches)]}


def _changed(driver: Driver, batches: Iterator[Batch]) -> dict[str, Any]:
    """Shares of the sources before and after their weights are turned round while the loader runs."""

    def counts() -> npt.NDArray[np.int64]:
        return np.bincount([one for _ in range(100) for one in _sources(next(batches)[0])], minlength=len(SOURCES))

    before = counts()
    try:
        driver.change_weights(WEIGHTS[::-1])
    except NotImplementedError as error:
        return {"can": False, "why": str(error)}
    counts()  # what was on its way
    after = counts()
    can = np.abs(after / after.sum() - WEIGHTS[::-1]).max() < 0.05
    return {"can": bool(can), "before": before.tolist(), "after": after.tolist()}


_MODES: dict[str, Callable[[Make, Work, argparse.Namespace], dict[str, Any]]] = {
    "rate": _rate,
    "save": _save,
    "resume": _resume,
    "rows": _rows,
}


def _join(work: Work) -> None:
    if work.world_size > 1:
        torch.distributed.init_process_group("gloo")


def main(driver: type[Driver]) -> None:
    """Do what the command line asks for and print one line of JSON."""
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("prepare", *_MODES))
    for name in ("corpus", "prepared"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--sequences", type=int, default=0)
    for name, value in (("began", 0.0), ("seconds", 2.0), ("warm", 1.0), ("limit", 60.0)):
        parser.add_argument(f"--{name}", type=float, default=value)
    args = parser.parse_args()
    work = Work(
        corpus=args.corpus,
        prepared=args.prepared,
        rank=int(os.environ.get("RANK", "0")),
        world_size=int(os.environ.get("WORLD_SIZE", "1")),
        batch_size=args.batch_size,
        workers=args.workers,
    )
    if args.mode == "prepare":
        began = time.perf_counter()
        driver.prepare(work.corpus, work.prepared)
        told: dict[str, Any] = {"prepare_s": time.perf_counter() - began}
    else:
        _join(work)
        told = _MODES[args.mode](lambda: driver(work), work, args)
    print(json.dumps(told), flush=True)
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        # Rank 0 holds the store that the others may still ask.
        torch.distributed.barrier()
    # Without waiting for worker processes and threads that some loaders leave.
    os._exit(0)
