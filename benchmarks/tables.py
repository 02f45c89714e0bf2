"""Put the tables of `benchmarks/results` into docs/performance.md: `python -m benchmarks.tables`.

Each stands between two comments that name it; what isn't measured yet stays as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks import gains, guards, results
from benchmarks.profiles import __main__ as profiles
from benchmarks.service import __main__ as service

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"


def main() -> None:
    """Write the page anew."""
    text = PAGE.read_text()
    for name, lines in (("service", service.table), ("profiles", profiles.tables), ("gains", gains.table)):
        path = results.FOLDER / f"{name}.json"
        if path.exists():
            text = put(text, name, _of(json.loads(path.read_text()), lines))
    PAGE.write_text(put(text, "guards", _guards()))


def put(text: str, name: str, lines: Iterable[str]) -> str:
    """The text with these lines between the comments of `name`. Raises ValueError where it has none."""
    pattern = re.compile(f"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"the page has no place for {name!r}: <!-- {name} --> … <!-- end -->")
    content = "\n".join(lines).strip()
    return pattern.sub(lambda found: f"{found[1]}\n{content}\n\n{found[2]}", text)


def _of(found: dict[str, Any], lines: Callable[[Any], Iterable[str]]) -> list[str]:
    """Tables, and the run that they are of."""
    commit = found["commit"][:10] + "+" * found["commit"].endswith("+")
    about = f"{found['date']}, commit {commit}: {results.machine_text(found['machine'])}."
    note = found["settings"].get("note")
    return [*lines(found["figures"]), "", about, *([f"How: {note}."] if note else [])]


def _guards() -> list[str]:
    shares = guards.read()
    head = ["| path | its speed as a share of the limit's, on record |", "| --- | --- |"]
    return [*head, *(f"| {name} | {share:.3f} |" for name, share in shares.items())]


if __name__ == "__main__":
    main()
