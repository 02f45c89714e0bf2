"""Inputs and shards on object storage: the same shards as on disk, one owner, and a start after a kill."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from headrace import ConfigError
from headrace.manifest import read_manifest
from headrace.places import parse_place
from headrace.tokenize import Options, tokenize
from headrace.tokenize.folder import CLAIMS, open_folder

from tests.loader.object_store import Store
from tests.loader.tokenize.making import contents, text, write_lines

SMALL = Options(shard_bytes=8_000)


def objects(uri: str) -> dict[str, bytes]:
    """Every object below a prefix."""
    place = parse_place(uri)
    assert place.remote is not None
    found = {}
    for one in place.remote.listing(place.path):
        found[one.path] = (place / one.path).open().read(0, one.size_bytes).tobytes()
    return found


@pytest.fixture
def raw(store: Store, tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, str]:
    """The same inputs on disk and on the store."""
    for n in range(3):
        write_lines(tmp_path / "raw" / f"{n}.jsonl{['', '.gz', '.zst'][n]}", [text(60 * n + i) for i in range(60)])
    store.put_folder(tmp_path / "raw", f"{request.node.name}/raw")
    return tmp_path / "raw", store.uri(f"{request.node.name}/raw")


def test_the_same_shards_as_on_disk(
    store: Store, raw: tuple[Path, str], tokenizer: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    out = store.uri(f"{request.node.name}/out")
    summary = tokenize(raw[1], tokenizer, out, options=SMALL, workers=2)
    tokenize(str(raw[0]), tokenizer, tmp_path / "out", options=SMALL, workers=2)
    made, local = objects(out), contents(tmp_path / "out")
    names = sorted(name for name in made if name.endswith(".arrow"))
    assert names == sorted(name for name in local if name.endswith(".arrow"))
    assert not any(name.startswith("_tokenize/staged") or name.startswith(CLAIMS) for name in made)
    for name in names:
        tables = [pa.ipc.open_file(pa.BufferReader(content[name])).read_all() for content in (made, local)]
        assert tables[0].equals(tables[1]), "but for where the text was, they are the same"
    assert read_manifest("web", out).num_documents == summary.total.documents == 180
    assert tokenize(raw[1], tokenizer, out, options=SMALL).new_shards == 0
    store.put(f"{request.node.name}/raw/3.txt", b"one more")
    glob = raw[1].replace("/raw?", "/raw/*?")
    assert tokenize(glob, tokenizer, out, options=SMALL).new_inputs == 1


def test_a_second_run_is_refused_and_one_that_died_here_is_not_waited_for(
    store: Store, raw: tuple[Path, str], tokenizer: str, request: pytest.FixtureRequest
) -> None:
    out = store.uri(f"{request.node.name}/out")
    folder = open_folder(out)
    with folder.owned(), pytest.raises(ConfigError, match=rf"another run is writing to .*process {os.getpid()} on"):
        tokenize(raw[1], tokenizer, out, options=SMALL)
    assert folder.sizes(CLAIMS) == {}
    elsewhere = {"host": f"not-{socket.gethostname()}", "pid": 1, "started": 0.0, "by": "process 1 elsewhere"}
    folder.write(f"{CLAIMS}/x.json", json.dumps(elsewhere).encode())
    with pytest.raises(ConfigError, match=r"process 1 elsewhere\).* surely has, remove s3://.*/claims/x\.json"):
        tokenize(raw[1], tokenizer, out, options=SMALL)
    died = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
    )
    here = {"host": socket.gethostname(), "pid": int(died.stdout), "started": 1.0, "by": "process that died"}
    folder.write(f"{CLAIMS}/x.json", json.dumps(here).encode())
    assert tokenize(raw[1], tokenizer, out, options=SMALL).total.documents == 180
    assert folder.sizes(CLAIMS) == {}
