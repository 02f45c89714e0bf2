"""Virtual environments of what is measured beside Headrace, made once from the registry, under HEADRACE_CACHE."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from headrace.cache import cache_root


class InstallError(Exception):
    """Something could not be installed; the message is the end of what pip said."""


def environment(name: str, wanted: Sequence[str], finish: Callable[[Path], None] | None = None) -> Path:
    """The folder of an environment that has `wanted`, made anew where it has something else; its Python is `python_in`.

    Args:
        name: of the folder.
        wanted: requirements, as pip takes them.
        finish: is given the folder when all is installed, to change what is needed; it is whole after that.

    Raises:
        InstallError: pip failed.
    """
    folder = cache_root() / "benchmarks" / name
    told = folder / "installed.json"
    if not told.exists() or json.loads(told.read_text()) != [*wanted]:
        told.unlink(missing_ok=True)
        run([sys.executable, "-m", "venv", "--clear", str(folder)])
        run([str(python_in(folder)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted])
        if finish is not None:
            finish(folder)
        told.write_text(json.dumps([*wanted]))
    return folder


def python_in(folder: Path) -> Path:
    """The Python of an environment."""
    return folder / "bin" / "python"


def run(command: Sequence[str]) -> None:
    """Run a step of an installation. Raises InstallError."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InstallError((done.stderr or done.stdout).strip()[-600:])
