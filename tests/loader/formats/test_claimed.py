"""Formats that other packages bring: found by their entry points, held to the promises of Headrace's own."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from headrace import Source
from headrace.errors import ConfigError, ShardError, SourceError
from headrace.formats import open_shard
from headrace.manifest import read_manifest
from headrace.names import claims
from headrace.places import parse_place

from tests.docs.pages import ROOT, blocks
from tests.loader.corpora import open_loader, sequences, take_step
from tests.loader.object_store import Store

RNG = np.random.default_rng(4)
LENGTHS = [0 if n % 7 == 3 else int(n) for n in RNG.integers(1, 40, 2500)]
DOCUMENTS = [RNG.integers(1, 60_000, n).tolist() for n in LENGTHS]


@pytest.fixture(autouse=True)
def _forget_claims() -> Iterator[None]:
    claims.cache_clear()
    yield
    claims.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Installs a package with one module and one entry point, as pip would leave it."""

    def install(extension: str = "tok", code: str | None = None, package: str = "tiny_tok", target: str = "") -> None:
        site = tmp_path / f"site-{package}"
        info = site / f"{package}-1.0.dist-info"
        info.mkdir(parents=True)
        (site / f"{package}.py").write_text(example() if code is None else code)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[headrace.formats]\n{extension} = {target or package + ':open_tok'}\n")
        monkeypatch.syspath_prepend(site)
        monkeypatch.delitem(sys.modules, package, raising=False)
        importlib.invalidate_caches()
        claims.cache_clear()

    return install


def example() -> str:
    """The format of the guide, as a module."""
    (code,) = (b.text for b in blocks(ROOT / "docs/guides/extend.md", "python") if "class TokShard" in b.text)
    return f"import numpy as np\n{code}"


def write_tok(path: Path, documents: list[list[int]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers = np.array([len(documents), *map(len, documents)], "<i8")
    tokens = np.concatenate([np.array(document, "<u2") for document in documents])
    path.write_bytes(numbers.tobytes() + tokens.tobytes())
    return path


def test_an_installed_format_is_read_like_any_other(tmp_path: Path, install: Callable[..., None], store: Store) -> None:
    """On disk, on object storage, and through the loader."""
    install()
    write_tok(tmp_path / "data/00000.tok", DOCUMENTS)
    write_tok(tmp_path / "data/00001.TOK", DOCUMENTS[:10])
    manifest = read_manifest("web", tmp_path / "data")
    assert [shard.path for shard in manifest.shards] == ["00000.tok", "00001.TOK"]
    assert manifest.num_blocks == 4
    assert manifest.num_tokens == sum(LENGTHS) + sum(LENGTHS[:10])
    assert manifest.num_empty == LENGTHS.count(0) + LENGTHS[:10].count(0)
    read = []
    for shard, index in zip(manifest.block_shard.tolist(), manifest.block_index.tolist(), strict=True):
        block = manifest.open_shard(shard).open_block(index)
        read += [block.tokens[s : s + n].tolist() for s, n in zip(block.starts, block.lengths, strict=True)]
    assert read == [document for document in (*DOCUMENTS, *DOCUMENTS[:10]) if document]
    store.put_folder(tmp_path / "data", "claimed")
    delivered = []
    for path in (str(tmp_path / "data"), store.uri("claimed")):
        with open_loader([Source("web", path)]) as loader:
            delivered.append([sequences(take_step(loader)) for _ in range(20)])
    assert delivered[0] == delivered[1]


def test_without_the_package_its_files_are_no_shards(tmp_path: Path) -> None:
    write_tok(tmp_path / "data/a.tok", DOCUMENTS[:5])
    with pytest.raises(SourceError, match=r"a\.tok: no shard by its extension"):
        read_manifest("web", tmp_path / "data")


def test_what_the_format_refuses_is_named(tmp_path: Path, install: Callable[..., None]) -> None:
    install()
    path = write_tok(tmp_path / "a.tok", DOCUMENTS[:5])
    path.write_bytes(b"\xff" * 100)
    with pytest.raises(ShardError, match=r"a\.tok says that it has -1 documents; replace the file"):
        open_shard(path, column="tokens")
    path.write_bytes(np.array([3, 9, 9, 9], "<i8").tobytes())
    shard = open_shard(path, column="tokens")
    with pytest.raises(ShardError, match=r"block 0 \(from row 0\) of .*a\.tok ends at byte 32, 54 bytes too early"):
        shard.open_block(0)


BROKEN = {
    "return TokShard(file)": ("raise KeyError('index')", r"can't be read by its format \(KeyError: 'index'\)"),
    "num_rows=np.diff(self.first).astype(np.int64)": ("num_rows=np.diff(self.first) * 1.0", "not int64 arrays"),
    "first_row=self.first[:-1].astype(np.int64)": ("first_row=self.first[:-1] + 1", "do not follow one another"),
    "num_documents=documents": ("num_documents=documents + 5000", "more documents than rows"),
    'np.dtype("<u2")': ('np.dtype(">u2")', "must be little-endian"),
}
BROKEN_BLOCKS = {
    "rows=rows,": ("rows=rows[::-1],", "whose rows are not increasing"),
    "starts=self.starts[rows] - begin": ("starts=self.starts[rows] - begin + 10**6", "outside its block's tokens"),
    "self.starts[rows + 1] - self.starts[rows]": ("self.starts[rows + 1] - self.starts[rows] + 1", "where its counts"),
    "tokens=ids,": ("tokens=ids.astype('<u4'),", "not one contiguous array of uint16"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_format_that_breaks_a_promise_is_found_at_start(
    tmp_path: Path, install: Callable[..., None], what: str
) -> None:
    broken, complaint = BROKEN[what]
    assert what in example()
    install(code=example().replace(what, broken))
    path = write_tok(tmp_path / "a.tok", DOCUMENTS[:50])
    with pytest.raises(ShardError, match=rf"a\.tok .*{complaint}"):
        open_shard(path, column="tokens")


@pytest.mark.parametrize("what", BROKEN_BLOCKS)
def test_a_block_that_breaks_a_promise_is_found_at_first_touch(
    tmp_path: Path, install: Callable[..., None], what: str
) -> None:
    broken, complaint = BROKEN_BLOCKS[what]
    assert what in example()
    install(code=example().replace(what, broken))
    shard = open_shard(write_tok(tmp_path / "a.tok", DOCUMENTS[:50]), column="tokens")
    with pytest.raises(ShardError, match=rf"block 0 \(from row 0\) of .*a\.tok .*{complaint}"):
        shard.open_block(0)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"target": "tiny_tok:open_other"}, "can't be imported"),
        ({"target": "not_there:open_tok"}, "can't be imported"),
        ({"extension": "parquet"}, r"package 'tiny_tok' claims the extension \.parquet, which Headrace reads itself"),
    ],
)
def test_a_claim_that_cannot_be_is_refused_by_name(
    tmp_path: Path, install: Callable[..., None], options: dict[str, Any], complaint: str
) -> None:
    install(**options)
    path = write_tok(tmp_path / "a.tok", DOCUMENTS[:5])
    with pytest.raises(ConfigError, match=complaint):
        open_shard(path, column="tokens")


def test_an_extension_that_two_claim_is_refused(tmp_path: Path, install: Callable[..., None]) -> None:
    install()
    install(package="other_tok")
    path = write_tok(tmp_path / "a.tok", DOCUMENTS[:5])
    with pytest.raises(ConfigError, match=r"'(tiny|other)_tok' and package '(tiny|other)_tok' both claim .*\.tok"):
        open_shard(path, column="tokens")


def test_a_local_file_that_changed_is_refused(tmp_path: Path, install: Callable[..., None]) -> None:
    install()
    path = write_tok(tmp_path / "a.tok", DOCUMENTS[:5])
    shard = open_shard(parse_place(path), column="tokens")
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(ShardError, match=r"block 0 .*a\.tok changed from \d+ to \d+ bytes"):
        shard.open_block(0)
