"""`headrace demo`: the whole of Headrace on one machine, in one command.

It starts the control plane on an embedded SQLite database, prepares a corpus from this machine's text, and trains a
tiny GPT with `torchrun` while the dashboard shows it. Everything it starts ends with it.
"""

from __future__ import annotations

import argparse
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn

from headrace.demo.stages import Options, demo
from headrace.demo.surroundings import PORT
from headrace.errors import ConfigError

LONG_STEPS: Final = 2000
SHORT_STEPS: Final = 80
RANKS: Final = (1, 2, 4, 8)
"rank counts that divide the global batch"

_EPILOG = """examples:
  headrace demo                                      dashboard and training, till Ctrl-C
  headrace demo --steps 80 --exit --no-browser       ends by itself; its last line is JSON
  headrace demo --steps 80 --exit --edit-at 40       and changes the mix on the way, through REST
  headrace demo --ranks 2 --rescale 4 --exit         and goes on at another number of ranks half-way
  headrace demo --keep                               goes on where the last --keep stopped

The corpus is kept under HEADRACE_CACHE (default ~/.cache/headrace), in demo/, and reused.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.description = (
        "Train a tiny GPT on text from this machine with torchrun, fed by Headrace, with the dashboard beside it."
    )
    parser.epilog = _EPILOG
    parser.add_argument("--steps", type=_steps, help=f"steps to train ({LONG_STEPS}; {SHORT_STEPS} with --exit)")
    parser.add_argument("--exit", action="store_true", help="end with the training; the last line printed is JSON")
    parser.add_argument("--no-browser", action="store_true", help="don't open the dashboard in a browser")
    parser.add_argument("--ranks", type=int, default=2, choices=RANKS, help="processes to train on (2)")
    parser.add_argument(
        "--rescale", type=int, choices=RANKS, metavar="RANKS", help="take the second half of the steps on so many ranks"
    )
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
    if args.rescale is not None and steps < 2:
        raise ConfigError(f"--steps is {steps}; with --rescale it must be at least 2")
    if args.rescale is not None and args.edit_at is not None and args.edit_at >= steps // 2:
        raise ConfigError(
            f"--edit-at is {args.edit_at}; with {steps} steps and --rescale it must be in their first half, below "
            f"{steps // 2}"
        )
    options = Options(
        steps=steps,
        ranks=args.ranks,
        rescale=args.rescale,
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


def _count(text: str) -> int:
    return _whole(text, 0, 1 << 31)


def _steps(text: str) -> int:
    return _whole(text, 1, 1 << 31)


def _port(text: str) -> int:
    return _whole(text, 0, 65535)


def _whole(text: str, low: int, high: int) -> int:
    if not text.isdecimal() or not low <= int(text) <= high:
        raise argparse.ArgumentTypeError(f"it is {text!r}; it must be a whole number from {low} to {high}")
    return int(text)
