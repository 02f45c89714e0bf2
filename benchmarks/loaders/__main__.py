"""`python -m benchmarks.loaders`: Headrace beside other loaders, one after the other in each round.

Makes the corpus and an environment a loader on its first run (some minutes and gigabytes, kept under HEADRACE_CACHE),
then measures. Writes the results with machine, versions and commit as JSON; prints tables, and what Headrace is
held to.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from headrace.cache import cache_root

from benchmarks import results
from benchmarks.environments import InstallError
from benchmarks.loaders import corpus, entries
from benchmarks.loaders.bars import bars
from benchmarks.loaders.environments import python_of, versions_of
from benchmarks.loaders.measure import Results, failed, measure
from benchmarks.loaders.processes import Bench
from benchmarks.loaders.table import as_markdown

QUICK_TOKENS, SECONDS = 20_000_000, 0.5


def main(arguments: list[str] | None = None) -> None:
    """Measure, write, print."""
    args = parse(arguments)
    chosen, missing = _installed(args.entries, quick=args.quick)
    began = time.monotonic()
    bench = Bench(corpus.make(cache_root() / "benchmarks", args.tokens))
    versions = {package: one for entry in chosen for package, one in versions_of(entry.environment).items()}
    names = [entry.name for entry in (*entries.LIMITS, *args.entries)]
    loaders: Results = {}

    def keep(measured: Results) -> None:
        loaders.update((name, (missing | measured)[name]) for name in names)
        settings = _settings(args, time.monotonic() - began)
        results.write("loaders", loaders, settings=settings, versions=versions, output=args.output)

    measure(bench, chosen, rounds=args.rounds, seconds=args.seconds, quick=args.quick, say=_say, keep=keep)
    print(as_markdown(loaders))
    print("\n".join(map(str, bars(loaders))))


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """What to measure, with defaults of a quick run filled in; `entries` are the loaders asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, help="size of the corpus (default: 100 M; quick: 20 M)")
    parser.add_argument("--rounds", type=int, help="measurements of each rate (default: 5; quick: 1)")
    parser.add_argument("--seconds", type=float, help="length of one (default: 0.5)")
    parser.add_argument("--quick", action="store_true", help="no ranks, no million sequences")
    parser.add_argument("--only", action="append", metavar="LOADER", help="measure these only; repeat it for several")
    parser.add_argument("--fms-fsdp", type=Path, metavar="PATH", help="a checkout of fms-fsdp, to measure it too")
    parser.add_argument(
        "--output",
        type=Path,
        help="file for the results (default: benchmarks/results/loaders.json; quick: in its folder local)",
    )
    args = parser.parse_args(arguments)
    try:
        extra = (entries.fms_fsdp(args.fms_fsdp),) if args.fms_fsdp else ()
        args.entries = entries.chosen(args.only, (*entries.LOADERS, *extra))
    except ValueError as error:
        parser.error(str(error))
    args.given = {name: getattr(args, name) for name in ("tokens", "rounds", "seconds") if getattr(args, name)}
    args.tokens = args.tokens or (QUICK_TOKENS if args.quick else 100_000_000)
    args.rounds = args.rounds or (1 if args.quick else 5)
    args.seconds = args.seconds or SECONDS
    args.output = args.output or results.FOLDER / ("local" if args.quick else "") / "loaders.json"
    return args


def _say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def _installed(wanted: tuple[entries.Entry, ...], *, quick: bool) -> tuple[tuple[entries.Entry, ...], Results]:
    """Those that can be installed here, and the rows of those that can't."""
    kept, missing = [], {}
    for entry in wanted:
        try:
            python_of(entry.environment)
            kept.append(entry)
        except InstallError as error:
            _say(f"{entry.name} can't be installed here: {error}")
            missing[entry.name] = failed(entry, f"not installed: {error}", quick=quick)
    return tuple(kept), missing


def _command(args: argparse.Namespace) -> str:
    """What to run for the same again."""
    options = ["--quick"] if args.quick else []
    options += [f"--{name} {value}" for name, value in args.given.items()]
    options += [f"--only '{name}'" for name in args.only or ()] + (["--fms-fsdp PATH"] if args.fms_fsdp else [])
    return "make bench" + (f' ARGS="{" ".join(options)}"' if options else "")


def _settings(args: argparse.Namespace, took_s: float) -> dict[str, Any]:
    """What the run was asked for, and the seconds it took."""
    asked = {name: getattr(args, name) for name in ("tokens", "rounds", "seconds", "quick")}
    return {"command": _command(args), **asked, "took_s": round(took_s)}


if __name__ == "__main__":
    main()
