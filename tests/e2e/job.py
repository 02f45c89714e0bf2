"""A real two-rank torchrun job over a small corpus made for it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .corpus import write_corpus

NUM_RANKS = 2
STEP_S = 0.1
_STOP_S = 20.0
_ROOT = Path(__file__).parents[2]


@contextmanager
def training_job(folder: Path, *, url: str, key: str, name: str) -> Iterator[Path]:
    """Train under the name ``name`` until the way out; yields the path of the job's log."""
    corpus, log = folder / "corpus", folder / "train.log"
    write_corpus(corpus)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={NUM_RANKS}"]
    command += ["-m", "tests.e2e.train", str(corpus), str(STEP_S)]
    environment = os.environ | {
        "HEADRACE_URL": url,
        "HEADRACE_TOKEN": key,
        "HEADRACE_JOB": name,
        "HEADRACE_CACHE": str(folder / "cache"),
        "OMP_NUM_THREADS": "1",
    }
    with log.open("w") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env=environment, cwd=_ROOT, start_new_session=True
        )
        try:
            yield log
        finally:
            _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Stop torchrun and its ranks, which are a session of their own."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
