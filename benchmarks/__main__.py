"""`make bench`: Headrace next to a plain read of the same bytes, then beside other loaders.

Prints both, writes the results of the second to benchmarks/results, and from them the tables and figures of README.md
and docs/benchmarks.md. `--quick` takes under four minutes, keeps its results in benchmarks/results/local and leaves the
pages alone; `--check` tells instead whether a path has become slower (see `benchmarks.check`). Other options go to
`benchmarks.loaders`; `python -m benchmarks.throughput` is the first part alone.
"""

from __future__ import annotations

import sys

from benchmarks import check, throughput
from benchmarks.loaders import __main__ as loaders
from benchmarks.loaders import pages


def main() -> int:
    """Both parts, or the guards; the exit status."""
    options = sys.argv[1:]
    if "--check" in options:
        return check.main([word for word in options if word != "--check"])
    quick = "--quick" in options
    loaders.parse(options)
    throughput.main(["--rounds", "1", "--seconds", "0.5", "--tokens", "20000000"] if quick else ["--seconds", "0.7"])
    print()
    loaders.main(options)
    if not quick and not any(option.startswith(("--only", "--output")) for option in options):
        pages.main([])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
