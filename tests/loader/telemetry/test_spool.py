"""Records stay on disk, whole, within the limit, whoever dies when."""

import json
import os
import resource
import stat
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from headrace.telemetry.description import Registration
from headrace.telemetry.spool import Spool
from headrace.telemetry.spool_writer import SpoolWriter

from tests.loader.telemetry.processes import SPAWN, process
from tests.loader.telemetry.ranks import spool, start


def _lines(held: Spool, attempt: str) -> list[bytes]:
    return [line for s in held.segments(attempt) for line in s.path.read_bytes().split(b"\n") if line]


def _record(seq: int, size: int = 20) -> bytes:
    return json.dumps({"seq": seq, "pad": "x" * size}).encode()


def test_records_are_readable_at_once_and_sealed_on_close(tmp_path: Path) -> None:
    held, made = spool(tmp_path), start()
    writer = SpoolWriter(held, made, 3)
    writer.append(_record(0))
    [segment] = held.segments(made.attempt_id)
    assert (segment.rank, segment.number, segment.sealed) == (3, 0, False)
    assert not held.is_drained(made.attempt_id, 3)
    assert held.is_drained(made.attempt_id, 2)
    writer.append(_record(1))
    writer.close()
    [segment] = held.segments(made.attempt_id)
    assert segment.sealed
    assert _lines(held, made.attempt_id) == [_record(0), _record(1)]


def test_segments_are_bounded_and_come_oldest_first_with_ranks_in_turn(tmp_path: Path) -> None:
    held, made = spool(tmp_path, most_bytes=1 << 20), start()  # segments of 16 KiB
    writers = [SpoolWriter(held, made, rank) for rank in range(2)]
    for seq in range(60):
        for writer in writers:
            writer.append(_record(seq, 1000))
    keys = [(segment.number, segment.rank) for segment in held.segments(made.attempt_id)]
    assert keys == sorted(keys)
    assert len(keys) > 4
    assert all(segment.path.stat().st_size < 20_000 for segment in held.segments(made.attempt_id))
    for writer in writers:
        writer.close()


def test_beyond_the_limit_the_oldest_go_first_across_jobs_and_are_counted(tmp_path: Path) -> None:
    other, left = spool(tmp_path, most_bytes=200_000, job="other"), start()
    earlier = SpoolWriter(other, left, 0)
    for seq in range(20):
        earlier.append(_record(seq, 1000))
    earlier.close()
    held, made = spool(tmp_path, most_bytes=200_000), start()
    writer = SpoolWriter(held, made, 0)
    for seq in range(500):
        writer.append(_record(seq, 1000))
    assert other.segments(left.attempt_id) == []
    kept = [json.loads(line)["seq"] for line in _lines(held, made.attempt_id)]
    assert kept == list(range(kept[0], 500))
    assert len(kept) > 150
    assert writer.dropped == 20 + kept[0]
    assert sum(p.stat().st_size for p in tmp_path.rglob("*") if p.is_file()) < 200_000 + 10_000
    writer.close()


def test_starts_that_crash_one_after_another_stay_within_the_limit(tmp_path: Path) -> None:
    dropped = 0
    for _ in range(60):
        writer = SpoolWriter(spool(tmp_path, most_bytes=200_000), start(), 0)
        for seq in range(5):
            writer.append(_record(seq, 1000))
        writer.close()
        dropped += writer.dropped
    assert dropped > 0
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.jsonl")) < 200_000


def test_a_record_that_does_not_fit_the_disk_leaves_no_trace_and_can_be_written_later(tmp_path: Path) -> None:
    held, made = spool(tmp_path), start()
    writer = SpoolWriter(held, made, 0)
    writer.append(_record(0, 100))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, limits[1]))  # the next write is cut short at 200 bytes
    try:
        with pytest.raises(OSError, match="room"):
            writer.append(_record(1, 500))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert _lines(held, made.attempt_id) == [_record(0, 100)]
    writer.append(_record(1, 500))
    assert _lines(held, made.attempt_id) == [_record(0, 100), _record(1, 500)]
    writer.close()


def test_goes_on_when_somebody_cleans_the_cache(tmp_path: Path) -> None:
    held, made = spool(tmp_path, most_bytes=1 << 20), start()
    writer = SpoolWriter(held, made, 0)
    writer.append(_record(0))
    for path in sorted(tmp_path.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    for seq in range(1, 40):
        writer.append(_record(seq, 1000))
    assert [json.loads(line)["seq"] for line in _lines(held, made.attempt_id)] == list(range(1, 40))
    assert [found.attempt_id for found in held.registrations()] == [made.attempt_id]
    writer.close()


def _write_and_stay(root: Path, made: Registration, tell: Connection) -> None:
    writer = SpoolWriter(spool(root), made, 5)
    writer.append(_record(0))
    with held_open(spool(root), made) as file:
        file.write(b'{"seq": 1, "torn')
    tell.send(True)
    time.sleep(60)


def held_open(held: Spool, made: Registration):  # type: ignore[no-untyped-def]
    return held.segments(made.attempt_id)[0].path.open("ab")


def test_what_a_dead_rank_left_open_is_sealed_and_a_living_rank_is_left_alone(tmp_path: Path) -> None:
    held, made = spool(tmp_path), start()
    here, there = SPAWN.Pipe()
    writer = process(_write_and_stay, tmp_path, made, there)
    assert here.recv()
    held.seal_dead(made.attempt_id)
    held.remove_if_done(made.attempt_id)
    assert [segment.sealed for segment in held.segments(made.attempt_id)] == [False]
    writer.kill()
    writer.join()
    held.seal_dead(made.attempt_id)
    assert [segment.sealed for segment in held.segments(made.attempt_id)] == [True]


def test_registrations_come_earliest_start_first_and_garbage_is_left_alone(tmp_path: Path) -> None:
    held = spool(tmp_path)
    late, early = start(started_at=200.0), start(started_at=100.0)
    held.register(late)
    held.register(early)
    for name, content in (("x", b"{"), ("y", b'{"job": 1, "attempt": 2}'), ("z", b'{"job": {}, "attempt": {"id": 3}}')):
        (held.path / name).mkdir()
        (held.path / name / "registration.json").write_bytes(content)
    assert held.registrations() == [early, late]


def test_an_attempt_is_removed_only_when_nothing_of_it_waits_and_no_rank_lives(tmp_path: Path) -> None:
    held, made = spool(tmp_path), start()
    writer = SpoolWriter(held, made, 0)
    writer.append(_record(0))
    held.store(made.attempt_id, "ended", {"state": "finished"})
    writer.close()
    held.remove_if_done(made.attempt_id)
    held.segments(made.attempt_id)[0].path.unlink()
    held.remove_if_done(made.attempt_id)
    assert held.load(made.attempt_id, "ended") == {"state": "finished"}
    held.store(made.attempt_id, "ended", None)
    second = SpoolWriter(held, made, 1)
    second.append(_record(0))
    held.segments(made.attempt_id)[0].path.unlink()
    held.remove_if_done(made.attempt_id)
    assert (held.path / made.attempt_id).is_dir()
    second._lock.release()
    held.remove_if_done(made.attempt_id)
    assert not (held.path / made.attempt_id).exists()


def test_nobody_else_may_read_it_and_it_holds_no_more_than_the_registration(tmp_path: Path) -> None:
    held, made = spool(tmp_path / "spool"), start()
    writer = SpoolWriter(held, made, 0)
    writer.append(_record(0))
    assert stat.S_IMODE((held.path).stat().st_mode) == 0o700
    assert stat.S_IMODE((held.path / made.attempt_id).stat().st_mode) == 0o700
    assert Registration.from_json((held.path / made.attempt_id / "registration.json").read_bytes()) == made
    writer.close()


def test_jobs_of_any_name_have_spools_of_their_own_under_the_root(tmp_path: Path) -> None:
    paths = {spool(tmp_path, job=job).path for job in ("a/b", "a_b", "..", "", "ü" * 200, "a\nb")}
    assert len(paths) == 6
    assert all(path.parent == tmp_path for path in paths)


def test_a_directory_that_cannot_be_written_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        spool(tmp_path / "file")


def test_the_pace_is_shared(tmp_path: Path) -> None:
    held = spool(tmp_path)
    assert held.pace_s() is None
    held.set_pace(2.5)
    assert spool(tmp_path).pace_s() == 2.5
    (held.path / "pace").write_text("garbage")
    assert held.pace_s() is None


def test_leaves_no_descriptor_behind(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(20):
        held, made = spool(tmp_path), start()
        writer = SpoolWriter(held, made, 0)
        writer.append(_record(0))
        writer.close()
        held.remove_if_done(made.attempt_id)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
