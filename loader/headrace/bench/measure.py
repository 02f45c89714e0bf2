"""Every figure of `headrace bench`, one after another.

The loader and the plain read are measured in turn, so that their ratio holds when the machine's speed drifts.
"""

from __future__ import annotations

import json
import logging
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import psutil

from headrace.bench.child import start_cold
from headrace.bench.fit import measure_fit
from headrace.bench.pace import python_slowdown, wait_share
from headrace.bench.plain import PlainRead
from headrace.bench.report import Figures
from headrace.bench.workload import Workload
from headrace.loader import Loader

DEFAULT_PACE = 1e6
"tokens a second of a loop that is given no time for its steps"

FAR_STEP = 10_000_000
"the step to resume at"

_STARTS = 3


@dataclass(frozen=True, slots=True)
class Rates:
    """How fast a loader is; medians over the rounds."""

    loader_tokens_per_s: float
    plain_read_tokens_per_s: float | None
    "None where the data is elsewhere"
    plain_read: str
    "`mapped` or `decoded`: what the plain read does"
    ratio: float | None
    "of each pair measured one after the other"
    cpu_ns_per_token: float
    "user and system time of the process"


def measure(workload: Workload, *, seconds: float, rounds: int, step_s: float | None = None) -> Figures:
    """Measure everything; rates `rounds` times for `seconds` each.

    Args:
        workload: what to load.
        seconds: length of one measurement.
        rounds: pairs of loader and plain read.
        step_s: seconds that training spends on a step; by default as many as make 1 M tokens/s.

    Raises:
        ConfigError, SourceError, ShardError: as `Loader`.
    """
    pace = DEFAULT_PACE if step_s is None else workload.step_tokens / step_s
    with workload.loader() as loader:
        next(loader)
        rates = measure_rates(loader, workload, seconds=seconds, rounds=rounds)
        batch_s = workload.step_tokens / pace / workload.micro_batches
        waits = wait_share(loader, batch_s, seconds)
        slowdown = python_slowdown(loader, batch_s, seconds)
        state, tokens = loader.state_dict(), sum(manifest.num_tokens for manifest in loader.manifests)
    fit = measure_fit(workload)
    fresh_s, resume_s = measure_starts(workload)
    cold = start_cold(workload.to_json(), seconds)
    return Figures(
        **asdict(rates),
        pace_tokens_per_s=pace,
        wait_share=waits,
        python_slowdown=slowdown,
        first_batch_s=fresh_s,
        resume_s=resume_s,
        resume_ratio=resume_s / fresh_s,
        cold_first_batch_s=cold.first_batch_s,
        peak_memory_mib=cold.peak_own_bytes / 2**20,
        peak_mapped_mib=cold.peak_mapped_bytes / 2**20,
        state_bytes=len(json.dumps(state)),
        tokens_in_sources=tokens,
        padded_share=fit.padded_share,
        cut_share=fit.cut_share,
    )


def _plain(loader: Loader, workload: Workload) -> PlainRead | None:
    """The plain read of the same files; None where they are elsewhere."""
    weights = [loader.weights_ppm[name] for name in loader.source_names]
    if any(manifest.root.remote is not None for manifest in loader.manifests):
        return None
    return PlainRead(loader.manifests, weights, workload.seq_len, workload.micro_batch)


def measure_rates(loader: Loader, workload: Workload, *, seconds: float, rounds: int) -> Rates:
    """Time `loader`, which is of `workload`, and the plain read in turn, `rounds` times for `seconds` each.

    Decoded data that the loader's cache would hold whole is timed over a first pass of a loader of its own, however
    long that takes: later passes decode nothing, which no corpus worth training on allows.
    """
    plain = _plain(loader, workload)
    first_pass = _first_pass(loader, workload) if plain is not None and plain.has_parquet else None

    def load() -> int:
        return next(loader).input_ids.numel()

    if first_pass is None:
        _rate(load, seconds / 2)
    if plain is not None:
        _rate(plain, seconds / 2)
    ours, bound, cpu = [], [], []
    for _ in range(rounds):
        before = _cpu_s()
        rate, tokens = _rate(load, seconds) if first_pass is None else _pass_rate(workload, first_pass)
        cpu.append((_cpu_s() - before) / tokens * 1e9)
        ours.append(rate)
        if plain is not None:
            bound.append(_rate(plain, seconds)[0])
    return Rates(
        loader_tokens_per_s=statistics.median(ours),
        plain_read_tokens_per_s=statistics.median(bound) if bound else None,
        plain_read="decoded" if plain is not None and plain.has_parquet else "mapped",
        ratio=statistics.median(a / b for a, b in zip(ours, bound, strict=True)) if bound else None,
        cpu_ns_per_token=statistics.median(cpu),
    )


def _first_pass(loader: Loader, workload: Workload) -> int | None:
    """Tokens until the first source begins anew; None where the cache can't hold the sources decoded."""
    sizes = [manifest.num_tokens * manifest.token_dtype.itemsize for manifest in loader.manifests]
    if sum(sizes) > workload.cache_bytes:
        return None
    shares = [loader.weights_ppm[name] / 1e6 for name in loader.source_names]
    passes = zip(loader.manifests, shares, strict=True)
    return int(min(manifest.num_tokens / share for manifest, share in passes if share))


def _pass_rate(workload: Workload, tokens: int) -> tuple[float, int]:
    """(tokens a second, tokens) of a loader that begins, up to `tokens`."""
    with workload.loader() as loader:
        began = time.perf_counter()
        taken = 0
        while taken < tokens:
            taken += next(loader).input_ids.numel()
        return taken / (time.perf_counter() - began), taken


def _rate(step: Callable[[], int], seconds: float) -> tuple[float, int]:
    """(tokens a second, tokens) of calling `step` for about `seconds`."""
    began = time.perf_counter()
    tokens = 0
    while (spent := time.perf_counter() - began) < seconds or not tokens:
        tokens += step()
    return tokens / spent, tokens


def _cpu_s() -> float:
    times = psutil.Process().cpu_times()
    return float(times.user + times.system)


def measure_starts(workload: Workload) -> tuple[float, float]:
    """Seconds to the first batch of a loader that begins, and of one that goes on far away: medians, in turn."""
    far = _far_state(workload)
    fresh, resumed = [], []
    for _ in range(_STARTS):
        fresh.append(_start(workload, None))
        resumed.append(_start(workload, far))
    return statistics.median(fresh), statistics.median(resumed)


def _start(workload: Workload, state: Mapping[str, Any] | None) -> float:
    began = time.perf_counter()
    with workload.loader() as loader:
        if state is not None:
            loader.load_state_dict(state)
        next(loader)
        return time.perf_counter() - began


def _far_state(workload: Workload) -> dict[str, Any]:
    """The checkpoint of step `FAR_STEP`."""
    logger = logging.getLogger("headrace")
    level = logger.level
    logger.setLevel(logging.ERROR)  # that steps are moved past is no news here
    try:
        with workload.loader() as loader:
            loader.load_state_dict(loader.state_dict(), skip_steps=FAR_STEP)
            next(loader)
            state: dict[str, Any] = loader.state_dict()
            return state
    finally:
        logger.setLevel(level)
