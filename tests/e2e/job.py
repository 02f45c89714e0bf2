"""A real two-rank torchrun job over a small corpus made for it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.kept_kernels import warm

from .corpus import write_corpus

NUM_RANKS = 2
STEP_S = 0.1
_STOP_S = 20.0
_ROOT = Path(__file__).parents[2]


class TrainingJob:
    """A two-rank torchrun job that trains until it is stopped, and can be started again under the same name."""

    def __init__(self, folder: Path, *, url: str, key: str, name: str) -> None:
        """Write its corpus under ``folder``. Nothing starts yet; its log is ``log``."""
        corpus, self.log = folder / "corpus", folder / "train.log"
        write_corpus(corpus)
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={NUM_RANKS}"]
        self._command = [*command, "-m", "tests.e2e.train", str(corpus), str(STEP_S)]
        self._environment = os.environ | {
            "HEADRACE_URL": url,
            "HEADRACE_TOKEN": key,
            "HEADRACE_JOB": name,
            "HEADRACE_CACHE": str(warm(folder / "cache")),
            "OMP_NUM_THREADS": "1",
        }
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start torchrun and its ranks, which are a session of their own."""
        with self.log.open("a") as output:
            self._process = subprocess.Popen(
                self._command,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._environment,
                cwd=_ROOT,
                start_new_session=True,
            )

    def signal_rank(self, rank: int, number: signal.Signals) -> None:
        """Send a signal to the process of one rank."""
        assert self._process is not None, "the job is not up"
        ranks = psutil.Process(self._process.pid).children(recursive=True)
        [found] = [process for process in ranks if process.environ().get("RANK") == str(rank)]
        found.send_signal(number)

    def kill(self) -> None:
        """End every process of the job at once, as a node that loses power does."""
        if self._process is not None:
            for process in psutil.Process(self._process.pid).children(recursive=True):
                process.kill()
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Stop it, by force when it takes too long; nothing happens when it is not up."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None


@contextmanager
def training_job(folder: Path, *, url: str, key: str, name: str) -> Iterator[TrainingJob]:
    """A job that trains under the name ``name`` until the way out."""
    job = TrainingJob(folder, url=url, key=key, name=name)
    job.start()
    try:
        yield job
    finally:
        job.stop()
