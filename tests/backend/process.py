"""The server as its users run it: a process of its own, on a free port of loopback."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "headrace_server"]
START_S = 60.0


def environment(data_dir: Path, **settings: str) -> dict[str, str]:
    """This process's environment with these HEADRACE_SERVER_ settings and no others."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HEADRACE_")}
    given = {f"HEADRACE_SERVER_{name.upper()}": value for name, value in settings.items()}
    return {**kept, "HEADRACE_SERVER_DATA_DIR": str(data_dir), **given}


def command(data_dir: Path, *args: str, stdin: str | None = None, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the server to its end."""
    return subprocess.run(
        [*COMMAND, *args],
        env=environment(data_dir, **settings),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=START_S,
        check=False,
    )


def new_key(data_dir: Path, scopes: str = "ingest,read,operate", **settings: str) -> str:
    """A key made by the command line."""
    made = command(data_dir, "key", "create", "--name", "test", "--scopes", scopes, **settings)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


class Server:
    """A running server. ``ready`` is what it told scripts; ``log`` is everything it printed."""

    def __init__(self, data_dir: Path, *, port: str = "0", **settings: str) -> None:
        self.data_dir = data_dir
        self.ready_file = data_dir / "ready.json"
        self.ready_file.unlink(missing_ok=True)
        self.log_file = data_dir / f"log-{time.monotonic_ns()}.txt"
        with self.log_file.open("w") as log:
            self.process = subprocess.Popen(
                [*COMMAND, "serve", "--port", port, "--ready-file", str(self.ready_file)],
                env=environment(data_dir, **settings),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.ready = self._wait()

    def _wait(self) -> dict[str, Any]:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if self.ready_file.exists():
                ready: dict[str, Any] = json.loads(self.ready_file.read_text())
                return ready
            assert self.process.poll() is None, f"the server ended: {self.log}"
            time.sleep(0.05)
        self.kill()
        raise AssertionError(f"the server did not start within {START_S} s: {self.log}")

    @property
    def url(self) -> str:
        """Where it serves."""
        url: str = self.ready["url"]
        return url

    @property
    def log(self) -> str:
        """What it printed so far."""
        return self.log_file.read_text()

    def stop(self) -> float:
        """Ask it to stop; returns how long that took (seconds)."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=30)
        return time.monotonic() - began

    def kill(self) -> None:
        """Kill it without a word."""
        self.process.kill()
        self.process.wait(timeout=30)


@contextmanager
def serving(data_dir: Path, **settings: str) -> Iterator[Server]:
    """A server for as long as the block lasts."""
    server = Server(data_dir, **settings)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()
