"""An hour of random faults: `python -m tests.distributed.soak [--minutes 60] [--seed N]`, or `make soak`.

Round after round a job of one to four ranks goes on from the newest checkpoint, while ranks and whole nodes are killed,
the control plane goes and comes, and the mix is changed from the script and by REST. At the end every step's sequences,
as delivered by the attempt that counts, are compared with those of one process that made the same changes undisturbed.
Prints the seed first and the counts last; exit status 1 if anything was repeated or is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import secrets
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headrace.cache import cache_root
from headrace.mix import Revision
from headrace.state import revisions_of

from tests.contract.control_plane import ControlPlane
from tests.distributed.agents import Node, nodes, until
from tests.distributed.test_stream import WEIGHTS, expected, orders
from tests.distributed.torchrun import lines
from tests.loader.corpora import Corpus, random_corpus

MOST_CHANGES = 200
"so that a checkpoint's log holds them all, and what was delivered can be made again"
JOB = "soak"


class Soak:
    """The job over all its rounds, and what it delivered."""

    def __init__(self, folder: Path, corpus: Corpus, plane: ControlPlane, dice: random.Random) -> None:
        self.folder, self.corpus, self.plane, self.dice = folder, corpus, plane, dice
        self.counts: Counter[str] = Counter()
        self.delivered: dict[int, list[str]] = {}
        "step → hashes of its sequences, as delivered by the newest start that reached it"
        self.log: tuple[Revision, ...] = ()
        self.world_size = 0

    def round(self) -> None:
        """One start of the job, until it is killed or told to end."""
        dice = self.dice
        size = dice.randint(1, 4)
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
        arguments = ["--standalone", f"--nproc-per-node={size}", "--monitor-interval=0.1"]
        arguments += ["-m", "tests.distributed.scripts.stream", str(self.folder / "orders.json")]
        with nodes() as running:
            running.append(Node(self.folder / "log.txt", arguments, **self.variables()))
            begun = len(lines(self.folder / "starts.jsonl"))
            until(lambda: len(lines(self.folder / "starts.jsonl")) > begun, "started", running)
            until(lambda: bool(list(self.folder.glob("rank-0.jsonl"))), "took a step", running)
            for _ in range(dice.randint(1, 3)):
                time.sleep(dice.random() * 4)
                self.fault()
            self.end(running[0])
        self.take_in()

    def variables(self) -> dict[str, str]:
        cache = self.folder / "cache"
        cache.mkdir(exist_ok=True)
        if not (cache / "kernels").exists():
            (cache / "kernels").symlink_to(cache_root() / "kernels")
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

    def fault(self) -> None:
        """The control plane goes for a while, or somebody edits the mix."""
        job = self.plane.job(JOB)
        if self.dice.random() < 0.5:
            self.plane.kill()
            time.sleep(self.dice.random() * 5)
            self.plane.start()
            self.counts["cuts"] += 1
        elif job is not None and len(self.log) <= MOST_CHANGES:
            self.plane.edit(job["id"], self.weights(), ramp_steps=self.dice.choice((0, 0, 12)))

    def end(self, node: Node) -> None:
        """Kill a rank, or the whole node."""
        ranks = [process for process in node.ranks() if "RANK" in process.environ()]
        if ranks and self.dice.random() < 0.7:
            self.dice.choice(ranks).kill()
            node.agent.wait(60)
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
            **{name: self.counts[name] for name in ("starts", "kills", "rescales", "cuts")},
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
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "server").mkdir()
        os.environ.pop("HEADRACE_JOB", None)  # the undisturbed run is nobody's job
        corpus = random_corpus(folder / "corpus", {"web": 80, "code": 50, "tiny": 3}, mean=12)
        with ControlPlane(folder / "server") as plane:
            soak = Soak(folder, corpus, plane, random.Random(options.seed))
            while time.monotonic() < deadline:
                soak.round()
                print(f"soak: step {len(soak.delivered)}, {dict(soak.counts)}", flush=True)
        counts = soak.verdict()
    print(json.dumps(counts), flush=True)
    return int(bool(counts["repeated"] or counts["missing"]))


if __name__ == "__main__":
    sys.exit(main())
