"""Pictures of every page in both themes, into docs/images: ``make screenshots``.

A stage like one somebody would watch: a job that trains, with a mix that was edited and a change to come, one of
thousands of ranks, one that fell silent and raised an alert, one that is done; keys, and people in two roles.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .browser import find_browser
from .control import control
from .corpus import WEIGHTS
from .job import NUM_RANKS, training_job
from .rest import Api, record
from .seeded import BIG_SLOW_RANK, BIG_WORLD, BigJob
from .service import Service, running_service
from .stage import HERE, playwright

IMAGES = HERE.parents[1] / "docs" / "images"
JOB_NAME = "gpt-1b"
_LOST_WORLD = 16
# Enough for charts that show something (steps), and the time that takes at most (seconds).
_STEPS = 700
_LIMIT_S = 300.0


def _seed_others(api: Api) -> None:
    """A job that is done, and one whose ranks have fallen silent."""
    done = api.create_job("gpt-125m", tuple(WEIGHTS))
    attempt = api.start_attempt(done, 4)
    for seq in range(30):
        api.report(done, attempt, [record(rank, 4, seq, tuple(WEIGHTS)) for rank in range(4)])
    api.end_attempt(done, attempt, "finished", "all steps done")
    lost = api.create_job("vision-encoder", ("photos", "diagrams"))
    attempt = api.start_attempt(lost, _LOST_WORLD)
    for seq in range(6):
        records = [record(rank, _LOST_WORLD, seq, ("photos", "diagrams")) for rank in range(_LOST_WORLD)]
        api.report(lost, attempt, records)


def _edit_and_plan(api: Api, job: str) -> None:
    """An edit that the job applies, then a change for later."""
    api.post(
        f"/jobs/{job}/mix",
        {"weights": {"code": 3, "prose": 5, "legal": 2}, "reason": "loss on prose is flat"},
        method="PUT",
        headers={"If-Match": '"v1"'},
    )
    api.wait_step(job, _STEPS, _LIMIT_S)
    api.post(
        f"/jobs/{job}/mix/changes",
        {"weights": {"code": 5, "prose": 3, "legal": 2}, "reason": "code for the last part", "at_step": 15_000},
        headers={"If-Match": '"v2"'},
    )


def _make_people(service: Service) -> None:
    for name, scopes in (("cluster", "ingest,read"), ("nightly report", "read"), ("scheduler", "operate,read")):
        service.make_key(name, scopes)
    service.add_user("ada", "operator")
    service.add_user("bob", "viewer")


@contextmanager
def _showcase(folder: Path) -> Iterator[dict[str, str]]:
    """Everything is up, and has been for a while; yields the environment that the specs need."""
    with (
        running_service(folder) as service,
        Api(service.url, service.make_key("showcase", "ingest,read,operate")) as api,
        training_job(folder / "job", url=service.url, key=service.make_key("gpt", "ingest,read"), name=JOB_NAME),
    ):
        _make_people(service)
        _seed_others(api)
        big = BigJob(api, "gpt-70b")
        api.wait_running(JOB_NAME, NUM_RANKS)
        _edit_and_plan(api, api.job_id(JOB_NAME))
        with control({"big-report": big.report}) as actions:
            yield {
                "CHROME": str(find_browser(HERE)),
                "E2E_URL": service.url,
                "E2E_USERNAME": service.username,
                "E2E_PASSWORD": service.password,
                "E2E_JOB": JOB_NAME,
                "E2E_RANKS": str(NUM_RANKS),
                "E2E_BIG_JOB": big.id,
                "E2E_BIG_RANKS": str(BIG_WORLD),
                "E2E_BIG_SLOW_RANK": str(BIG_SLOW_RANK),
                "E2E_CONTROL": actions,
                "E2E_RESULTS": str(folder / "playwright"),
                "E2E_IMAGES": os.environ.get("E2E_IMAGES", str(IMAGES)),
            }


def main() -> int:
    """Take all of them; returns the exit code."""
    # Whoever ends this, `timeout` say, ends the server and the job too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="headrace-shots-") as folder, _showcase(Path(folder)) as environment:
        command = playwright(sys.argv[1:], project="screenshots")
        code = subprocess.run(command, cwd=HERE, env=os.environ | environment, check=False).returncode
    print(f"{time.monotonic() - started:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())
