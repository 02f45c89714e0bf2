"""Server-sent events are read alike however they are cut into pieces, and none fills the memory."""

import itertools

import pytest
from headrace.telemetry.event_stream import EventReader, ServerEvent
from headrace.telemetry.failures import ServiceError
from hypothesis import given
from hypothesis import strategies as st

STREAM = (
    '\ufeffevent: version\ndata: {"version": 3}\n\n: ping\r\n\r\n'
    "data\rdata:  two spaces\r\revent: x\nid: 7\nunknown: y\nretry: 1500\nretry: no\n\n"
    "event: later\r\ndata: a\r\ndata:b\r\n\r\ndata: cut"
).encode()
EVENTS = [
    ServerEvent("version", '{"version": 3}'),
    ServerEvent("", ""),
    ServerEvent("message", "\n two spaces"),
    ServerEvent("later", "a\nb"),
]


def read(pieces: list[bytes]) -> tuple[list[ServerEvent], float | None]:
    reader = EventReader()
    return [event for piece in pieces for event in reader.feed(piece)], reader.retry_s


@given(st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_the_cuts_do_not_matter(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    assert read([STREAM[a:b] for a, b in itertools.pairwise(edges)]) == (EVENTS, 1.5)


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_no_bytes_break_it(pieces: list[bytes]) -> None:
    read(pieces)


@pytest.mark.parametrize("piece", [b"x" * 1000, b"data: x\n" * 100, b": x" * 100], ids=["line", "lines", "comment"])
def test_an_event_without_end_is_refused(piece: bytes) -> None:
    reader = EventReader()
    with pytest.raises(ServiceError, match="longer than 65536 bytes"):
        for _ in range(1000):
            list(reader.feed(piece))


def test_the_longest_wait_is_a_minute() -> None:
    assert read([b"retry: 99999999999999999999\n"])[1] == 60.0
