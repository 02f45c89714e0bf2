"""A plain `torchrun` script with Headrace in it: DDP over gloo, AdamW with warm-up, checkpoints, resume, validation.

    torchrun --standalone --nproc-per-node 2 train.py --corpus CORPUS --out OUT --steps 200 [--job NAME] [--resume]

It needs nothing from the demo but the corpus and the model. What Headrace adds to a script is marked in `train`: make a
`Loader`, iterate it, `observe` losses, and put its state beside the model's. With `--job` it reports to the control
plane of HEADRACE_URL and HEADRACE_TOKEN, and follows the mix that is edited there.

In OUT: `checkpoint.pt`, and what `record` writes. SIGINT and SIGTERM end it after the step under way, on all ranks
alike, with a checkpoint.
"""

from __future__ import annotations

import argparse
import signal
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from headrace import Batch, Loader, Source
from headrace.demo.corpus import Corpus, load
from headrace.demo.model import GPT, GPTConfig, sequence_losses
from headrace.demo.record import Record
from headrace.errors import ConfigError

WEIGHTS = {"code": 0.5, "prose": 0.3, "legal": 0.2}
SEQ_LEN = 128
GLOBAL_BATCH = 16
LEARNING_RATE = 3e-3
WARMUP_STEPS = 20
VALIDATION_STEPS = 2
"global batches of each source that the held-back loss is taken of"


def main(argv: Sequence[str] | None = None) -> None:
    """Train as the arguments say; the last line on standard output is the run's result."""
    options = parse(argv)
    corpus = load(options.corpus)
    if corpus is None:
        raise ConfigError(f"--corpus is {options.corpus}; there is no complete corpus there: run `headrace demo` once")
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    dist.init_process_group("gloo")
    try:
        train(options, corpus)
    finally:
        dist.destroy_process_group()


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The options of this script."""
    parser = argparse.ArgumentParser(allow_abbrev=False, description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--corpus", type=Path, required=True, help="folder that `headrace demo` prepared")
    parser.add_argument("--out", type=Path, required=True, help="folder for checkpoint and records")
    parser.add_argument("--steps", type=int, required=True, help="train up to this step")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--job", help="name in the control plane; none: train without it")
    parser.add_argument("--checkpoint-every", type=int, default=100, metavar="STEPS")
    parser.add_argument("--resume", action="store_true", help="go on from OUT/checkpoint.pt where there is one")
    return parser.parse_args(argv)


def train(options: argparse.Namespace, corpus: Corpus) -> None:
    """The training loop of one rank."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    model = DistributedDataParallel(GPT(GPTConfig(vocab_size=corpus.vocab_size, seq_len=SEQ_LEN)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.95), weight_decay=0.01)
    stop = StopSignal()
    with make_loader(corpus, "train", world_size, options) as loader, Record(options.out, rank) as record:  # Headrace
        if options.resume:
            restore(options.out / "checkpoint.pt", model, optimizer, loader)
        loss_of_step = torch.zeros(())
        while loader.step < options.steps and not stop.agreed:
            batch = next(loader)  # Headrace; `for batch in loader` where nothing else ends the loop
            with whole_step_only(model, batch):
                losses = losses_of(model, batch)
                (losses.sum() * world_size / GLOBAL_BATCH).backward()  # type: ignore[no-untyped-call]
            loader.observe(batch, losses)  # Headrace
            record.count(batch)
            loss_of_step = loss_of_step + losses.detach().sum() / GLOBAL_BATCH
            if batch.last_of_step:
                take_step(model, optimizer, batch.step)
                record.step(loader, batch.step, over_ranks(loss_of_step, stop))
                loss_of_step = torch.zeros(())
                if stop.agreed or loader.step % options.checkpoint_every == 0 or loader.step == options.steps:
                    save(options.out / "checkpoint.pt", model, optimizer, loader)
        validation = {} if stop.agreed else validate(model, corpus, world_size, options)
        record.result(validation, GLOBAL_BATCH * SEQ_LEN)


def make_loader(corpus: Corpus, part: str, world_size: int, options: argparse.Namespace) -> Loader:
    """The loader of `part` of the corpus, `train` or `validation`; only training reports to the control plane."""
    folder = corpus.train if part == "train" else corpus.validation
    return Loader(
        [Source(name, str(folder(name)), weight=weight) for name, weight in WEIGHTS.items()],
        seq_len=SEQ_LEN,
        global_batch_size=GLOBAL_BATCH,
        micro_batch_size=min(8, GLOBAL_BATCH // world_size),
        seed=options.seed,
        eos_id=corpus.eos_id,
        vocab_size=corpus.vocab_size,
        total_steps=options.steps if part == "train" else None,
        job=options.job if part == "train" else None,
    )


def losses_of(model: nn.Module, batch: Batch) -> torch.Tensor:
    """The loss of each sequence: float32 (micro_batch,)."""
    assert batch.position_ids is not None and batch.labels is not None, "the loader's default outputs have both"
    return sequence_losses(model(batch.input_ids, batch.position_ids), batch.labels)


def take_step(model: nn.Module, optimizer: torch.optim.Optimizer, step: int) -> None:
    """Clip and apply the gradients. The learning rate follows from the step alone, so no checkpoint needs it."""
    for group in optimizer.param_groups:
        group["lr"] = LEARNING_RATE * min(1.0, (step + 1) / WARMUP_STEPS)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


def whole_step_only(model: DistributedDataParallel, batch: Batch) -> AbstractContextManager[None]:
    """Average gradients over ranks once a step, on its last micro-batch."""
    return nullcontext() if batch.last_of_step else model.no_sync()


def over_ranks(loss: torch.Tensor, stop: StopSignal) -> float:
    """The loss summed over all ranks; whether any of them was asked to stop goes along, so that all stop alike."""
    both = torch.stack([loss.double(), torch.tensor(float(stop.wanted), dtype=torch.float64)])
    dist.all_reduce(both)
    stop.agreed = both[1].item() > 0
    return both[0].item()


def save(path: Path, model: DistributedDataParallel, optimizer: torch.optim.Optimizer, loader: Loader) -> None:
    """Write the checkpoint, on rank 0 only: the loader's state is the same on every rank."""
    if dist.get_rank() == 0:
        part = path.with_suffix(".part")
        state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "loader": loader.state_dict()}
        torch.save(state, part)
        part.replace(path)


def restore(path: Path, model: DistributedDataParallel, optimizer: torch.optim.Optimizer, loader: Loader) -> None:
    """Go on from the checkpoint at `path`, where there is one, at any world size."""
    if path.exists():
        state = torch.load(path, weights_only=True)
        model.module.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        loader.load_state_dict(state["loader"])


@torch.no_grad()
def validate(
    model: DistributedDataParallel, corpus: Corpus, world_size: int, options: argparse.Namespace
) -> dict[str, float]:
    """Mean loss of held-back sequences by source: the same sequences at any world size."""
    sums = torch.zeros(2, len(WEIGHTS), dtype=torch.float64)
    with make_loader(corpus, "validation", world_size, options) as loader:
        while loader.step < VALIDATION_STEPS:
            batch = next(loader)
            losses = losses_of(model.module, batch)
            sums[0].index_add_(0, batch.source, losses.double())
            sums[1].index_add_(0, batch.source, torch.ones_like(losses, dtype=torch.float64))
    dist.all_reduce(sums)
    means = (sums[0] / sums[1].clamp(min=1)).tolist()
    return {name: round(mean, 4) for name, mean in zip(WEIGHTS, means, strict=True)}


class StopSignal:
    """Remembers that SIGINT or SIGTERM came: `wanted` on this rank, `agreed` once every rank knows."""

    def __init__(self) -> None:
        self.wanted = False
        self.agreed = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._remember)

    def _remember(self, number: int, frame: object) -> None:
        self.wanted = True


if __name__ == "__main__":
    main()
