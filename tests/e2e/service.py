"""A real server for the browser tests: SQLite in a folder of its own, a free port, the built dashboard."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

_START_S = 60.0
_STOP_S = 15.0
_POLL_S = 0.1


@dataclass(frozen=True)
class Service:
    """A running server: its address, its first login and where its data lies."""

    url: str
    username: str
    password: str
    data_dir: Path

    def make_key(self, name: str, scopes: str) -> str:
        """A new API key with comma-separated ``scopes``."""
        command = [_program(), "key", "create", "--data-dir", str(self.data_dir), "--name", name, "--scopes", scopes]
        return _run(command).strip().splitlines()[-1]

    def add_user(self, name: str, role: str) -> None:
        """A person with a role in the project ``default``, and a password that nobody knows."""
        _run([_program(), "user", "create", name, "--generate", "--data-dir", str(self.data_dir), "--role", role])


def _run(command: list[str]) -> str:
    """What a command prints; fails the test when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=_environment())
    assert done.returncode == 0, f"{' '.join(command)} failed:\n{done.stderr}"
    return done.stdout


def _program() -> str:
    """The installed ``headrace-server`` of the Python that runs the tests."""
    return str(Path(sys.executable).with_name("headrace-server"))


def _environment() -> dict[str, str]:
    """This environment without the settings of a server that happens to be configured in it."""
    return {name: value for name, value in os.environ.items() if not name.startswith("HEADRACE_")}


class Server:
    """``headrace-server serve`` under a folder, which can be stopped and started again at the same address."""

    def __init__(self, folder: Path, **settings: str) -> None:
        """``settings`` are environment variables without their prefix, such as REPORT_EVERY_S. Nothing starts yet."""
        self._data_dir, self._ready, self._log = folder / "data", folder / "ready.json", folder / "server.log"
        self._environment = _environment() | {f"HEADRACE_SERVER_{name}": value for name, value in settings.items()}
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Service:
        """Return once it answers. Its log is ``folder/server.log``; the password is known to the first start only."""
        self._ready.unlink(missing_ok=True)
        command = [_program(), "serve", "--port", str(self._port), "--data-dir", str(self._data_dir)]
        with self._log.open("a") as output:
            self._process = subprocess.Popen(
                [*command, "--ready-file", str(self._ready)],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._environment,
            )
        service = _wait_ready(self._process, self._ready, self._log, self._data_dir)
        self._port = urlsplit(service.url).port or 0
        return service

    def stop(self) -> None:
        """Stop it, by force when it takes too long; nothing happens when it is not up."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


@contextmanager
def running_service(folder: Path) -> Iterator[Service]:
    """A server under ``folder`` until the way out."""
    # A receiver of webhooks on this machine is reached by its name; 127.0.0.1 itself stays refused.
    server = Server(folder, WEBHOOK_ALLOW="localhost")
    try:
        yield server.start()
    finally:
        server.stop()


def _wait_ready(process: subprocess.Popen[bytes], ready: Path, log: Path, data_dir: Path) -> Service:
    deadline = time.monotonic() + _START_S
    while not ready.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise AssertionError(f"the server did not start within {_START_S:g} s:\n{log.read_text()}")
        time.sleep(_POLL_S)
    told = json.loads(ready.read_text())
    return Service(told["url"], told.get("username") or "", told.get("password") or "", data_dir)
