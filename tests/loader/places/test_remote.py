"""Objects on a real S3-compatible server: listed, verified and read by ranges, through every passing fault."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from headrace.discovery import discover
from headrace.errors import SourceError
from headrace.places import ChangedError, Listed, Place, parse_place

from tests.loader.object_store import BUCKET, Faults, Proxy, Store, free_port

ODD = ("date=2024-01-01/b.parquet", "lang=9319/a.parquet", "with space %20 #1 ?/ü 数据.arrow")


@pytest.fixture(autouse=True)
def prefix(store: Store, request: pytest.FixtureRequest) -> str:
    """A prefix of the test's own."""
    return f"places/{request.node.name}"


@pytest.fixture
def proxy(store: Store) -> Iterator[Proxy]:
    with Proxy(store.port, Faults()) as proxy:
        yield proxy


def content(size: int) -> bytes:
    return np.random.default_rng(5).integers(0, 256, size, dtype=np.uint8).tobytes()


def names(place: str) -> list[str]:
    return [one.path for one in discover("web", place).files]


def test_names_mean_nothing(store: Store, prefix: str) -> None:
    """F19: `=`, spaces, %, #, ? and letters of any script are parts of keys, in the source's own prefix too."""
    for name in ODD:
        store.put(f"{prefix}/a=b %41/{name}", b"x")
    assert names(store.uri(f"{prefix}/a=b %41")) == sorted(ODD)
    found = discover("web", store.uri(f"{prefix}/a=b %41"))
    assert str(found.root / ODD[2]) == f"s3://{BUCKET}/{prefix}/a=b %41/{ODD[2]}"
    assert (found.root / ODD[2]).open(found.files[2]).read(0, 1).tobytes() == b"x"


def test_hidden_temporary_and_helper_objects_are_ignored_and_listed(store: Store, prefix: str) -> None:
    """F17: as for folders; everything below a hidden prefix counts as one."""
    for name in ("b.arrow", "a/c.parquet", "_temporary/0/x.arrow", "_temporary/1/x.arrow", ".staging/x.arrow"):
        store.put(f"{prefix}/{name}", b"x")
    for name in ("_SUCCESS", "x.arrow.tmp", "a/y.crc", "README.md"):
        store.put(f"{prefix}/{name}", b"x")
    store.put(f"{prefix}/zero.arrow", b"")
    found = discover("web", store.uri(prefix))
    assert [one.path for one in found.files] == ["a/c.parquet", "b.arrow"]
    assert found.ignored == (
        (".staging", "hidden"),
        ("README.md", "no shard by its extension"),
        ("_SUCCESS", "starts with an underscore"),
        ("_temporary", "starts with an underscore"),
        ("a/y.crc", "temporary or helper file"),
        ("x.arrow.tmp", "temporary or helper file"),
        ("zero.arrow", "empty (0 bytes)"),
    )


def test_one_object_is_a_source_whatever_its_name(store: Store, prefix: str) -> None:
    """C03: the URI of one object."""
    store.put(f"{prefix}/_tokens.bin", b"x")
    found = discover("web", store.uri(f"{prefix}/_tokens.bin"))
    assert (str(found.root), [one.path for one in found.files]) == (f"s3://{BUCKET}/{prefix}", ["_tokens.bin"])


def test_what_is_not_there_is_refused_with_the_closest_there_is(store: Store, prefix: str) -> None:
    """C03: a typo in a prefix, at its end and before, a bucket that is not there, nothing but junk."""
    store.put(f"{prefix}/data/wikipedia/a.arrow", b"x")
    base = f"s3://{BUCKET}/{prefix}"
    with pytest.raises(SourceError) as caught:
        discover("wiki", store.uri(f"{prefix}/data/wikipedai"))
    assert str(caught.value) == (
        f"source 'wiki': {base}/data/wikipedai does not exist; the closest existing path is {base}/data/wikipedia"
    )
    with pytest.raises(SourceError, match=rf"the closest existing path is {base}/data$"):
        discover("wiki", store.uri(f"{prefix}/dat/wikipedia/x"))
    with pytest.raises(SourceError, match=r"source 'wiki': s3://corpsu/x does not exist: bucket 'corpsu'"):
        discover("wiki", store.uri("x").replace(f"//{BUCKET}/", "//corpsu/"))
    store.put(f"{prefix}/junk/_SUCCESS", b"x")
    with pytest.raises(SourceError, match=r"junk holds no shards \(1 ignored, such as _SUCCESS: starts with an under"):
        discover("wiki", store.uri(f"{prefix}/junk"))


def test_refused_credentials_are_said_at_once(store: Store, prefix: str, proxy: Proxy) -> None:
    """C03: nothing that the store refuses for good is tried again."""
    store.put(f"{prefix}/a.arrow", b"x")
    started = time.monotonic()
    with pytest.raises(SourceError, match=r"source 'web': s3://corpus/.* can't be listed .*; check .*credentials"):
        discover("web", f"s3://{BUCKET}/{prefix}?endpoint_override=127.0.0.1:{_refusing(proxy)}&scheme=http")
    assert time.monotonic() - started < 5
    assert proxy.counts["GET"] == 1


def _refusing(proxy: Proxy) -> int:
    async def refuse(head: bytes, body: bytes) -> tuple[bytes, bytes]:
        error = b"<?xml version='1.0'?><Error><Code>SignatureDoesNotMatch</Code><Message>no</Message></Error>"
        return b"HTTP/1.1 403 Forbidden\r\nContent-Length: %d\r\n\r\n" % len(error), error

    proxy._ask = refuse  # type: ignore[method-assign]
    return proxy.port


@pytest.mark.parametrize(
    ("uri", "complaint"),
    [
        ("hdfs://host/web", "unknown scheme 'hdfs'; known are s3, gs"),
        ("s3://", "names no bucket"),
        ("s3://key:secret@corpus/web", "the URI of s3://corpus/web holds credentials"),
        ("s3://corpus/web?regoin=x", "has the option 'regoin'; s3 takes endpoint_override, scheme, region"),
        ("s3://corpus/a//b", "has an empty part"),
        ("az://container/web", "names no storage account"),
        ("file://host/web", "names a host"),
    ],
)
def test_a_uri_that_cannot_be_is_refused(uri: str, complaint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT", raising=False)
    with pytest.raises(SourceError) as caught:
        discover("web", uri)
    assert complaint in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_file_uri_is_a_local_path(tmp_path: Path) -> None:
    (tmp_path / "a b%20.arrow").write_bytes(b"x")
    assert names(f"file://{tmp_path}") == ["a b%20.arrow"]
    assert parse_place(f"file://{tmp_path}") == parse_place(tmp_path)


def test_ranges_come_exactly_through_every_passing_fault(store: Store, prefix: str, proxy: Proxy) -> None:
    """Errors, resets, bodies cut short and slow ones."""
    whole = content(300_000)
    store.put(f"{prefix}/a.arrow", whole)
    proxy.faults = Faults(errors=0.15, resets=0.15, cuts=0.15, slow=0.02)
    place = parse_place(store.uri(prefix, proxy.port)) / "a.arrow"
    rng = np.random.default_rng(2)
    for _ in range(40):
        start, end = sorted(rng.integers(0, len(whole) + 1, 2).tolist())
        file = place.open(Listed("a.arrow", len(whole)))
        assert file.read(start, end - start).tobytes() == whole[start:end]
    assert min(proxy.injected[fate] for fate in ("errors", "resets", "cuts")) > 3


def test_a_store_that_stays_away_is_named_in_the_end(
    store: Store, prefix: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.places.retry.LIMIT_S", 1.0)
    store.put(f"{prefix}/a.arrow", b"x" * 10)
    proxy.faults = Faults(errors=1.0)
    file = (parse_place(store.uri(prefix, proxy.port)) / "a.arrow").open(Listed("a.arrow", 10))
    with pytest.raises(OSError, match=r"HTTP status 50[03].*\(tried \d+ times in \d s\)"):
        file.read(0, 5)
    assert proxy.counts["HEAD"] > 2


def test_only_ranges_are_read(store: Store, prefix: str, proxy: Proxy) -> None:
    store.put(f"{prefix}/a.arrow", content(1 << 20))
    place = parse_place(store.uri(prefix, proxy.port)) / "a.arrow"
    file = place.open(Listed("a.arrow", 1 << 20))
    before = proxy.bytes_served
    file.read(1000, 5000)
    assert proxy.bytes_served - before == 5000
    assert place.remote is not None
    assert place.remote.bytes_fetched == 5000


def test_an_object_that_is_not_the_listed_one_is_refused(store: Store, prefix: str) -> None:
    """F17: another size, another time, another tag, and none at all; never tried again."""
    store.put(f"{prefix}/a.arrow", b"x" * 100)
    place = parse_place(store.uri(prefix)) / "a.arrow"
    (listed,) = discover("web", store.uri(prefix)).files
    started = time.monotonic()
    with pytest.raises(ChangedError, match="changed from 90 to 100 bytes since it was listed"):
        place.open(Listed("a.arrow", 90)).read(0, 10)
    with pytest.raises(ChangedError, match=r"was replaced at \d{4}-.*, after it was listed"):
        place.open(Listed("a.arrow", 100, (listed.mtime_ns or 0) - 10**10)).read(0, 10)
    file = place.open(Listed("a.arrow", 100))
    assert file.read(0, 10).tobytes() == b"x" * 10
    store.put(f"{prefix}/a.arrow", b"y" * 100)
    with pytest.raises(ChangedError, match="its entity tag was "):
        file.read(0, 10)
    store.delete(f"{prefix}/a.arrow")
    with pytest.raises(FileNotFoundError, match="it is gone since it was listed"):
        file.read(0, 10)
    assert time.monotonic() - started < 5


def test_a_place_without_a_listing_is_looked_up(store: Store, prefix: str) -> None:
    store.put(f"{prefix}/a.arrow", b"x" * 100)
    assert parse_place(store.uri(f"{prefix}/a.arrow")).open().size_bytes == 100
    with pytest.raises(FileNotFoundError, match="no such object"):
        parse_place(store.uri(f"{prefix}/b.arrow")).open()
    with pytest.raises(IsADirectoryError, match="a prefix"):
        parse_place(store.uri(prefix)).open()


def test_other_clouds_are_reached_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing listens there; what counts is that their own file systems are asked, and give up."""
    monkeypatch.setattr("headrace.places.retry.LIMIT_S", 0.1)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "account")
    monkeypatch.setenv("AZURE_STORAGE_KEY", "a2V5")
    closed = f"endpoint_override=127.0.0.1:{free_port()}&scheme=http&anonymous=true"
    with pytest.raises(SourceError, match=r"source 'web': gs://bucket/web can't be listed \(.*check the name of the"):
        discover("web", f"gs://bucket/web?{closed}")
    for uri in ("az://container/web", "abfs://container@other.dfs.core.windows.net/web"):
        place = parse_place(uri)
        assert place.remote is not None
        assert place.path == "container/web"
        assert place.remote.files(2.0).type_name == "abfs"


def test_a_remote_place_has_no_local_path() -> None:
    place = Place("s3://b/x", "b/x", parse_place("s3://b/x?region=r").remote)
    with pytest.raises(SourceError, match="s3://b/x is on object storage; this needs a local path"):
        place.__fspath__()
