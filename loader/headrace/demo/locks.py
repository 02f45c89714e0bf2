"""File locks that end with their process, however it ends, and the folders of demo runs that they guard."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from headrace.errors import ConfigError


@contextmanager
def locked(path: Path, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock on `path`, waiting for it; `on_wait` is called once if another process has it. Makes the file."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def run_folder(root: Path, *, keep: bool) -> Iterator[Path]:
    """A folder for one run, readable by its owner only: fresh, and removed at the end unless the run failed; or, with
    `keep`, the one that all kept runs share. Folders of fresh runs that have ended are removed first.

    Raises:
        ConfigError: another process is using the kept folder.
    """
    root.mkdir(parents=True, exist_ok=True)
    folder = root / ("kept" if keep else time.strftime(f"%Y%m%d-%H%M%S-{os.getpid()}"))
    with locked(root / "lock"):
        for other in root.iterdir():
            if other.is_dir() and other.name != "kept":
                _remove_unless_used(other)
        folder.mkdir(mode=0o700, exist_ok=True)
        lock = _try_lock(folder)
    if lock is None:
        raise ConfigError(f"another `headrace demo --keep` is running in {folder}; end it first, or leave out --keep")
    with lock:
        try:
            yield folder
        except Exception:
            raise  # and leave the logs
        except BaseException:
            _remove(folder, keep)
            raise
        _remove(folder, keep)


def _try_lock(folder: Path) -> IO[str] | None:
    file = (folder / "lock").open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def _remove_unless_used(folder: Path) -> None:
    lock = _try_lock(folder)
    if lock is not None:
        with lock:
            shutil.rmtree(folder)


def _remove(folder: Path, keep: bool) -> None:
    if not keep:
        shutil.rmtree(folder)
