"""Which files are a source's shards: all of them, each once, and every other one named with the reason."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from headrace.discovery import Found, discover
from headrace.errors import SourceError


def touch(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def names(found: Found) -> list[str]:
    return [one.path for one in found.files]


def reasons(found: Found) -> dict[str, str]:
    return dict(found.ignored)


def test_shards_are_sorted_by_their_relative_path(tmp_path: Path) -> None:
    touch(tmp_path, "b.arrow", "a/2.parquet", "a/10.ipc", "a.arrow", "a-b/c.feather", "Z.ARROW", "é.arrow")
    found = discover("web", tmp_path)
    assert names(found) == ["Z.ARROW", "a-b/c.feather", "a.arrow", "a/10.ipc", "a/2.parquet", "b.arrow", "é.arrow"]
    assert names(found) == sorted(names(found))
    assert {one.size_bytes for one in found.files} == {1}
    assert str(found.root) == str(tmp_path)


def test_one_file_is_a_source_whatever_its_name(tmp_path: Path) -> None:
    """C03: a path to a file."""
    touch(tmp_path, "_tokens.bin", "other.arrow")
    found = discover("web", tmp_path / "_tokens.bin")
    assert (str(found.root), names(found), found.ignored) == (str(tmp_path), ["_tokens.bin"], ())


def test_hidden_temporary_and_helper_files_are_ignored_and_listed(tmp_path: Path) -> None:
    """F17: exactly the good files are taken; the others are listed once each, folders as a whole."""
    touch(tmp_path, "a.arrow", "deep/b.arrow", "deep/er/c.parquet")
    touch(tmp_path, "_temporary/0/x.arrow", ".staging/x.arrow", "_SUCCESS", "._a.arrow", "x.arrow.tmp", ".x.arrow.crc")
    touch(
        tmp_path,
        "deep/.ipynb_checkpoints/b.arrow",
        "deep/x.arrow.crc",
        "y.parquet.inprogress",
        "z.arrow.PART",
        "w.arrow~",
    )
    touch(tmp_path, "README.md", "deep/state.json")
    (tmp_path / "zero.arrow").touch()
    os.mkfifo(tmp_path / "pipe.arrow")
    found = discover("web", tmp_path)
    assert names(found) == ["a.arrow", "deep/b.arrow", "deep/er/c.parquet"]
    assert reasons(found) == {
        "_temporary": "starts with an underscore",
        "_SUCCESS": "starts with an underscore",
        ".staging": "hidden",
        "._a.arrow": "hidden",
        ".x.arrow.crc": "hidden",
        "deep/.ipynb_checkpoints": "hidden",
        "deep/x.arrow.crc": "temporary or helper file",
        "x.arrow.tmp": "temporary or helper file",
        "y.parquet.inprogress": "temporary or helper file",
        "z.arrow.PART": "temporary or helper file",
        "w.arrow~": "temporary or helper file",
        "README.md": "no shard by its extension",
        "deep/state.json": "no shard by its extension",
        "zero.arrow": "empty (0 bytes)",
        "pipe.arrow": "neither a file nor a folder",
    }
    assert list(found.ignored) == sorted(found.ignored)


def test_a_mounted_config_map_is_read_once(tmp_path: Path) -> None:
    """F18: real files in a hidden folder, links beside it."""
    touch(tmp_path, "..2024/data.arrow")
    (tmp_path / "..data").symlink_to("..2024")
    (tmp_path / "data.arrow").symlink_to("..data/data.arrow")
    found = discover("web", tmp_path)
    assert names(found) == ["data.arrow"]
    assert reasons(found) == {"..2024": "hidden", "..data": "hidden"}


def test_each_real_file_is_taken_once(tmp_path: Path) -> None:
    """F18: two links, and a hard link, to one shard."""
    touch(tmp_path, "root/b.arrow", "outside/c.arrow")
    (tmp_path / "root/a.arrow").symlink_to("b.arrow")
    os.link(tmp_path / "root/b.arrow", tmp_path / "root/z.arrow")
    (tmp_path / "root/d.arrow").symlink_to(tmp_path / "outside/c.arrow")
    (tmp_path / "root/e.arrow").symlink_to(tmp_path / "outside/c.arrow")
    found = discover("web", tmp_path / "root")
    assert names(found) == ["a.arrow", "d.arrow"]
    assert reasons(found) == {
        "b.arrow": "same file as a.arrow",
        "z.arrow": "same file as a.arrow",
        "e.arrow": "same file as d.arrow",
    }


def test_linked_folders_are_followed_and_cycles_end(tmp_path: Path) -> None:
    """F18: loops to the folder itself, to its parent and to each other."""
    touch(tmp_path, "root/in/a.arrow", "outside/b.arrow")
    (tmp_path / "root/loop").symlink_to(".")
    (tmp_path / "root/in/up").symlink_to("..")
    (tmp_path / "root/linked").symlink_to(tmp_path / "outside")
    (tmp_path / "outside/back").symlink_to(tmp_path / "root/in")
    found = discover("web", tmp_path / "root")
    assert names(found) == ["in/a.arrow", "linked/b.arrow"]
    assert reasons(found) == {
        "loop": "same folder as the source's folder",
        "in/up": "same folder as the source's folder",
        "linked/back": "same folder as in/",
    }


def test_broken_links_are_reported(tmp_path: Path) -> None:
    """F18: a link to nothing, and one to itself."""
    touch(tmp_path, "a.arrow")
    (tmp_path / "b.arrow").symlink_to("gone.arrow")
    (tmp_path / "c.arrow").symlink_to("c.arrow")
    found = discover("web", tmp_path)
    assert names(found) == ["a.arrow"]
    assert reasons(found)["b.arrow"] == "broken link (No such file or directory)"
    assert reasons(found)["c.arrow"].startswith("broken link (Too many levels")


def test_names_mean_nothing(tmp_path: Path) -> None:
    """F19: `=`, spaces, %, # and letters of any script are parts of names."""
    odd = ["date=2024-01-01/b.parquet", "lang=9319/a.parquet", "with space %20 #1 ?/ü 数据.arrow"]
    touch(tmp_path, *odd)
    assert names(discover("web", tmp_path)) == sorted(odd)


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    """Manifests, logs and reports couldn't name it."""
    (tmp_path / os.fsdecode(b"a\xff.arrow")).write_bytes(b"x")
    with pytest.raises(SourceError, match=r"source 'web': .* has a shard named 'a\\udcff\.arrow'; rename it"):
        discover("web", tmp_path)


def test_a_missing_path_is_refused_with_the_closest_there_is(tmp_path: Path) -> None:
    """C03: a path with a typo."""
    touch(tmp_path, "data/wikipedia/a.arrow", "data/code/a.arrow")
    with pytest.raises(SourceError) as caught:
        discover("wiki", tmp_path / "data/wikipedai")
    data = tmp_path / "data"
    assert str(caught.value) == (
        f"source 'wiki': {data}/wikipedai does not exist; the closest existing path is {data}/wikipedia"
    )
    with pytest.raises(SourceError, match=rf"closest existing path is {tmp_path}/data$"):
        discover("wiki", tmp_path / "dat/wikipedia")
    with pytest.raises(SourceError, match=rf"nothing in {tmp_path}/data is like it"):
        discover("wiki", tmp_path / "data/zzz")


def test_a_path_through_a_file_and_a_broken_link_are_refused(tmp_path: Path) -> None:
    touch(tmp_path, "a.arrow")
    (tmp_path / "link").symlink_to("gone")
    with pytest.raises(SourceError, match=r"a\.arrow/b does not exist; the closest existing path"):
        discover("web", tmp_path / "a.arrow/b")
    with pytest.raises(SourceError, match="link is a broken link to gone"):
        discover("web", tmp_path / "link")


def test_a_folder_without_shards_is_refused_with_what_it_has(tmp_path: Path) -> None:
    """C03: no usable files."""
    with pytest.raises(SourceError, match=r"source 'web': .* holds no shards \(it is empty\); a source is a folder"):
        discover("web", tmp_path)
    touch(tmp_path, "data.jsonl", "_SUCCESS")
    with pytest.raises(
        SourceError, match=r"2 ignored, such as _SUCCESS: starts with an underscore; data\.jsonl: no shard"
    ):
        discover("web", tmp_path)


def test_a_single_file_must_be_a_file_with_content(tmp_path: Path) -> None:
    (tmp_path / "a.arrow").touch()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match=r"a\.arrow is empty \(0 bytes\)"):
        discover("web", tmp_path / "a.arrow")
    with pytest.raises(SourceError, match="pipe is neither a file nor a folder"):
        discover("web", tmp_path / "pipe")


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder, and a process without the right to look into what is closed to it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        is_root = os.geteuid() == 0
        if is_root:
            os.seteuid(65534)
        try:
            yield folder
        finally:
            if is_root:
                os.seteuid(0)
            for path in folder.rglob("*"):
                path.chmod(0o755)


def closed(folder: Path) -> Path:
    """Makes `folder` unreadable, as its owner: the permissions of others count for nobody."""
    effective = os.geteuid()
    if os.getuid() == 0:
        os.seteuid(0)
    touch(folder, "closed/a.arrow", "open/b.arrow")
    (folder / "closed").chmod(0o000)
    os.seteuid(effective)
    return folder / "closed"


def test_a_folder_that_cannot_be_listed_is_refused(unprivileged: Path) -> None:
    """C03: a folder without read permission, as the source and inside it."""
    folder = closed(unprivileged)
    with pytest.raises(SourceError, match=rf"source 'web': folder {folder} can't be listed \(Permission denied\)"):
        discover("web", folder)
    with pytest.raises(SourceError, match=rf"folder {folder} can't be listed"):
        discover("web", unprivileged)
    with pytest.raises(SourceError, match=rf"{folder}/deep can't be read \(Permission denied\); check its permissions"):
        discover("web", folder / "deep")
