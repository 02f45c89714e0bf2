"""A rank of a job that reports live; writes what it saw of every step to `<folder>/rank-<rank>.json`.

Arguments: corpus, folder, number of steps, seconds a step, and `together` for a collective in each step, as in DDP. The
control plane comes from the environment.
"""

import json
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from headrace import Loader, Source
from headrace.state import revisions_of

from tests.e2e.corpus import EOS_ID, VOCAB_SIZE, WEIGHTS


def main() -> None:
    corpus, folder, num_steps, step_s = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    together = "together" in sys.argv
    dist.init_process_group("gloo")
    seen: list[dict[str, object]] = []
    with Loader(
        [Source(name, corpus / name, weight) for name, weight in WEIGHTS.items()],
        seq_len=64,
        global_batch_size=16,
        micro_batch_size=4,
        seed=7,
        eos_id=EOS_ID,
        vocab_size=VOCAB_SIZE,
    ) as loader:
        sources: list[int] = []
        while loader.step < num_steps:
            began = time.perf_counter()
            batch = next(loader)
            loader.observe(batch, torch.rand(4))
            waited = time.perf_counter() - began
            sources += batch.source.tolist()
            if batch.last_of_step:
                if together:
                    dist.all_reduce(torch.ones(1))
                counts = [sources.count(k) for k in range(len(WEIGHTS))]
                seen.append({"step": batch.step, "at": time.time(), "loop_s": waited, "counts": counts})
                sources = []
                time.sleep(step_s)
        state = loader.state_dict()
    log = [(revision.id, revision.from_step) for revision in revisions_of(state)]
    result = {"seen": seen, "log": log, "counts": json.loads(state["counts"])}
    (folder / f"rank-{dist.get_rank()}.json").write_text(json.dumps(result))
    dist.destroy_process_group()


main()
