"""Folders of demo runs: private, removed when done, left when failed, never taken from a run that uses them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from headrace.demo.locks import run_folder
from headrace.errors import ConfigError

HOLD = """
import pathlib, sys
from headrace.demo.locks import run_folder
with run_folder(pathlib.Path(sys.argv[1]), keep=sys.argv[2] == "keep") as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_a_fresh_folder_is_private_and_removed(tmp_path: Path) -> None:
    with run_folder(tmp_path / "runs", keep=False) as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").write_text("x")
    assert not folder.exists()


def test_an_interrupt_removes_it_and_a_failure_leaves_it_for_the_next_run_to_remove(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), run_folder(tmp_path / "runs", keep=False) as interrupted:
        raise KeyboardInterrupt
    assert not interrupted.exists()
    with pytest.raises(ValueError, match="log"), run_folder(tmp_path / "runs", keep=False) as failed:
        raise ValueError("log")
    assert failed.exists()
    failed = failed.rename(failed.with_name("20000101-000000-1"))
    with run_folder(tmp_path / "runs", keep=False):
        assert not failed.exists()


def test_the_kept_folder_stays(tmp_path: Path) -> None:
    with run_folder(tmp_path / "runs", keep=True) as folder:
        (folder / "file").write_text("x")
    with run_folder(tmp_path / "runs", keep=False):
        pass
    with run_folder(tmp_path / "runs", keep=True) as again:
        assert again == folder
        assert (again / "file").read_text() == "x"


def test_folders_in_use_are_left_alone(tmp_path: Path) -> None:
    holders = [
        subprocess.Popen(
            [sys.executable, "-c", HOLD, str(tmp_path / "runs"), keep],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for keep in ("keep", "fresh")
    ]
    folders = [Path(holder.stdout.readline().strip()) for holder in holders if holder.stdout]
    with run_folder(tmp_path / "runs", keep=False) as mine:
        assert all(folder.exists() for folder in [*folders, mine])
    with pytest.raises(ConfigError, match=r"another `headrace demo --keep` is running in .*/kept"):
        run_folder(tmp_path / "runs", keep=True).__enter__()
    for holder in holders:
        holder.communicate()
        assert holder.returncode == 0
    assert [folder.exists() for folder in folders] == [True, False]
