"""Two minutes without the service, while ranks train on: what reaches it in the end, and how often.

Headrace's ranks report through the loader's own telemetry; beside them a training loop logs to MLflow with MLflow's
client, once as `log_metrics` does by default and once with `synchronous=False`. All servers are killed at once (as by
`kill -9`), and started again where they were. Every step's tokens are counted: the sum over the reports that were kept
is that of the training loop's steps only where nothing is missing and nothing counts twice.
"""

from __future__ import annotations

import json
import subprocess
import time
import uuid
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.service import tracking
from benchmarks.service.ranks import Ranks, Told
from benchmarks.service.stores import Pair, rows

NUM_RANKS = 4
BEFORE_S = 5.0
AFTER_S = 10.0
CAUGHT_UP_S = 120.0
CLIENT_S = 100.0
"for a client of MLflow's to come to its end, after the service is back"
_OURS = "attempt_id IN (SELECT attempt.id FROM attempt JOIN job ON job.id = attempt.job_id WHERE job.name = 'outage')"
KEPT = (
    "SELECT count(*), coalesce(sum(tokens), 0), coalesce(sum(steps), 0), coalesce(max(dropped), 0) "
    f"FROM rank_report WHERE {_OURS}"
)
TWICE = (
    "SELECT count(*) FROM (SELECT 1 FROM rank_report "
    f"WHERE {_OURS} GROUP BY attempt_id, rank, seq HAVING count(*) > 1) AS twice"
)
MODES = ("sync", "async")


def measure(pairs: list[Pair], outage_s: float) -> list[dict[str, Any]]:
    """What an outage of `outage_s` does to each of these services, all at once; one record a service and way to log."""
    with TemporaryDirectory(prefix="headrace-outage-") as folder:
        started = {pair.database: _ranks(pair, Path(folder) / pair.database) for pair in pairs}
        seconds = BEFORE_S + outage_s + AFTER_S
        clients = {(pair.database, mode): _client(pair, seconds, mode) for pair in pairs for mode in MODES}
        runs = {of: _first_line(client) for of, client in clients.items()}
        time.sleep(BEFORE_S)
        began = time.monotonic()
        for pair in pairs:
            pair.kill()
        time.sleep(max(0.0, began + outage_s - time.monotonic()))
        records = [_recovered(pair, started[pair.database]) for pair in pairs]
        for pair in pairs:
            pair.theirs.start()
        time.sleep(AFTER_S)
        ended = {pair.database: started[pair.database].end() for pair in pairs}
        records = [{**record, **_kept(pair, ended[pair.database])} for record, pair in zip(records, pairs, strict=True)]
        until = time.monotonic() + CLIENT_S
        for (database, mode), client in clients.items():
            (of,) = [pair for pair in pairs if pair.database == database]
            records.append(_client_told(of, mode, client, runs[database, mode], until))
    return [{"outage_s": outage_s, **record} for record in records]


def _ranks(pair: Pair, cache: Path) -> Ranks:
    return Ranks(NUM_RANKS, cache, pair.ours.url, pair.key, str(uuid.uuid4()))


def _recovered(pair: Pair, ranks: Ranks) -> dict[str, Any]:
    """Start ours again; seconds until it has every step that was made until then."""
    pair.restart_ours()
    began = time.monotonic()
    made = sum(steps.value for steps in ranks.steps)
    while rows(pair.our_database, KEPT)[0][2] < made:
        assert time.monotonic() < began + CAUGHT_UP_S, "the service did not catch up"
        time.sleep(0.1)
    return {"service": "headrace", "database": pair.database, "caught_up_s": time.monotonic() - began}


def _kept(pair: Pair, told: list[Told]) -> dict[str, Any]:
    """What the service holds in the end beside what the loops saw; waits for what goes out last."""
    steps, tokens = sum(one.steps for one in told), sum(one.tokens for one in told)
    deadline = time.monotonic() + 10
    while (found := rows(pair.our_database, KEPT)[0])[2] < steps and time.monotonic() < deadline:
        time.sleep(0.1)
    (twice,) = rows(pair.our_database, TWICE)[0]
    return {
        "reports": int(found[0]),
        "twice": int(twice),
        "made": tokens,
        "kept": int(found[1]),
        "unit": "tokens",
        "dropped": int(found[3]),
        "longest_call_s": max(one.longest_ms for one in told) / 1000,
        "exactly_once": int(found[1]) == tokens and int(found[2]) == steps and not twice and not found[3],
    }


def _client(pair: Pair, seconds: float, mode: str) -> subprocess.Popen[str]:
    command: list[str] = [
        str(tracking.installed()),
        str(Path(__file__).with_name("mlflow_client.py")),
        f"http://127.0.0.1:{pair.theirs.port}",
        str(seconds),
        mode,
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _first_line(client: subprocess.Popen[str]) -> str:
    assert client.stdout is not None
    return client.stdout.readline().strip()


def _client_told(pair: Pair, mode: str, client: subprocess.Popen[str], run: str, until: float) -> dict[str, Any]:
    """What MLflow holds of what a client logged, and what the client's loop saw, if it comes to an end."""
    record: dict[str, Any] = {"service": f"mlflow, {mode}", "database": pair.database}
    try:
        said, errors = client.communicate(timeout=max(0.1, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        client.kill()
        said, errors = client.communicate()
        errors = f"still in a call {CLIENT_S:.0f} s after the service was back"
    (kept,) = rows(pair.their_database, f"SELECT count(*) FROM metrics WHERE run_uuid = '{run}'")[0]
    found = next((line for line in said.splitlines() if line.startswith("{")), None)
    if found is None:
        return {**record, "kept": int(kept), "exactly_once": False, "error": errors.strip()[-300:]}
    told = json.loads(found)
    made = told["logged"] + told["failed"]
    return {
        **record,
        "made": made,
        "kept": int(kept),
        "unit": "values",
        "failed": told["failed"],
        "longest_call_s": told["longest_s"],
        "held_s": told["waited_s"],
        "exactly_once": int(kept) == made,
    }
