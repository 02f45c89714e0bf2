"""`python -m benchmarks.throughput`: one loader in one process, next to a plain read of the same bytes in the same run.

The plain read copies rows from random places of the mapped files; of Parquet, pyarrow decodes random row groups on one
thread. Prints a row for each set of outputs, packing and format; with `--json` one JSON object a row. The corpora
(about 600 MB) are made once, under the cache.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import asdict

from headrace.bench.measure import measure_rates
from headrace.bench.workload import Workload
from headrace.cache import cache_root
from headrace.config import Source

from benchmarks.corpus import VOCAB_SIZE, WEIGHTS, make_corpus

ALL = ("input_ids", "labels", "position_ids")

CASES = (
    ("rows only", 1000, "arrow", "concat", ("input_ids",)),
    ("labels, positions", 1000, "arrow", "concat", ALL),
    ("best fit, labels, positions", 1000, "arrow", "best_fit", ALL),
    ("documents of 100 tokens", 100, "arrow", "concat", ALL),
    ("Parquet (zstd)", 1000, "parquet", "concat", ALL),
)
"""Name, mean tokens of a document, format, packing, outputs."""


def main(arguments: list[str] | None = None) -> None:
    """Measure every case, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=100_000_000, help="size of the corpus (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=1.5, help="length of a measurement (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of measurements (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(arguments)
    if not args.json:
        print(f"{'case':<30}{'loader':>12}{'plain read':>12}{'ratio':>8}{'CPU ns/token':>14}   (M tokens/s)")
    for name, mean, extension, packing, outputs in CASES:
        folder = cache_root() / "bench" / f"{args.tokens}-{mean}{'' if extension == 'arrow' else '-' + extension}"
        make_corpus(folder, num_tokens=args.tokens, mean_tokens=mean, extension=extension)
        workload = Workload(
            sources=tuple(Source(source, str(folder / source), weight) for source, weight in WEIGHTS.items()),
            micro_batches=8,
            eos_id=0,
            outputs=outputs,
            packing=packing,
            vocab_size=VOCAB_SIZE,
        )
        with workload.loader() as loader:
            next(loader)
            rates = measure_rates(loader, workload, seconds=args.seconds, rounds=args.rounds)
        if args.json:
            print(json.dumps({"case": name, **asdict(rates)}))
            continue
        ours, plain = rates.loader_tokens_per_s / 1e6, (rates.plain_read_tokens_per_s or math.nan) / 1e6
        ratio, cpu_ns = rates.ratio or math.nan, rates.cpu_ns_per_token
        print(f"{name:<30}{ours:>12,.1f}{plain:>12,.1f}{ratio:>8.3f}{cpu_ns:>14.2f}", flush=True)


if __name__ == "__main__":
    main()
