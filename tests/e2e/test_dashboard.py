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
from .service import running_service

HERE = Path(__file__).parent
STATIC = Path(__file__).parents[2] / "backend" / "headrace_server" / "static" / "index.html"
JOB_NAME = "e2e-two-ranks"
_LIMIT_S = 900


def _wait_running(api: Api, log: Path) -> None:
    try:
        api.wait_running(JOB_NAME, NUM_RANKS)
    except AssertionError as error:
        raise AssertionError(f"{error}\n--- the job's log ---\n{log.read_text()[-4000:]}") from error


@pytest.mark.timeout(_LIMIT_S + 120)
def test_dashboard(tmp_path: Path) -> None:
    assert STATIC.is_file(), "the dashboard is not built; run `npm ci && npm run build` in frontend/"
    assert (HERE / "node_modules" / "@playwright").is_dir(), "run `npm ci` in tests/e2e"
    browser = find_browser(HERE)
    with running_service(tmp_path) as service:
        api = Api(service.url, service.make_key("e2e seeds", "ingest,read"))
        hostile, big = seed_hostile_job(api), seed_big_job(api)
        key = service.make_key("e2e job", "ingest,read")
        with training_job(tmp_path / "job", url=service.url, key=key, name=JOB_NAME) as log:
            _wait_running(api, log)
            environment = os.environ | {
                "CHROME": str(browser),
                "E2E_URL": service.url,
                "E2E_USERNAME": service.username,
                "E2E_PASSWORD": service.password,
                "E2E_JOB": JOB_NAME,
                "E2E_RANKS": str(NUM_RANKS),
                "E2E_HOSTILE_JOB": hostile,
                "E2E_BIG_JOB": big,
                "E2E_BIG_RANKS": str(BIG_WORLD),
                "E2E_RESULTS": str(tmp_path / "playwright"),
            }
            done = subprocess.run(
                ["npx", "playwright", "test"],
                cwd=HERE,
                env=environment,
                capture_output=True,
                text=True,
                timeout=_LIMIT_S,
                check=False,
            )
            told = f"{done.stdout}\n{done.stderr}"
            assert done.returncode == 0, f"{told}\n--- the job's log ---\n{log.read_text()[-4000:]}"
            print(told)
