"""Compiled loops are kept on disk where that is possible, and work where it is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from headrace import kernels
from headrace.cache import cache_root
from headrace.packing import write_spans

SCRIPT = """
import json, sys, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from headrace.permute import feistel, permutation
order = permutation(3, 10).tolist()
import numpy as np
place = int(feistel(np.uint64(3), 1000, 7))
stats = feistel.stats
print(json.dumps({
    "order": order, "place": place, "readied": "numba.np.linalg" in sys.modules,
    "hits": sum(stats.cache_hits.values()), "misses": sum(stats.cache_misses.values()),
    "warnings": [str(one.message) for one in caught],
}))
"""


def run(cache: Path) -> dict[str, Any]:
    environment = os.environ | {"HEADRACE_CACHE": str(cache)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_only_the_first_process_compiles(tmp_path: Path) -> None:
    first, second = run(tmp_path), run(tmp_path)
    assert (first["hits"], first["misses"]) == (0, 1)
    assert (second["hits"], second["misses"]) == (1, 0)
    assert first["warnings"] == second["warnings"] == []
    (folder,) = (tmp_path / "kernels").iterdir()
    assert list(folder.rglob("*.nbi"))
    for name in ("order", "place"):
        assert first[name] == second[name]
    assert (first["readied"], second["readied"]) == (True, False)


def test_every_module_with_a_kernel_counts_for_the_version_of_those_kept() -> None:
    package = Path(kernels.__file__).parent
    texts = {path.relative_to(package).with_suffix("").as_posix(): path.read_text() for path in package.rglob("*.py")}
    assert {*kernels.MODULES} == {"kernels", *(name for name, text in texts.items() if "@compiled" in text)}


def test_a_folder_that_cannot_be_written_costs_compiling_and_a_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    found = run(tmp_path / "file")
    (message,) = found["warnings"]
    assert str(tmp_path / "file") in message
    assert "set HEADRACE_CACHE to a folder that can be written" in message
    assert sorted(found["order"]) == list(range(10))


def test_where_things_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    assert cache_root() == tmp_path
    monkeypatch.setenv("HEADRACE_CACHE", "")
    assert cache_root() == Path.home() / ".cache" / "headrace"
    monkeypatch.delenv("HEADRACE_CACHE")
    assert cache_root() == Path.home() / ".cache" / "headrace"


def test_kernels_run_without_the_gil() -> None:
    kernel: Any = write_spans
    assert kernel.targetoptions["nogil"]
