"""Two ranks that are given different things, one after the other. Argument: a file of {folder, corpus, state}.

Each rank writes the message of each refusal to `<folder>/rank-<rank>.jsonl`.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch.distributed as dist
from headrace import AgreementError, ConfigError, Loader, Source

OPTIONS: dict[str, Any] = {"seq_len": 16, "global_batch_size": 8, "micro_batch_size": 2, "seed": 1, "eos_id": 0}


def write_down(folder: Path, case: str, message: str) -> None:
    with (folder / f"rank-{dist.get_rank()}.jsonl").open("a") as file:
        file.write(json.dumps({"case": case, "message": message}) + "\n")


def main() -> None:
    orders = json.loads(Path(sys.argv[1]).read_text())
    corpus, state = Path(orders["corpus"]), json.loads(Path(orders["state"]).read_text())
    dist.init_process_group("gloo")
    second = dist.get_rank() == 1
    note = partial(write_down, Path(orders["folder"]))
    try:
        Loader([Source("web", str(corpus / "web"))], **OPTIONS | {"global_batch_size": 6})
    except ConfigError as error:
        note("world size", str(error))
    for case in ("seed", "weights", "data", "mix_lease_steps", "batch", "epochs", "checkpoint", "nothing"):
        options = dict(OPTIONS)
        weight, folder = 0.5, "web"
        if second:
            options |= {"seed": {"seed": 2}, "mix_lease_steps": {"mix_lease_steps": 4}}.get(case, {})
            options |= {"micro_batch_size": 1} if case == "batch" else {}
            options |= {"epochs": 3} if case == "epochs" else {}
            weight = 0.25 if case == "weights" else weight
            folder = "code" if case == "data" else folder
        sources = [Source("web", str(corpus / folder), weight), Source("code", str(corpus / "code"), 0.5)]
        with Loader(sources, **options) as loader:
            if case == "checkpoint" and second:
                loader.load_state_dict(state)
            try:
                next(loader)
                message = ""
            except AgreementError as error:
                message = str(error)
        note(case, message)
        dist.barrier()
    dist.destroy_process_group()


main()
