"""Processes that the demo starts, and that end with it: watched, logged, stopped in order, whatever happens."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import psutil

from headrace.errors import HeadraceError

SHOWN_LINES: Final = 20
"of a failed child's output"
_MARK: Final = "HEADRACE_DEMO_CHILD"


def clean_environment(**extra: str) -> dict[str, str]:
    """This process's environment without Headrace's own variables, which are meant for other runs, and with `extra`."""
    return {name: value for name, value in os.environ.items() if not name.startswith("HEADRACE_")} | extra


class ChildError(HeadraceError, RuntimeError):
    """A process of the demo failed; shows its last lines."""


def _ignore(line: str) -> None:
    """Where lines go that nobody listens to."""


class Child:
    """One running process. Its output goes to `log` and, a line at a time, to `on_line` (on a thread of its own)."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        *,
        environment: Mapping[str, str],
        on_line: Callable[[str], None] | None = None,
    ) -> None:
        self.name = name
        self.log = log
        self._on_line = on_line or _ignore
        self._mark = uuid.uuid4().hex
        self._last: deque[str] = deque(maxlen=SHOWN_LINES)
        bound = Path(__file__).with_name("bound.py")
        self._process = subprocess.Popen(
            [sys.executable, str(bound), str(os.getpid()), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**environment, _MARK: self._mark},
            start_new_session=True,  # Ctrl-C reaches the demo alone, which stops its children in order
            text=True,
            errors="replace",
        )
        self._reader = threading.Thread(target=self._read, name=f"{name}-output", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""
        return self._process.poll()

    def check_running(self, settle_s: float = 0.0) -> None:
        """Raises ChildError, with its last lines, when it has ended or ends within `settle_s` seconds."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(settle_s)
        if self.returncode is not None:
            raise self.failure()

    def failure(self) -> ChildError:
        """What to raise when it has ended and should not have, or not so."""
        self._reader.join(1.0)
        shown = "\n".join(f"    {line}" for line in self._last) or "    (it printed nothing)"
        return ChildError(
            f"{self.name} ended with status {self.returncode}; its last lines:\n{shown}\n  all: {self.log}"
        )

    def stop(self, grace_s: float) -> None:
        """SIGTERM, and after `grace_s` seconds SIGKILL; then SIGKILL for whatever it left behind.

        What it says about being stopped goes to its log only.
        """
        self._on_line = _ignore
        self._process.terminate()
        try:
            self._process.wait(grace_s)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):  # a second Ctrl-C doesn't wait
            self._process.kill()
            self._process.wait()
        left = [process for process in psutil.process_iter() if self._is_below(process)]
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(left, timeout=5.0)
        self._reader.join(1.0)

    def _is_below(self, process: psutil.Process) -> bool:
        """Whether this child, or a process that it started, started `process`: they inherit its mark."""
        try:
            return process.environ().get(_MARK) == self._mark
        except (psutil.Error, OSError):  # another user's, or just gone
            return False

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self.log.open("w", buffering=1) as log, self._process.stdout as output:
            for line in output:
                log.write(line)
                self._last.append(line.rstrip())
                with suppress(OSError):  # a closed terminal must not block the child
                    self._on_line(line.rstrip())


class Children:
    """The demo's processes; leaving the block stops them, the newest first."""

    def __init__(self, folder: Path, *, grace_s: float = 10.0) -> None:
        """Logs go to `folder`."""
        self._folder = folder
        self._grace_s = grace_s
        self._stack = ExitStack()

    def start(
        self,
        name: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        on_line: Callable[[str], None] | None = None,
    ) -> Child:
        """Start one; its log is `<name>.log`. `command[0]` is a path."""
        child = Child(name, command, self._folder / f"{name}.log", environment=environment, on_line=on_line)
        self._stack.callback(child.stop, self._grace_s)
        return child

    def __enter__(self) -> Self:
        """Nothing runs yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
