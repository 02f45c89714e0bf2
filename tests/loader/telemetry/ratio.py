"""Step time beside a service that fails: `python -m tests.loader.telemetry.ratio` prints a line of JSON for each fault.

Two loaders over the same shards take steps in turn, one reporting to the fault, one alone, so that both see the same
machine; a step is a batch and `--step-ms` of work on it. `cost_us` is how much longer the median step takes, and
`median_ratio` the same as a share; `quiet_ratio` is of the tenths of the steps that nothing disturbed.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import torch
from headrace import Loader
from headrace.cache import cache_root

from tests.loader.corpora import Corpus, random_corpus
from tests.loader.telemetry import services
from tests.loader.telemetry.faults import black_hole, certificate_error
from tests.loader.telemetry.services import Reply, Service, raw_service

REPLIES = {
    "500": Reply(500, {}),
    "413": Reply(413, b"<html>"),
    "429": Reply(429, {}, {"Retry-After": "1"}),
    "wrong token": Reply(401, {}),
}
TALKS = {"garbage": services.garbage, "slow drip": services.drip_body, "silence": services.silence}
NAMES = ("good", "refused", "unknown host", "black hole", "certificate", *REPLIES, *TALKS)


@contextmanager
def fault(name: str) -> Iterator[str]:
    """The URL of a service that fails so."""
    if name in ("good", *REPLIES):
        service = Service()
        service.misbehave = lambda request: REPLIES.get(name)
        yield service.url
        service.close()
    elif name in TALKS:
        with raw_service(TALKS[name]) as url:
            yield url
    elif name == "black hole":
        with black_hole() as url:
            yield url
    elif name == "certificate":
        with certificate_error() as url:
            yield url
    else:
        yield {"refused": "http://127.0.0.1:1", "unknown host": "http://headrace.invalid"}[name]


def make(corpus: Corpus, job: str | None, url: str | None) -> Loader:
    """A loader with steps of 16 sequences."""
    options = {"seq_len": 512, "global_batch_size": 16, "micro_batch_size": 16, "seed": 1, "eos_id": 0}
    return Loader(corpus.sources(web=1, code=1), job=job, url=url, token="hr_none", **options)


def step_s(loader: Loader, work_s: float) -> float:
    """Take one step and work on it, as training does."""
    began = time.perf_counter()
    batch = next(loader)
    loader.observe(batch, torch.rand(16))
    until = time.perf_counter() + work_s
    while time.perf_counter() < until:
        batch.input_ids.sum()
    return time.perf_counter() - began


def measure(corpus: Corpus, name: str, num_steps: int, work_s: float) -> dict[str, object]:
    """Both loaders in turn."""
    with fault(name) as url, ExitStack() as stack:
        watched, alone = make(corpus, "ratio", url), stack.enter_context(make(corpus, None, None))
        took: tuple[list[float], list[float]] = ([], [])
        for n in range(num_steps):
            for k in (0, 1) if n % 2 else (1, 0):
                took[k].append(step_s((watched, alone)[k], work_s))
        began = time.perf_counter()
        watched.close()
        closed = time.perf_counter() - began
    median, quiet = ([quantile(times[10:], share) for times in took] for share in (0.5, 0.1))
    return {
        "service": name,
        "cost_us": round(1e6 * (median[0] - median[1])),
        "median_ratio": round(median[0] / median[1], 4),
        "quiet_ratio": round(quiet[0] / quiet[1], 4),
        "longest_step_ms": [round(1e3 * max(times[10:]), 1) for times in took],
        "close_s": round(closed, 2),
    }


def quantile(times: list[float], share: float) -> float:
    """The step below which a share of them lie."""
    return sorted(times)[int(share * len(times))]


def main() -> None:
    """Measure every fault, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, metavar="FAULT")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--step-ms", type=float, default=100.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "cache").mkdir()
        (Path(folder) / "cache" / "kernels").symlink_to(cache_root() / "kernels")
        os.environ["HEADRACE_CACHE"] = f"{folder}/cache"
        corpus = random_corpus(Path(folder) / "corpus", {"web": 400, "code": 400}, mean=300)
        for name in options.names:
            print(json.dumps(measure(corpus, name, options.steps, options.step_ms / 1e3)), flush=True)


if __name__ == "__main__":
    main()
