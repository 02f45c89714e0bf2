"""How soon an edit of the mix reaches the leader of a job: ``python -m benchmarks.edit_latency``.

A server in a process of its own, SQLite or PostgreSQL with every commit on disk, and in this process the loader's own
telemetry of a leader and an operator who edits. An edit's time is from before its PUT is sent until the leader has the
new weights to propose. ``--poll`` leaves the stream out, for comparison.
"""

import argparse
import math
import tempfile
import time
from pathlib import Path

import httpx
from headrace.telemetry import mix_feed
from headrace.telemetry.connect import connect
from headrace.telemetry.port import Activated

from benchmarks.ingest import DATABASES, service
from tests.loader.telemetry.ranks import DESCRIPTION, SOURCES, identity, wait_until

_BETWEEN_S = 0.05
_PATIENCE_S = 30.0


def quantile(values: list[float], share: float) -> float:
    """The smallest value that at least this share of them does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def measure(url: str, key: str, num_edits: int, *, poll: bool) -> list[float]:
    """Seconds from each edit to the leader."""
    who = identity()
    with tempfile.TemporaryDirectory() as cache:
        telemetry = connect(who, DESCRIPTION, job="edited", url=url, token=key, cache=Path(cache))
        assert telemetry is not None
        telemetry.activated(Activated("config:1", 0, SOURCES, 0, lineage=who.lineage))
        headers = {"Authorization": f"Bearer {key}"}
        try:
            with httpx.Client(base_url=f"{url}/api/v1", headers=headers, timeout=30) as operator:
                wait_until(lambda: bool(operator.get("/projects/default/jobs").json()["items"]), _PATIENCE_S)
                job = operator.get("/projects/default/jobs").json()["items"][0]["id"]
                time.sleep(1 if poll else 3)  # the stream is open, and the last poll without one has passed
                return [_edit(operator, telemetry, job, number) for number in range(num_edits)]
        finally:
            telemetry.finish()


def _edit(operator: httpx.Client, telemetry: object, job: str, number: int) -> float:
    etag = operator.get(f"/jobs/{job}/mix").headers["ETag"]
    body = {"weights": {"web": 1, "code": 1 + number % 7}, "reason": f"edit {number}"}
    began = time.perf_counter()
    version = (
        operator.put(f"/jobs/{job}/mix", json=body, headers={"If-Match": etag}).raise_for_status().json()["version"]
    )
    wanted = f"service:{version}"
    while getattr(telemetry.latest_proposal(), "revision", None) != wanted:  # type: ignore[attr-defined]
        assert time.perf_counter() - began < _PATIENCE_S, f"edit {number} did not arrive"
        time.sleep(0.001)
    took_s = time.perf_counter() - began
    time.sleep(_BETWEEN_S)
    return took_s


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=DATABASES, action="append", help="default: both, one after the other")
    parser.add_argument("--edits", type=int, default=200)
    parser.add_argument("--poll", action="store_true", help="without the stream")
    options = parser.parse_args()
    if options.poll:
        mix_feed.MixStream.follow = lambda _stream, _job: None  # type: ignore[method-assign]
    for database in options.database or DATABASES:
        with service(database) as (server, key, _, _):
            took_ms = [1000 * s for s in measure(server.url, key, options.edits, poll=options.poll)]
        figures = "  ".join(f"p{round(100 * q)} {quantile(took_ms, q):.0f} ms" for q in (0.5, 0.95, 0.99))
        print(f"{database}: {len(took_ms)} edits  {figures}  most {max(took_ms):.0f} ms", flush=True)


if __name__ == "__main__":
    main()
