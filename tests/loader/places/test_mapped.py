"""Maps hold no descriptor and live as long as their last view."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest
from headrace.places.mapped import map_file


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def is_mapped(path: Path) -> bool:
    return str(path) in Path("/proc/self/maps").read_text()


def test_the_bytes_are_those_of_the_file(tmp_path: Path) -> None:
    content = np.random.default_rng(0).bytes(10_000)
    (tmp_path / "a").write_bytes(content)
    mapped = map_file(tmp_path / "a")
    assert mapped.tobytes() == content
    assert not mapped.flags.writeable


def test_a_map_holds_no_descriptor(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345678")
    before = open_descriptors()
    maps = [map_file(tmp_path / "a") for _ in range(50)]
    assert open_descriptors() == before
    assert len(maps) == 50


def test_a_map_ends_with_its_last_view(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"12345678" * 1000)
    view = map_file(path)[8:16].view("<u2")
    gc.collect()
    assert is_mapped(path)
    assert view.tobytes() == b"12345678"
    del view
    gc.collect()
    assert not is_mapped(path)


def test_an_empty_file_is_an_empty_array(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert map_file(tmp_path / "a").size == 0


def test_a_missing_file_and_a_folder_are_os_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        map_file(tmp_path / "gone")
    with pytest.raises(OSError, match="No such device"):
        map_file(tmp_path)
