"""Stacks of a running command, some hundred a second, by py-spy; and the share of each part of the work in them.

py-spy looks at a process from outside and slows it little. It is installed from the registry into a virtual
environment of its own under HEADRACE_CACHE, once.
"""

from __future__ import annotations

import linecache
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import headrace

from benchmarks.environments import environment

VERSION = "0.4.3"
RATE = 200
"stacks a second"


@dataclass(frozen=True)
class Part:
    """A part of the work: stacks in which a frame, `function (file:line)`, or the last's source line holds a word."""

    name: str
    words: tuple[str, ...]


def installed() -> Path:
    """The program. Raises InstallError."""
    return environment(f"py-spy-{VERSION}", [f"py-spy=={VERSION}"]) / "bin" / "py-spy"


def stacks(command: Sequence[str]) -> Counter[tuple[str, ...]]:
    """Run a command to its end; how often each stack, outermost frame first, of a thread at work was seen.

    The first frames name the processes and the thread. Raises RuntimeError where the command or py-spy fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "stacks.txt"
        options = [
            "record",
            "--subprocesses",
            "--threads",
            "--format",
            "raw",
            "--rate",
            str(RATE),
            "--output",
            str(out),
        ]
        done = subprocess.run([str(installed()), *options, "--", *command], capture_output=True, text=True, check=False)
        if not out.exists():
            raise RuntimeError(f"no stacks of {' '.join(command)}: {(done.stderr or done.stdout).strip()[-2000:]}")
        found: Counter[tuple[str, ...]] = Counter()
        for line in out.read_text().splitlines():
            stack, _, num = line.rpartition(" ")
            found[tuple(stack.split(";"))] += int(num)
        return found


def shares(
    found: Counter[tuple[str, ...]], parts: Sequence[Part], keep: Callable[[tuple[str, ...]], bool]
) -> dict[str, float]:
    """The share of each part in the stacks to keep, largest first; what belongs to none is `other`.

    A stack belongs to the first part, in the order given, that any of its frames names.
    """
    sums: Counter[str] = Counter()
    for stack, num in found.items():
        if keep(stack):
            sums[_part_of(stack, parts)] += num
    total = sum(sums.values())
    return {name: num / total for name, num in sums.most_common()} if total else {}


def others(found: Counter[tuple[str, ...]], parts: Sequence[Part], keep: Callable[[tuple[str, ...]], bool]) -> str:
    """The innermost frames of what belongs to no part, for whoever defines the parts."""
    sums: Counter[str] = Counter()
    for stack, num in found.items():
        if keep(stack) and _part_of(stack, parts) == "other":
            sums[" < ".join(reversed(stack[-4:]))] += num
    return "\n".join(f"{num:6} {frames}" for frames, num in sums.most_common(12))


def _part_of(stack: Sequence[str], parts: Sequence[Part]) -> str:
    frames = [frame for frame in stack if not frame.startswith("process ")]
    text = ";".join((*frames, _line(stack[-1])))
    return next((part.name for part in parts if any(word in text for word in part.words)), "other")


@cache
def _line(frame: str) -> str:
    """The source line of a frame of the loader's; empty for any other."""
    _, _, place = frame.rstrip(")").partition(" (")
    name, _, number = place.rpartition(":")
    if not name.startswith("headrace/"):
        return ""
    return linecache.getline(str(Path(headrace.__file__).parents[1] / name), int(number)).strip()
