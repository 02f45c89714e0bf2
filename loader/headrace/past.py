"""The run that a command looks back on: from a checkpoint, from the control plane's record, or from options alone."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from headrace.config import Source, parse_config
from headrace.data import open_data
from headrace.eras import Era
from headrace.errors import ConfigError, StateError
from headrace.find import Delivery, find_row
from headrace.loader import Loader
from headrace.manifest import SourceManifest
from headrace.plan import Position
from headrace.recorded import Beginning, RecordedRun
from headrace.resume import move_past, resume
from headrace.state import decode
from headrace.steps import Steps
from headrace.trace import Traced, trace_run

_FREE = {"micro_batch_size": 1, "outputs": ("input_ids",), "prefetch": 0}
"options that decide nothing of what a step holds"


class Past(Protocol):
    """A run whose steps can be named."""

    @property
    def manifests(self) -> tuple[SourceManifest, ...]:
        """What its sources hold."""

    def trace(self, step: int) -> list[Traced]:
        """See `Loader.trace`."""

    def find(
        self, path: str, row: int, *, source: str | None, first_step: int | None, until_step: int | None
    ) -> list[Delivery]:
        """See `Loader.find`."""


def state_options(state: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a checkpoint's run was started with, as far as it holds them.

    Raises:
        StateError: a state that is damaged.
    """
    try:
        bos_id, eos_id = json.loads(state["separators"])
        sizes = [tuple(pair) for pair in json.loads(state["eras"])[-1][4]]
        options = {name: state[name] for name in ("seed", "seq_len", "lanes", "packing")}
    except (KeyError, ValueError, IndexError, TypeError) as error:
        what = f"{type(error).__name__}: {error}"
        raise StateError(f"the state is damaged ({what}), or of an older version; give another checkpoint") from error
    return options | {
        "shuffle": bool(state["shuffle"]),
        "bos_id": bos_id,
        "eos_id": eos_id,
        "global_batch_size": sizes,
        "sources": json.loads(state["sources"]),
    }


def in_order(sources: Sequence[Source], names: Sequence[str]) -> list[Source]:
    """The given sources in the order that the run had them; others after them."""
    place = {name: number for number, name in enumerate(names)}
    return sorted(sources, key=lambda source: place.get(source.name, len(place)))


class _Loaded:
    """A run as its own loader tells it."""

    def __init__(self, options: Mapping[str, Any], state: Mapping[str, Any] | None) -> None:
        self._loader = Loader(**{**options, **_FREE}, job=None, rank=0, world_size=1)
        if state is not None:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="the script's weights")
                self._loader.load_state_dict(state)

    @property
    def manifests(self) -> tuple[SourceManifest, ...]:
        return self._loader.manifests

    def trace(self, step: int) -> list[Traced]:
        return self._loader.trace(step)

    def find(
        self, path: str, row: int, *, source: str | None, first_step: int | None, until_step: int | None
    ) -> list[Delivery]:
        return self._loader.find(path, row, source=source, first_step=first_step, until_step=until_step)


class _Recorded:
    """A run as the control plane tells it."""

    def __init__(self, options: Mapping[str, Any], record: RecordedRun) -> None:
        self._data = open_data(parse_config({**options, **_FREE}))
        self._check(record)
        ending = self._data.ending()
        config = self._data.config
        clamps = None if ending is None or ending.clamps is None else tuple(ending.clamps.tolist())
        self._ending = ending
        self._eras = (Era(Position.start(len(config.names)), config.names, config.batch_sizes, 0, clamps, {}),)
        self._log = record.log

    @property
    def manifests(self) -> tuple[SourceManifest, ...]:
        return self._data.manifests

    def trace(self, step: int) -> list[Traced]:
        return trace_run(self._data, self._eras, self._log, (), step)

    def find(
        self, path: str, row: int, *, source: str | None, first_step: int | None, until_step: int | None
    ) -> list[Delivery]:
        steps = Steps(self._eras, self._log, (), self._ending)
        span = (first_step, until_step)
        return find_row(self._data, steps, path, row, source=source, span=span, next_step=0)

    def _check(self, record: RecordedRun) -> None:
        """Refuse other data, or other separators, than the run had."""
        separators = self._data.config.num_separators
        for manifest in self._data.manifests:
            documents = manifest.num_documents
            ours = len(manifest.shards), documents, manifest.num_tokens + documents * separators
            theirs = record.sizes[manifest.name]
            if ours != theirs:
                raise StateError(
                    f"source {manifest.name!r} of job {record.name!r} had {theirs[0]} shards, {theirs[1]} documents, "
                    f"{theirs[2]} tokens with separators, and {manifest.root} has {ours[0]}, {ours[1]}, {ours[2]}: "
                    "give the files, eos_id and bos_id that the run was started with, and its exclude in --config"
                )


class _Continued:
    """A run as its newest start found it, and the control plane tells it from there on."""

    def __init__(self, options: Mapping[str, Any], record: RecordedRun, begun: Beginning) -> None:
        config = parse_config({**options, **_FREE})
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="the script's weights")
            restored, self._data = resume(decode(begun.state, config), open_data(config), record.name)
        known = {revision.id for revision in restored.log}
        later = tuple(r for r in record.log if r.from_step >= restored.position.step and r.id not in known)
        self._start = restored.position
        moved, rest = move_past(replace(restored, skip_steps=begun.skip_steps), later, self._data)
        self._eras, self._log, self._position = moved.eras, (*moved.log, *rest), moved.position

    @property
    def manifests(self) -> tuple[SourceManifest, ...]:
        return self._data.manifests

    def trace(self, step: int) -> list[Traced]:
        return trace_run(self._data, self._eras, self._log, (self._start, self._position), step)

    def find(
        self, path: str, row: int, *, source: str | None, first_step: int | None, until_step: int | None
    ) -> list[Delivery]:
        steps = Steps(self._eras, self._log, (self._start, self._position), self._data.ending())
        span = (first_step, until_step)
        return find_row(self._data, steps, path, row, source=source, span=span, next_step=self._position.step)


def open_past(
    sources: Sequence[Source],
    options: Mapping[str, Any],
    *,
    state: Mapping[str, Any] | None = None,
    record: RecordedRun | None = None,
) -> Past:
    """The run of a checkpoint or of a record; of `options` alone without either.

    Args:
        sources: where the run's sources lie, in any order.
        options: Loader's options; those that the state or the record holds need not be given.
        state: what `Loader.state_dict` returned.
        record: what the control plane holds of the job.

    Raises:
        ConfigError, SourceError, StateError: sources, options or a state that don't fit together.
    """
    known: dict[str, Any] = {}
    names: Sequence[str] = [source.name for source in sources]
    begun = None if record is None else record.beginning
    if record is not None and begun is not None:
        known = state_options(begun.state)
        names = known.pop("sources")
        _check_names([source.name for source in sources], names, record.name)
        return _Continued({**known, **options, "sources": in_order(sources, names)}, record, begun)
    if state is not None:
        known = state_options(state)
        names = known.pop("sources")
    elif record is not None:
        known, names = dict(record.options), record.sources
        _check_names([source.name for source in sources], names, record.name)
    merged = {**known, **options, "sources": in_order(sources, names)}
    return _Loaded(merged, state) if record is None else _Recorded(merged, record)


def _check_names(given: Sequence[str], wanted: Sequence[str], job: str) -> None:
    if set(given) != set(wanted):
        raise ConfigError(
            f"the sources given are {', '.join(given) or 'none'}; job {job!r} has {', '.join(wanted)}: name each as "
            "the job does, as in web=/data/web"
        )
