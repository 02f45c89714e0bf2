"""Bodies: JSON only, capped as sent and as decompressed."""

import gzip
import json
import zlib
from collections.abc import AsyncIterator

import pytest
from headrace_server.errors import BodyTooLargeError, MalformedBodyError
from headrace_server.middleware.bodies import gunzip
from hypothesis import given
from hypothesis import strategies as st

from tests.backend.builders import record
from tests.backend.world import World

CAP = 1 << 20


@given(st.lists(st.binary(max_size=2000), min_size=1, max_size=4))
def test_every_gzip_member_is_read(parts: list[bytes]) -> None:
    whole = b"".join(gzip.compress(part) for part in parts)
    assert gunzip(whole, 10_000) == b"".join(parts)


@given(st.binary(min_size=1, max_size=300), st.data())
def test_a_cut_body_is_refused(content: bytes, data: st.DataObject) -> None:
    packed = gzip.compress(content)
    cut = data.draw(st.integers(1, len(packed) - 1))
    with pytest.raises(MalformedBodyError):
        gunzip(packed[:cut], 10_000)


@pytest.mark.parametrize("size", [CAP + 1, 50 * CAP])
def test_a_bomb_is_refused_without_being_unpacked(size: int) -> None:
    packer = zlib.compressobj(9, wbits=31)
    bomb = packer.compress(b"\0" * size) + packer.flush()
    with pytest.raises(BodyTooLargeError):
        gunzip(bomb, CAP)
    assert gunzip(gzip.compress(b"\0" * CAP), CAP) == b"\0" * CAP


async def test_gzipped_reports_are_taken(world: World) -> None:
    job, attempt = await world.running_job()
    body = json.dumps({"attempt": attempt["id"], "records": [record()]}).encode()
    reply = await world.loader.post(
        f"{job}/reports",
        content=gzip.compress(body),
        headers={"content-type": "application/json", "content-encoding": "gzip"},
    )
    assert reply.status_code == 202
    assert reply.json()["accepted"] == 1


BAD: list[tuple[bytes, dict[str, str], int, str]] = [
    (b"x" * (CAP + 1), {}, 413, "body_too_large"),
    (gzip.compress(b" " * (CAP + 1)), {"content-encoding": "gzip"}, 413, "body_too_large"),
    (b"{}", {"content-encoding": "br"}, 415, "unsupported_media_type"),
    (b"{}", {"content-type": "text/plain"}, 415, "unsupported_media_type"),
    (b"{}", {"content-type": ""}, 415, "unsupported_media_type"),
    (b"{}", {"content-type": "multipart/form-data; boundary=x"}, 415, "unsupported_media_type"),
    (b"not gzip", {"content-encoding": "gzip"}, 400, "malformed_body"),
    (gzip.compress(b"{}") + b"rest", {"content-encoding": "gzip"}, 400, "malformed_body"),
    (b"{", {}, 400, "malformed_body"),
    (b"[" * 200_000, {}, 400, "malformed_body"),
    (b"", {}, 400, "malformed_body"),
]


async def test_bad_bodies_get_a_clear_4xx(world: World) -> None:
    job, _ = await world.running_job()
    for content, headers, status, code in BAD:
        reply = await world.loader.post(
            f"{job}/reports", content=content, headers={"content-type": "application/json", **headers}
        )
        assert (reply.status_code, reply.json()["code"]) == (status, code), reply.text


async def test_a_body_without_a_length_is_capped_as_it_arrives(world: World) -> None:
    job, _ = await world.running_job()

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b"x" * 65_536

    reply = await world.loader.post(f"{job}/reports", content=endless(), headers={"content-type": "application/json"})
    assert reply.status_code == 413
