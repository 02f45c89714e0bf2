"""`headrace trace`: which documents a global batch held or will hold, and which steps hold a document."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from typing import Any

from headrace.checkpoint import read_checkpoint
from headrace.config import Source
from headrace.errors import ConfigError
from headrace.find import Delivery
from headrace.formats.lineage import Origin
from headrace.given import add_sources, parse_sources, read_options
from headrace.origins import Origins
from headrace.past import Past, open_past
from headrace.recorded import read_record
from headrace.rows import RowReader
from headrace.trace import Traced

EPILOG = """examples:
  headrace trace /data/web /data/code --checkpoint checkpoint.pt --step 12000
  headrace trace web=/data/web --checkpoint checkpoints/ --step 12000 --decode tokenizer.json
  headrace trace web=/data/web code=/data/code --job llama-7b --eos-id 0 --step 12000 --json
  headrace trace /data/web --checkpoint checkpoint.pt --document 00012.parquet:1734

A checkpoint is what torch.save or torch.distributed.checkpoint wrote, or JSON, with Loader.state_dict() anywhere in it;
a folder of checkpoints stands for its newest. --job asks the control plane at HEADRACE_URL with HEADRACE_TOKEN; the
options that it doesn't know (eos_id, bos_id, lanes) must be given. Sources that were read with exclude or max_epochs
are given in --config: a JSON object of Loader's options. Of shards that `headrace tokenize` made, the file
and row of the original text are named too.
"""

_TEXT_WIDTH = 72


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.description = "Name the documents of a global batch, past or to come; or the steps that hold a document."
    parser.epilog = EPILOG
    add_sources(parser, nargs="*")
    what = parser.add_argument_group("what to look for (one of)")
    what.add_argument("--step", type=int, help="name the documents of this step")
    what.add_argument("--document", metavar="PATH:ROW", help="name the steps that hold this document")
    run = parser.add_argument_group("which run (one of, or none: the options alone)")
    run.add_argument("--checkpoint", metavar="FILE", help="a checkpoint of the run, before or after the step")
    run.add_argument("--job", help="the job's name in the control plane")
    options = parser.add_argument_group("options of the run, where its checkpoint or record doesn't hold them")
    options.add_argument("--config", metavar="FILE", help="JSON object of Loader's options, sources included")
    options.add_argument("--seed", type=int)
    options.add_argument("--seq-len", type=int)
    options.add_argument("--global-batch-size", type=int)
    options.add_argument("--lanes", type=int)
    options.add_argument("--packing")
    options.add_argument("--eos-id", type=_id_or_none, metavar="ID", help="or `none`")
    options.add_argument("--bos-id", type=_id_or_none, metavar="ID", help="or `none`")
    parser.add_argument("--source", help="with --document: the source, where several have such a shard")
    parser.add_argument("--first-step", type=int, help="with --document: leave out steps before this one")
    parser.add_argument(
        "--until-step", type=int, help="with --document: the last step to look at (default: the next pass)"
    )
    parser.add_argument("--decode", metavar="TOKENIZER", help="show text: a tokenizer.json of Hugging Face tokenizers")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


class _Unset:
    """Tells an option that was not given from one that is None."""


_GIVEN = ("seed", "seq_len", "global_batch_size", "lanes", "packing")


def _id_or_none(text: str) -> object:
    if text == "none":
        return _Unset
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"it is {text!r}; it must be a token id, or none")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Look and print; returns the exit status."""
    if (args.step is None) == (args.document is None):
        raise ConfigError("give either --step N or --document PATH:ROW")
    if args.checkpoint is not None and args.job is not None:
        raise ConfigError("give either --checkpoint or --job, not both: they may tell of different runs")
    decode = None if args.decode is None else _decoder(args.decode)
    past = _open(args)
    if args.step is None:
        path, row = _document(args.document)
        deliveries = past.find(path, row, source=args.source, first_step=args.first_step, until_step=args.until_step)
        print(_deliveries_json(path, row, deliveries) if args.json else _deliveries_text(args.document, deliveries))
        return 0
    traced = past.trace(args.step)
    texts = None if decode is None else _texts(past, traced, decode)
    origins = Origins(past.manifests)
    found = [origins.of(piece.source, piece.path, piece.row) for piece in traced]
    show = _step_json if args.json else _step_text
    print(show(args.step, traced, found, texts))
    return 0


def _open(args: argparse.Namespace) -> Past:
    options: dict[str, Any] = {} if args.config is None else read_options(args.config)
    sources: list[Source] = options.pop("sources", [])
    given = parse_sources(args.sources, args.column)
    names = {source.name for source in given}
    sources = [source for source in sources if source.name not in names] + given
    options |= {name: getattr(args, name) for name in _GIVEN if getattr(args, name) is not None}
    for name in ("eos_id", "bos_id"):
        value = getattr(args, name)
        if value is not None:
            options[name] = None if value is _Unset else value
    if not sources:
        raise ConfigError("no sources; give where the run's shards are, as in web=/data/web")
    state = None if args.checkpoint is None else read_checkpoint(args.checkpoint)
    record = None if args.job is None else read_record(args.job)
    return open_past(sources, options, state=state, record=record)


def _document(text: str) -> tuple[str, int]:
    path, colon, row = text.rpartition(":")
    if not colon or not path or not row.isdecimal():
        raise ConfigError(f"--document is {text!r}; it must be PATH:ROW, as in 00012.parquet:1734")
    return path, int(row)


def _decoder(file: str) -> Callable[[Sequence[int]], str]:
    try:
        import tokenizers  # noqa: PLC0415  # an optional dependency, `headrace[decode]`
    except ImportError as error:
        raise ConfigError(
            "--decode needs the package 'tokenizers', which is not installed here; run: pip install 'headrace[decode]'"
        ) from error
    try:
        tokenizer = tokenizers.Tokenizer.from_file(file)
    except Exception as error:  # the package raises bare exceptions
        raise ConfigError(f"--decode is {file!r}, which can't be read as a tokenizer ({error})") from error
    return lambda ids: str(tokenizer.decode(list(ids), skip_special_tokens=False))


def _texts(past: Past, traced: Sequence[Traced], decode: Callable[[Sequence[int]], str]) -> list[str]:
    """The text of each stretch."""
    reader = RowReader(past.manifests)
    return [
        decode(reader.tokens(piece.source, piece.path, piece.row)[piece.start : piece.end].tolist()) for piece in traced
    ]


def _step_json(
    step: int, traced: Sequence[Traced], origins: Sequence[Origin | None], texts: Sequence[str] | None
) -> str:
    documents = [piece._asdict() for piece in traced]
    for document, origin in zip(documents, origins, strict=True):
        if origin is not None:
            document["origin"] = origin._asdict()
    if texts is not None:
        documents = [document | {"text": text} for document, text in zip(documents, texts, strict=True)]
    return json.dumps({"step": step, "documents": documents})


def _step_text(
    step: int, traced: Sequence[Traced], origins: Sequence[Origin | None], texts: Sequence[str] | None
) -> str:
    sequences = len({piece.slot for piece in traced})
    lines = [
        f"step {step:,}: {len(traced):,} stretches of documents in {sequences:,} sequences",
        f"{'slot':>6}  {'source':<14}{'row':>11}{'tokens':>18}  shard",
    ]
    for number, piece in enumerate(traced):
        tokens = f"{piece.start:,}–{piece.end:,}"
        lines.append(f"{piece.slot:>6}  {piece.source[:13]:<14}{piece.row:>11,}{tokens:>18}  {piece.path}")
        origin = origins[number]
        if origin is not None:
            lines.append(f"        from row {origin.row:,} of {origin.input}")
        if texts is not None:
            lines.append(f"        {_shortened(texts[number])}")
    return "\n".join(lines)


def _shortened(text: str) -> str:
    """A text on one line, its middle left out where it is long."""
    line = " ".join(text.split())
    half = _TEXT_WIDTH // 2 - 2
    return line if len(line) <= _TEXT_WIDTH else f"{line[:half]} … {line[-half:]}"


def _deliveries_json(path: str, row: int, found: Sequence[Delivery]) -> str:
    return json.dumps({"path": path, "row": row, "deliveries": [delivery._asdict() for delivery in found]})


def _deliveries_text(document: str, found: Sequence[Delivery]) -> str:
    if not found:
        return f"{document} is in no step that was looked at: its source is paused, used up, or comes to it later"
    lines = [f"{document}", f"{'step':>15}{'slot':>8}{'epoch':>8}{'tokens':>22}"]
    for delivery in found:
        tokens = f"{delivery.start:,}–{delivery.end:,}"
        lines.append(f"{delivery.step:>15,}{delivery.slot:>8}{delivery.epoch:>8}{tokens:>22}")
    return "\n".join(lines)
