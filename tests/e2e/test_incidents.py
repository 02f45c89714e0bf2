"""What goes wrong while somebody watches: ranks that fall silent, a job that is killed, a server that restarts.

The specs are in ``incidents/``, on a server and a training job of their own, which they stop and start.
"""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .browser import find_browser
from .control import control
from .job import NUM_RANKS, TrainingJob
from .rest import Api
from .service import Server
from .stage import HERE, Stage, playwright

_LIMIT_S = 900
_JOB_NAME = "e2e-incidents"


@contextmanager
def _incidents_stage(folder: Path) -> Iterator[Stage]:
    """A server that asks for a report each second, so that silence shows soon, and a job on it."""
    server = Server(folder, REPORT_EVERY_S="1", RESTART_GRACE_S="3")
    service = server.start()
    job = TrainingJob(folder / "job", url=service.url, key=service.make_key("job", "ingest,read"), name=_JOB_NAME)
    actions = {
        "stop-server": server.stop,
        "start-server": lambda: (server.start(), None)[1],
        "pause-rank-1": lambda: job.signal_rank(1, signal.SIGSTOP),
        "continue-rank-1": lambda: job.signal_rank(1, signal.SIGCONT),
        "kill-job": job.kill,
        "start-job": job.start,
    }
    try:
        with control(actions) as address, Api(service.url, service.make_key("e2e", "read")) as api:
            environment = {
                "CHROME": str(find_browser(HERE)),
                "E2E_URL": service.url,
                "E2E_USERNAME": service.username,
                "E2E_PASSWORD": service.password,
                "E2E_RANKS": str(NUM_RANKS),
                "E2E_RESULTS": str(folder / "playwright"),
                "E2E_JOB": _JOB_NAME,
                "E2E_CONTROL": address,
            }
            job.start()
            api.wait_running(_JOB_NAME, NUM_RANKS)
            yield Stage(environment, job.log)
    finally:
        job.kill()
        server.stop()


@pytest.mark.timeout(_LIMIT_S + 300)
def test_incidents(tmp_path: Path) -> None:
    with _incidents_stage(tmp_path) as up:
        done = subprocess.run(
            playwright([], project="incidents"),
            cwd=HERE,
            env=os.environ | dict(up.environment),
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n--- the job's log ---\n{up.log_tail()}"
        print(done.stdout)
