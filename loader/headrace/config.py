"""What a user may ask for: frozen dataclasses, and the only place that reads what they wrote.

Everything that can be known to be wrong from the words alone is refused here, before any file is opened.
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Literal, get_args

import torch

from headrace.batch import Batch
from headrace.errors import ConfigError
from headrace.plan import BatchSizes
from headrace.row_lists import EXTENSIONS, is_row_list, list_name
from headrace.transform import Transform, transform_name
from headrace.weights import check_weight

Packing = Literal["concat", "best_fit"]
OnExhausted = Literal["renormalise", "stop"]
OnDataChange = Literal["error", "append"]
OnBadData = Literal["stop", "mask"]
Remainder = Literal["pad", "drop"]
Uneven = Literal["error", "pad"]
Output = Literal["input_ids", "labels", "position_ids", "cu_seqlens"]

OUTPUTS: tuple[Output, ...] = get_args(Output)
TOKEN_DTYPES = (torch.int64, torch.int32, torch.uint16, torch.int16, torch.uint8)
MAX_LANES = 1 << 16
MAX_IDS = 1 << 62
MAX_BATCH = 1 << 24


@dataclass(frozen=True, slots=True)
class Source:
    """One stream of documents.

    Args:
        name: what charts, weights and checkpoints call it; 1 to 100 characters, unique.
        path: a shard, or a folder of shards: a local path, or a URI of object storage such as `s3://bucket/prefix`.
        weight: its share, on any scale, finite and at least 0; 0 is paused. None everywhere: proportional to tokens.
        column: the column that holds the token ids.
        max_epochs: passes over it after which it is used up, above 0; fractions are allowed. None: no limit.
        exclude: what is left out of it, one item or several. A glob (`*`, `?`, `**`) names whole shards, relative to
            `path`. A path that is absolute or starts with `./`, `../` or a scheme names a file of (path, row) pairs:
            `.parquet`, `.arrow`, `.feather`, `.ipc`, `.csv` or `.jsonl` with columns `path` and `row`.
        index: the file that `headrace index` wrote of it, a path or a URI, so that no shard is opened at start.

    Raises:
        ConfigError: an empty name, or a weight, a number of epochs or something to exclude that is not allowed.
    """

    name: str
    path: str
    weight: float | None = None
    column: str = "tokens"
    max_epochs: float | None = None
    exclude: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = ()
    index: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not 1 <= len(self.name) <= 100 or not self.name.isprintable():
            raise ConfigError(f"source name is {self.name!r}; it must be 1 to 100 printable characters")
        if not isinstance(self.path, str | os.PathLike) or not os.fspath(self.path):
            raise ConfigError(f"path of source {self.name!r} is {self.path!r}; it must be a path to shards")
        object.__setattr__(self, "path", os.fspath(self.path))
        if self.weight is not None:
            check_weight(self.name, self.weight)
        if self.max_epochs is not None:
            _epochs(f"max_epochs of source {self.name!r}", self.max_epochs)
        object.__setattr__(self, "exclude", _excluded(self.name, self.exclude))
        if self.index is not None:
            if not isinstance(self.index, str | os.PathLike) or not os.fspath(self.index):
                raise ConfigError(f"index of source {self.name!r} is {self.index!r}; it must be a path, a URI or None")
            object.__setattr__(self, "index", os.fspath(self.index))

    @property
    def exclusions(self) -> tuple[str, ...]:
        """The items of `exclude`, each once: globs, and places of files of pairs (`row_lists.is_row_list`)."""
        assert isinstance(self.exclude, tuple)
        return tuple(map(str, self.exclude))


@dataclass(frozen=True, slots=True)
class LoaderConfig:
    """Everything that decides the stream and how it is handed over, checked.

    The fields are those of `headrace.Loader`, where each is explained.
    """

    sources: tuple[Source, ...]
    seq_len: int
    global_batch_size: int | Sequence[tuple[int, int]]
    micro_batch_size: int
    seed: int
    eos_id: int | None
    bos_id: int | None = None
    vocab_size: int | None = None
    lanes: int = 512
    packing: Packing = "concat"
    outputs: tuple[Output, ...] = ("input_ids", "labels", "position_ids")
    token_dtype: torch.dtype = torch.int64
    prefetch: int = 2
    mix_lease_steps: int = 1
    cache_bytes: int = 1 << 30
    disk_cache_bytes: int = 0
    total_steps: int | None = None
    resume_wait_s: float = 10.0
    epochs: float | None = None
    shuffle: bool = True
    on_exhausted: OnExhausted = "renormalise"
    remainder: Remainder = "pad"
    uneven: Uneven = "error"
    on_data_change: OnDataChange = "error"
    on_bad_data: OnBadData = "stop"
    allow_drop: bool = False
    parent_job: str | None = None
    transform: Transform | None = None
    transform_name: str | None = None
    collate: Callable[[Batch], Any] | None = None
    names: tuple[str, ...] = field(init=False)
    batch_sizes: BatchSizes = field(init=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "sources", _sources(self.sources))
        put(self, "names", tuple(source.name for source in self.sources))
        put(self, "batch_sizes", _batch_sizes(self.global_batch_size))
        for name, low, high in (
            ("seq_len", 2, 1 << 30),
            ("micro_batch_size", 1, 1 << 24),
            ("seed", 0, (1 << 63) - 1),
            ("prefetch", 0, 1024),
            ("mix_lease_steps", 1, 1 << 20),
            ("cache_bytes", 1 << 20, 1 << 50),
            ("disk_cache_bytes", 0, 1 << 60),
        ):
            put(self, name, _whole(name, getattr(self, name), low, high))
        for name, low in (("eos_id", 0), ("bos_id", 0), ("vocab_size", 1), ("total_steps", 0)):
            if getattr(self, name) is not None:
                put(self, name, _whole(name, getattr(self, name), low, MAX_IDS))
        wait_s: object = self.resume_wait_s
        if isinstance(wait_s, bool) or not isinstance(wait_s, int | float) or not 0 <= wait_s <= 86_400:
            raise ConfigError(f"resume_wait_s is {wait_s!r}; it must be a number of seconds from 0 to 86400")
        lanes = _whole("lanes", self.lanes, 1, MAX_LANES)
        if lanes & (lanes - 1):
            raise ConfigError(f"lanes is {lanes}; it must be a power of two from 1 to {MAX_LANES}")
        for name, choices in (
            ("packing", Packing),
            ("on_exhausted", OnExhausted),
            ("remainder", Remainder),
            ("uneven", Uneven),
            ("on_data_change", OnDataChange),
            ("on_bad_data", OnBadData),
        ):
            if getattr(self, name) not in get_args(choices):
                allowed = ", ".join(map(repr, get_args(choices)))
                raise ConfigError(f"{name} is {getattr(self, name)!r}; it must be one of {allowed}")
        for name in ("shuffle", "allow_drop"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name} is {getattr(self, name)!r}; it must be True or False")
        self._check_epochs()
        put(self, "transform_name", transform_name(self.transform, self.transform_name))
        if self.collate is not None and not callable(self.collate):
            raise ConfigError(f"collate is {self.collate!r}; it must be a function of one headrace.Batch")
        put(self, "outputs", _outputs(self.outputs))
        if self.token_dtype not in TOKEN_DTYPES:
            allowed = ", ".join(str(dtype) for dtype in TOKEN_DTYPES)
            raise ConfigError(f"token_dtype is {self.token_dtype}; it must be one of {allowed}")
        if self.vocab_size is not None and self.vocab_size - 1 > torch.iinfo(self.token_dtype).max:
            raise ConfigError(
                f"token_dtype is {self.token_dtype}, which holds ids up to {torch.iinfo(self.token_dtype).max}, "
                f"but vocab_size is {self.vocab_size}; use a wider token_dtype"
            )
        self._check_separators()
        self._check_parent()

    def _check_separators(self) -> None:
        for name in ("eos_id", "bos_id"):
            value = getattr(self, name)
            if value is not None and value >= self.id_limit:
                what = f"vocab_size {self.vocab_size}" if self.vocab_size else f"token_dtype {self.token_dtype}"
                raise ConfigError(f"{name} is {value}; with {what} it must be below {self.id_limit}")

    def _check_parent(self) -> None:
        parent: object = self.parent_job
        if parent is not None and not (isinstance(parent, str) and parent):
            raise ConfigError(f"parent_job is {parent!r}; it must be a job's name or None")

    @property
    def id_limit(self) -> int:
        """What ids must stay below: `vocab_size`, or without one what `token_dtype` holds, 2^62 at most."""
        return self.vocab_size or min(torch.iinfo(self.token_dtype).max + 1, MAX_IDS)

    def _check_epochs(self) -> None:
        if self.epochs is None:
            return
        _epochs("epochs", self.epochs)
        for source in self.sources:
            if source.max_epochs is not None:
                raise ConfigError(
                    f"epochs is {self.epochs} but source {source.name!r} has max_epochs {source.max_epochs}; "
                    "give one or the other"
                )

    @property
    def num_separators(self) -> int:
        """Separator tokens that every document gets: 0, 1 or 2."""
        return (self.eos_id is not None) + (self.bos_id is not None)


def parse_config(options: Mapping[str, Any]) -> LoaderConfig:
    """Check the options that `headrace.Loader` was called with.

    Raises:
        ConfigError: an unknown option (with the nearest known one), one missing, or a value that is not allowed.
    """
    known = [option.name for option in fields(LoaderConfig) if option.init]
    for name in options:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"the options are {', '.join(known)}"
            raise ConfigError(f"unknown option {name!r}; {hint}")
    for needed in fields(LoaderConfig):
        if needed.init and needed.default is MISSING and needed.name not in options:
            hint = " (None where documents already end with one)" if needed.name == "eos_id" else ""
            raise ConfigError(f"no {needed.name}; it has no default: give one{hint}")
    return LoaderConfig(**options)


def _sources(sources: object) -> tuple[Source, ...]:
    if isinstance(sources, Source):
        sources = (sources,)
    if not isinstance(sources, list | tuple) or not sources:
        raise ConfigError(f"sources is {sources!r}; it must be a list of at least one headrace.Source")
    for source in sources:
        if not isinstance(source, Source):
            raise ConfigError(f"sources holds {source!r}; every item must be a headrace.Source")
    names = [source.name for source in sources]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"source name {name!r} is used {names.count(name)} times; names must be unique")
    without = [source.name for source in sources if source.weight is None]
    if without and len(without) < len(sources):
        raise ConfigError(f"source {without[0]!r} has no weight but others have; give every source one, or none")
    if not without and all(source.weight == 0 for source in sources):
        raise ConfigError("every weight is 0; at least one source must have a positive weight")
    return tuple(sources)


def _batch_sizes(given: object) -> BatchSizes:
    """A global batch size, or a schedule [(from_step, size), …], as a schedule that begins at step 0."""
    what = "global_batch_size"
    if not isinstance(given, list | tuple):
        return ((0, _whole(what, given, 1, MAX_BATCH)),)
    pairs = []
    for pair in given:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise ConfigError(f"{what} holds {pair!r}; a schedule is a list of (from_step, size)")
        from_step = _whole(f"a step of {what}", pair[0], 0, MAX_IDS)
        pairs.append((from_step, _whole(f"the size from step {from_step} of {what}", pair[1], 1, MAX_BATCH)))
    steps = [from_step for from_step, _ in pairs]
    if not steps or steps[0] != 0 or any(a >= b for a, b in pairwise(steps)):
        raise ConfigError(f"{what} is {given!r}; its steps must begin at 0 and rise, as in [(0, 256), (10_000, 512)]")
    return tuple(pair for i, pair in enumerate(pairs) if i == 0 or pair[1] != pairs[i - 1][1])


def _excluded(source: str, given: object) -> tuple[str, ...]:
    """The items of `exclude`; a path object that could be taken for a glob gets `./` in front."""
    items = (given,) if isinstance(given, str | os.PathLike) else given
    if not isinstance(items, Sequence):
        raise ConfigError(f"exclude of source {source!r} is {given!r}; it must be a glob, a file of rows, or a list")
    texts = []
    for item in items:
        text = os.fspath(item) if isinstance(item, str | os.PathLike) else item
        if not isinstance(text, str) or not text:
            raise ConfigError(f"exclude of source {source!r} holds {item!r}; every item must be a glob or a path")
        if isinstance(item, os.PathLike) and not is_row_list(text):
            text = f"./{text}"
        if is_row_list(text) and not list_name(text).lower().endswith(EXTENSIONS):
            raise ConfigError(
                f"exclude of source {source!r} holds {text!r}; a file of (path, row) pairs ends in one of "
                f"{', '.join(EXTENSIONS)}, and a glob is relative to the source's path"
            )
        if is_row_list(text) and not {"*", "?"}.isdisjoint(list_name(text)):
            raise ConfigError(
                f"exclude of source {source!r} holds {text!r}; a glob is relative to the source's path: take what "
                "comes before off, or name one file of (path, row) pairs"
            )
        texts.append(text)
    return tuple(dict.fromkeys(texts))


def _outputs(outputs: object) -> tuple[Output, ...]:
    names = (outputs,) if isinstance(outputs, str) else outputs
    if not isinstance(names, list | tuple):
        raise ConfigError(f"outputs is {outputs!r}; it must be a tuple of {', '.join(OUTPUTS)}")
    for name in names:
        if name not in OUTPUTS:
            close = difflib.get_close_matches(str(name), OUTPUTS, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ConfigError(f"outputs holds {name!r}; it may hold {', '.join(OUTPUTS)}{hint}")
    if "input_ids" not in names:
        raise ConfigError(f"outputs is {tuple(names)!r}; it must hold 'input_ids'")
    return tuple(name for name in OUTPUTS if name in names)


def _whole(name: str, value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or not low <= int(value) <= high:
        raise ConfigError(f"{name} is {value!r}; it must be a whole number from {low} to {high}")
    return int(value)


def _epochs(what: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < math.inf:
        raise ConfigError(f"{what} is {value!r}; it must be a finite number above 0, or None for no limit")
