"""One run, from inputs to shards."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Literal

from headrace.errors import ConfigError
from headrace.places import parse_place
from headrace.tokenize.cutting import cut_input
from headrace.tokenize.encoders import THREADS, Found, find_tokenizer, open_encoder
from headrace.tokenize.engine import Engine, Job, Made
from headrace.tokenize.folder import open_folder
from headrace.tokenize.inputs import Asked, list_inputs, parse_input
from headrace.tokenize.ledger import Ledger, begin, id_type
from headrace.tokenize.local import LocalEngine
from headrace.tokenize.made import without_made
from headrace.tokenize.options import OnBad, Options, parse_on_bad
from headrace.tokenize.progress import Meter
from headrace.tokenize.summary import Summary

EngineName = Literal["local", "ray"]


def tokenize(
    inputs: str | Sequence[str],
    tokenizer: str,
    output: str | os.PathLike[str],
    *,
    options: Options | None = None,
    pattern: str | None = None,
    on_bad: OnBad = "error",
    engine: EngineName = "local",
    workers: int | None = None,
    ray_address: str | None = None,
    quiet: bool = True,
) -> Summary:
    """Turns text into shards at `output`; what an earlier run finished there is kept, and only new inputs are read.

    Args:
        inputs: files, folders and globs, local or on object storage, each as `PATH` or `NAME=PATH`. Shards of inputs
            with a name lie in a folder of that name.
        tokenizer: a tokenizer.json, a SentencePiece model, a file of tiktoken ranks, or an encoding of tiktoken.
        output: a folder, or the URI of a prefix.
        options: what decides the shards; another value needs another folder.
        pattern: of a file of tiktoken ranks, how text is split.
        on_bad: whether the first bad row ends the run, or bad rows are left out and counted.
        engine: this machine's cores, or Ray tasks.
        workers: cores to use; all by default.
        ray_address: the cluster, where it is not one of this machine's own.
        quiet: says nothing on standard error.

    Raises:
        ConfigError: options that can't be, or differ from those the folder was begun with; a folder in use.
        SourceError: inputs that can't be read, or have bad rows. What was finished stays, and the next run goes on.
    """
    options = options or Options()
    _check(options, on_bad, engine, workers, ray_address)
    asked = [parse_input(text) for text in ([inputs] if isinstance(inputs, str) else inputs)]
    found = find_tokenizer(tokenizer, pattern)
    encoder = open_encoder(found, special_tokens=options.special_tokens, threads=1)
    vocab_size = _vocab_size(found, encoder.vocab_size, options.vocab_size)
    options = options.completed(can_cut=encoder.places("", 1) is not None)
    chosen = _engine(engine, workers, ray_address, THREADS[found.kind])
    name = _absolute(output)
    return _run(asked, found, options, vocab_size, name, on_bad, chosen, quiet=quiet)


def _run(
    asked: Sequence[Asked],
    found: Found,
    options: Options,
    vocab_size: int,
    name: str,
    on_bad: OnBad,
    engine: Engine,
    *,
    quiet: bool,
) -> Summary:
    began = time.monotonic()
    listing = without_made(list_inputs(asked), str(parse_place(name)))
    folder = open_folder(name)
    with folder.owned():
        begin(folder, name, found, options, vocab_size, is_named=bool(asked[0].source))
        ledger = Ledger(folder, name)
        remade = ledger.load()
        new_inputs = ledger.plan(listing.inputs, options, id_type(vocab_size), cut_input)
        pending = ledger.pending
        units = {unit.name: unit for unit in pending}
        meter = Meter(pending, quiet=quiet)
        had = sum(counts.tokens for counts in ledger.counts().values())
        num_made = 0
        ledger.show(finally_=True)
        try:
            for event in engine.run(Job(name, on_bad), pending):
                if isinstance(event, Made):
                    num_made += event.record.path is not None
                    ledger.made(units[event.unit], event.record)
                    ledger.show()
                meter.take(event)
        finally:
            meter.end()
            ledger.show(finally_=True)
        counts = ledger.counts()
        return Summary(
            folder=name,
            sources=counts,
            shards=ledger.num_shards(),
            reports=ledger.reports(),
            ignored=listing.ignored,
            remade=remade,
            new_inputs=new_inputs,
            new_shards=num_made,
            new_tokens=sum(one.tokens for one in counts.values()) - had,
            seconds=time.monotonic() - began,
        )


def _check(options: Options, on_bad: str, engine: str, workers: int | None, ray_address: str | None) -> None:
    options.check()
    parse_on_bad(on_bad)
    if engine not in ("local", "ray"):
        raise ConfigError(f"--engine is {engine!r}; it must be local or ray")
    if workers is not None and workers < 1:
        raise ConfigError(f"--workers is {workers}; it must be 1 or more")
    if ray_address is not None and engine != "ray":
        raise ConfigError(f"--ray-address is {ray_address}, and --engine is {engine}; give --engine ray with it")


def _vocab_size(found: Found, own: int, given: int | None) -> int:
    if given is not None and given < own:
        raise ConfigError(
            f"--vocab-size is {given:,}, and --tokenizer {found.name} has ids up to {own - 1:,}; give {own:,} or more"
        )
    return given or own


def _engine(name: EngineName, workers: int | None, ray_address: str | None, threads: int) -> Engine:
    if name == "local":
        return LocalEngine(workers, threads=threads)
    from headrace.tokenize.on_ray import RayEngine  # noqa: PLC0415  # an optional dependency

    return RayEngine(ray_address, workers)


def _absolute(output: str | os.PathLike[str]) -> str:
    """The folder's full name with the options of its URI, for workers elsewhere."""
    place = parse_place(output)
    return os.fspath(output) if place.remote is not None else os.path.abspath(place.path)  # noqa: PTH100
