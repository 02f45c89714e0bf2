"""`python -m benchmarks.loaders.pages`: put the results into README.md, docs/benchmarks.md and their figures.

What lies between `<!-- loaders -->` and `<!-- end -->` is made here and nowhere else; a test holds the pages to it.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.loaders.bars import bars
from benchmarks.loaders.pictures import NoBrowserError, draw
from benchmarks.loaders.table import STATE, Columns, Loaders, cell, mega, missing, speed, table, yes
from benchmarks.results import FOLDER, machine_text
from benchmarks.tables import put

ROOT = Path(__file__).parents[2]
RESULTS = FOLDER / "loaders.json"


def blocks(results: dict[str, Any]) -> dict[str, str]:
    """What belongs between the markers of each page, by the page's path."""
    return {"README.md": _short(results), "docs/benchmarks.md": _long(results)}


def caption(results: dict[str, Any]) -> str:
    """When, on what, and how often it was measured."""
    asked = results["settings"]
    return (
        f"{results['date']}, {machine_text(results['machine'])}; {asked['tokens'] / 1e6:.0f} M tokens, files hot; "
        f"medians of {asked['rounds']}, {asked['seconds']:g} s each"
    )


def _short(results: dict[str, Any]) -> str:
    columns: Columns = (
        ("reads", cell("reads", str)),
        ("mixes", cell("mixes", yes)),
        ("M tokens/s", cell("workers_0.tokens_per_s", mega)),
        ("2 workers", cell("workers_2.tokens_per_s", mega)),
        ("memory, MB", cell("memory.own_bytes", lambda value: f"{value / 1e6:,.0f}")),
        ("exact resume", cell("near.same", yes)),
        ("on other ranks", cell("elastic.same", yes)),
    )
    command = f"`{results['settings']['command']}` ([all figures](docs/benchmarks.md))"
    return "\n\n".join((f"{caption(results)}:", table(results["figures"], columns), command))


def _long(results: dict[str, Any]) -> str:
    loaders = results["figures"]
    resuming: Loaders = {name: told for name, told in loaders.items() if "near" in told}
    limit = loaders["mapped, random rows"]["workers_0"]["tokens_per_s"]
    parts = (
        f"{caption(results)}; commit {results['commit'][:10]}; [all results](../benchmarks/results/loaders.json).",
        _picture("loaders-rate", "Tokens a second of each loader, without workers"),
        table(loaders, speed(limit)),
        f"```bash\n{results['settings']['command']}\n```",
        _picture("loaders-memory", "Memory of each loader after 10,000 sequences"),
        table(resuming, STATE),
        "The same command. ✗ failed, – has none; the reasons:",
        "\n".join(missing(loaders)),
        "What Headrace is held to:",
        "\n".join(f"- {bar}" for bar in bars(loaders)),
        "Versions: "
        + ", ".join(f"{package} {version}" for package, version in sorted(results["versions"].items()))
        + ".",
    )
    return "\n\n".join(parts)


def _picture(name: str, says: str) -> str:
    return (
        f'<picture>\n  <source media="(prefers-color-scheme: dark)" srcset="images/{name}-dark.svg">\n'
        f'  <img src="images/{name}-light.svg" alt="{says}" width="760">\n</picture>'
    )


def main(arguments: list[str] | None = None) -> int:
    """Write pages and figures; 1 where the figures could not be drawn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="?", default=RESULTS, help="default: %(default)s")
    results = json.loads(parser.parse_args(arguments).results.read_text())
    for path, block in blocks(results).items():
        page = ROOT / path
        page.write_text(put(page.read_text(encoding="utf-8"), "loaders", [block]), encoding="utf-8")
    try:
        draw(results["figures"], ROOT / "docs" / "images")
    except NoBrowserError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
