"""The dashboard in a real browser, against a real server and a real two-rank training job.

The specs are in ``specs/``; the stage starts what they look at and hands them its address.
"""

import os
import subprocess
from pathlib import Path

import pytest

from .stage import HERE, Stage, playwright, stage

_LIMIT_S = 2400


def _run_playwright(up: Stage, output: Path) -> tuple[int, str]:
    """Run every spec; the exit code and all that was said."""
    with output.open("w") as said:
        process = subprocess.Popen(
            playwright([]), cwd=HERE, env=os.environ | dict(up.environment), stdout=said, stderr=subprocess.STDOUT
        )
        try:
            code = process.wait(_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.wait()
            code = -1
    return code, output.read_text()


@pytest.mark.timeout(_LIMIT_S + 300)
def test_dashboard(tmp_path: Path) -> None:
    with stage(tmp_path) as up:
        code, said = _run_playwright(up, tmp_path / "playwright.log")
        assert code == 0, f"{said}\n--- the job's log ---\n{up.log_tail()}"
        print(said)
