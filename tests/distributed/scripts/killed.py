"""A rank of a plain job, without an agent: takes steps at its own pace for ever. Arguments: rank, folder, source.

Writes `rank-<rank>.json` after each step, and to `error-<rank>.txt` what ended it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import torch.distributed as dist
from headrace import Loader, Source


def main() -> None:
    rank, folder, source = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    dist.init_process_group("gloo", rank=rank, world_size=2)
    loader = Loader(
        [Source("web", source)], seq_len=16, global_batch_size=8, micro_batch_size=2, seed=1, eos_id=0, job=None
    )
    try:
        for batch in loader:
            if batch.last_of_step:
                (folder / f"rank-{rank}.tmp").write_text(json.dumps({"step": batch.step, "at": time.time()}))
                (folder / f"rank-{rank}.tmp").replace(folder / f"rank-{rank}.json")
                time.sleep(0.05)
    except Exception as error:
        (folder / f"error-{rank}.txt").write_text(f"{type(error).__name__}: {error}")
        os._exit(3)  # the process group of a job that lost its store can't be ended in order


if __name__ == "__main__":
    main()
