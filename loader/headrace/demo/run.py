"""`headrace demo`: the whole of Headrace on one machine, in one command.

It starts the control plane on an embedded SQLite database, prepares a corpus from this machine's text, and trains a tiny
GPT with `torchrun` while the dashboard shows it. Everything it starts ends with it.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from headrace.demo import control
from headrace.demo.children import Child, Children
from headrace.demo.corpus import Corpus, prepare
from headrace.demo.gather import Machine
from headrace.demo.locks import run_folder
from headrace.demo.outcome import summary
from headrace.demo.record import read_ranks, read_result
from headrace.errors import ConfigError
from headrace.kernels import cache_root

LONG_STEPS: Final = 2000
SHORT_STEPS: Final = 80
RANKS: Final = (1, 2, 4, 8)
"rank counts that divide the global batch"
PORT: Final = 8400
POLL_S: Final = 0.2

_EPILOG = f"""examples:
  headrace demo                                     dashboard and training, till Ctrl-C
  headrace demo --steps {SHORT_STEPS} --exit --no-browser        ends by itself; its last line is JSON
  headrace demo --steps {SHORT_STEPS} --exit --edit-at 40        and changes the mix once on the way, through the REST API
  headrace demo --keep                              goes on where the last --keep stopped

The corpus is kept under HEADRACE_CACHE (default ~/.cache/headrace), in demo/, and reused.
"""

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What to run."""

    steps: int
    "in this run"
    ranks: int = 2
    seed: int = 0
    port: int | None = None
    "None: 8400 if it is free, else any; 0: any"
    keep: bool = False
    "share database, login and checkpoint with other kept runs"
    edit_at: int | None = None
    "step at which to change the mix"
    ends: bool = False
    "end when the training does; otherwise stay till interrupted"
    browser: bool = False
    ready_file: Path | None = None
    "where to write url, username, password and job as JSON once training runs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.description = (
        "Train a tiny GPT on text from this machine with torchrun, fed by Headrace, with the dashboard beside it."
    )
    parser.epilog = _EPILOG
    parser.add_argument("--steps", type=_count, help=f"steps to train ({LONG_STEPS}; {SHORT_STEPS} with --exit)")
    parser.add_argument("--exit", action="store_true", help="end with the training; the last line printed is JSON")
    parser.add_argument("--no-browser", action="store_true", help="don't open the dashboard in a browser")
    parser.add_argument("--ranks", type=int, default=2, choices=RANKS, help="processes to train on (2)")
    parser.add_argument(
        "--port", type=_port, help=f"of the dashboard ({PORT}, or a free one if that is taken; 0: a free one)"
    )
    parser.add_argument("--seed", type=_count, default=0, help="of the data order and the model (0)")
    parser.add_argument("--keep", action="store_true", help="keep history, login and checkpoint for the next --keep")
    parser.add_argument(
        "--edit-at",
        type=_count,
        metavar="STEP",
        help="at this step, turn the weights round by one call of the REST API",
    )
    parser.add_argument(
        "--ready-file",
        type=Path,
        metavar="FILE",
        help="write url, login and job here as JSON once training, for scripts",
    )


def run(args: argparse.Namespace) -> int:
    """Run the demo as asked; the exit status."""
    steps = args.steps if args.steps is not None else SHORT_STEPS if args.exit else LONG_STEPS
    if args.edit_at is not None and args.edit_at >= steps:
        raise ConfigError(f"--edit-at is {args.edit_at}; with {steps} steps it must be below {steps}")
    options = Options(
        steps=steps,
        ranks=args.ranks,
        seed=args.seed,
        port=args.port,
        keep=args.keep,
        edit_at=args.edit_at,
        ends=args.exit,
        browser=not args.no_browser,
        ready_file=args.ready_file,
    )
    try:
        with signals_interrupt():
            result = demo(options, say)
    except Interrupted as stop:
        say("demo: stopped")
        return 0 if stop.number == signal.SIGINT and not options.ends else 128 + stop.number
    say(json.dumps(result))
    return 0


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


def demo(options: Options, say: Say) -> dict[str, Any]:
    """Run it; what `outcome.summary` makes of it. Without `options.ends` it returns by `Interrupted` only.

    Raises:
        HeadraceError: something that it started failed, or did not do what it should; everything has ended.
    """
    root = cache_root() / "demo"
    with run_folder(root / "runs", keep=options.keep) as folder, Children(folder) as children:
        say("demo: starting the control plane")
        plane = control.start(children, folder / "server", free_port(options.port))
        say(box(["Headrace", "", f"open      {plane.url}", f"sign in   {plane.username}   {plane.password}"]))
        corpus = prepare(root, Machine.here(), say)
        name = "demo" if options.keep else f"demo-{folder.name[:15]}"
        training = start_training(children, plane, corpus, folder, options, name, say)
        with control.Operator(plane) as operator:
            job = wait_for_job(operator, name, plane.server, training)
            announce(plane, operator, job, folder, options, say)
            follow(operator, job, plane.server, training, folder, options, say)
            result = outcome(operator, job, folder, options)
        if not options.ends:
            say(json.dumps(result))
            say("demo: training has ended; the dashboard stays till Ctrl-C")
            while True:
                plane.server.check_running()
                time.sleep(POLL_S)
        return result


def start_training(
    children: Children, plane: control.Plane, corpus: Corpus, folder: Path, options: Options, job: str, say: Say
) -> Child:
    """Launch the training script with `torchrun`; its key travels in the environment."""
    out = folder / "training"
    last_step = resumed_step(out) + options.steps
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HEADRACE_")}
    environment |= {
        "HEADRACE_URL": plane.url,
        "HEADRACE_TOKEN": plane.training_key,
        "HEADRACE_CACHE": str(cache_root()),
        "OMP_NUM_THREADS": "1",
    }
    command = [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(options.ranks)),
        *(str(Path(__file__).with_name("train.py")), "--corpus", str(corpus.folder), "--out", str(out)),
        *("--steps", str(last_step), "--seed", str(options.seed), "--job", job, "--resume"),
    ]
    say(f"demo: training to step {last_step} with torchrun on {options.ranks} ranks")
    return children.start("training", command, environment=environment, on_line=lambda line: _show(line, say))


def wait_for_job(operator: control.Operator, name: str, server: Child, training: Child) -> str:
    """The job's id, once the loader has registered it."""
    while True:
        job = operator.find_job(name)
        if job is not None:
            return job
        server.check_running()
        training.check_running()
        time.sleep(POLL_S)


def announce(
    plane: control.Plane, operator: control.Operator, job: str, folder: Path, options: Options, say: Say
) -> None:
    """Say how to change the mix, write the ready file, and open the browser."""
    mix, etag = operator.mix(job)
    secret = folder / "curl.conf"
    _write_private(
        secret, f'header = "Authorization: Bearer {plane.operator_key}"\nheader = "Content-Type: application/json"\n'
    )
    body = json.dumps({"weights": turned(mix["weights_ppm"]), "reason": "try it"})
    say("demo: change the mix in the browser, or with")
    say(f"  curl -X PUT -K {secret} -H 'If-Match: {etag}' {plane.url}/api/v1/jobs/{job}/mix -d '{body}'")
    if options.ready_file is not None:
        ready = {"url": plane.url, "username": plane.username, "password": plane.password, "job": job}
        _write_private(options.ready_file, json.dumps(ready))
    if options.browser and can_open_browser():
        webbrowser.open(plane.url)


def follow(
    operator: control.Operator, job: str, server: Child, training: Child, folder: Path, options: Options, say: Say
) -> None:
    """Wait for the training to end well, editing the mix at `options.edit_at`."""
    edit_at = options.edit_at
    while training.returncode is None:
        server.check_running()
        if edit_at is not None and _last_step(folder / "training") >= edit_at:
            mix, etag = operator.mix(job)
            made = operator.edit(
                job, turned(mix["weights_ppm"]), reason=f"headrace demo --edit-at {edit_at}", etag=etag
            )
            say(f"demo: mix version {made['version']} is proposed: {made['weights_ppm']}")
            edit_at = None
        time.sleep(POLL_S)
    if training.returncode != 0:
        raise training.failure()


def outcome(operator: control.Operator, job: str, folder: Path, options: Options) -> dict[str, Any]:
    """What the run showed, checked against the control plane."""
    ranks = read_ranks(folder / "training", options.ranks)
    result = summary(read_result(folder / "training") or {}, ranks, operator.activations(job))
    newest, _ = operator.mix(job)
    if options.edit_at is not None and result["mix"]["version"] != newest["version"]:
        raise control.ControlError(
            f"mix version {newest['version']} was proposed at step {options.edit_at}, but training ended before it "
            f"took effect; leave it more steps than {options.steps}"
        )
    return result


def turned(weights: dict[str, int]) -> dict[str, int]:
    """The weights in reverse order of the sources: the largest goes to the last."""
    return dict(zip(weights, reversed(weights.values()), strict=True))


def resumed_step(out: Path) -> int:
    """The step that the checkpoint in `out` continues from; 0 without one."""
    import torch  # noqa: PLC0415  # slow to import, and only kept runs need it

    path = out / "checkpoint.pt"
    return int(torch.load(path, weights_only=True)["loader"]["step"]) if path.exists() else 0


def free_port(wanted: int | None) -> int:
    """The port to ask for: what is wanted, or 8400 if nothing listens there, or 0 for any."""
    import socket  # noqa: PLC0415

    if wanted is not None:
        return wanted
    with socket.socket() as probe:
        return 0 if probe.connect_ex(("127.0.0.1", PORT)) == 0 else PORT


def can_open_browser() -> bool:
    """Whether there is a desktop; without one, a text browser would take over the terminal."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def box(lines: Sequence[str]) -> str:
    """The lines in a frame."""
    width = max(map(len, lines))
    rule = f"+{'-' * (width + 4)}+"
    return "\n".join([rule, *(f"|  {line:<{width}}  |" for line in lines), rule])


class Interrupted(KeyboardInterrupt):
    """SIGINT, SIGTERM or SIGHUP came."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP raise `Interrupted` in the main thread, so that every `with` block cleans up."""

    def interrupt(number: int, frame: object) -> NoReturn:
        raise Interrupted(number)

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _show(line: str, say: Say) -> None:
    if not line.startswith("{"):  # the result, which the demo prints itself, with more in it
        say(f"  {line}")


def _last_step(out: Path) -> int:
    records = read_ranks(out, 1)[0]
    return records[-1].step if records else -1


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    part.replace(path)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; it must be 0 to 65535")
    return int(text)
