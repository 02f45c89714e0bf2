"""`headrace bench`: how fast the loader is on the user's own data, next to a plain read of the same bytes.

Both are measured in turn in one run, so that the ratio holds when the machine's speed drifts.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt
import psutil
import torch

from headrace.config import OUTPUTS, Source
from headrace.errors import ConfigError
from headrace.given import add_sources, parse_sources
from headrace.loader import Loader
from headrace.manifest import SourceManifest

EPILOG = """examples:
  headrace bench web=/data/web:0.7 code=/data/code:0.3 --eos-id 0
  headrace bench /data/web --seq-len 8192 --outputs input_ids --json
"""


@dataclass(frozen=True, slots=True)
class Figures:
    """What one run measured; rates are medians over the rounds."""

    loader_tokens_per_s: float
    plain_read_tokens_per_s: float
    ratio: float
    "median over rounds of loader / plain read, each pair measured one after the other"
    cpu_ns_per_token: float
    "user and system time of the process"
    first_batch_s: float
    "from making the loader to its first batch"
    state_bytes: int
    tokens_in_sources: int
    rss_mib: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.description = "Measure the loader on your own shards, next to a plain memory-mapped read of the same bytes."
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_sources(parser)
    parser.add_argument("--seq-len", type=int, default=4096, help="tokens in a sequence (default: %(default)s)")
    parser.add_argument("--micro-batch", type=int, default=8, help="sequences in a batch (default: %(default)s)")
    parser.add_argument("--micro-batches", type=int, default=4, help="batches in a step (default: %(default)s)")
    parser.add_argument("--eos-id", type=int, default=None, help="separator put after each document (default: none)")
    parser.add_argument(
        "--outputs", default="input_ids,labels,position_ids", help="tensors to make (default: %(default)s)"
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a measurement (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of measurements (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Measure and print; returns the exit status."""
    sources = parse_sources(args.sources, args.column)
    figures = measure(
        sources,
        seq_len=args.seq_len,
        micro_batch=args.micro_batch,
        micro_batches=args.micro_batches,
        eos_id=args.eos_id,
        outputs=tuple(args.outputs.split(",")),
        seconds=args.seconds,
        rounds=args.rounds,
    )
    print(json.dumps(asdict(figures)) if args.json else _text(figures))
    return 0


def measure(
    sources: list[Source],
    *,
    seq_len: int,
    micro_batch: int,
    micro_batches: int,
    eos_id: int | None,
    outputs: tuple[str, ...],
    seconds: float,
    rounds: int,
    packing: str = "concat",
    vocab_size: int | None = None,
) -> Figures:
    """Time the loader and the plain read in turn, `rounds` times `seconds` each.

    Raises:
        ConfigError, SourceError, ShardError: as `Loader`.
    """
    unknown = [name for name in outputs if name not in OUTPUTS]
    if unknown:
        raise ConfigError(f"outputs holds {unknown[0]!r}; it may hold {', '.join(OUTPUTS)}")
    began = time.perf_counter()
    loader = Loader(
        sources,
        seq_len=seq_len,
        global_batch_size=micro_batch * micro_batches,
        micro_batch_size=micro_batch,
        seed=0,
        eos_id=eos_id,
        outputs=outputs,
        packing=packing,
        vocab_size=vocab_size,
        job=None,
        rank=0,
        world_size=1,
    )
    with loader:
        next(loader)
        first_batch = time.perf_counter() - began
        manifests = loader.manifests
        plain = _plain_reads(manifests, loader.weights_ppm, seq_len, micro_batch)

        def load() -> int:
            return next(loader).input_ids.numel()

        def read() -> int:
            return next(plain).numel()

        _rate(load, seconds / 2)
        _rate(read, seconds / 2)
        pairs, cpu = [], []
        for _ in range(rounds):
            before = _cpu_s()
            ours, tokens = _rate(load, seconds)
            cpu.append((_cpu_s() - before) / tokens * 1e9)
            pairs.append((ours, _rate(read, seconds)[0]))
        return Figures(
            loader_tokens_per_s=statistics.median(ours for ours, _ in pairs),
            plain_read_tokens_per_s=statistics.median(plain_read for _, plain_read in pairs),
            ratio=statistics.median(ours / plain_read for ours, plain_read in pairs),
            cpu_ns_per_token=statistics.median(cpu),
            first_batch_s=first_batch,
            state_bytes=len(json.dumps(loader.state_dict())),
            tokens_in_sources=sum(manifest.num_tokens for manifest in manifests),
            rss_mib=psutil.Process().memory_info().rss / 2**20,
        )


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


def _plain_reads(
    manifests: tuple[SourceManifest, ...], weights_ppm: dict[str, int], seq_len: int, micro_batch: int
) -> Iterator[torch.Tensor]:
    """Rows of `seq_len` tokens in random order, straight from the mapped files: int64 (micro_batch, seq_len).

    The least that any loader of these bytes must do. Files shorter than a row are left out.
    """
    rng = np.random.default_rng(0)
    mapped: list[list[npt.NDArray[np.integer]]] = []
    for manifest in manifests:
        files = [manifest.root / shard.path for shard in manifest.shards]
        width = manifest.token_dtype
        mapped.append([np.memmap(f, width, "r", shape=f.stat().st_size // width.itemsize) for f in files])
    shares = np.cumsum([weights_ppm[manifest.name] for manifest in manifests]) / 1e6
    long = [[tokens for tokens in files if len(tokens) > seq_len] for files in mapped]
    if not all(long):
        raise ConfigError(f"seq_len is {seq_len}; a source has no file that long: use a shorter one")
    while True:
        out = np.empty((micro_batch, seq_len), np.int64)
        for row, source in enumerate(np.searchsorted(shares, rng.random(micro_batch)).tolist()):
            choice = long[min(source, len(long) - 1)]
            tokens = choice[int(rng.integers(len(choice)))]
            begin = int(rng.integers(len(tokens) - seq_len))
            out[row] = tokens[begin : begin + seq_len]
        yield torch.from_numpy(out)


def _text(figures: Figures) -> str:
    rows = (
        ("loader", f"{figures.loader_tokens_per_s / 1e6:,.1f} M tokens/s"),
        ("plain memory-mapped read", f"{figures.plain_read_tokens_per_s / 1e6:,.1f} M tokens/s"),
        ("ratio", f"{figures.ratio:.3f}"),
        ("CPU time", f"{figures.cpu_ns_per_token:.2f} ns/token"),
        ("first batch", f"{figures.first_batch_s:.3f} s after the loader was made"),
        ("state", f"{figures.state_bytes:,} bytes"),
        ("data", f"{figures.tokens_in_sources:,} tokens"),
        ("memory", f"{figures.rss_mib:,.0f} MiB resident, mapped pages included"),
    )
    return "\n".join(f"{name:<26}{value}" for name, value in rows)
