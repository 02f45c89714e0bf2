"""`--engine ray` on a real local Ray: the same bytes, a worker that dies is replaced, and what went wrong is told."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from headrace import ConfigError, SourceError
from headrace.tokenize import Options, tokenize

from tests.loader.tokenize.making import contents, shards, text, write_lines

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SMALL = Options(shard_bytes=8_000)
ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Ray on this machine's loopback, in a folder with a short name: its sockets' paths are bounded."""
    import ray

    os.environ.update(ENVIRONMENT)
    with tempfile.TemporaryDirectory(prefix="hr-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            object_store_memory=80 << 20,
            _node_ip_address="127.0.0.1",
            _temp_dir=folder,
            _system_config={"enable_timeline": False},
        )
        yield
        ray.shutdown()


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    for n in range(4):
        write_lines(tmp_path / "raw" / f"{n}.jsonl{['', '.gz'][n % 2]}", [text(150 * n + i) for i in range(150)])
    return tmp_path / "raw"


def test_ray_makes_the_bytes_that_processes_make(cluster: None, raw: Path, tokenizer: str, tmp_path: Path) -> None:
    summary = tokenize(str(raw), tokenizer, tmp_path / "ray", options=SMALL, engine="ray")
    tokenize(str(raw), tokenizer, tmp_path / "local", options=SMALL, workers=2)
    assert contents(tmp_path / "ray") == contents(tmp_path / "local")
    assert summary.total.documents == 600
    write_lines(raw / "9.jsonl", [text(1)])
    assert tokenize(str(raw), tokenizer, tmp_path / "ray", options=SMALL, engine="ray").new_inputs == 1


def test_a_ray_worker_that_is_killed_is_tried_again(cluster: None, tokenizer: str, tmp_path: Path) -> None:
    raw = write_lines(tmp_path / "raw.jsonl", [text(number) for number in range(5000)])
    tokenize(str(raw), tokenizer, tmp_path / "whole", options=SMALL, workers=2)
    out = tmp_path / "out"
    killed: list[int] = []
    ended = threading.Event()

    def kill() -> None:
        while not ended.wait(0.01):
            if not shards(out):
                continue
            for process in psutil.process_iter(["cmdline"]):
                if "ray::tokenize" in "".join(process.info["cmdline"] or []):
                    process.kill()
                    killed.append(process.pid)
                    return

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        tokenize(str(raw), tokenizer, out, options=SMALL, engine="ray", workers=1)
    finally:
        ended.set()
        killer.join()
    assert killed, "the run ended before its worker could be killed"
    assert contents(out) == contents(tmp_path / "whole")


def test_what_a_task_finds_wrong_is_told_by_its_own_error(
    cluster: None, raw: Path, tokenizer: str, tmp_path: Path
) -> None:
    (raw / "2.jsonl").write_text('{"text": "x"}\n{\n')
    with pytest.raises(SourceError, match=r"2\.jsonl, row 1 \(line 2\): it is not JSON"):
        tokenize(str(raw), tokenizer, tmp_path / "out", options=SMALL, engine="ray")
    summary = tokenize(str(raw), tokenizer, tmp_path / "out", options=SMALL, engine="ray", on_bad="skip")
    assert (summary.total.bad, summary.total.documents) == (1, 451)


def test_without_ray_the_package_to_install_is_named(
    raw: Path, tokenizer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "headrace.tokenize.on_ray", raising=False)
    with pytest.raises(ConfigError, match=r"needs the package 'ray'.* pip install 'headrace\[ray\]'"):
        tokenize(str(raw), tokenizer, tmp_path / "out", engine="ray")


def test_the_command_starts_and_ends_a_ray_of_its_own(raw: Path, tokenizer: str, tmp_path: Path) -> None:
    words = ["tokenize", str(raw), "--tokenizer", tokenizer, "-o", str(tmp_path / "out"), "--engine", "ray"]
    with tempfile.TemporaryDirectory(prefix="hr-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        environment = os.environ | ENVIRONMENT | {"RAY_TMPDIR": folder}
        ran = subprocess.run(
            [sys.executable, "-m", "headrace.cli", *words, "--workers", "1"],
            env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "600" in ran.stdout
