"""Jobs made over REST, for what no training run of this machine can show: thousands of ranks, hostile names."""

import time
import uuid
from collections.abc import Sequence
from typing import Any, Self

import httpx

_BATCH = 500
_TIMEOUT_S = 60.0
_START_S = 180.0
SEQ_LEN = 64
GLOBAL_BATCH = 8


class Api:
    """The loader's side of the API, by key."""

    def __init__(self, url: str, key: str) -> None:
        self._http = httpx.Client(
            base_url=f"{url}/api/v1", headers={"Authorization": f"Bearer {key}"}, timeout=_TIMEOUT_S
        )

    def __enter__(self) -> Self:
        """The API itself; its connections are closed on the way out."""
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def post(
        self, path: str, body: dict[str, Any], *, method: str = "POST", headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """The reply's JSON; fails the test on a refusal, with the server's words."""
        reply = self._http.request(method, path, json=body, headers=headers)
        assert reply.is_success, f"{method} {path}: {reply.status_code} {reply.text}"
        answer: dict[str, Any] = reply.json()
        return answer

    def create_job(self, name: str, sources: Sequence[str]) -> str:
        """A job with equal weights; returns its id."""
        share, rest = divmod(1_000_000, len(sources))
        listed = [
            {
                "name": source,
                "weight_ppm": share + (index < rest),
                "num_documents": 1000,
                "num_tokens": 1_000_000,
                "num_shards": 4,
            }
            for index, source in enumerate(sources)
        ]
        job = self.post(
            "/projects/default/jobs",
            {
                "name": name,
                "seq_len": SEQ_LEN,
                "global_batch_size": GLOBAL_BATCH,
                "total_steps": 10_000,
                "seed": 1,
                "packing": "concat",
                "sources": listed,
            },
        )
        return str(job["id"])

    def start_attempt(self, job: str, world_size: int) -> str:
        """An attempt of ``world_size`` ranks that starts now; returns its id."""
        attempt = str(uuid.uuid4())
        self.post(
            f"/jobs/{job}/attempts",
            {
                "id": attempt,
                "lineage": str(uuid.uuid4()),
                "parent_lineage": None,
                "world_size": world_size,
                "dp_size": world_size,
                "resumed_from_step": None,
                "started_at": time.time(),
                "loader_version": "0.1.0",
                "hostname": "node-0",
            },
        )
        return attempt

    def report(self, job: str, attempt: str, records: Sequence[dict[str, Any]]) -> None:
        """Deliver ``records``, all of which must be taken."""
        for first in range(0, len(records), _BATCH):
            batch = list(records[first : first + _BATCH])
            reply = self.post(f"/jobs/{job}/reports", {"attempt": attempt, "records": batch})
            assert reply["accepted"] == len(batch), reply

    def wait_running(self, name: str, num_ranks: int) -> None:
        """Return once the job runs with all its ranks reporting; fails the test when that takes too long."""
        deadline = time.monotonic() + _START_S
        jobs: list[dict[str, Any]] = []
        while time.monotonic() < deadline:
            jobs = self._http.get("/projects/default/jobs", params={"q": name}).json()["items"]
            if any(job["state"] == "running" and job["ranks_live"] == num_ranks for job in jobs):
                return
            time.sleep(0.5)
        raise AssertionError(f"job {name!r} did not run on {num_ranks} ranks within {_START_S:g} s: {jobs}")

    def job_id(self, name: str) -> str:
        """The id of the job with exactly this name."""
        jobs: list[dict[str, Any]] = self._http.get("/projects/default/jobs", params={"q": name}).json()["items"]
        [found] = [job["id"] for job in jobs if job["name"] == name]
        return str(found)

    def wait_step(self, job: str, step: int, limit_s: float) -> None:
        """Return once the job is at a step; fails the test after ``limit_s``."""
        deadline = time.monotonic() + limit_s
        at: int | None = None
        while time.monotonic() < deadline:
            at = self._http.get(f"/jobs/{job}").json()["step"]
            if at is not None and at >= step:
                return
            time.sleep(0.5)
        raise AssertionError(f"job {job} is at step {at} after {limit_s:g} s, not at {step}")

    def end_attempt(self, job: str, attempt: str, state: str, reason: str) -> None:
        """Say how the attempt has ended: ``finished`` or ``failed``."""
        self.post(f"/jobs/{job}/attempts/{attempt}", {"state": state, "reason": reason}, method="PATCH")


def record(rank: int, world_size: int, seq: int, sources: Sequence[str], **change: Any) -> dict[str, Any]:
    """Report ``seq`` of a rank: ten steps of two seconds, every source in equal parts; ``change`` replaces members."""
    step = seq * 10 + 9
    sequences = (step + 1) * GLOBAL_BATCH
    tokens = 10 * GLOBAL_BATCH * SEQ_LEN // world_size
    body: dict[str, Any] = {
        "rank": rank,
        "seq": seq,
        "time": time.time(),
        "interval_s": 2.0,
        "step": step,
        "steps": 10,
        "tokens": tokens,
        "total_tokens": sequences * SEQ_LEN,
        "wait_p50_ms": 0.2 + rank % 7 / 10,
        "wait_p99_ms": 1.0 + rank % 13,
        "wait_max_ms": 3.0 + rank % 29,
        "wait_share": 0.002,
        "queue_depth": 2,
        "rss_bytes": 1_500_000_000 + rank * 1_000_000,
        "bytes_read": 1_000_000,
        "host": f"node-{rank // 8}",
        "local_rank": rank % 8,
        "dp_rank": rank,
        "dropped": 0,
        "mix_revision": "config:1",
        "mix_version": None,
        "mix_seen": None,
        "sources": [
            {
                "name": source,
                "ordinal": sequences // len(sources),
                "epoch": 0,
                "file": f"{source}/part-0001.arrow",
                "row": rank,
                "target_ppm": 1_000_000 // len(sources),
                "sequences": 10 * GLOBAL_BATCH // world_size // len(sources),
                "tokens": tokens // len(sources),
                "loss_sum": 3.0 / (seq + 1) + 2.0,
                "loss_count": 1,
            }
            for source in sources
        ],
    }
    return body | change
