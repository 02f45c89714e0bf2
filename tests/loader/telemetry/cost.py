"""What telemetry costs the training loop: `python -m tests.loader.telemetry.cost` prints microseconds a call.

Against a service that behaves, one that is down and one that never answers, at 50 sources.
"""

import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from headrace.telemetry.connect import connect
from headrace.telemetry.port import StepSample, Telemetry

from tests.loader.telemetry.ranks import DESCRIPTION, identity, sample
from tests.loader.telemetry.services import Service, raw_service, silence

STEPS = 2000
STEP_S = 0.001


def _large(step: int) -> StepSample:
    """A step with 50 sources and 16 micro-batches."""
    small = sample(step)
    return replace(small, sources=small.sources * 25, waits_s=(0.001,) * 16)


def _measure(telemetry: Telemetry, name: str) -> None:
    losses = {"web": (3.5, 7), "code": (1.5, 3)}
    took: dict[str, list[float]] = {"step_ended": [], "observe": [], "latest_proposal": []}
    for step in range(STEPS):
        made = _large(step)
        times = [time.perf_counter()]
        telemetry.step_ended(made)
        times.append(time.perf_counter())
        telemetry.observe(step, losses)
        times.append(time.perf_counter())
        telemetry.latest_proposal()
        times.append(time.perf_counter())
        for call, begun, ended in zip(took, times, times[1:], strict=False):
            took[call].append(1e6 * (ended - begun))
        time.sleep(STEP_S)
    for call, values in took.items():
        values.sort()
        shown = f"median {statistics.median(values):6.2f}  p99 {values[-STEPS // 100]:7.2f}  max {values[-1]:9.2f}"
        print(f"{name:8} {call:16} {shown} µs")
    begun = time.perf_counter()
    telemetry.finish()
    print(f"{name:8} finish           {time.perf_counter() - begun:6.2f} s")


def main() -> None:
    """Measure each kind of service in turn."""
    service = Service()
    with raw_service(silence) as silent, tempfile.TemporaryDirectory() as cache:
        for name, url in (("good", service.url), ("down", "http://127.0.0.1:1"), ("silent", silent)):
            telemetry = connect(identity(), DESCRIPTION, job="cost", url=url, cache=Path(cache) / name)
            assert telemetry is not None
            _measure(telemetry, name)
    service.close()


if __name__ == "__main__":
    main()
