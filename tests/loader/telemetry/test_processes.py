"""Forks, exits and kills: children report nothing, an exit is quick, and what was reported survives a kill."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from headrace.telemetry.connect import connect
from headrace.telemetry.description import RankIdentity
from headrace.telemetry.port import Activated, Telemetry

from tests.loader.telemetry.processes import SPAWN, process
from tests.loader.telemetry.ranks import DESCRIPTION, SOURCES, identity, sample, wait_until
from tests.loader.telemetry.services import Service, new_uuid, raw_service, silence

SCRIPT = """
import atexit
import sys
from pathlib import Path
atexit.register(print, "left", flush=True)  # after telemetry's own handler, before Python takes itself apart
from tests.loader.telemetry.ranks import DESCRIPTION, identity, sample
from headrace.telemetry.connect import connect
telemetry = connect(identity(attempt=sys.argv[1]), DESCRIPTION, job="test", url=sys.argv[2], cache=Path(sys.argv[3]))
for step in range(5):
    telemetry.step_ended(sample(step))
print("end", flush=True)
{end}
"""


@pytest.fixture
def service() -> Iterator[Service]:
    running = Service()
    yield running
    running.close()


def _connect(cache: Path, url: str, who: RankIdentity) -> Telemetry:
    telemetry = connect(who, DESCRIPTION, job="test", url=url, cache=cache, report_every_s=0.2)
    assert telemetry is not None
    return telemetry


def _fork_and_report(cache: Path, url: str, who: RankIdentity, tell: Connection) -> None:
    telemetry = _connect(cache, url, who)
    telemetry.step_ended(sample(0))
    time.sleep(1.0)
    child = os.fork()
    if child == 0:
        for step in range(100, 200):
            telemetry.step_ended(sample(step))
            telemetry.observe(step, {"web": (1.0, 1)})
            telemetry.activated(Activated("service:9", step, SOURCES, 0))
        telemetry.finish(failed="child")
        os._exit(0 if telemetry.replay_record("x", 0, 5) is None else 1)
    _, status = os.waitpid(child, 0)
    telemetry.step_ended(sample(1))
    telemetry.finish()
    tell.send(status)


def test_a_forked_child_reports_nothing_and_disturbs_nothing(tmp_path: Path, service: Service) -> None:
    here, there = SPAWN.Pipe()
    who = identity()
    parent = process(_fork_and_report, tmp_path, service.url, who, there)
    assert here.recv() == 0
    parent.join(5)
    assert parent.exitcode == 0
    assert [record["step"] for _, record in service.records if record["steps"]] == [0, 1]
    assert service.activations == []
    [end] = [request for request in service.requests if request.method == "PATCH"]
    assert end.body == {"state": "finished"}


def _report_until_killed(cache: Path, url: str, who: RankIdentity, tell: Connection) -> None:
    telemetry = _connect(cache, url, who)
    for step in range(100_000):
        telemetry.step_ended(sample(step))
        if step == 100:
            tell.send(True)
        time.sleep(0.005)


def test_what_a_killed_rank_reported_is_sent_by_the_next_start(tmp_path: Path, service: Service) -> None:
    service.close()  # down during the first start
    who = identity()
    here, there = SPAWN.Pipe()
    killed = process(_report_until_killed, tmp_path, service.url, who, there)
    here.recv()
    time.sleep(1.0)
    killed.kill()
    killed.join()
    again = Service(service.port)
    telemetry = _connect(tmp_path, again.url, identity())
    wait_until(lambda: any(attempt == who.attempt for attempt, _ in again.records))
    telemetry.finish()
    records = [record for attempt, record in again.records if attempt == who.attempt]
    assert [record["seq"] for record in records] == list(range(len(records)))
    assert sum(record["steps"] for record in records) >= 100
    assert sum(record["steps"] for record in records) == records[-1]["step"] + 1
    assert len([path for path in tmp_path.glob("spool/*/*") if path.is_dir()]) == 0
    again.close()
    service._thread.join()


def _run_to_the_end(end: str, attempt: str, url: str, cache: Path) -> tuple[float, int, str]:
    """Seconds from the last line of a script until telemetry has let go of the process; its exit code; its errors."""
    command = [sys.executable, "-c", SCRIPT.format(end=end), attempt, url, str(cache)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as script:
        assert script.stdout is not None
        assert script.stderr is not None
        assert script.stdout.readline() == "end\n"
        begun = time.monotonic()
        assert script.stdout.readline() == "left\n"
        took = time.monotonic() - begun
        errors = script.stderr.read()
    return took, script.returncode, errors


@pytest.mark.parametrize("end", ["", "raise RuntimeError('loss')"])
def test_an_exit_without_finish_is_quick_and_loses_nothing(tmp_path: Path, service: Service, end: str) -> None:
    took, code, errors = _run_to_the_end(end, new_uuid(), service.url, tmp_path)
    assert took < 3
    assert code == bool(end)
    assert errors.count("Traceback") == bool(end)
    assert sum(record["steps"] for _, record in service.records) == 5
    assert not any(request.method == "PATCH" for request in service.requests)  # how it ended is not known


@pytest.mark.parametrize("end", ["", "telemetry.finish()"])
def test_an_exit_while_the_service_hangs_takes_less_than_five_seconds(tmp_path: Path, end: str) -> None:
    with raw_service(silence) as url:
        took, code, _ = _run_to_the_end(end, new_uuid(), url, tmp_path)
    assert took < 5
    assert code == 0
    assert [path for path in tmp_path.rglob("*.jsonl") if path.stat().st_size]


def test_a_terminated_rank_leaves_its_reports_behind(tmp_path: Path, service: Service) -> None:
    service.close()
    here, there = SPAWN.Pipe()
    rank = process(_report_until_killed, tmp_path, service.url, identity(), there)
    here.recv()
    time.sleep(0.5)
    assert rank.pid is not None
    os.kill(rank.pid, signal.SIGTERM)
    rank.join(5)
    assert rank.exitcode == -signal.SIGTERM
    assert [path for path in tmp_path.rglob("*.open") if path.stat().st_size]
    service._thread.join()
