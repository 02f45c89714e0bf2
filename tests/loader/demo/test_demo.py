"""`headrace demo` as a person runs it: corpus, server, torchrun, a live change of the mix, and nothing left behind."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from headrace.kernels import cache_root

from tests.loader.demo.processes import finished, processes_with, started, until

# What belongs to other runs, and must not reach this one.
STRAY = {
    "HEADRACE_SERVER_DATABASE_URL": "mysql://elsewhere",
    "HEADRACE_JOB": "other",
    "HEADRACE_URL": "http://127.0.0.1:9",
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all runs: the first builds the corpus, the others reuse it. Compiled kernels are the machine's."""
    cache = tmp_path_factory.mktemp("cache")
    (cache / "kernels").symlink_to(cache_root() / "kernels")
    return cache


Demo = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def demo(cache: Path) -> Iterator[Demo]:
    """Starts `headrace demo` with the given options; whatever a failed test leaves running is killed."""
    runs: list[subprocess.Popen[str]] = []

    def start(*options: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "headrace.cli", "demo", "--no-browser", "--port", "0", *map(str, options)]
        runs.append(started(command, {**STRAY, "HEADRACE_CACHE": str(cache)}))
        return runs[-1]

    yield start
    for run in runs:
        run.kill()
        run.communicate()


def left_behind(cache: Path) -> list[list[str]]:
    return [process.cmdline() for process in processes_with(str(cache))]


def test_it_ends_by_itself_with_a_line_of_json(demo: Demo, cache: Path) -> None:
    run = demo("--steps", 30, "--exit", "--edit-at", 6)
    printed = finished(run, timeout_s=300)
    result = json.loads(printed.splitlines()[-1])
    assert result["steps"] == 30
    assert result["tokens"] == 30 * 16 * 128
    assert result["tokens_per_s"] > 0
    assert result["loss_last"] < result["loss_first"]
    mix = result["mix"]
    assert mix["version"] == 2
    assert 6 < mix["step"] < 30
    assert mix["step_on_rank"] == {"0": mix["step"], "1": mix["step"]}
    for name, asked in {"code": 0.2, "prose": 0.3, "legal": 0.5}.items():
        since = mix["sources_since"][name]
        assert since["asked"] == asked
        assert abs(since["delivered"] - asked) * (30 - mix["step"]) * 16 < 2, "within a sequence of each end"
        whole = result["sources"][name]
        assert abs(whole["asked"] - whole["delivered"]) * 30 * 16 < 2
    assert left_behind(cache) == []
    assert [path.name for path in (cache / "demo" / "runs").iterdir()] == ["lock"]


def test_it_goes_on_at_another_number_of_ranks(demo: Demo, cache: Path) -> None:
    run = demo("--steps", 6, "--exit", "--ranks", 1, "--rescale", 2)
    result = json.loads(finished(run, timeout_s=300).splitlines()[-1])
    assert result["rescale"] == {"ranks": [1, 2], "step": 3, "steps": 6, "repeated": 0, "missing": 0}
    assert result["mix"]["step_on_rank"] == {"0": 3, "1": 3}
    assert left_behind(cache) == []


def test_a_person_signs_in_and_changes_the_mix_with_curl_till_ctrl_c(demo: Demo, cache: Path, tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    run = demo("--steps", 100_000, "--ready-file", ready)
    until(ready.exists, "the demo is ready", 240)
    assert ready.stat().st_mode & 0o777 == 0o600
    said = json.loads(ready.read_text())
    with httpx.Client(base_url=f"{said['url']}/api/v1", trust_env=False) as client:
        login = {"username": said["username"], "password": said["password"]}
        assert client.post("/session", json=login).status_code == 200
        job = f"/jobs/{said['job']}"
        until(lambda: (client.get(job).json()["step"] or 0) > 2, "the server knows of steps")
        printed = till_curl(run)
        assert said["url"] in printed
        assert said["password"] in printed
        assert json.loads(curl(printed.splitlines()[-1], cache))["version"] == 2
        until(lambda: newest(client, job)["life"]["state"] == "applied", "every rank applies the change")
        life = newest(client, job)["life"]
        assert (life["applied_ranks"], life["total_ranks"]) == (2, 2)
        (activation,) = [a for a in client.get(f"{job}/activations").json()["items"] if a["version"] == 2]
        assert activation["step"] == life["agreed_step"]
    began = time.monotonic()
    run.send_signal(signal.SIGINT)
    last = finished(run, timeout_s=30)
    assert time.monotonic() - began < 20
    assert last.splitlines()[-1] == "demo: stopped"
    assert "Traceback" not in printed + last
    assert left_behind(cache) == []


def till_curl(run: subprocess.Popen[str]) -> str:
    """What the demo printed, up to the curl command that it offers."""
    assert run.stdout is not None
    printed = ""
    for line in run.stdout:
        printed += line
        if line.lstrip().startswith("curl "):
            return printed
    raise AssertionError(f"no curl command in {printed}")


def curl(command: str, cache: Path) -> str:
    """Paste the command into a shell; what it answers. No secret is on any command line."""
    assert shutil.which("curl"), "this test pastes the printed curl command: install curl"
    words = shlex.split(command)
    secret = Path(words[words.index("-K") + 1])
    holders = {path.name for path in secret.parent.rglob("*") if path.is_file() and b"hr_" in path.read_bytes()}
    assert holders - {"headrace.db", "headrace.db-wal"} == {"curl.conf", "access.json"}, "the database has key prefixes"
    assert secret.stat().st_mode & 0o777 == 0o600
    shown = [word for process in processes_with(str(cache)) for word in process.cmdline()]
    assert shown
    assert not any("hr_" in word for word in [*shown, *words]), "keys start with hr_"
    assert "Bearer hr_" in secret.read_text()
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=True, timeout=30).stdout


def newest(client: httpx.Client, job: str) -> dict[str, Any]:
    version: dict[str, Any] = client.get(f"{job}/mix").json()
    return version


def test_a_taken_port_is_said_and_nothing_is_left(demo: Demo, cache: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        run = demo("--steps", 5, "--exit", "--port", port)
        printed, _ = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "headrace-server ended with status 1; its last lines:" in printed
    assert f"can't bind 127.0.0.1:{port}" in printed
    assert left_behind(cache) == []
