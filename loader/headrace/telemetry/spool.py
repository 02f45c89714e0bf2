"""Reports on the node's disk, from the moment they are made until the control plane has acknowledged them.

    <cache>/spool/<job>-<hash of url, project, job>/
        drain.lock                      held by the one process of the node that sends
        pace                            seconds between reports, as the service last asked
        <attempt>/registration.json     creates the job and the attempt; no secret
        <attempt>/<rank>-<number>.open  being appended to by its rank, one JSON record a line
        <attempt>/<rank>-<number>.jsonl complete
        <attempt>/<rank>.lock           held while the rank lives
        <attempt>/activations.json      agreed steps that are not acknowledged yet
        <attempt>/ended.json            how the attempt ended, not acknowledged yet
        <attempt>/refused.aside         what the service will never take, kept for a person to look at

Everything survives the death of a process at any point. Nothing is synced: a power cut may cost the last seconds.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from headrace.telemetry.description import Registration
from headrace.telemetry.process_lock import ProcessLock

SEGMENT = re.compile(r"(\d+)-(\d+)\.(open|jsonl)")


@dataclass(frozen=True, slots=True)
class Segment:
    """One file of records of one rank."""

    attempt: str
    rank: int
    number: int
    path: Path
    sealed: bool
    "complete: never appended to again"

    @property
    def key(self) -> tuple[str, int, int]:
        """What stays the same when the segment is sealed."""
        return self.attempt, self.rank, self.number


class Spool:
    """The spool of one job on this node. Any number of processes use it at once; files may vanish between two calls."""

    def __init__(self, root: Path, *, url: str, project: str, job: str, most_bytes: int, private: bool = False) -> None:
        """Make the directory and prove that it can be written and locked. Raises OSError if not.

        `most_bytes` bounds all spools under `root` together, but for one open segment a rank. A `private` one is a
        temporary directory of this process alone.
        """
        key = hashlib.sha256("\n".join((url, project, job)).encode()).hexdigest()[:16]
        self._root = root.resolve()
        self._private = private
        self.most_bytes = most_bytes
        self.path = self._root / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', job)[:40]}-{key}"
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = ProcessLock(self.path / f"probe-{uuid.uuid4().hex}.lock")
        try:
            probe.acquire()
        finally:
            probe.release()
            probe.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Remove a private spool, unless something in it was never sent. Raises OSError."""
        if self._private and not any(path.is_dir() for path in _files(self.path)):
            shutil.rmtree(self._root)

    def drain_lock(self) -> ProcessLock:
        """The lock of the one process of this node that sends."""
        return ProcessLock(self.path / "drain.lock")

    def rank_lock(self, attempt: str, rank: int) -> ProcessLock:
        """The lock that a rank of an attempt holds while it may write."""
        return ProcessLock(self.path / attempt / f"{rank:05}.lock")

    def register(self, registration: Registration) -> Path:
        """Keep what is needed to deliver this attempt's reports later, and return its directory."""
        directory = self.path / registration.attempt_id
        if not (directory / "registration.json").exists():
            _write_whole(directory / "registration.json", registration.to_json())
        return directory

    def registrations(self) -> list[Registration]:
        """Every attempt in the spool, earliest start first; a directory without a readable registration is skipped."""
        found = []
        for directory in _files(self.path):
            with suppress(OSError, ValueError):
                registration = Registration.from_json((directory / "registration.json").read_bytes())
                if registration.attempt_id == directory.name:
                    found.append(registration)
        return sorted(found, key=lambda registration: registration.started_at)

    def segments(self, attempt: str) -> list[Segment]:
        """The segments of one attempt, oldest first, ranks in turn."""
        found = [
            Segment(attempt, int(match[1]), int(match[2]), path, match[3] == "jsonl")
            for path in _files(self.path / attempt)
            if (match := SEGMENT.fullmatch(path.name))
        ]
        return sorted(found, key=lambda segment: (segment.number, segment.rank))

    def is_drained(self, attempt: str, rank: int) -> bool:
        """Whether nothing of this rank waits to be sent, nor the end of its attempt."""
        ended = self.path / attempt / "ended.json"
        return not ended.exists() and all(segment.rank != rank for segment in self.segments(attempt))

    def seal_dead(self, attempt: str) -> None:
        """Seal what ranks of an earlier attempt left open when they died; a rank that still lives keeps its own."""
        for segment in self.segments(attempt):
            lock = self.rank_lock(attempt, segment.rank)
            if not segment.sealed and lock.acquire():
                with suppress(FileNotFoundError):
                    segment.path.rename(segment.path.with_suffix(".jsonl"))
                lock.release()

    def remove_if_done(self, attempt: str) -> None:
        """Remove an attempt's directory when nothing in it waits to be sent and none of its ranks lives."""
        directory = self.path / attempt
        paths = [path for path in _files(directory) if path.name != "registration.json"]
        locks = [ProcessLock(path) for path in paths if path.suffix == ".lock"]
        if all(path.suffix in (".lock", ".partial") for path in paths) and all(lock.acquire() for lock in locks):
            with suppress(OSError):
                for path in (*paths, directory / "registration.json"):
                    path.unlink(missing_ok=True)
                directory.rmdir()
        for lock in locks:
            lock.release()

    def enforce_limit(self) -> int:
        """Delete the oldest complete segments of any job until all fit; the number of records that were lost."""
        files = []
        for path in self._root.glob("*/*/*"):
            with suppress(FileNotFoundError):
                status = path.stat()
                files.append((status.st_mtime_ns, status.st_size, path))
        excess, lost = sum(size for _, size, _ in files) - self.most_bytes, 0
        for _, size, path in sorted(files):
            if excess <= 0:
                break
            if path.suffix in (".jsonl", ".aside"):
                with suppress(FileNotFoundError):
                    records = path.read_bytes().count(b"\n") if path.suffix == ".jsonl" else 0
                    path.unlink()
                    lost += records
                    excess -= size
        return lost

    def set_aside(self, attempt: str, lines: Sequence[bytes]) -> None:
        """Keep records that the service will never take, within the byte limit, for a person to look at."""
        with (self.path / attempt / "refused.aside").open("ab") as file:
            file.write(b"".join(line + b"\n" for line in lines))

    def pace_s(self) -> float | None:
        """Seconds between two reports of a rank, as the service last asked; None if it never did."""
        with suppress(OSError, ValueError):
            return float((self.path / "pace").read_text())
        return None

    def set_pace(self, seconds: float) -> None:
        """Ask every rank of this node to report each `seconds`."""
        if seconds != self.pace_s():
            _write_whole(self.path / "pace", repr(seconds).encode())

    def load(self, attempt: str, name: str) -> object:
        """The JSON in `<attempt>/<name>.json`, or None when there is none that can be read."""
        with suppress(OSError, ValueError):
            loaded: object = json.loads((self.path / attempt / f"{name}.json").read_bytes())
            return loaded
        return None

    def store(self, attempt: str, name: str, value: object) -> None:
        """Replace `<attempt>/<name>.json` as a whole; None or an empty list removes it. Raises OSError."""
        path = self.path / attempt / f"{name}.json"
        if value:
            _write_whole(path, json.dumps(value).encode())
        else:
            path.unlink(missing_ok=True)


def _files(directory: Path) -> Iterator[Path]:
    with suppress(FileNotFoundError):
        yield from directory.iterdir()


def _write_whole(path: Path, content: bytes) -> None:
    """Write so that readers, and whoever comes after a crash, see the old content or all of the new."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.{uuid.uuid4().hex[:8]}.partial")
    for directory in (path.parent.parent, path.parent):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        partial.write_bytes(content)
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
