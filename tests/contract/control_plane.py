"""The real control plane as a process of its own, that tests can kill and start again."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

_SERVER = str(Path(sys.executable).with_name("headrace-server"))
_START_S = 60.0


class ControlPlane:
    """`headrace-server` over SQLite in `data_dir`; `loader_key` ingests, `http` may do everything.

    On loopback; or on `host`, started with `prefix`, which takes it into another network namespace.
    """

    def __init__(self, data_dir: Path, *, host: str = "127.0.0.1", prefix: Sequence[str] = ()) -> None:
        self._host = host
        self._prefix = prefix
        self._data_dir = data_dir
        self._log = data_dir / "server.log"
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        self.loader_key = self.key("ingest")
        self.http = httpx.Client(
            base_url=f"{self.url}/api/v1",
            headers={"Authorization": f"Bearer {self.key('ingest,read,operate')}"},
            trust_env=False,
            timeout=30,
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.http.close()
        self.kill()

    @property
    def url(self) -> str:
        """Where it answers; the same after a restart."""
        return f"http://{self._host}:{self._port}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        ready = self._data_dir / "ready.json"
        ready.unlink(missing_ok=True)
        with self._log.open("ab") as log:
            command = [*self._prefix, _SERVER, "serve", "--data-dir", str(self._data_dir), "--port", str(self._port)]
            if self._prefix:
                command += ["--host", self._host, "--public"]
            self._process = subprocess.Popen([*command, "--ready-file", str(ready)], stdout=log, stderr=log)
        deadline = time.monotonic() + _START_S
        while not ready.exists():
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < deadline, self._log.read_text()
            time.sleep(0.05)
        self._port = int(json.loads(ready.read_text())["url"].rsplit(":", 1)[1])

    def kill(self) -> None:
        """End it as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def get(self, path: str, **params: Any) -> Any:
        """The JSON of a GET that succeeds."""
        answer = self.http.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def job(self, name: str) -> Any:
        """The job of this name in full; None before it is registered."""
        found = [job for job in self.get("/projects/default/jobs", q=name)["items"] if job["name"] == name]
        return self.get(f"/jobs/{found[0]['id']}") if found else None

    def edit(self, job_id: str, weights: dict[str, float], **change: Any) -> Any:
        """Propose new weights, as an operator does, again where a loader was faster; the new version."""
        body = {"weights": weights, "reason": "test", **change}
        for _ in range(3):
            etag = self.http.get(f"/jobs/{job_id}/mix").headers["ETag"]
            answer = self.http.put(f"/jobs/{job_id}/mix", json=body, headers={"If-Match": etag})
            if answer.status_code != 412:
                break
        assert answer.status_code == 200, answer.text
        return answer.json()

    def key(self, scopes: str) -> str:
        command = [_SERVER, "key", "create", "--data-dir", str(self._data_dir), "--scopes", scopes, "--name", scopes]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1]
