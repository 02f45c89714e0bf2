"""A worker process of the local engine: units come in on standard input, a line of JSON each, and events go out.

It is a program of its own, so that it holds nothing of the one that started it, and that one needs no guard around its
main part. It ends when its input does, or nobody reads what it says.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.tokenize.engine import Progress

PROGRESS_S: Final = 0.2
_PR_SET_PDEATHSIG: Final = 1


def main() -> int:
    """Work until the input ends; the exit status."""
    _end_with(int(sys.argv[4]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the one that started us ends us
    output, threads = sys.argv[1], int(sys.argv[3])
    said = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else prints is no event
    import pyarrow as pa  # noqa: PLC0415  # its threads are set before anything uses them

    pa.set_cpu_count(threads)
    from headrace.tokenize.engine import Ended, Event, Job, Made, open_workplace, work  # noqa: PLC0415
    from headrace.tokenize.options import parse_on_bad  # noqa: PLC0415
    from headrace.tokenize.units import Unit  # noqa: PLC0415

    job = Job(output, parse_on_bad(sys.argv[2]))

    def say(**event: Any) -> None:
        said.write(json.dumps(event) + "\n")
        said.flush()

    progress = _Added(say)

    def tell(event: Event) -> None:
        if isinstance(event, Made):
            say(event="made", unit=event.unit, record=asdict(event.record))
        elif isinstance(event, Ended):
            say(event="ended", unit=event.unit)
        else:
            progress.add(event)

    try:
        place = open_workplace(output, threads)
        for line in sys.stdin:
            work(place, job, Unit.of(json.loads(line)), tell)
    except HeadraceError as error:
        say(event="failed", kind=type(error).__name__, message=str(error))
        return 1
    except BrokenPipeError:
        return 1
    return 0


def _end_with(parent: int) -> None:
    """Has the kernel end this process when its parent ends, however that does, so that two runs never overlap."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended already
        raise SystemExit(1)


class _Added:
    """Progress of the unit at work, added up and passed on every now and then."""

    def __init__(self, say: Callable[..., None]) -> None:
        self._say = say
        self._unit = ""
        self._tokens = self._bytes = 0
        self._at = time.monotonic()

    def add(self, event: Progress) -> None:
        """Adds an event; what is left of a unit when it ends is not passed on, since its records tell."""
        if event.unit != self._unit:
            self._unit, self._tokens, self._bytes = event.unit, 0, 0
        self._tokens += event.tokens
        self._bytes += event.text_bytes
        if time.monotonic() - self._at >= PROGRESS_S:
            self._say(event="progress", unit=self._unit, tokens=self._tokens, bytes=self._bytes)
            self._tokens = self._bytes = 0
            self._at = time.monotonic()


if __name__ == "__main__":
    raise SystemExit(main())
