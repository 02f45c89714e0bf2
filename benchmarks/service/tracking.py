"""MLflow's tracking server beside ours: `log-batch` of metric values over HTTP, into its SQL store.

It is installed from the registry into a virtual environment of its own under HEADRACE_CACHE, once.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from benchmarks.environments import environment, python_in
from benchmarks.ingest import JSON, in_threads

VERSION = "3.17.2"
DRIVER = "2.9.12"
"of psycopg2-binary, for PostgreSQL"
MOST_VALUES = 1000
"that one log-batch takes"
START_S = 180.0


def installed() -> Path:
    """The Python of an environment that has it. Raises InstallError."""
    wanted = (f"mlflow=={VERSION}", f"psycopg2-binary=={DRIVER}")
    return python_in(environment(f"mlflow-{VERSION}", wanted))


class TrackingServer:
    """A server on a free port of loopback over the store at `uri`, that can be killed and started again."""

    def __init__(self, folder: Path, uri: str, *, workers: int) -> None:
        """`folder` takes artifacts and the log."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self._log = folder / "log.txt"
        self._command = [str(installed()), "-m", "mlflow", "server", f"--backend-store-uri={uri}"]
        self._command += [f"--artifacts-destination={folder}/artifacts", "--host=127.0.0.1"]
        self._command += [f"--port={self.port}", f"--workers={workers}"]
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()

    def start(self) -> None:
        """Start it and wait until it answers."""
        # Its workers for evaluations and scheduled jobs would take memory and time from what is measured.
        environment = os.environ | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, cwd=self._folder, env=environment, start_new_session=True
            )
        deadline = time.monotonic() + START_S
        while True:
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5) as reply:
                if reply.status == 200:
                    return
            assert self._process.poll() is None, self._log.read_text()[-4000:]
            assert time.monotonic() < deadline, self._log.read_text()[-4000:]
            time.sleep(0.25)

    def processes(self) -> list[psutil.Process]:
        """The server and the workers that it started."""
        if self._process is None or self._process.poll() is not None:
            return []
        first = psutil.Process(self._process.pid)
        return [first, *first.children(recursive=True)]

    def kill(self) -> None:
        """End all of it as a crash does."""
        everyone = self.processes()
        for one in everyone:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        if self._process is not None:
            self._process.wait()
            self._process = None
        psutil.wait_procs(everyone, timeout=10)


def ingest(port: int, *, writers: int, num_batches: int, values: int) -> tuple[float, list[float]]:
    """Metric values a second, and the seconds of each batch, of so many writers with a run each.

    Each sends `num_batches` batches of `values`, encoded before the clock runs.
    """
    bodies = []
    for _ in range(writers):
        run = json.loads(_post(port, "runs/create", b'{"experiment_id": "0"}'))["run"]["info"]["run_id"]
        bodies.append([_batch(run, number, values) for number in range(num_batches)])
    took: list[float] = []

    def write(mine: list[bytes]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        for body in mine:
            began = time.perf_counter()
            connection.request("POST", "/api/2.0/mlflow/runs/log-batch", body, JSON)
            reply = connection.getresponse()
            text = reply.read()
            took.append(time.perf_counter() - began)
            assert reply.status == 200, (reply.status, text)
        connection.close()

    spent = in_threads(write, bodies)
    assert len(took) == writers * num_batches, "a writer failed"
    return writers * num_batches * values / spent, took


def _batch(run: str, number: int, values: int) -> bytes:
    """Values of 50 metrics at the steps of a batch."""
    first = number * values
    metrics = [
        {"key": f"metric_{n % 50}", "value": n / 7, "timestamp": 1_700_000_000_000 + n, "step": n // 50}
        for n in range(first, first + values)
    ]
    return json.dumps({"run_id": run, "metrics": metrics}).encode()


def _post(port: int, path: str, body: bytes) -> bytes:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/2.0/mlflow/{path}", body, JSON)
    with urllib.request.urlopen(request, timeout=60) as reply:
        text: bytes = reply.read()
        return text
