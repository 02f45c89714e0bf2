"""An hour of random faults: `python -m tests.distributed.soak [--minutes 60] [--seed N]`, or `make soak`.

Round after round a job of one to four ranks, on one host or on two, goes on from the newest checkpoint, while ranks
and whole hosts are killed, links are cut and slowed, the control plane goes and comes, and the mix is changed from the
script and by REST. At the end every step's sequences, as delivered by the attempt that counts, are compared with those
of one process that made the same changes undisturbed. Prints the seed first and the counts last; exit status 1 if
anything was repeated or is missing. Hosts are network namespaces; where the kernel refuses those, all is on one host
without links.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import secrets
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from headrace.mix import Revision
from headrace.state import revisions_of

from tests.contract.control_plane import ControlPlane
from tests.distributed.agents import Node, nodes, until
from tests.distributed.network import DEVICE, Host, Switch, network
from tests.distributed.test_stream import WEIGHTS, expected, orders
from tests.distributed.torchrun import lines
from tests.kept_kernels import warm
from tests.loader.corpora import Corpus, random_corpus

MOST_CHANGES = 200
"so that a checkpoint's log holds them all, and what was delivered can be made again"
JOB = "soak"
START_S = 300

T = TypeVar("T")


class Hosts:
    """Where the job and the control plane run: on three hosts with links, or all on this one."""

    def __init__(self, wired: tuple[list[Host], Switch] | None) -> None:
        self._hosts, self.switch = wired or ([], None)

    @property
    def for_plane(self) -> dict[str, Any]:
        """Where the control plane is to be."""
        return {"host": self._hosts[2].address, "prefix": self._hosts[2].prefix} if self._hosts else {}

    def on_plane(self, function: Callable[[], T]) -> T:
        """Call what talks to the control plane."""
        return self._hosts[2].call(function) if self._hosts else function()

    def cut(self, number: int, seconds: float) -> None:
        """Take one of the job's hosts off the network for a while."""
        assert self.switch is not None
        self.switch.cut.add(self._hosts[number])
        time.sleep(seconds)
        self.switch.cut.clear()

    def start(self, folder: Path, size: int, split: bool, script: list[str], variables: dict[str, str]) -> list[Node]:
        """A job of so many ranks, on one host or, split, on two."""
        if not self._hosts:
            return [Node(folder / "log.txt", ["--standalone", f"--nproc-per-node={size}", *script], **variables)]
        first = self._hosts[0]
        shares = [1, size - 1] if split and size > 1 else [size]
        rendezvous = [f"--nnodes={len(shares)}", "--rdzv-backend=c10d", f"--rdzv-endpoint={first.address}:29400"]
        started = []
        for number, (host, share) in enumerate(zip(self._hosts, shares, strict=False)):
            own = [f"--nproc-per-node={share}", f"--local-addr={host.address}", "--rdzv-id=soak"]
            own.append(f"--rdzv-conf=is_host={int(host == first)}")
            cache = folder / f"cache-{number}"
            given = {**variables, "HEADRACE_CACHE": str(warm(cache)), "GLOO_SOCKET_IFNAME": DEVICE}
            log = folder / f"log-{number}.txt"
            started.append(Node(log, [*rendezvous, *own, *script], host.prefix, **given))
        return started


class Soak:
    """The job over all its rounds, and what it delivered."""

    def __init__(self, folder: Path, corpus: Corpus, plane: ControlPlane, dice: random.Random, hosts: Hosts) -> None:
        self.folder, self.corpus, self.plane, self.dice, self.hosts = folder, corpus, plane, dice, hosts
        self.counts: Counter[str] = Counter()
        self.delivered: dict[int, list[str]] = {}
        "step → hashes of its sequences, as delivered by the newest start that reached it"
        self.log: tuple[Revision, ...] = ()
        self.world_size = 0

    def round(self) -> None:
        """One start of the job, until it is killed or told to end."""
        dice = self.dice
        size, split = dice.randint(1, 4), dice.random() < 0.5
        self.counts["rescales"] += self.world_size not in (0, size)
        self.world_size = size
        first = len(self.delivered)
        given = orders(
            self.corpus,
            self.folder,
            10**9,
            all_reduce=True,
            resume=str(self.folder),
            naps_ms=[dice.choice((0, 5, 30)) for _ in range(size)],
            options={"uneven": "pad", "prefetch": dice.randint(0, 6)},
            weights_at=self.changes(first),
        )
        (self.folder / "orders.json").write_text(json.dumps(asdict(given)))
        script = ["--monitor-interval=0.1", "-m", "tests.distributed.scripts.stream", str(self.folder / "orders.json")]
        if self.hosts.switch is not None:
            self.hosts.switch.delay_s = dice.choice((0.0, 0.0, 0.02))
        with nodes() as running:
            begun = len(lines(self.folder / "starts.jsonl"))
            running.extend(self.hosts.start(self.folder, size, split, script, self.variables()))
            until(lambda: len(lines(self.folder / "starts.jsonl")) > begun, "started", running, START_S)
            until(lambda: bool(list(self.folder.glob("rank-0.jsonl"))), "took a step", running, START_S)
            for _ in range(dice.randint(1, 3)):
                time.sleep(dice.random() * 4)
                self.fault(len(running))
            self.end(running)
        self.take_in()

    def variables(self) -> dict[str, str]:
        cache = warm(self.folder / "cache")
        url, key = self.plane.url, self.plane.loader_key
        return {"HEADRACE_URL": url, "HEADRACE_TOKEN": key, "HEADRACE_JOB": JOB, "HEADRACE_CACHE": str(cache)}

    def changes(self, first: int) -> dict[str, tuple[dict[str, float], int]]:
        """Changes that the script makes in this round."""
        if len(self.log) > MOST_CHANGES or self.dice.random() < 0.5:
            return {}
        step = first + self.dice.randint(1, 40)
        return {str(step): (self.weights(), self.dice.choice((0, 0, 7)))}

    def weights(self) -> dict[str, float]:
        return {name: self.dice.randint(1, 9) for name in WEIGHTS}

    def fault(self, num_hosts: int) -> None:
        """The control plane goes for a while, a link is cut, or somebody edits the mix."""
        chance = self.dice.random()
        if chance < 0.3:
            self.plane.kill()
            time.sleep(self.dice.random() * 5)
            self.hosts.on_plane(self.plane.start)
            self.counts["outages"] += 1
        elif chance < 0.6 and self.hosts.switch is not None:
            self.hosts.cut(self.dice.randrange(num_hosts), self.dice.random() * 5)
            self.counts["cuts"] += 1
        elif len(self.log) <= MOST_CHANGES:
            weights, ramp_steps = self.weights(), self.dice.choice((0, 0, 12))
            self.hosts.on_plane(lambda: self.edit(weights, ramp_steps))

    def edit(self, weights: dict[str, float], ramp_steps: int) -> None:
        job = self.plane.job(JOB)
        if job is not None:
            self.plane.edit(job["id"], weights, ramp_steps=ramp_steps)

    def end(self, running: list[Node]) -> None:
        """Kill a rank, or a whole host, and then whatever is left."""
        node = self.dice.choice(running)
        ranks = [process for process in node.ranks() if "RANK" in process.environ()]
        if ranks and self.dice.random() < 0.7:
            self.dice.choice(ranks).kill()
            node.agent.wait(60)
        for node in running:
            node.kill()
        self.counts["kills"] += 1

    def take_in(self) -> None:
        """What the round delivered takes the place of what earlier ones delivered from its first step on."""
        start = lines(self.folder / "starts.jsonl")[-1]
        for step in [step for step in self.delivered if step >= start["step"]]:
            del self.delivered[step]
        states: dict[int, str] = {}
        for path in self.folder.glob("rank-*.jsonl"):
            for line in lines(path):
                self.delivered.setdefault(line["step"], []).extend(line["sequences"])
                assert states.setdefault(line["step"], line["state"]) == line["state"], "ranks differ in their states"
            path.unlink()
        self.counts["starts"] += 1
        saved = sorted(self.folder.glob("state-*.json"), key=lambda path: int(path.stem.partition("-")[2]))
        for path in saved[:-3]:
            path.unlink()
        if saved:
            state = json.loads(saved[-1].read_text())
            self.log = revisions_of(state)
            for step in [step for step in self.delivered if step >= state["step"]]:
                del self.delivered[step]  # not in a checkpoint: it is taken again

    def verdict(self) -> dict[str, Any]:
        """The counts, against the undisturbed stream."""
        steps = len(self.delivered)
        truth = expected(self.corpus, steps, self.log)
        found = [Counter(self.delivered.get(step, [])) for step in range(steps)]
        should = [Counter(step) for step in truth]
        return {
            "steps": steps,
            **{name: self.counts[name] for name in ("starts", "kills", "rescales", "outages", "cuts")},
            "mix_changes": len(self.log) - 1,
            "sequences": sum(map(Counter.total, found)),
            "repeated": sum((a - b).total() for a, b in zip(found, should, strict=True)),
            "missing": sum((b - a).total() for a, b in zip(found, should, strict=True)),
        }


def main() -> int:
    """Soak; 0 if every sequence was delivered once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    options = parser.parse_args()
    print(f"soak: --minutes {options.minutes:g} --seed {options.seed}", flush=True)
    deadline = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        (folder / "server").mkdir()
        os.environ.pop("HEADRACE_JOB", None)  # the undisturbed run is nobody's job
        corpus = random_corpus(folder / "corpus", {"web": 80, "code": 50, "tiny": 3}, mean=12)
        hosts = Hosts(wire(stack))
        plane = stack.enter_context(ControlPlane(folder / "server", **hosts.for_plane))
        soak = Soak(folder, corpus, plane, random.Random(options.seed), hosts)
        while time.monotonic() < deadline:
            soak.round()
            print(f"soak: step {len(soak.delivered)}, {dict(soak.counts)}", flush=True)
        counts = soak.verdict()
    print(json.dumps(counts), flush=True)
    return int(bool(counts["repeated"] or counts["missing"]))


def wire(stack: ExitStack) -> tuple[list[Host], Switch] | None:
    """Three hosts on a network; None, with the reason printed, where the kernel refuses them."""
    try:
        return stack.enter_context(network(3))
    except (OSError, subprocess.CalledProcessError) as refused:
        print(f"soak: no links to cut: the kernel refuses network namespaces or TAP devices: {refused}", flush=True)
        return None


if __name__ == "__main__":
    sys.exit(main())
