"""`make bench`: one loader in one process, next to a plain memory-mapped read of the same bytes in the same run.

Prints a row for each set of outputs and packing; with `--json` one JSON object a row. The corpus (about 200 MB) is made
once, under the cache.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from headrace.bench.measure import measure
from headrace.bench.workload import Workload
from headrace.cache import cache_root
from headrace.config import Source

from benchmarks.corpus import VOCAB_SIZE, WEIGHTS, make_corpus

CASES = (
    ("rows only", 1000, "concat", ("input_ids",)),
    ("labels, positions", 1000, "concat", ("input_ids", "labels", "position_ids")),
    ("best fit, labels, positions", 1000, "best_fit", ("input_ids", "labels", "position_ids")),
    ("documents of 100 tokens", 100, "concat", ("input_ids", "labels", "position_ids")),
)
"""Name, mean tokens of a document, packing, outputs."""


def main() -> None:
    """Measure every case, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=100_000_000, help="size of the corpus (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=1.5, help="length of a measurement (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of measurements (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    if not args.json:
        print(f"{'case':<30}{'loader':>12}{'plain read':>12}{'ratio':>8}{'CPU ns/token':>14}   (M tokens/s)")
    for name, mean, packing, outputs in CASES:
        folder = cache_root() / "bench" / f"{args.tokens}-{mean}"
        make_corpus(folder, num_tokens=args.tokens, mean_tokens=mean)
        workload = Workload(
            sources=tuple(Source(source, str(folder / source), weight) for source, weight in WEIGHTS.items()),
            micro_batches=8,
            eos_id=0,
            outputs=outputs,
            packing=packing,
            vocab_size=VOCAB_SIZE,
        )
        figures = measure(workload, seconds=args.seconds, rounds=args.rounds)
        if args.json:
            print(json.dumps({"case": name, **asdict(figures)}))
        else:
            ours, plain = figures.loader_tokens_per_s / 1e6, figures.plain_read_tokens_per_s / 1e6
            print(f"{name:<30}{ours:>12,.1f}{plain:>12,.1f}{figures.ratio:>8.3f}{figures.cpu_ns_per_token:>14.2f}")


if __name__ == "__main__":
    main()
