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
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=_environment())
        assert done.returncode == 0, f"{' '.join(command)} failed:\n{done.stderr}"
        return done.stdout.strip().splitlines()[-1]


def _program() -> str:
    """The installed ``headrace-server`` of the Python that runs the tests."""
    return str(Path(sys.executable).with_name("headrace-server"))


def _environment() -> dict[str, str]:
    """This environment without the settings of a server that happens to be configured in it."""
    return {name: value for name, value in os.environ.items() if not name.startswith("HEADRACE_")}


@contextmanager
def running_service(folder: Path) -> Iterator[Service]:
    """Start ``headrace-server serve`` under ``folder`` and stop it on the way out. Its log is ``folder/server.log``."""
    data_dir, ready, log = folder / "data", folder / "ready.json", folder / "server.log"
    command = [_program(), "serve", "--port", "0", "--data-dir", str(data_dir), "--ready-file", str(ready)]
    # A receiver of webhooks on this machine is reached by its name; 127.0.0.1 itself stays refused.
    environment = _environment() | {"HEADRACE_SERVER_WEBHOOK_ALLOW": "localhost"}
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
        try:
            yield _wait_ready(process, ready, log, data_dir)
        finally:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_ready(process: subprocess.Popen[bytes], ready: Path, log: Path, data_dir: Path) -> Service:
    deadline = time.monotonic() + _START_S
    while not ready.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise AssertionError(f"the server did not start within {_START_S:g} s:\n{log.read_text()}")
        time.sleep(_POLL_S)
    told = json.loads(ready.read_text())
    return Service(told["url"], told["username"], told["password"], data_dir)
