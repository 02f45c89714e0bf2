"""Kill −9 at any moment, run again, and what comes out is what an undisturbed run makes; one run at a time."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from headrace import ConfigError
from headrace.tokenize import Options, tokenize
from headrace.tokenize.folder import open_folder

from tests.loader.tokenize.making import contents, shards, text, write_lines

TRIES = 40


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    for n in range(4):
        write_lines(folder / f"{n}.jsonl{['', '.gz'][n % 2]}", [text(200 * n + i) for i in range(200)])
    return folder


def command(raw: Path, tokenizer: str, out: Path) -> list[str]:
    words = ["tokenize", str(raw), "--tokenizer", tokenizer, "-o", str(out), "--shard-size", "8kB", "--workers", "2"]
    return [sys.executable, "-m", "headrace.cli", *words, "--json"]


def start(words: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_killed_at_many_moments_it_makes_what_an_undisturbed_run_makes(
    raw: Path, tokenizer: str, tmp_path: Path
) -> None:
    began = time.monotonic()
    undisturbed = subprocess.run(
        command(raw, tokenizer, tmp_path / "whole"), check=True, capture_output=True, text=True
    )
    took_s = time.monotonic() - began
    assert '"bad": []' in undisturbed.stdout
    chance = random.Random(7)
    out = tmp_path / "out"
    for _ in range(TRIES):
        child = start(command(raw, tokenizer, out))
        try:
            child.communicate(timeout=chance.uniform(0.2, 1.0) * took_s)
            assert child.returncode == 0
            break
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            child.communicate()
        for shard in shards(out):
            assert shard.read_bytes() == (tmp_path / "whole" / shard.name).read_bytes(), "under its name it is whole"
        names = [shard.name for shard in shards(out)]
        assert names == [shard.name for shard in shards(tmp_path / "whole")][: len(names)], "shown in order"
    else:
        subprocess.run(command(raw, tokenizer, out), check=True, capture_output=True)
    assert contents(out) == contents(tmp_path / "whole")
    assert len(shards(out)) > 10


def test_a_killed_run_keeps_what_was_finished(raw: Path, tokenizer: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    child = start(command(raw, tokenizer, out))
    deadline = time.monotonic() + 300
    while len(shards(out)) < 3 and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    before = {path: path.stat().st_mtime_ns for path in shards(out)}
    assert len(before) >= 3
    subprocess.run(command(raw, tokenizer, out), check=True, capture_output=True)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_second_run_refuses_a_folder_in_use_and_names_the_first(raw: Path, tokenizer: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with open_folder(str(out)).owned():
        with pytest.raises(ConfigError, match=rf"another run is writing to .*out \(process {os.getpid()} on .* since"):
            tokenize(str(raw), tokenizer, out)
        second = subprocess.run(command(raw, tokenizer, out), capture_output=True, text=True, check=False)
        assert second.returncode == 2
        assert "another run is writing" in second.stderr
    assert shards(out) == []
    tokenize(str(raw), tokenizer, out, options=Options(shard_bytes=8_000))


def test_a_worker_that_dies_is_replaced_and_its_unit_goes_on(raw: Path, tokenizer: str, tmp_path: Path) -> None:
    import psutil

    subprocess.run(command(raw, tokenizer, tmp_path / "whole"), check=True, capture_output=True)
    out = tmp_path / "out"
    child = start(command(raw, tokenizer, out))
    killed: set[int] = set()
    deadline = time.monotonic() + 300
    while child.poll() is None and time.monotonic() < deadline and len(killed) < 2:
        if len(shards(out)) > len(killed):
            for worker in psutil.Process(child.pid).children()[:1]:
                worker.kill()
                killed.add(worker.pid)
        time.sleep(0.005)
    _, errors = child.communicate(timeout=300)
    assert child.returncode == 0, errors
    assert killed
    assert contents(out) == contents(tmp_path / "whole")
