"""The dashboard in a real browser, against a real server and a real two-rank training job.

The specs are in ``specs/``; this starts what they look at and hands them its address. Everything is on loopback.
"""

import os
import subprocess
from pathlib import Path

import pytest

from .browser import find_browser
from .job import NUM_RANKS, training_job
from .rest import Api
from .seeded import BIG_WORLD, seed_big_job, seed_hostile_job
from .service import Service, running_service

HERE = Path(__file__).parent
STATIC = Path(__file__).parents[2] / "backend" / "headrace_server" / "static" / "index.html"
JOB_NAME = "e2e-two-ranks"
_LIMIT_S = 900


def _wait_running(api: Api, log: Path) -> None:
    try:
        api.wait_running(JOB_NAME, NUM_RANKS)
    except AssertionError as error:
        raise AssertionError(f"{error}\n--- the job's log ---\n{_tail(log)}") from error


def _tail(log: Path) -> str:
    return log.read_text()[-4000:]


def _run_playwright(browser: Path, service: Service, results: Path, jobs: dict[str, str]) -> tuple[int, str]:
    """Run every spec; the exit code and all that was said."""
    environment = os.environ | {
        "CHROME": str(browser),
        "E2E_URL": service.url,
        "E2E_USERNAME": service.username,
        "E2E_PASSWORD": service.password,
        "E2E_RANKS": str(NUM_RANKS),
        "E2E_BIG_RANKS": str(BIG_WORLD),
        "E2E_RESULTS": str(results),
        **jobs,
    }
    output = results.with_suffix(".log")
    with output.open("w") as said:
        process = subprocess.Popen(
            ["npx", "playwright", "test"], cwd=HERE, env=environment, stdout=said, stderr=subprocess.STDOUT
        )
        try:
            code = process.wait(_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.wait()
            code = -1
    return code, output.read_text()


@pytest.mark.timeout(_LIMIT_S + 300)
def test_dashboard(tmp_path: Path) -> None:
    assert STATIC.is_file(), "the dashboard is not built; run `npm ci && npm run build` in frontend/"
    assert (HERE / "node_modules" / "@playwright").is_dir(), "run `npm ci` in tests/e2e"
    browser = find_browser(HERE)
    with running_service(tmp_path) as service, Api(service.url, service.make_key("e2e", "ingest,read")) as api:
        jobs = {
            "E2E_JOB": JOB_NAME,
            "E2E_HOSTILE_JOB": seed_hostile_job(api),
            "E2E_BIG_JOB": seed_big_job(api),
        }
        key = service.make_key("e2e job", "ingest,read")
        with training_job(tmp_path / "job", url=service.url, key=key, name=JOB_NAME) as log:
            _wait_running(api, log)
            code, said = _run_playwright(browser, service, tmp_path / "playwright", jobs)
            assert code == 0, f"{said}\n--- the job's log ---\n{_tail(log)}"
            print(said)
