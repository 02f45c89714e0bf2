"""MLflow's tracking server beside ours: `log-batch` of metric values over HTTP, into its SQLite store.

It is installed from the registry into a virtual environment of its own under HEADRACE_CACHE, once.
"""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headrace.cache import cache_root

VERSION = "3.17.2"
MOST_VALUES = 1000
"that one log-batch takes"
START_S = 180.0
JSON = {"Content-Type": "application/json"}


def installed() -> Path:
    """The Python of an environment that has it."""
    folder = cache_root() / "benchmarks" / f"mlflow-{VERSION}"
    python = folder / "bin" / "python"
    if not (folder / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", f"mlflow=={VERSION}"], check=True)
        (folder / "installed").touch()
    return python


@contextmanager
def serving() -> Iterator[int]:
    """A server with one worker on a free port of loopback, for as long as the block lasts."""
    python = installed()
    folder = Path(tempfile.mkdtemp(prefix="headrace-mlflow-"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    store = f"--backend-store-uri=sqlite:///{folder}/mlflow.db"
    command = [python, "-m", "mlflow", "server", store, f"--artifacts-destination={folder}/artifacts"]
    command += ["--host=127.0.0.1", f"--port={port}", "--workers=1"]
    with (folder / "log.txt").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, start_new_session=True)
    try:
        _wait(process, port, folder / "log.txt")
        yield port
    finally:
        _end(process)
        shutil.rmtree(folder, ignore_errors=True)


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_S
    while True:
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as reply:
            if reply.status == 200:
                return
        assert process.poll() is None, log.read_text()[-4000:]
        assert time.monotonic() < deadline, log.read_text()[-4000:]
        time.sleep(0.5)


def _end(process: subprocess.Popen[bytes]) -> None:
    """The server and the workers that it started, which are of its session."""
    import psutil  # noqa: PLC0415

    everyone = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    for one in everyone:
        with suppress(psutil.NoSuchProcess):
            one.terminate()
    _, alive = psutil.wait_procs(everyone, timeout=10)
    for one in alive:
        one.kill()


def values_a_second(port: int, *, writers: int, num_batches: int) -> tuple[float, list[float]]:
    """Metric values a second, and the seconds of each batch, of so many writers with a run each."""
    bodies = []
    for _ in range(writers):
        run = json.loads(_post(port, "runs/create", b'{"experiment_id": "0"}'))["run"]["info"]["run_id"]
        bodies.append([_batch(run, number) for number in range(num_batches)])
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

    threads = [threading.Thread(target=write, args=(mine,)) for mine in bodies]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return writers * num_batches * MOST_VALUES / (time.perf_counter() - began), took


def _batch(run: str, number: int) -> bytes:
    metrics = [
        {"key": f"metric_{n % 50}", "value": n / 7, "timestamp": 1_700_000_000_000 + n, "step": 20 * number + n // 50}
        for n in range(MOST_VALUES)
    ]
    return json.dumps({"run_id": run, "metrics": metrics}).encode()


def _post(port: int, path: str, body: bytes) -> bytes:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/2.0/mlflow/{path}", body, JSON)
    with urllib.request.urlopen(request, timeout=60) as reply:
        text: bytes = reply.read()
        return text
