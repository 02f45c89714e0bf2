"""What a benchmark found, kept with all that it depends on: `benchmarks/results/NAME.json`.

A file holds the newest run of its benchmark, as the tables of the documents show it; earlier ones are in the history
of the repository. Figures only compare within one file: they were taken on one machine, in one run.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

FOLDER = Path(__file__).parent / "results"
SHOWN = ("headrace", "headrace-server", "torch", "numpy", "numba", "pyarrow", "fastapi", "sqlalchemy", "uvicorn")
"distributions whose versions any figure may depend on"


def write(
    name: str,
    figures: Any,
    *,
    settings: Mapping[str, Any],
    versions: Mapping[str, Any] | None = None,
    output: Path | None = None,
) -> Path:
    """Write {name, date, commit, machine, versions, settings, figures}; returns the file.

    Args:
        name: of the benchmark, and so of the file.
        figures: what was measured: anything that JSON holds, units in the names.
        settings: what the run was asked for: sizes, rounds, seconds.
        versions: of what was measured beside ours, by name.
        output: another file than that of the name.
    """
    path = output or FOLDER / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    found = {
        "name": name,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": commit(),
        "machine": machine(),
        "versions": {**installed(SHOWN), **(versions or {})},
        "settings": dict(settings),
        "figures": figures,
    }
    path.write_text(json.dumps(found, indent=1) + "\n")
    return path


def machine() -> dict[str, Any]:
    """The processor, its cores, the memory (bytes), the system, and how busy it was (load of the last minute)."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.processor() or platform.machine(),
        "cores": psutil.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load_1m": round(psutil.getloadavg()[0], 1),
    }


def machine_text(of: Mapping[str, Any]) -> str:
    """`machine()` in a line, for a table's caption."""
    gib = of["memory_bytes"] / 2**30
    return f"{of['cores']} cores ({of['cpu']}), {gib:.0f} GiB, Python {of['python']}"


def commit() -> str:
    """The commit that the files are of, with `+` where some differ from it; `unknown` outside a repository."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=FOLDER.parent, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "") or "unknown"


def installed(names: Sequence[str]) -> dict[str, str]:
    """Versions of those of these distributions that are installed in this environment."""
    found = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
