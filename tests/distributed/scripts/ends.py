"""Ranks that don't end together, one way after the other. Argument: a file of {folder, corpus}.

Each rank writes what happened to `<folder>/rank-<rank>.jsonl`. The last way is data that one of them can't use, raised
out of the script while the other waits in a collective.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from headrace import AgreementError, Loader, Source

OPTIONS: dict[str, Any] = {"seq_len": 16, "global_batch_size": 8, "micro_batch_size": 2, "seed": 1, "eos_id": 0}


@contextmanager
def noted(folder: Path, case: str) -> Iterator[None]:
    """Write down how the block ended, and when."""
    message = ""
    try:
        yield
    except AgreementError as error:
        message = str(error)
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        raise
    finally:
        with (folder / f"rank-{dist.get_rank()}.jsonl").open("a") as file:
            file.write(json.dumps({"case": case, "message": message, "at": time.time()}) + "\n")


def take(loader: Loader, num_steps: int, *, together: bool = False) -> None:
    """Train so many steps; `together`: as DDP does, with a collective in each."""
    while loader.step < num_steps:
        batch = next(loader)
        if together and batch.last_of_step:
            dist.all_reduce(torch.ones(1))


def main() -> None:
    orders = json.loads(Path(sys.argv[1]).read_text())
    folder, corpus = Path(orders["folder"]), Path(orders["corpus"])
    dist.init_process_group("gloo")
    leader = dist.get_rank() == 0
    for case, steps in (("follower first", (40, 5)), ("leader first", (5, 40))):
        with noted(folder, case), Loader([Source("web", str(corpus / "web"))], **OPTIONS) as loader:
            take(loader, steps[not leader])
        dist.barrier()
    with (
        noted(folder, "unusable"),
        Loader([Source("bad", str(corpus / "bad"))], vocab_size=60_000, **OPTIONS) as loader,
    ):
        take(loader, 1_000, together=True)


main()
