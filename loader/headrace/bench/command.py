"""The command line of `headrace bench`."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from headrace.bench.measure import measure
from headrace.bench.report import as_text
from headrace.bench.workload import Workload
from headrace.config import OUTPUTS
from headrace.errors import ConfigError
from headrace.given import add_sources, parse_sources

EPILOG = """examples:
  headrace bench web=/data/web:0.7 code=/data/code:0.3 --eos-id 0
  headrace bench /data/web --seq-len 8192 --outputs input_ids --json
  headrace bench /data/web --packing best_fit --step-time 0.4
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.description = (
        "Measure the loader on your own shards: tokens a second next to a plain read of the same bytes (for Parquet,\n"
        "to pyarrow decoding them), waiting, start-up, resume, memory. One process, as one rank would be."
    )
    parser.epilog = EPILOG
    add_sources(parser)
    parser.add_argument("--seq-len", type=int, default=4096, help="tokens in a sequence (default: %(default)s)")
    parser.add_argument("--micro-batch", type=int, default=8, help="sequences in a batch (default: %(default)s)")
    parser.add_argument("--micro-batches", type=int, default=4, help="batches in a step (default: %(default)s)")
    parser.add_argument("--eos-id", type=int, default=None, help="separator put after each document (default: none)")
    parser.add_argument("--packing", default="concat", help="concat or best_fit (default: %(default)s)")
    parser.add_argument(
        "--outputs", default="input_ids,labels,position_ids", help="tensors to make (default: %(default)s)"
    )
    parser.add_argument(
        "--step-time", type=float, help="seconds that training spends on a step (default: 1 M tokens/s)"
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a measurement (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of measurements (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Measure and print; returns the exit status."""
    for name, value in (("--seconds", args.seconds), ("--rounds", args.rounds), ("--step-time", args.step_time)):
        if value is not None and not value > 0:
            raise ConfigError(f"{name} is {value}; it must be above 0")
    outputs = tuple(args.outputs.split(","))
    unknown = [name for name in outputs if name not in OUTPUTS]
    if unknown:
        raise ConfigError(f"--outputs holds {unknown[0]!r}; it may hold {', '.join(OUTPUTS)}")
    workload = Workload(
        sources=tuple(parse_sources(args.sources, args.column)),
        seq_len=args.seq_len,
        micro_batch=args.micro_batch,
        micro_batches=args.micro_batches,
        eos_id=args.eos_id,
        outputs=outputs,
        packing=args.packing,
    )
    figures = measure(workload, seconds=args.seconds, rounds=args.rounds, step_s=args.step_time)
    print(json.dumps(asdict(figures)) if args.json else as_text(figures))
    return 0
