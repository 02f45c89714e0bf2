"""What a benchmark's file says about the run."""

import json
from pathlib import Path

import numpy as np

from benchmarks import results


def test_a_file_holds_what_the_figures_depend_on(tmp_path: Path) -> None:
    path = results.write("any", {"rate": 2.5}, settings={"rounds": 5}, versions={"peer": "1"}, output=tmp_path / "a")
    found = json.loads(path.read_text())
    assert found["figures"] == {"rate": 2.5}
    assert found["settings"] == {"rounds": 5}
    assert found["versions"]["numpy"] == np.__version__
    assert found["versions"]["peer"] == "1"
    assert found["machine"]["cores"] >= 1
    assert len(found["commit"].rstrip("+")) in (40, len("unknown"))
    assert str(found["machine"]["cores"]) in results.machine_text(found["machine"])


def test_distributions_that_are_not_installed_are_left_out() -> None:
    assert results.installed(("numpy", "no-such-distribution")) == {"numpy": np.__version__}
