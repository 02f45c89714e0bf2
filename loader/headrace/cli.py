"""`headrace`: the commands of the loader library.

Exit status 0: done, 1: it could not be done, 2: wrong usage, 130: interrupted.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Final

from headrace.arguments import CommandParser, unknown
from headrace.errors import ConfigError, HeadraceError

COMMANDS: Final = {
    "bench": ("headrace.bench.command", "measure the loader on your own shards, next to a plain read of the same"),
    "demo": ("headrace.demo.run", "train a tiny GPT on this machine's own text, with the dashboard beside it"),
    "index": ("headrace.index_command", "count a source once, so that its next starts read no footers"),
    "inspect": ("headrace.inspect", "say what sources hold, and how often a run would read them"),
    "tokenize": ("headrace.tokenize.command", "turn text into shards of token ids, on this machine or on Ray"),
    "trace": ("headrace.trace_command", "name the documents of a global batch, or the steps that hold a document"),
}
"""The module of each command, imported when it is called, and what it does.

A module offers `add_arguments(parser)`, which describes the options, and `run(args) -> int`, the exit status.
"""

_EXAMPLES = """examples:
  headrace demo                                 the dashboard and a small training run, till Ctrl-C
  headrace demo --steps 80 --exit --no-browser  the same, ending by itself with a line of JSON
  headrace bench /data/web --eos-id 0           tokens a second on your own data
  headrace index s3://corpus/web -o web.parquet  the counts of a source, for quick starts
  headrace tokenize /raw/web --tokenizer tokenizer.json -o /data/web
  headrace inspect /data/web                    shards, documents, tokens, lengths
  headrace trace /data/web --checkpoint last.pt --step 12000
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    words = sys.argv[1:] if argv is None else list(argv)
    name = words[0] if words and not words[0].startswith("-") else None
    if name not in COMMANDS:
        return _without_command(words, name)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that has no bars or dashes still gets its figures
    parser = CommandParser(f"headrace {name}")
    try:
        module = importlib.import_module(COMMANDS[name][0])
        module.add_arguments(parser)
        status = int(module.run(parser.parse_args(words[1:])))
        sys.stdout.flush()
    except HeadraceError as error:
        print(f"headrace {name}: {error}", file=sys.stderr)
        return 2 if isinstance(error, ConfigError) else 1
    except BrokenPipeError:  # whoever reads has enough, as in `headrace trace … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return status


def _without_command(words: list[str], name: str | None) -> int:
    parser = CommandParser("headrace")
    commands = "\n".join(f"  {name:<10}{about}" for name, (_, about) in COMMANDS.items())
    parser.usage = "headrace COMMAND [option ...]"
    parser.description = f"The data loader that large language-model training runs on.\n\ncommands:\n{commands}"
    parser.epilog = f"{_EXAMPLES}\n`headrace COMMAND --help` explains a command."
    parser.add_argument("--version", action="version", version=f"headrace {version('headrace')}")
    if name is not None:
        parser.error(unknown("command", name, COMMANDS))
    parser.parse_args(words)
    parser.error(f"no command given; the commands are {', '.join(COMMANDS)}")


if __name__ == "__main__":
    raise SystemExit(main())
