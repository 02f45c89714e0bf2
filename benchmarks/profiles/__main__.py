"""Where the time goes, part by part: `python -m benchmarks.profiles [NAME ...] [--seconds 10]`.

start: phases of a cold process. Everything else: the share of a thread's working time, by stacks that py-spy takes from
outside; py-spy is installed on the first run. Writes `benchmarks/results/profiles.json`, and prints the tables of
docs/performance.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.profiles import sampler, startup
from benchmarks.profiles.parts import ON_SERVER, PARTS
from benchmarks.profiles.works import WORKS

SMALLEST = 0.005
"shares below are shown together"


def main() -> None:
    """Measure, print and write."""
    names = ["start", *(work.__name__ for work in WORKS)]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)} (default: all)")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="cold processes (default: %(default)s)")
    parser.add_argument("--others", action="store_true", help="print the frames that belong to no part")
    parser.add_argument("--output", type=Path, help="file for the results")
    args = parser.parse_args()
    if unknown := set(args.names) - set(names):
        parser.error(f"no work is called {sorted(unknown)}; there are {', '.join(names)}")
    found: dict[str, Any] = {}
    began = time.monotonic()
    for name in args.names or names:
        found[name] = startup.measure(args.rounds) if name == "start" else profile(name, args.seconds, args.others)
        print("\n".join(_table(name, found[name])), flush=True)
    settings = {"seconds": args.seconds, "rounds": args.rounds, "took_s": round(time.monotonic() - began)}
    versions = {"py-spy": sampler.VERSION}
    if not args.names or args.output:
        print(
            f"written to {results.write('profiles', found, settings=settings, versions=versions, output=args.output)}"
        )


def profile(name: str, seconds: float, others: bool) -> dict[str, Any]:
    """The share of each part of a work, and how many stacks that is from."""
    command = [sys.executable, "-m", "benchmarks.profiles.works", name, str(seconds)]
    found = sampler.stacks(command)
    keep = {"figures": _drawn}.get(name, _served) if name in ON_SERVER else _worked
    if others:
        print(sampler.others(found, PARTS[name], keep), file=sys.stderr)
    kept = sum(num for stack, num in found.items() if keep(stack))
    return {"stacks": kept, "shares": sampler.shares(found, PARTS[name], keep)}


_WAITS = ("Condition.wait (", "Event.wait (", "rest (", "EpollSelector.select (", "_bootstrap (", "_worker (")
"innermost frames of a thread that only waits"


def _worked(stack: tuple[str, ...]) -> bool:
    """Whether it is of the work itself, or of a thread of the loader's, and does not wait."""
    text = ";".join(stack)
    if stack[-1].startswith(_WAITS) or "_find_and_load" in text:
        return False
    return "measured (" in text or ("headrace/" in text and "_bootstrap (threading.py" in text)


def _served(stack: tuple[str, ...]) -> bool:
    """Whether it is of the server, once it has started, and at what is looked at."""
    text = ";".join(stack)
    is_work = not any(word in text for word in ("_find_and_load", "argon2")) and not stack[-1].startswith(_WAITS)
    return is_work and "headrace_server serve" in stack[0] + stack[1]


def _drawn(stack: tuple[str, ...]) -> bool:
    """Whether it is of the server, and not of the reports that came before."""
    return _served(stack) and "post_reports (" not in ";".join(stack)


def tables(found: dict[str, Any]) -> Iterator[str]:
    """One of each work, as Markdown."""
    for name, of in found.items():
        yield from _table(name, of)


def _table(name: str, found: dict[str, Any]) -> list[str]:
    """As Markdown."""
    if name == "start":
        total = sum(found["phases_s"].values())
        rows = [(part, f"{1000 * spent:,.0f} ms", spent / total) for part, spent in found["phases_s"].items()]
        lines = [f"| {part} | {spent} | {100 * share:.0f} % |" for part, spent, share in rows]
        libraries = ", ".join(f"{library} {1000 * spent:.0f} ms" for library, spent in found["imports_s"].items())
        return [
            "",
            "| start | median | share |",
            "| --- | --- | --- |",
            *lines,
            "",
            f"Imports after torch's: {libraries}.",
        ]
    shares = {part: share for part, share in found["shares"].items() if share >= SMALLEST}
    lines = [f"| {part} | {100 * share:.0f} % |" for part, share in shares.items()]
    return ["", f"| {name} | share |", "| --- | --- |", *lines]


if __name__ == "__main__":
    main()
