"""A source of 10^7 blocks and 10^14 tokens, of which nothing is read: time and memory of start, plan and seek.

    python -m benchmarks.synthetic [--blocks 10000000]

Prints one JSON object. The manifest is made up, each block with counts of its own; what is timed begins where a start
has read its footers.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable

import numpy as np
from headrace.bench.memory import memory_now
from headrace.config import LoaderConfig, Source, parse_config
from headrace.data import Data, Listing
from headrace.exclusions import Exclusions
from headrace.legs import lay_out
from headrace.manifest import Shard, SourceManifest
from headrace.mix import PPM, Revision, weight_array
from headrace.places import parse_place
from headrace.plan import Position, plan_step
from headrace.replay import advance
from headrace.resume import beginning, holdings_of
from headrace.state import encode

BLOCKS_A_SHARD = 1000
BATCH = 1024
FAR_STEP = 50_000_000
"in the third epoch at the default size"


def made_up(num_blocks: int, num_tokens: int) -> SourceManifest:
    """A source of about `num_tokens` in `num_blocks` blocks of uneven sizes."""
    random = np.random.default_rng(0)
    mean = num_tokens // num_blocks
    tokens = random.integers(mean // 2, mean + mean // 2, num_blocks)
    num_shards = -(-num_blocks // BLOCKS_A_SHARD)
    shards = tuple(
        Shard(f"{number:06d}.arrow", 1 << 30, 1 << 20, number * BLOCKS_A_SHARD, BLOCKS_A_SHARD, 0, 50_000)
        for number in range(num_shards)
    )
    numbers = np.arange(num_blocks, dtype=np.int32)
    return SourceManifest(
        name="all",
        root=parse_place("/nowhere"),
        column="tokens",
        shards=shards,
        block_shard=numbers // BLOCKS_A_SHARD,
        block_index=numbers % BLOCKS_A_SHARD,
        block_documents=tokens // 1000 + 1,
        block_tokens=tokens,
        num_rows=int((tokens // 1000 + 1).sum()),
        num_empty=0,
        num_null=0,
        token_dtype=np.dtype(np.uint16),
        min_token=0,
        max_token=50_000,
        ignored=(),
        join_factor=1,
        fingerprint="0" * 32,
    )


def main() -> None:
    """Measure in this process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=10_000_000, help="blocks of the source (default: %(default)s)")
    parser.add_argument("--tokens", type=int, default=10**14, help="its tokens (default: %(default)s)")
    args = parser.parse_args()
    memory = memory_now()
    before = memory.own + memory.mapped
    manifest = made_up(args.blocks, args.tokens)
    config = parse_config(
        {
            "sources": [Source("all", "/nowhere")],
            "seq_len": 4096,
            "global_batch_size": BATCH,
            "micro_batch_size": 8,
            "seed": 1,
            "eos_id": 0,
        }
    )

    def timed(work: Callable[[], Position]) -> tuple[float, Position]:
        began = time.perf_counter()
        position = work()
        return time.perf_counter() - began, position

    held: list[Data] = []

    def start() -> Position:
        held.append(_data(config, manifest))
        return Position.start(1)

    start_s, position = timed(start)
    data = held[0]
    log = (Revision("config:1", 0, {"all": PPM}),)
    orders = data.orders()
    courses = data.courses(orders)

    def plan() -> Position:
        """A step as a rank plans it, and where the tokens of all its sequences lie."""
        made = plan_step(position, weight_array(log, position.step, config.names), BATCH, courses)
        orders[0].spans_of(made.ordinals)
        return made.after

    plan_s, position = timed(plan)
    next_s, position = timed(plan)
    seek_s, position = timed(lambda: advance(Position.start(1), log, config.names, config.batch_sizes, FAR_STEP))
    far_s, position = timed(plan)
    state = encode(config, position, log, beginning(data, log[0]), holdings_of(data, position))
    print(
        json.dumps(
            {
                "blocks": manifest.num_blocks,
                "tokens": manifest.num_tokens,
                "start_s": start_s,
                "first_plan_s": plan_s,
                "next_plan_s": next_s,
                "seek_s": seek_s,
                "plan_there_s": far_s,
                "all_s": start_s + plan_s + next_s + seek_s + far_s,
                "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before,
                "state_bytes": len(json.dumps(state)),
            }
        )
    )


def _data(config: LoaderConfig, manifest: SourceManifest) -> Data:
    listing = Listing(manifest, Exclusions(), manifest)
    records = (listing.whole_record(config.seq_len),)
    return Data(config, (listing,), {"all": PPM}, lay_out(config, 0, records, listing.view))


if __name__ == "__main__":
    main()
