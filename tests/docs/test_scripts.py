"""The guide to scripts and notebooks, run as it stands against a real server and a job whose leader agrees."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.backend.builders import job_body
from tests.backend.leader import Leader
from tests.backend.process import environment, new_key, serving
from tests.docs.pages import ROOT, blocks

GUIDE = ROOT / "docs" / "guides" / "scripts.md"
SOURCES = [
    {**job_body()["sources"][0], "name": name, "weight_ppm": ppm} for name, ppm in (("web", 700_000), ("code", 300_000))
]


def test_a_notebook_and_a_shell_do_what_the_guide_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "server").mkdir()
    monkeypatch.chdir(tmp_path)
    setup, shell = (block.text for block in blocks(GUIDE, "bash"))
    with serving(tmp_path / "server") as server:
        monkeypatch.setenv("HEADRACE_URL", server.url)
        monkeypatch.setenv("HEADRACE_TOKEN", new_key(server.data_dir, "read,operate"))
        leader = Leader(server.url, new_key(server.data_dir, "ingest,read"), "llama-7b", sources=SOURCES)
        with leader:
            names: dict[str, Any] = {}
            exec("\n".join(block.text for block in blocks(GUIDE, "python")), names)
            names["client"].close()
            said = capsys.readouterr().out
            assert re.search(r"^llama-7b \d+ 10000", said) and "on every rank from step" in said, said
            commands = setup.replace("http://127.0.0.1:8400", server.url) + shell
            ran = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", commands.replace("headrace-server ", "python -m headrace_server ")],
                env=environment(server.data_dir) | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
                capture_output=True,
                text=True,
                check=False,
                timeout=300,
            )
        assert ran.returncode == 0, ran.stderr
    assert "version 3 by key:notebook, applied: web=75% code=25%" in ran.stdout
    for name in ("reports.parquet", "mix.csv", "llama-7b.html", "mix.html"):
        assert (tmp_path / name).stat().st_size > 100
