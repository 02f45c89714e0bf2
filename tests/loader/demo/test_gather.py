"""Text comes from where it should, once, in a fixed order, and nothing unreadable comes with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from headrace.demo import gather
from headrace.demo.gather import Machine, documents, fingerprint, inputs

from tests.loader.demo.machines import install, prose, small_machine, write


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return small_machine(tmp_path, num_files=10)


def names(machine: Machine, source: str) -> list[str]:
    return [document.name for document in documents(inputs(machine))[source]]


def test_every_kind_of_text_is_found(machine: Machine) -> None:
    assert names(machine, "code") == [f"package/module{n}.py" for n in range(10)]
    assert set(names(machine, "prose")) == {f"dist{n}/METADATA" for n in range(10)} | {
        f"man1/tool{n}.1.gz" for n in range(10)
    }
    assert f"dist3/{'dist3-1.0.dist-info/licenses/LICENSE.txt'}" in names(machine, "legal")
    assert "L7" in names(machine, "legal")


def test_a_readme_is_the_body_of_the_metadata(machine: Machine) -> None:
    first = next(d for d in documents(inputs(machine))["prose"] if d.name == "dist4/METADATA")
    assert first.text == prose(404)


def test_an_older_description_header_is_unfolded(machine: Machine) -> None:
    info = install(Path(machine.packages[0]), "old", "")
    folded = "\n".join(f"        {line}" for line in ("line one", prose(7), "  indented"))
    write(info / "METADATA", f"Metadata-Version: 1.2\nName: old\nVersion: 1.0\nDescription: title\n{folded}\n")
    text = next(d.text for d in documents(inputs(machine))["prose"] if d.name == "old/METADATA")
    assert text == f"title\nline one\n{prose(7)}\n  indented"


def test_the_same_machine_gives_the_same_documents(machine: Machine) -> None:
    first, second = inputs(machine), inputs(machine)
    assert fingerprint(first) == fingerprint(second)
    assert documents(first) == documents(second)


def test_the_fingerprint_follows_names_and_contents(machine: Machine) -> None:
    before = fingerprint(inputs(machine))
    write(machine.stdlib / "package" / "module3.py", prose(999))
    changed = fingerprint(inputs(machine))
    (machine.stdlib / "package" / "module3.py").rename(machine.stdlib / "package" / "module33.py")
    assert len({before, changed, fingerprint(inputs(machine))}) == 3


def test_identical_texts_are_kept_once_across_sources(machine: Machine) -> None:
    write(machine.stdlib / "package" / "zz.py", f"# {prose(105)}\n")
    write(machine.licences[0] / "copy", f"# {prose(105)}")
    found = documents(inputs(machine))
    assert [d.name for source in found.values() for d in source if d.text == f"# {prose(105)}"] == [
        "package/module5.py"
    ]


@pytest.mark.parametrize(
    "content",
    [b"short", b"x" * 1000 + b"\0" + b"x" * 1000, b"\xff\xfe" * 500, b"# coding: no-such-codec\n" + b"x" * 500],
    ids=["tiny", "binary", "not UTF-8", "unknown encoding"],
)
def test_what_is_no_text_is_left_out(machine: Machine, content: bytes) -> None:
    (machine.stdlib / "bad.py").write_bytes(content)
    (machine.licences[0] / "bad").write_bytes(content)
    (machine.manuals[0] / "man1" / "bad.1.gz").write_bytes(content)
    found = documents(inputs(machine))
    names = {document.name for source in found.values() for document in source}
    assert "bad.py" not in names
    assert "man1/bad.1.gz" not in names
    assert ("bad" in names) == content.startswith(b"# coding")


def test_declared_encodings_are_honoured(machine: Machine) -> None:
    text = "# -*- coding: latin-1 -*-\n# café " + prose(3)
    (machine.stdlib / "latin.py").write_bytes(text.encode("latin-1"))
    assert text in [d.text for d in documents(inputs(machine))["code"]]


def test_a_source_is_bounded_by_size(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(gather.MAX_SOURCE_BYTES, "code", 12_000)
    found = names(machine, "code")
    assert 1 < len(found) < 10
    assert found == names(machine, "code")


def test_a_bare_machine_has_no_manuals(tmp_path: Path) -> None:
    machine = small_machine(tmp_path, num_files=3, manuals=False)
    assert len(names(machine, "prose")) == 3


def test_a_distribution_without_metadata_is_passed_over(machine: Machine) -> None:
    (Path(machine.packages[0]) / "broken-1.0.dist-info").mkdir()
    (Path(machine.packages[0]) / "worse-1.0.dist-info").mkdir()
    (Path(machine.packages[0]) / "worse-1.0.dist-info" / "METADATA").write_bytes(b"Name: \xff\xfe\n\nbody")
    assert len([name for name in names(machine, "prose") if name.endswith("METADATA")]) == 10


def test_this_machine_has_all_three() -> None:
    found = documents(inputs(Machine.here()))
    assert all(len(found[source]) >= 8 for source in gather.SOURCES), {k: len(v) for k, v in found.items()}
