"""`headrace tokenize`: text to shards, on this machine or on Ray."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import get_args

from headrace.tokenize.options import (
    SHARD_BYTES,
    Compression,
    OnBad,
    Options,
    SpecialTokens,
    parse_size,
)
from headrace.tokenize.run import EngineName, tokenize

EPILOG = """examples:
  headrace tokenize /raw/web --tokenizer tokenizer.json -o /data/web
  headrace tokenize web=/raw/web "code=/raw/code/**/*.py" --tokenizer tokenizer.json -o /data
  headrace tokenize "s3://raw/web/*.jsonl.zst" --tokenizer cl100k_base -o s3://corpus/web --on-bad skip --json
  headrace tokenize /raw/web --tokenizer tokenizer.json -o /shared/web --engine ray --ray-address auto

Run it again to go on after a kill, or with more inputs to add those. Shards can be trained on while the rest is made.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.description = (
        "Turn text into shards of token ids: Parquet, Arrow, JSON lines and plain text, .gz and .zst too."
    )
    parser.epilog = EPILOG
    parser.add_argument("inputs", nargs="+", metavar="[NAME=]INPUT", help="a file, a folder or a glob; also s3://…")
    parser.add_argument(
        "--tokenizer", required=True, help="tokenizer.json, SentencePiece model, .tiktoken file, or tiktoken encoding"
    )
    parser.add_argument("-o", "--output", required=True, help="the folder of the shards: a path or a URI")
    parser.add_argument("--on-bad", choices=get_args(OnBad), default="error", help="what bad input does (error)")
    what = parser.add_argument_group("what is written; another value needs another folder")
    what.add_argument("--text-column", default="text", help="the column or key that holds the text (text)")
    what.add_argument("--vocab-size", type=_at_least(1), help="entries of the model, if more than the tokenizer's")
    what.add_argument(
        "--shard-size", type=_size, default=SHARD_BYTES, metavar="SIZE", help="bytes of a shard at most (256MB)"
    )
    what.add_argument("--compression", choices=get_args(Compression), default="none", help="of the shards (none)")
    what.add_argument(
        "--special-tokens", choices=get_args(SpecialTokens), default="text", help="what <|…|> in a text is (text)"
    )
    what.add_argument("--split-long", type=_at_least(1024), metavar="CHARS", help="encode longer documents in pieces")
    what.add_argument(
        "--max-document",
        type=_size,
        metavar="SIZE",
        help="longer ones are bad (64MiB; 8MiB for tokenizers that can't take one in pieces)",
    )
    what.add_argument("--pattern", help="how text is split, for a .tiktoken file: an encoding's name, or a regex")
    how = parser.add_argument_group("how it is made; changes no byte of it")
    how.add_argument("--engine", choices=get_args(EngineName), default="local", help="(local)")
    how.add_argument("--workers", type=_at_least(1), metavar="N", help="cores to use (all)")
    how.add_argument("--ray-address", metavar="ADDRESS", help="a running Ray cluster, or auto (one of its own)")
    parser.add_argument("--json", action="store_true", help="print one JSON object, and nothing while it runs")


def run(args: argparse.Namespace) -> int:
    """Tokenise and print what was done; the exit status.

    Raises what `tokenize` does.
    """
    options = Options(
        text_column=args.text_column,
        vocab_size=args.vocab_size,
        shard_bytes=args.shard_size,
        compression=args.compression,
        special_tokens=args.special_tokens,
        split_long=args.split_long,
        max_document_bytes=args.max_document,
    )
    summary = tokenize(
        args.inputs,
        args.tokenizer,
        args.output,
        options=options,
        pattern=args.pattern,
        on_bad=args.on_bad,
        engine=args.engine,
        workers=args.workers,
        ray_address=args.ray_address,
        quiet=args.json,
    )
    print(json.dumps(summary.record()) if args.json else summary.text(), file=sys.stdout)
    return 0


def _at_least(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"it is {text!r}; it must be a whole number, {least:,} or more")
        return int(text)

    return read


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
