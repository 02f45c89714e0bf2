"""A rank that takes steps as its orders say and writes down what it got. Argument: the file of orders."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from headrace import Batch, Loader, Source
from torch import nn
from torch.distributed import PrefixStore, TCPStore  # type: ignore[attr-defined]
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import async_save, save
from torch.distributed.device_mesh import init_device_mesh

from tests.distributed.torchrun import Orders


def short(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def newest(path: Path) -> Path | None:
    """A state file, or the one of the highest step in a folder."""
    if not path.is_dir():
        return path
    return max(path.glob("state-*.json"), key=lambda file: int(file.stem.partition("-")[2]), default=None)


class Trained:
    """A model and its optimiser, whose parameters are the number of steps they were trained for."""

    def __init__(self) -> None:
        self.model = nn.Linear(1, 1, bias=False)
        nn.init.zeros_(self.model.weight)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1.0, momentum=0.5)
        self.group = dist.new_group()
        self.saving: list[Any] = []

    @property
    def steps(self) -> float:
        return float(self.model.weight.item())

    def step(self) -> None:
        """One more step."""
        with torch.no_grad():
            self.model.weight += 1

    def save(self, loader: Loader, path: Path, how: str) -> None:
        """Write a checkpoint of all three, or begin to."""
        state = {**self._state(), "loader": loader}
        if how == "async_save":
            self.saving.append(async_save(state, checkpoint_id=path, process_group=self.group))
        else:
            save(state, checkpoint_id=path)

    def saved(self) -> None:
        """Wait until all of them are written."""
        for future in self.saving:
            future.result()

    def load(self, loader: Loader, path: str) -> None:
        """Take over a checkpoint. The loader has not started: its `state_dict` is the template."""
        state = self._state()
        load({**state, "loader": loader}, checkpoint_id=path)
        set_state_dict(self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
        assert self.steps == loader.step

    def _state(self) -> dict[str, Any]:
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer}


class Rank:
    """This process and its loader."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        self.rank = dist.get_rank()
        self.folder = Path(orders.folder)
        self.first_attempt = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
        options: dict[str, Any] = {"seq_len": 16, "global_batch_size": 8, "micro_batch_size": 2, "seed": 1, "eos_id": 0}
        options |= orders.options | orders.rank_options.get(str(self.rank), {})
        if orders.peers > 1:
            options |= {"dp_rank": self.rank // orders.peers, "dp_size": dist.get_world_size() // orders.peers}
        if orders.mesh:
            size = dist.get_world_size() // orders.peers
            options["mesh"] = init_device_mesh("cpu", (size, orders.peers), mesh_dim_names=("dp", "tp"))["dp"]
        self.loader = Loader([Source(*source) for source in orders.sources], **options)
        saved = newest(Path(orders.resume)) if orders.resume else None
        if saved is not None:
            self.loader.load_state_dict(json.loads(saved.read_text()))
        self.trained = Trained()
        if orders.load is not None:
            self.trained.load(self.loader, orders.load)
        started = [time.time_ns()]
        dist.broadcast_object_list(started)
        self.start = started[0]
        if self.rank == 0:
            with (self.folder / "starts.jsonl").open("a") as file:
                line = {"start": self.start, "world_size": dist.get_world_size(), "step": self.loader.step}
                file.write(json.dumps(line) + "\n")
        self.file = (self.folder / f"rank-{self.rank}.jsonl").open("a")
        self.dice = random.Random(self.rank)
        self.batches: list[Batch] = []

    def run(self) -> None:
        """Take every step."""
        while self.loader.step < self.orders.num_steps:
            self.before_step()
            for batch in self.loader:
                self.batches.append(batch)
                dying = self.orders.kill.get(str(self.rank)) == batch.step and self.first_attempt
                if dying and batch.micro_step == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                if batch.last_of_step:
                    self.end_step()
                    every = self.orders.leave_every
                    if self.loader.step == self.orders.num_steps or (every and self.loader.step % every == 0):
                        break
                    self.before_step()

    def before_step(self) -> None:
        while self.rank == 0 and self.loader.step in self.orders.hold_at and not self.may_go():
            time.sleep(0.05)
        change = self.orders.weights_at.get(str(self.loader.step))
        if change is not None:
            self.loader.set_weights(change[0], ramp_steps=change[1])

    def may_go(self) -> bool:
        return (self.folder / f"go-{self.loader.step}").exists()

    def end_step(self) -> None:
        """Write down the step and the state after it; rank 0's state is a checkpoint."""
        state = self.loader.state_dict()
        whole = b"".join(t.numpy().tobytes() for b in self.batches for t in (b.input_ids, b.labels) if t is not None)
        line = {
            "start": self.start,
            "step": self.batches[-1].step,
            "sequences": [short(row.numpy().tobytes()) for b in self.batches for row in b.input_ids[b.source >= 0]],
            "whole": short(whole),
            "state": json.dumps(state),
        }
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()
        self.batches.clear()
        self.trained.step()
        how = self.orders.save_at.get(str(self.loader.step))
        if how is not None:
            self.trained.save(self.loader, self.folder / str(self.loader.step), how)
        if self.orders.all_reduce:
            dist.all_reduce(torch.ones(1))
        if self.rank == 0:
            part = self.folder / "state.part"
            part.write_text(json.dumps(state))
            part.rename(self.folder / f"state-{state['step']}.json")
        if self.orders.naps_ms:
            time.sleep(self.dice.random() * self.orders.naps_ms[self.rank] / 1000)


def join() -> None:
    """Make the process group, in a store that outlives a restart under a prefix: torch trips over what is in it."""
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    if attempt == "0" or os.environ["TORCHELASTIC_USE_AGENT_STORE"] == "False":
        dist.init_process_group("gloo")
        return
    store = TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", store=PrefixStore(attempt, store), rank=rank, world_size=world_size)


def main() -> None:
    orders = Orders(**json.loads(Path(sys.argv[1]).read_text()))
    join()
    rank = Rank(orders)
    with rank.loader:
        rank.run()
        rank.trained.saved()
        dist.barrier()
    dist.destroy_process_group()


main()
