"""`headrace inspect`: what sources hold, and how often a run of so many steps would read them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from headrace.config import parse_config
from headrace.data import Data, open_data
from headrace.given import add_sources, parse_sources
from headrace.legs import with_separators
from headrace.lengths import SAMPLE_BLOCKS, Lengths, measure_lengths
from headrace.manifest import SourceManifest
from headrace.mix import Revision
from headrace.plan import Position
from headrace.replay import advance

_IGNORED_SHOWN = 3

EPILOG = """examples:
  headrace inspect /data/web
  headrace inspect web=/data/web:0.7 code=/data/code:0.3 --steps 100000 \\
    --global-batch-size 512 --seq-len 4096 --eos-id 0
  headrace inspect /data/web --full --json
"""


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """What a source holds."""

    name: str
    path: str
    column: str
    dtype: str
    shards: int
    bytes: int
    blocks: int
    documents: int
    tokens: int
    "without separators"
    mean_length: float
    null_rows: int
    empty_rows: int
    min_token: int | None
    "proved by the files; None where they don't say"
    max_token: int | None
    ignored: tuple[tuple[str, str], ...]
    "(path, reason) of files that are no shards"
    lengths: Lengths


@dataclass(frozen=True, slots=True)
class Forecast:
    """One source's part of a run."""

    name: str
    weight_ppm: int
    sequences: int
    tokens: int
    "padding and separators included"
    epochs: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.description = "Say what sources hold: shards, documents, tokens, lengths, and epochs of a planned run."
    parser.epilog = EPILOG
    add_sources(parser)
    parser.add_argument("--full", action="store_true", help="measure every document, not only those of some blocks")
    parser.add_argument("--steps", type=int, help="steps of the run to forecast epochs for")
    parser.add_argument("--global-batch-size", type=int, default=512, help="sequences in a step (default: %(default)s)")
    parser.add_argument("--seq-len", type=int, default=4096, help="tokens in a sequence (default: %(default)s)")
    parser.add_argument("--packing", default="concat", help="concat or best_fit (default: %(default)s)")
    parser.add_argument("--eos-id", type=int, help="separator put after each document (default: none)")
    parser.add_argument("--bos-id", type=int, help="id put before each document (default: none)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Look and print; returns the exit status."""
    data = open_data(
        parse_config(
            {
                "sources": parse_sources(args.sources, args.column),
                "seq_len": args.seq_len if args.steps is not None else 2,
                "global_batch_size": args.global_batch_size,
                "micro_batch_size": 1,
                "seed": 0,
                "eos_id": args.eos_id,
                "bos_id": args.bos_id,
                "packing": args.packing,
                "total_steps": args.steps,
            }
        )
    )
    facts = [facts_of(manifest, full=args.full) for manifest in data.manifests]
    plan = None if args.steps is None else forecast(data, args.steps, args.global_batch_size)
    if args.json:
        shown: dict[str, Any] = {"sources": [asdict(source) for source in facts]}
        if plan is not None:
            shown["steps"] = args.steps
            shown["forecast"] = [asdict(part) for part in plan]
        print(json.dumps(shown))
        return 0
    print("\n\n".join(_text(source) for source in facts))
    if plan is not None:
        print(f"\n{_plan_text(plan, args.steps, args.global_batch_size, args.seq_len)}")
    return 0


def facts_of(manifest: SourceManifest, *, full: bool = False) -> SourceFacts:
    """What a source holds; opens `SAMPLE_BLOCKS` of its blocks, or all of them."""
    return SourceFacts(
        name=manifest.name,
        path=str(manifest.root),
        column=manifest.column,
        dtype=str(manifest.token_dtype),
        shards=len(manifest.shards),
        bytes=sum(shard.size_bytes for shard in manifest.shards),
        blocks=manifest.num_blocks,
        documents=manifest.num_documents,
        tokens=manifest.num_tokens,
        mean_length=manifest.num_tokens / manifest.num_documents,
        null_rows=manifest.num_null,
        empty_rows=manifest.num_empty,
        min_token=manifest.min_token,
        max_token=manifest.max_token,
        ignored=manifest.ignored,
        lengths=measure_lengths(manifest, manifest.num_blocks if full else SAMPLE_BLOCKS, full=full),
    )


def forecast(data: Data, steps: int, global_batch_size: int) -> list[Forecast]:
    """Exactly what each source delivers in `steps` steps at its weights."""
    names = data.config.names
    log = [Revision("config:1", 0, data.weights_ppm)]
    counts = advance(Position.start(len(names)), log, names, ((0, global_batch_size),), steps).counts.tolist()
    return [
        Forecast(name, data.weights_ppm[name], count, count * data.config.seq_len, count / _sequences(data, source))
        for source, (name, count) in enumerate(zip(names, counts, strict=True))
    ]


def _sequences(data: Data, source: int) -> float:
    """Sequences that a pass over a source makes."""
    leg = data.legs_of(source)[0]
    if leg.stretch.windows is not None:
        return float(leg.stretch.windows.num_sequences.sum())
    return float(with_separators(data.config, leg.manifest).sum()) / data.config.seq_len


def _text(source: SourceFacts) -> str:
    known = source.min_token is not None and source.max_token is not None
    low, high = (source.min_token, source.max_token) if known else (source.lengths.min_token, source.lengths.max_token)
    ids = f"{source.dtype}, {low:,} to {high:,}{'' if known or source.lengths.whole_source else ' in the sample'}"
    rows = [
        ("shards", f"{source.shards:,} ({source.bytes / 2**20:,.1f} MiB), {source.blocks:,} blocks"),
        ("documents", f"{source.documents:,}, {source.mean_length:,.1f} tokens each on average"),
        ("tokens", f"{source.tokens:,}, without separators"),
        ("ids", ids),
        ("left out", f"{source.null_rows:,} null and {source.empty_rows:,} empty rows, {_files(source.ignored)}"),
    ]
    lines = [f"{source.name}: {source.path}, column {source.column!r}"]
    lines += [f"  {name:<11}{value}" for name, value in rows]
    lines += [f"    {path}: {why}" for path, why in source.ignored[:_IGNORED_SHOWN]]
    return "\n".join([*lines, *_lengths_text(source)])


def _files(ignored: Sequence[object]) -> str:
    return f"{len(ignored):,} file{'' if len(ignored) == 1 else 's'} ignored"


def _lengths_text(source: SourceFacts) -> list[str]:
    lengths = source.lengths
    of_what = "all documents" if lengths.whole_source else f"{lengths.blocks:,} of {source.blocks:,} blocks"
    lines = [
        f"  lengths of {of_what}: {lengths.min:,} to {lengths.max:,}, "
        f"median {lengths.median:,}, 9 in 10 up to {lengths.p90:,}"
    ]
    most = max(count for _, _, count in lengths.histogram)
    for low, high, count in lengths.histogram:
        share = count / lengths.documents
        lines.append(f"  {f'{low:,}–{high:,}':>23}{count:>14,}{share:>8.1%}  {'█' * round(30 * count / most)}".rstrip())
    return lines


def _plan_text(plan: list[Forecast], steps: int, global_batch_size: int, seq_len: int) -> str:
    total = steps * global_batch_size * seq_len
    lines = [
        f"{steps:,} steps × {global_batch_size:,} sequences × {seq_len:,} tokens = {total / 1e9:,.3f} G tokens",
        f"  {'source':<22}{'weight':>10}{'sequences':>17}{'G tokens':>15}{'epochs':>14}",
    ]
    lines += [
        f"  {part.name[:22]:<22}{part.weight_ppm / 1e6:>10.6f}{part.sequences:>17,}{part.tokens / 1e9:>15,.3f}"
        f"{part.epochs:>14,.2f}"
        for part in plan
    ]
    return "\n".join(lines)
