"""The stages of a demo run, from starting the control plane to what the run showed. Usable one by one.

Everything that is started here belongs to a `Children` block and ends with it.
"""

from __future__ import annotations

import json
import sys
import time
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

import torch

from headrace.cache import cache_root
from headrace.demo import control
from headrace.demo.children import Child, Children, clean_environment
from headrace.demo.corpus import Corpus, load, prepare
from headrace.demo.gather import Machine
from headrace.demo.locks import run_folder
from headrace.demo.outcome import Ranks, rescaled, summary
from headrace.demo.record import StepRecord, read_ranks, read_result
from headrace.demo.surroundings import box, can_open_browser, free_port
from headrace.demo.train import GLOBAL_BATCH
from headrace.errors import ConfigError

POLL_S: Final = 0.2
RECORD_S: Final = 5.0
"how long the last change may take to reach the control plane after the training's end"

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What to run."""

    steps: int
    "in this run"
    ranks: int = 2
    rescale: int | None = None
    "ranks of the second half of the steps, which goes on from the first half's checkpoint; None: no second half"
    seed: int = 0
    port: int | None = None
    "None: 8400 if it is free, else any; 0: any"
    keep: bool = False
    "share database, login and checkpoint with other kept runs"
    edit_at: int | None = None
    "steps of this run after which to change the mix"
    ends: bool = False
    "end when the training does; otherwise stay till interrupted"
    browser: bool = False
    ready_file: Path | None = None
    "where to write url, username, password and job as JSON once training runs"


@dataclass(frozen=True, kw_only=True)
class Running:
    """A training run under way, beside its control plane."""

    options: Options
    ranks: int
    folder: Path
    plane: control.Plane
    operator: control.Operator
    training: Child
    job: str
    "its id"

    @property
    def out(self) -> Path:
        """Where the training script writes."""
        return self.folder / "training"


def demo(options: Options, say: Say) -> dict[str, Any]:
    """Run it; what `outcome.summary` makes of it. Without `options.ends` it stays, and only an interrupt ends it.

    Raises:
        HeadraceError: something that it started failed, or did not do what it should; everything has ended.
    """
    root = cache_root() / "demo"
    with run_folder(root / "runs", keep=options.keep) as folder, Children(folder) as children:
        say("demo: starting the control plane")
        plane = control.start(children, folder / "server", free_port(options.port))
        say(
            box(
                [
                    "Headrace",
                    "",
                    f"open      {plane.url}",
                    f"sign in   {plane.access.username}   {plane.access.password}",
                ]
            )
        )
        corpus = find_corpus(folder, root, options, say)
        with control.Operator(plane) as operator:
            first = options.steps if options.rescale is None else options.steps // 2

            def train(ranks: int, steps: int) -> Running:
                return start_training(children, plane, operator, corpus, folder, options, say, ranks=ranks, steps=steps)

            running = train(options.ranks, first)
            announce(running, say)
            follow(running, options.edit_at, say)
            before: Ranks = {}
            if options.rescale is not None:
                before = read_ranks(running.out, options.ranks)
                running = train(options.rescale, options.steps - first)
                follow(running, None, say)
            result = outcome(running)
            if before:
                result["rescale"] = rescaled(before, read_ranks(running.out, running.ranks), GLOBAL_BATCH)
            if not options.ends:
                say(json.dumps(result))
                say("demo: training has ended; the dashboard stays till Ctrl-C")
                stay(plane)
        return result


def find_corpus(folder: Path, root: Path, options: Options, say: Say) -> Corpus:
    """This machine's corpus; for a kept run that goes on, the one that it began with, as its checkpoint is of that.

    Raises:
        ConfigError: that one is gone.
    """
    link = folder / "corpus"
    if (folder / "training" / "checkpoint.pt").exists():
        corpus = load(link.resolve())
        if corpus is None:
            raise ConfigError(f"the kept run's corpus, {link.resolve()}, is gone; remove {folder} to start afresh")
        return corpus
    corpus = prepare(root, Machine.here(), say)
    if options.keep:
        link.unlink(missing_ok=True)
        link.symlink_to(corpus.folder)
    return corpus


def start_training(
    children: Children,
    plane: control.Plane,
    operator: control.Operator,
    corpus: Corpus,
    folder: Path,
    options: Options,
    say: Say,
    *,
    ranks: int,
    steps: int,
) -> Running:
    """Launch the training script with `torchrun`, for `steps` more, and wait till the control plane knows its job.

    The key travels in the environment. Raises ChildError if it ends before that.
    """
    out = folder / "training"
    name = "demo" if options.keep else f"demo-{folder.name}"
    last_step = resumed_step(out) + steps
    command = [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)),
        *(str(Path(__file__).with_name("train.py")), "--corpus", str(corpus.folder), "--out", str(out)),
        *("--steps", str(last_step), "--seed", str(options.seed), "--job", name, "--resume"),
    ]
    environment = clean_environment(
        HEADRACE_URL=plane.url,
        HEADRACE_TOKEN=plane.access.training_key,
        HEADRACE_CACHE=str(cache_root()),
        OMP_NUM_THREADS="1",
    )
    say(f"demo: training to step {last_step} with torchrun, ranks: {ranks}")
    training = children.start("training", command, environment=environment, on_line=lambda line: _show(line, say))
    job = None
    while job is None:
        has_ended = training.returncode is not None
        job = operator.find_job(name)
        plane.server.check_running()
        if job is None and has_ended:
            raise training.failure()
        time.sleep(POLL_S)
    return Running(
        options=options, ranks=ranks, folder=folder, plane=plane, operator=operator, training=training, job=job
    )


def announce(running: Running, say: Say) -> None:
    """Say how to change the mix, write the ready file, and open the browser."""
    plane, options = running.plane, running.options
    mix, etag = running.operator.mix(running.job)
    secret = running.folder / "curl.conf"
    headers = (f"Authorization: Bearer {plane.access.operator_key}", "Content-Type: application/json")
    control.write_private(secret, "".join(f'header = "{header}"\n' for header in headers))
    body = json.dumps({"weights": turned(mix["weights_ppm"]), "reason": "try it"})
    say("demo: change the mix in the browser, or with")
    say(f"  curl -X PUT -K {secret} -H 'If-Match: {etag}' {plane.url}/api/v1/jobs/{running.job}/mix -d '{body}'")
    if options.ready_file is not None:
        login = {"username": plane.access.username, "password": plane.access.password}
        control.write_private(options.ready_file, json.dumps({"url": plane.url, "job": running.job, **login}))
    if options.browser and can_open_browser():
        webbrowser.open(plane.url)


def follow(running: Running, edit_at: int | None, say: Say) -> None:
    """Wait for the training to end well, editing the mix after `edit_at` steps. Raises ChildError if it does not."""
    operator, job = running.operator, running.job
    while running.training.returncode is None:
        running.plane.server.check_running()
        if edit_at is not None and len(read_ranks(running.out, 1)[0]) > edit_at:
            mix, etag = operator.mix(job)
            reason = f"headrace demo --edit-at {edit_at}"
            made = operator.edit(job, turned(mix["weights_ppm"]), reason=reason, etag=etag)
            say(f"demo: mix version {made['version']} is proposed: {made['weights_ppm']}")
            edit_at = None
        time.sleep(POLL_S)
    if running.training.returncode != 0:
        raise running.training.failure()


def outcome(running: Running) -> dict[str, Any]:
    """What the run showed, checked against the control plane. Raises ControlError for an edit that came too late."""
    options = running.options
    ranks = read_ranks(running.out, running.ranks)
    result = summary(read_result(running.out) or {}, ranks, _activations(running, ranks[0]))
    newest, _ = running.operator.mix(running.job)
    if options.edit_at is not None and result["mix"]["version"] != newest["version"]:
        raise control.ControlError(
            f"mix version {newest['version']} was proposed at step {options.edit_at}, but training ended before it "
            f"took effect; leave it more steps than {options.steps}"
        )
    return result


def _activations(running: Running, steps: Sequence[StepRecord]) -> list[dict[str, Any]]:
    """What the control plane recorded, waiting a moment for the last change that the ranks made."""
    deadline = time.monotonic() + RECORD_S
    while True:
        found = running.operator.activations(running.job)
        arrived = not steps or any(activation["revision"] == steps[-1].revision for activation in found)
        if arrived or time.monotonic() > deadline:
            return found
        time.sleep(POLL_S)


def stay(plane: control.Plane) -> NoReturn:
    """Keep the dashboard up until an interrupt. Raises ChildError when the server ends."""
    while True:
        plane.server.check_running()
        time.sleep(POLL_S)


def turned(weights: dict[str, int]) -> dict[str, int]:
    """The weights in reverse order of the sources: the largest goes to the last."""
    return dict(zip(weights, reversed(weights.values()), strict=True))


def resumed_step(out: Path) -> int:
    """The step that the checkpoint in `out` continues from; 0 without one."""
    path = out / "checkpoint.pt"
    return int(torch.load(path, weights_only=True)["loader"]["step"]) if path.exists() else 0


def _show(line: str, say: Say) -> None:
    if not line.startswith("{"):  # the result, which the demo prints itself, with more in it
        say(f"  {line}")
