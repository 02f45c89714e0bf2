"""Memory of this process, pages of mapped files apart: those the system takes back when it needs them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident bytes."""

    own: int
    "private to the process: what counts against a limit for good"
    mapped: int
    "pages of mapped files, shards among them"


def memory_now() -> Memory:
    """What this process takes up; where the system doesn't tell the two apart, all of it as `own`."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        import psutil  # noqa: PLC0415  # only where there is no /proc

        return Memory(int(psutil.Process().memory_info().rss), 0)
    kib = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith("Rss")}
    return Memory(1024 * (kib["RssAnon"] + kib["RssShmem"]), 1024 * kib["RssFile"])
