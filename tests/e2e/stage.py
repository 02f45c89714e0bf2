"""All that the browser tests look at: a real server, seeded jobs and a real two-rank training job, on loopback.

``python -m tests.e2e.stage mix.spec.ts`` runs some of the specs on a stage of its own (any arguments of Playwright's);
``--keep`` leaves the stage up until Ctrl-C instead, and prints the environment that the specs need.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .browser import find_browser
from .control import control
from .job import NUM_RANKS, training_job
from .rest import Api
from .seeded import BIG_SLOW_RANK, BIG_WORLD, BigJob, seed_hostile_job
from .service import running_service

HERE = Path(__file__).parent
STATIC = HERE.parents[1] / "backend" / "headrace_server" / "static" / "index.html"
JOB_NAME = "e2e-two-ranks"


@dataclass(frozen=True)
class Stage:
    """What is up: ``environment`` tells the specs about it, ``log`` is the training job's."""

    environment: Mapping[str, str]
    log: Path

    def log_tail(self) -> str:
        """The end of the training job's log."""
        return self.log.read_text()[-4000:]


@contextmanager
def stage(folder: Path) -> Iterator[Stage]:
    """Start everything under ``folder``, wait until the job runs on all its ranks, and stop it on the way out."""
    assert STATIC.is_file(), "the dashboard is not built; run `npm ci && npm run build` in frontend/"
    assert (HERE / "node_modules" / "@playwright").is_dir(), "run `npm ci` in tests/e2e"
    browser = find_browser(HERE)
    with (
        running_service(folder) as service,
        Api(service.url, service.make_key("e2e", "ingest,read")) as api,
        control({"big-report": (big := BigJob(api)).report}) as actions,
    ):
        environment = {
            "CHROME": str(browser),
            "E2E_URL": service.url,
            "E2E_USERNAME": service.username,
            "E2E_PASSWORD": service.password,
            "E2E_RANKS": str(NUM_RANKS),
            "E2E_BIG_RANKS": str(BIG_WORLD),
            "E2E_RESULTS": str(folder / "playwright"),
            "E2E_JOB": JOB_NAME,
            "E2E_HOSTILE_JOB": seed_hostile_job(api),
            "E2E_BIG_JOB": big.id,
            "E2E_BIG_SLOW_RANK": str(BIG_SLOW_RANK),
            "E2E_CONTROL": actions,
            "E2E_CORPUS": str(folder / "job" / "corpus"),
            "E2E_READ_KEY": service.make_key("e2e reader", "read"),
            "E2E_BIN": str(Path(sys.executable).parent),
        }
        key = service.make_key("e2e job", "ingest,read")
        with training_job(folder / "job", url=service.url, key=key, name=JOB_NAME) as job:
            up = Stage(environment, job.log)
            try:
                api.wait_running(JOB_NAME, NUM_RANKS)
            except AssertionError as error:
                raise AssertionError(f"{error}\n--- the job's log ---\n{up.log_tail()}") from error
            yield up


def playwright(arguments: list[str], *, project: str = "pages") -> list[str]:
    """The command that runs a project's specs; it wants ``HERE`` as folder and a stage's environment."""
    return ["npx", "playwright", "test", f"--project={project}", *arguments]


def main(arguments: list[str]) -> int:
    """Run specs on a stage of their own, or keep one; returns the exit code."""
    # Whoever ends this, `timeout` say, ends the server and the job too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory(prefix="headrace-e2e-") as folder, stage(Path(folder)) as up:
        if "--keep" not in arguments:
            return subprocess.run(
                playwright(arguments), cwd=HERE, env=os.environ | dict(up.environment), check=False
            ).returncode
        for name, value in up.environment.items():
            print(f"export {name}='{value}'", flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
