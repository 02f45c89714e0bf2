"""A backlog gives every whole record once acknowledged, and nothing that is not a record."""

import json
from pathlib import Path

from headrace.telemetry.backlog import Backlog
from headrace.telemetry.spool_writer import SpoolWriter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.loader.telemetry.ranks import spool, start

ALL = 1000, 1 << 20


def _seqs(backlog: Backlog, most_records: int = 1000, most_bytes: int = 1 << 20) -> list[int]:
    entries = backlog.batch(most_records, most_bytes)
    backlog.acknowledge(entries)
    return [json.loads(entry.line)["seq"] for entry in entries]


def test_repeats_until_acknowledged_then_goes_on_and_deletes_what_is_done(tmp_path: Path) -> None:
    held, made = spool(tmp_path), start()
    writer = SpoolWriter(held, made, 0)
    backlog = Backlog(held, made.attempt_id)
    for seq in range(3):
        writer.append(b'{"seq":%d}' % seq)
    first = backlog.batch(2, 1 << 20)
    assert backlog.batch(2, 1 << 20) == first
    assert _seqs(backlog, 2) == [0, 1]
    assert _seqs(backlog) == [2]
    assert _seqs(backlog) == []
    writer.append(b'{"seq":3}')
    writer.close()
    assert _seqs(backlog) == [3]
    assert _seqs(backlog) == []
    assert held.segments(made.attempt_id) == []


def test_a_torn_end_waits_while_its_rank_may_finish_it_and_is_skipped_once_sealed(tmp_path: Path) -> None:
    held, made = spool(tmp_path), start()
    writer = SpoolWriter(held, made, 0)
    writer.append(b'{"seq":0}')
    [segment] = held.segments(made.attempt_id)
    with segment.path.open("ab") as file:
        file.write(b'{"seq":1,"torn')
    backlog = Backlog(held, made.attempt_id)
    assert _seqs(backlog) == [0]
    assert _seqs(backlog) == []
    writer.close()
    assert _seqs(backlog) == []
    assert held.segments(made.attempt_id) == []


def test_a_batch_is_bounded_in_bytes(tmp_path: Path) -> None:
    held, made = spool(tmp_path), start()
    writer = SpoolWriter(held, made, 0)
    for seq in range(300):
        writer.append(json.dumps({"seq": seq, "pad": "x" * 1000}).encode())
    backlog = Backlog(held, made.attempt_id)
    sizes, seen = [], []
    while entries := backlog.batch(1000, 50_000):
        sizes.append(sum(len(entry.line) + 1 for entry in entries))
        seen += [json.loads(entry.line)["seq"] for entry in entries]
        backlog.acknowledge(entries)
    assert max(sizes) <= 50_000
    assert seen == list(range(300))
    writer.close()


def test_a_line_longer_than_a_batch_does_not_stop_what_comes_after(tmp_path: Path) -> None:
    held, made = spool(tmp_path), start()
    directory = held.register(made)
    (directory / "00000-000000.jsonl").write_bytes(b"\0" * 5000 + b'\n{"seq":1}\n')
    backlog = Backlog(held, made.attempt_id)
    seen: list[int] = []
    for _ in range(10):
        seen += _seqs(backlog, most_bytes=1024)
    assert seen == [1]
    assert held.segments(made.attempt_id) == []


def test_segments_that_vanish_are_no_error(tmp_path: Path) -> None:
    held, made = spool(tmp_path), start()
    writer = SpoolWriter(held, made, 0)
    writer.append(b'{"seq":0}')
    backlog = Backlog(held, made.attempt_id)
    entries = backlog.batch(*ALL)
    held.segments(made.attempt_id)[0].path.unlink()
    backlog.acknowledge(entries)
    assert backlog.batch(*ALL) == []


LINE = st.one_of(
    st.integers(0, 99).map(lambda n: b'{"seq":%d}' % n),
    st.sampled_from([b"", b"[1]", b"null", b"{", b"\xff\xfe", b"\0\0\0", b'{"seq":1}\r', b"[" * 100, b'{"a":"b"}x']),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(st.lists(st.lists(LINE, max_size=12), max_size=4), st.booleans(), st.integers(1, 5), st.integers(40, 200))
def test_every_record_comes_out_once_and_in_order_whatever_lies_between(
    tmp_path: Path, segments: list[list[bytes]], whole: bool, most_records: int, most_bytes: int
) -> None:
    held, made = spool(tmp_path), start()
    directory = held.register(made)
    for number, lines in enumerate(segments):
        content = b"".join(line + b"\n" for line in lines)
        (directory / f"00000-{number:06}.jsonl").write_bytes(content if whole else content[:-1])
    wanted = []
    for lines in segments:
        for line in lines:
            try:
                if isinstance(json.loads(line), dict):
                    wanted.append(line)
            except ValueError:
                continue
    backlog, seen = Backlog(held, made.attempt_id), []
    for _ in range(80):
        entries = backlog.batch(most_records, most_bytes)
        seen += [entry.line for entry in entries]
        backlog.acknowledge(entries)
    assert seen == wanted
    assert held.segments(made.attempt_id) == []
