"""A training run for the browser tests, started by torchrun: the real loader, reporting live; a sleep for a model.

Arguments: the folder of the corpus, seconds a step. The service and the job's name come from the environment. It runs
until it is stopped.
"""

import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from headrace import Batch, Loader, Source

from tests.e2e.corpus import EOS_ID, VOCAB_SIZE, WEIGHTS

SEQ_LEN = 64
GLOBAL_BATCH = 8


def pretended_losses(batch: Batch) -> torch.Tensor:
    """float32 (micro_batch,): falls with the step, differs by source, a little noisy."""
    falling = 3.0 / (1.0 + batch.step / 50)
    return 2.0 + batch.source.float() / 2 + falling + torch.rand(len(batch.source)) / 5


def main(corpus: Path, step_s: float) -> None:
    """Take batches for ever."""
    dist.init_process_group("gloo")
    loader = Loader(
        [Source(name, str(corpus / name), weight=weight) for name, weight in WEIGHTS.items()],
        seq_len=SEQ_LEN,
        global_batch_size=GLOBAL_BATCH,
        micro_batch_size=GLOBAL_BATCH // 2,
        seed=1234,
        eos_id=EOS_ID,
        vocab_size=VOCAB_SIZE,
        total_steps=20_000,
    )
    for batch in loader:
        time.sleep(step_s)
        loader.observe(batch, pretended_losses(batch))


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
