"""A loader of one job against a real server: registers, reports, and agrees every version, as rank 0 does."""

import threading
import time
from typing import Any, Self

import httpx

from tests.backend.builders import activation_body, attempt_body, job_body, record, source_record

_POLL_S = 0.1


class Leader:
    """Two ranks with 100 steps behind them; in a ``with`` block they go on, and each edit is agreed and applied."""

    def __init__(self, url: str, token: str, name: str, **changes: Any) -> None:
        self._http = httpx.Client(
            base_url=f"{url}/api/v1", headers={"Authorization": f"Bearer {token}"}, trust_env=False, timeout=30
        )
        job = job_body(name, **changes)
        self._ppm = {source["name"]: source["weight_ppm"] for source in job["sources"]}
        self.id = self._post("/projects/default/jobs", job)["id"]
        self._attempt = attempt_body(2)
        self._post(f"/jobs/{self.id}/attempts", self._attempt)
        self._seq = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        for _ in range(20):
            self._report("config:1", 1)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.close()

    def close(self) -> Self:
        """Be heard no more."""
        self._http.close()
        return self

    def _post(self, path: str, body: object) -> Any:
        answer = self._http.post(path, json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def _report(self, revision: str, version: int) -> None:
        step = 5 * self._seq + 4
        at = {"time": time.time(), "mix_revision": revision, "mix_version": version}
        sources = [source_record(name, step, ppm) for name, ppm in self._ppm.items()]
        records = [record(rank, self._seq, step, sources=sources, **at) for rank in range(2)]
        reply = self._post(f"/jobs/{self.id}/reports", {"attempt": self._attempt["id"], "records": records})
        assert reply["rejected"] == []
        self._seq += 1

    def _run(self) -> None:
        version, revision = 1, "config:1"
        polls = 0
        while not self._stop.wait(_POLL_S):
            mix = self._http.get(f"/jobs/{self.id}/mix").json()
            if mix["version"] != version:
                version = mix["version"]
                revision = f"service:{version}"
                agreed = activation_body(
                    self._attempt,
                    revision,
                    5 * self._seq,
                    weights_ppm=mix["weights_ppm"],
                )
                self._post(f"/jobs/{self.id}/activations", agreed)
                self._report(revision, version)
            polls += 1
            if polls % 5 == 0:
                self._report(revision, version)
