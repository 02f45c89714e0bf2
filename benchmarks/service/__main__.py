"""The control plane beside MLflow's tracking server: `python -m benchmarks.service [--quick]`.

Both over SQLite and over PostgreSQL, every commit on disk, four writers over HTTP on the same machine, in turn; then
an outage of both. MLflow is installed on the first run (a minute or two). Writes `benchmarks/results/service.json` and
prints the tables of docs/performance.md. The exit code is 1 where a promise is not held.
"""

from __future__ import annotations

import argparse
import signal
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psutil

from benchmarks import ingest, results
from benchmarks.service import outage, tracking
from benchmarks.service.stores import DATABASES, Pair, pair

OURS = (30, 200)
"records in a batch, of 34 values each: about as many values as MLflow takes at most, and a node's usual batch"
THEIRS = (200, 1000)
"values in a batch; 1,000 is the most that MLflow takes"
ROUND_S = 1.5
"about so long each is measured, each round"


def main() -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each rate (default: %(default)s)")
    parser.add_argument("--writers", type=int, default=4, help="clients at once (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=1, help="processes of MLflow's server (default: %(default)s)")
    parser.add_argument("--outage-s", type=float, default=120.0, help="0: none (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="two rounds, an outage of 20 s: under four minutes")
    parser.add_argument("--output", type=Path, help="file for the results")
    args = parser.parse_args()
    if args.quick:
        args.rounds, args.outage_s = 2, min(args.outage_s, 20.0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # servers are ended, too
    began = time.monotonic()
    with ExitStack() as stack:
        pairs = [stack.enter_context(pair(database, workers=args.workers)) for database in DATABASES]
        _say("rates")
        rates = [row for both in pairs for row in _rates(both, args)]
        _say(f"outage of {args.outage_s:.0f} s")
        outages = outage.measure(pairs, args.outage_s) if args.outage_s else []
    figures = {"ingest": rates, "outage": outages}
    settings = {name: getattr(args, name) for name in ("rounds", "writers", "workers", "outage_s")}
    path = results.write(
        "service",
        figures,
        settings={**settings, "took_s": round(time.monotonic() - began)},
        versions={"mlflow": tracking.VERSION, "psycopg2-binary": tracking.DRIVER},
        output=args.output,
    )
    print("\n".join(table(figures)))
    print(f"written to {path}")
    held = bars(figures)
    for promise, kept in held.items():
        print(f"{'held    ' if kept else 'NOT HELD'} {promise}")
    return int(not all(held.values()))


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def _rates(both: Pair, args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Rates of one database, each kind of batch in turn in each round."""
    kinds = [("headrace", batch) for batch in OURS] + [("mlflow", values) for values in THEIRS]
    nums = {kind: _once(both, *kind, args.writers, 2)[2] for kind in kinds}
    found: dict[tuple[str, int], list[tuple[float, list[float], float]]] = {kind: [] for kind in kinds}
    for number in range(args.rounds):
        for kind in kinds if number % 2 == 0 else reversed(kinds):
            rate, took, _, cpu_us = _once(both, *kind, args.writers, nums[kind])
            found[kind].append((rate, took, cpu_us))
    for (service, size), rounds in found.items():
        took = [1000 * seconds for _, took, _ in rounds for seconds in took]
        yield {
            "service": service,
            "database": both.database,
            "values_a_batch": size * ingest.VALUES if service == "headrace" else size,
            "values_per_s": statistics.median(rate for rate, _, _ in rounds),
            "p50_ms": statistics.median(took),
            "p99_ms": ingest.percentile(took, 0.99),
            "cpu_us_a_value": statistics.median(cpu for _, _, cpu in rounds),
            "batches": len(took),
        }


def _once(both: Pair, service: str, size: int, writers: int, num: int) -> tuple[float, list[float], int, float]:
    """(values a second, seconds of each batch, batches of a writer in `ROUND_S`, CPU µs a value, database included)."""
    first = psutil.Process(both.ours.process.pid) if service == "headrace" else both.theirs.processes()[0]
    roots = [first, *both.database_processes]
    before = sum(map(_cpu_s, roots))
    if service == "headrace":
        reports, took = ingest.ingest(
            both.ours.url, both.key, writers=writers, num_batches=num, batch=size, watched=False
        )
        rate, values = reports * ingest.VALUES, writers * num * size * ingest.VALUES
    else:
        rate, took = tracking.ingest(both.theirs.port, writers=writers, num_batches=num, values=size)
        values = writers * num * size
    cpu_us = 1e6 * (sum(map(_cpu_s, roots)) - before) / values
    return rate, took, max(3, round(num * ROUND_S * rate / values)), cpu_us


def _cpu_s(root: psutil.Process) -> float:
    """CPU seconds so far of a process, those that it started, and those of them that have ended."""
    spent = 0.0
    for process in (root, *root.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            spent += times.user + times.system + times.children_user + times.children_system
    return spent


def table(figures: dict[str, Any]) -> Iterator[str]:
    """The tables as Markdown."""
    yield "| database | service | values a batch | values/s | batch p50 · p99 | CPU a value |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for row in figures["ingest"]:
        yield (
            f"| {row['database']} | {row['service']} | {row['values_a_batch']:,} | {row['values_per_s']:,.0f} "
            f"| {row['p50_ms']:,.0f} · {row['p99_ms']:,.0f} ms | {row['cpu_us_a_value']:,.1f} µs |"
        )
    if not figures["outage"]:
        return
    yield ""
    yield "| database | logged by | in the loop | kept | exactly once | longest call in the loop | caught up after |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for row in figures["outage"]:
        if "made" not in row:
            yield f"| {row['database']} | {row['service']} | | {row['kept']:,} | no: {row['error']} | | |"
            continue
        after = f"{row['caught_up_s']:.1f} s" if "caught_up_s" in row else ""
        longest = row["longest_call_s"]
        shown = f"{1000 * longest:.2f} ms" if longest < 0.1 else f"{longest:.0f} s"
        once = "yes" if row["exactly_once"] else "no"
        yield (
            f"| {row['database']} | {row['service']} | {row['made']:,} {row['unit']} | {row['kept']:,} | {once} "
            f"| {shown} | {after} |"
        )


def bars(figures: dict[str, Any]) -> dict[str, bool]:
    """What is promised, and whether this run held it."""
    held = {}
    for database in DATABASES:
        rows = [row for row in figures["ingest"] if row["database"] == database]
        ours = [row for row in rows if row["service"] == "headrace"]
        theirs = [row for row in rows if row["service"] == "mlflow"]
        best = max(theirs, key=lambda row: row["values_per_s"])
        held[f"{database}: more values a second than MLflow at its best"] = (
            min(row["values_per_s"] for row in ours) > best["values_per_s"]
        )
        held[f"{database}: a shorter p99 at as many values a batch as MLflow's most"] = (
            ours[0]["p99_ms"] < theirs[-1]["p99_ms"]
        )
    for row in figures["outage"]:
        if row["service"] == "headrace":
            held[f"{row['database']}: every report exactly once after {row['outage_s']:.0f} s away"] = row[
                "exactly_once"
            ]
    return held


if __name__ == "__main__":
    sys.exit(main())
