"""`python -m benchmarks.loaders`: Headrace beside other loaders, one after the other in each round.

Makes the corpus and an environment a loader on its first run (some minutes and gigabytes, kept under HEADRACE_CACHE),
then measures. Writes the results with machine, versions and commit as JSON, prints tables and the promises held.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
from headrace.cache import cache_root

from benchmarks.loaders import corpus, entries
from benchmarks.loaders.environments import InstallError, python_of, versions_of
from benchmarks.loaders.measure import measure
from benchmarks.loaders.processes import Bench
from benchmarks.loaders.table import as_markdown, bars


def main() -> int:
    """Measure; the exit code is 1 where a promise is not held."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=100_000_000, help="size of the corpus (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each rate (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="one round; no 8 ranks, no million sequences")
    parser.add_argument("--only", action="append", metavar="LOADER", help="measure these only; repeat it for several")
    parser.add_argument("--output", type=Path, help="file for the results (default: a new one in benchmarks/results)")
    args = parser.parse_args()
    try:
        chosen = _installed(entries.chosen(args.only))
    except ValueError as error:
        parser.error(str(error))
    bench = Bench(corpus.make(cache_root() / "benchmarks", args.tokens))
    rounds = 1 if args.quick else args.rounds
    began = time.monotonic()
    loaders = measure(bench, chosen, rounds=rounds, seconds=args.seconds, quick=args.quick, say=_say)
    results = {"about": _about(args, chosen, time.monotonic() - began), "loaders": loaders}
    output = args.output or Path(__file__).parents[1] / "results" / f"loaders-{time.strftime('%Y-%m-%d')}.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(results, indent=1) + "\n")
    print(as_markdown(loaders))
    if "headrace" not in loaders:
        return 0
    held = bars(loaders)
    for promise, kept in held.items():
        print(f"{ {True: 'held    ', False: 'NOT HELD', None: 'unknown '}[kept] } {promise}")
    return int(False in held.values())


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def _installed(chosen: tuple[entries.Entry, ...]) -> tuple[entries.Entry, ...]:
    """Those that can be installed here; says which can't."""
    kept = []
    for entry in chosen:
        try:
            python_of(entry.environment)
            kept.append(entry)
        except InstallError as error:
            _say(f"{entry.name} can't be installed here and is left out: {error}")
    return tuple(kept)


def _about(args: argparse.Namespace, chosen: tuple[entries.Entry, ...], took_s: float) -> dict[str, Any]:
    """What the figures depend on."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return {
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit,
        "cpu": models[0].partition(": ")[2] if models else platform.processor(),
        "cores": psutil.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {entry.environment: versions_of(entry.environment) for entry in chosen},
        "tokens": args.tokens,
        "rounds": args.rounds,
        "seconds": args.seconds,
        "took_s": round(took_s),
    }


if __name__ == "__main__":
    sys.exit(main())
