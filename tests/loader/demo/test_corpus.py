"""The corpus: deterministic, held-back documents apart, kept, and mended whatever happened to it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from headrace.demo import corpus as module
from headrace.demo.corpus import Corpus, load, prepare, split
from headrace.demo.gather import SOURCES, Document, Machine, documents, inputs
from headrace.errors import ConfigError, SourceError
from headrace.formats.lineage import read_lineage
from headrace.places import parse_place
from headrace.tokenize.encoders import find_tokenizer, open_encoder

from tests.loader.demo.machines import prose, small_machine, write


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return small_machine(tmp_path / "machine")


@pytest.fixture
def corpus(tmp_path: Path, machine: Machine) -> Corpus:
    return prepare(tmp_path / "cache", machine)


def texts(corpus: Corpus, folder: Path) -> list[str]:
    """Every document in the shards of `folder`, decoded."""
    tokenizer = open_encoder(find_tokenizer(str(corpus.tokenizer)), special_tokens="text", threads=1)
    return [tokenizer.decode(row) for row in rows(folder)]


def rows(folder: Path) -> list[list[int]]:
    found: list[list[int]] = []
    for shard in shards(folder):
        with pa.OSFile(str(shard), "rb") as file:
            table = pa.ipc.open_file(file).read_all()
        assert table.schema.field("tokens").type == pa.list_(pa.uint16())
        found += [[int(token) for token in row] for row in table.column("tokens").to_pylist() if row]
    return found


def shards(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.arrow"))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_document_is_in_exactly_one_half(corpus: Corpus, machine: Machine) -> None:
    found = documents(inputs(machine))
    for source in corpus.sources:
        train, held_back = texts(corpus, corpus.train(source.name)), texts(corpus, corpus.validation(source.name))
        assert sorted(train + held_back) == sorted(document.text for document in found[source.name])
        assert len(train) == source.num_documents
        assert len(held_back) == source.num_held_back >= 1
        assert not set(train) & set(held_back)
        assert sum(map(len, rows(corpus.train(source.name)))) == source.num_tokens


def test_several_shards_a_source(tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHARD_BYTES", 2048)
    corpus = prepare(tmp_path / "small", machine)
    for source in SOURCES:
        assert len(shards(corpus.train(source))) > 1


def test_a_shard_names_the_documents_that_it_was_made_of(corpus: Corpus) -> None:
    for source in SOURCES:
        [shard] = shards(corpus.train(source))
        lineage = read_lineage(parse_place(shard))
        assert lineage is not None
        origin = lineage.origin(0)
        assert origin is not None and origin.row == 0
        first = json.loads(Path(origin.input).read_text().splitlines()[0])
        assert first["text"] == texts(corpus, corpus.train(source))[0]


def test_the_same_machine_gives_the_same_shards(tmp_path: Path, machine: Machine, corpus: Corpus) -> None:
    other = prepare(tmp_path / "other", machine)
    assert other.folder.name == corpus.folder.name
    for source in SOURCES:  # the bytes also say where the text is kept
        assert rows(other.train(source)) == rows(corpus.train(source))
        assert rows(other.validation(source)) == rows(corpus.validation(source))
    assert other.tokenizer.read_bytes() == corpus.tokenizer.read_bytes()


def test_a_document_is_held_back_by_its_text_alone() -> None:
    found = [Document(str(n), prose(n)) for n in range(200)]
    _, held_back = split(found)
    assert 2 <= len(held_back) <= 30
    half = found[: len(found) // 2]
    assert set(split(half)[1]) == set(half) & set(held_back)


def test_a_huge_document_is_never_held_back() -> None:
    found = [Document(str(n), prose(n) * 100) for n in range(100)] + [Document("small", prose(0))]
    assert [document.name for document in split(found)[1]] == ["small"]


def test_a_second_run_only_opens_it(tmp_path: Path, machine: Machine, corpus: Corpus) -> None:
    before = {path: path.stat().st_mtime_ns for path in corpus.folder.rglob("*") if path.is_file()}
    said: list[str] = []
    assert prepare(tmp_path / "cache", machine, said.append) == corpus
    assert {path: path.stat().st_mtime_ns for path in corpus.folder.rglob("*") if path.is_file()} == before
    assert not any("building" in line or "training" in line for line in said)


def test_changed_text_makes_another_corpus(tmp_path: Path, machine: Machine, corpus: Corpus) -> None:
    write(machine.stdlib / "package" / "new.py", prose(12345))
    other = prepare(tmp_path / "cache", machine)
    assert other.folder != corpus.folder
    assert prose(12345) in texts(other, other.train("code")) + texts(other, other.validation("code"))
    assert load(corpus.folder) == corpus


@pytest.mark.parametrize("damage", ["cut", "gone", "changed", "no record", "cut record"])
def test_damage_is_found_and_mended(tmp_path: Path, machine: Machine, corpus: Corpus, damage: str) -> None:
    whole = contents(corpus.folder)
    victim = shards(corpus.train("prose"))[0]
    record = corpus.folder / "corpus.json"
    if damage == "cut":
        os.truncate(victim, 100)
    elif damage == "gone":
        victim.unlink()
    elif damage == "changed":
        victim.write_bytes(victim.read_bytes()[:-1] + b"x")
    elif damage == "no record":
        record.unlink()
    else:
        record.write_text(record.read_text()[:50])
    assert load(corpus.folder) is None
    assert prepare(tmp_path / "cache", machine) == corpus
    assert contents(corpus.folder) == whole


REPOSITORY = Path(__file__).parents[3]
BUILD = """
import sys, pathlib
sys.path.insert(0, {repo!r})
from headrace.demo.corpus import prepare
from tests.loader.demo.machines import machine_at
prepare(pathlib.Path({cache!r}), machine_at(pathlib.Path({machine!r})), lambda line: print(line, flush=True))
"""


def build(folder: Path) -> subprocess.Popen[str]:
    """Prepare the corpus of `folder / "machine"` in another process, which prints what it is told."""
    code = BUILD.format(repo=str(REPOSITORY), cache=str(folder / "cache"), machine=str(folder / "machine"))
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("moment", ["corpus: building", "tokenizer: training", "corpus: tokenising"])
def test_a_kill_half_way_is_mended(tmp_path: Path, machine: Machine, moment: str) -> None:
    child = build(tmp_path)
    assert child.stdout is not None
    for line in child.stdout:
        if line.startswith(moment):
            child.send_signal(signal.SIGKILL)
            break
    child.stdout.close()
    assert child.wait() == -signal.SIGKILL
    mended = prepare(tmp_path / "cache", machine)
    fresh = prepare(tmp_path / "fresh", machine)
    assert set(contents(mended.folder)) == set(contents(fresh.folder))
    assert [rows(mended.train(source)) for source in SOURCES] == [rows(fresh.train(source)) for source in SOURCES]
    names = {path.name for path in (tmp_path / "cache").iterdir()}
    assert names == {path.name for path in (tmp_path / "fresh").iterdir()}, "nothing half-made is left"


def test_two_processes_at_once_make_one_corpus(tmp_path: Path, machine: Machine) -> None:
    children = [build(tmp_path) for _ in range(2)]
    said = [child.communicate(timeout=60)[0] for child in children]
    assert [child.returncode for child in children] == [0, 0]
    assert "".join(said).count("corpus: building") == 1


def test_old_corpora_are_removed(tmp_path: Path, machine: Machine, corpus: Corpus) -> None:
    folders = []
    for number in range(module.NUM_KEPT):
        time.sleep(0.01)
        write(machine.stdlib / "package" / "module0.py", prose(5000 + number))
        folders.append(prepare(tmp_path / "cache", machine).folder)
    assert sorted((tmp_path / "cache").glob("corpus-*")) == sorted(folders)


def test_too_little_text_is_refused_by_name(tmp_path: Path, machine: Machine) -> None:
    shutil.rmtree(machine.stdlib)
    with pytest.raises(SourceError, match=r"source 'code' has 0 documents on this machine; the demo needs at least 8"):
        prepare(tmp_path / "cache", machine)


def test_an_unwritable_cache_is_refused_by_name(tmp_path: Path, machine: Machine) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"corpus in .*/file/cache, which can't be written .*; set HEADRACE_CACHE"):
        prepare(tmp_path / "file" / "cache", machine)


def test_the_record_names_every_file(corpus: Corpus) -> None:
    record = json.loads((corpus.folder / "corpus.json").read_text())
    assert set(record["files"]) | {"corpus.json"} == set(contents(corpus.folder))
