"""The loader's checkpoint: a few fixed keys, the same on every rank, always at a step boundary.

    {format, seed, step, seq_len, lanes, packing, shuffle, separators, transform,
     sources, counts, accumulators, log, fingerprints, legs, parked, eras, run}

Plain integers and strings; parts of variable length are JSON text. So it goes through `torch.distributed.checkpoint`
and plain `torch.save` alike, needs no communication to save, and loads at any world size. What it says is checked
here; whether it fits the sources as they are now, and how to go on if it doesn't, is `resume`'s.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.config import LoaderConfig
from headrace.eras import MAX_ERAS, Era
from headrace.errors import StateError
from headrace.legs import LegRecord
from headrace.mix import PPM, Revision, weights_at
from headrace.plan import Position
from headrace.upgrades import FORMAT, upgraded

MAX_LOG = 256
"revisions kept in a checkpoint; older ones are folded into one"

_KEYS = (
    "format",
    "seed",
    "step",
    "seq_len",
    "lanes",
    "packing",
    "shuffle",
    "separators",
    "transform",
    "sources",
    "counts",
    "accumulators",
    "log",
    "fingerprints",
    "legs",
    "parked",
    "eras",
    "run",
)


@dataclass(frozen=True, slots=True)
class Holding:
    """What a checkpoint says of one source."""

    count: int
    "sequences of it that were delivered"
    fingerprint: str
    num_shards: int
    exclusions: tuple[str, ...]
    "digests of what was left out of it"
    records: tuple[LegRecord, ...]


@dataclass(frozen=True, slots=True)
class Restored:
    """Where a run stands."""

    position: Position
    log: tuple[Revision, ...]
    lineage: str | None
    "None: saved before the first step of a run"
    had_service: bool
    job: str | None
    "the job in the control plane; None: it had none"
    eras: tuple[Era, ...]
    parked: Mapping[str, Holding]
    "sources that were dropped, should they come back"
    skip_steps: int = 0
    "steps from here on to move past"
    undone_version: int = 0
    "versions of the service up to this were undone by a rewind: none of them is news"
    replays: bool = True
    "whether what the service recorded after the checkpoint is made again"
    departs: bool = False
    "whether something else than in the checkpoint follows, so that its lineage ends here"

    @property
    def has_other_sources(self) -> bool:
        """Whether it goes on with other sources than it had, and so with a mix of its own."""
        return self.departs and "configured_weights_ppm" in self.eras[-1].changes


@dataclass(frozen=True, slots=True)
class Saved:
    """What a checkpoint says, in its own terms."""

    restored: Restored
    names: tuple[str, ...]
    seq_len: int
    holdings: Mapping[str, Holding]


def fold(log: Sequence[Revision], names: Sequence[str]) -> list[Revision]:
    """The log with all but the last 256 revisions replaced by one that leads to the same weights from its step on.

    It bears the name of the newest version of the service among those that it replaces, so that no start takes that
    version for a new one, or else of the last of them.
    """
    if len(log) <= MAX_LOG:
        return list(log)
    old, kept = log[:-MAX_LOG], log[-MAX_LOG:]
    name = max(old, key=lambda revision: (revision.version or 0, revision.from_step)).id
    step = kept[0].from_step
    return [Revision(name, step, weights_at(old, step, names)), *kept]


def revisions_of(state: Mapping[str, Any]) -> tuple[Revision, ...]:
    """The log of the mix in a checkpoint, in the order of agreement; the last touched the step before it."""
    names = _all_names(state)
    log = []
    for name, from_step, ramp_steps, lineage, weights in json.loads(state["log"]):
        shares = _integers(weights, len(names), at_least=0)
        if sum(shares) != PPM or min(_integers([from_step, ramp_steps], 2, at_least=0)) < 0:
            raise ValueError(f"the weights of {name} sum to {sum(shares)}")
        by_name = dict(zip(names, shares, strict=True))
        log.append(Revision(str(name), from_step, by_name, ramp_steps, lineage and str(lineage)))
    steps = [revision.from_step for revision in log]
    if not log or steps != sorted(steps):
        raise ValueError(f"its changes of the mix are at steps {steps}")
    return tuple(log)


def encode(
    config: LoaderConfig,
    position: Position,
    log: Sequence[Revision],
    restored: Restored,
    holdings: Mapping[str, Holding],
) -> dict[str, Any]:
    """The checkpoint of a position of a run that went on from `restored`, through the changes in `log`.

    `holdings` are the sources as they are read now; their counts are those of the position.
    Only revisions that took effect before it are in it, and the first, and those that came with an era.
    """
    eras = [era for era in restored.eras if era.step <= position.step]
    begun = {era.step for era in eras}
    past = [
        revision
        for i, revision in enumerate(log)
        if i == 0
        or revision.from_step < position.step
        or (revision.from_step in begun and revision.id.startswith("config:"))
    ]
    opened = [revision.lineage for revision in past if revision.lineage]
    names = [*config.names, *restored.parked]
    return {
        "format": FORMAT,
        "seed": config.seed,
        "step": position.step,
        "seq_len": config.seq_len,
        "lanes": config.lanes,
        "packing": config.packing,
        "shuffle": int(config.shuffle),
        "separators": json.dumps([config.bos_id, config.eos_id]),
        "transform": json.dumps(config.transform_name),
        "sources": json.dumps(config.names),
        "counts": json.dumps(position.counts.tolist()),
        "accumulators": json.dumps(position.accumulators.tolist()),
        "log": _text(
            [
                [r.id, r.from_step, r.ramp_steps, r.lineage, [r.weights_ppm.get(name, 0) for name in names]]
                for r in fold(past, names)
            ]
        ),
        "fingerprints": _text({name: _listing_row(holding) for name, holding in holdings.items()}),
        "legs": _text({name: _leg_rows(holding.records) for name, holding in holdings.items()}),
        "parked": _text(
            {name: [h.count, _listing_row(h), _leg_rows(h.records)] for name, h in restored.parked.items()}
        ),
        "eras": _text([_era_row(era, names) for era in eras[-MAX_ERAS:]]),
        "run": json.dumps(
            {
                "lineage": opened[-1] if opened else restored.lineage,
                "had_service": restored.had_service,
                "job": restored.job,
                "undone_version": restored.undone_version,
            }
        ),
    }


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _listing_row(holding: Holding) -> list[object]:
    return [holding.fingerprint, holding.num_shards, list(holding.exclusions)]


def _leg_rows(records: Sequence[LegRecord]) -> list[list[object]]:
    return [[r.kind, r.seq_len, r.shards, r.left_out, r.holes, r.stop] for r in records]


def _era_row(era: Era, names: Sequence[str]) -> list[object]:
    return [
        era.step,
        [names.index(name) for name in era.names],
        era.position.counts.tolist(),
        era.position.accumulators.tolist(),
        era.batch_sizes,
        era.tokens,
        era.caps,
        dict(era.changes),
    ]


def decode(state: Mapping[str, Any], config: LoaderConfig) -> Saved:
    """Check a checkpoint against this loader's options, and read it.

    Raises:
        StateError: not a checkpoint of this loader, a newer format, damaged, or of another seed, lanes, packing,
            shuffle, separators or transform; names what differs and both values.
    """
    _refuse_missing(state, ["format"])
    if not isinstance(state["format"], int) or not 1 <= state["format"] <= FORMAT:
        raise StateError(
            f"the state has format {state['format']!r}; this version reads 1 to {FORMAT}: "
            "install the headrace that wrote it"
        )
    with _damage():
        state = upgraded(state)
    _refuse_missing(state, _KEYS)
    ours = {
        "seed": config.seed,
        "lanes": config.lanes,
        "packing": config.packing,
        "shuffle": int(config.shuffle),
        "separators": json.dumps([config.bos_id, config.eos_id]),
        "transform": json.dumps(config.transform_name),
    }
    for name, value in ours.items():
        if state[name] != value:
            raise StateError(
                f"the state was saved with {name} = {state[name]} but this loader has {value}; make the loader with "
                "what the run was started with"
            )
    with _damage():
        return _read(state)


def _refuse_missing(state: Mapping[str, Any], keys: Sequence[str]) -> None:
    missing = [key for key in keys if key not in (state or ())]
    if missing:
        raise StateError(f"the state has no {missing[0]!r}; pass what Loader.state_dict() returned, unchanged")


@contextmanager
def _damage() -> Iterator[None]:
    """Whatever reading it trips over is damage."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        what = f"{type(error).__name__}: {error}"
        raise StateError(f"the state is damaged ({what}); load an earlier checkpoint") from error


def _read(state: Mapping[str, Any]) -> Saved:
    names = _names(json.loads(state["sources"]))
    position = _position(state["step"], json.loads(state["counts"]), json.loads(state["accumulators"]), len(names))
    log = revisions_of(state)
    if log[0].from_step > position.step:
        raise ValueError(f"its log begins at step {log[0].from_step}, after its own step {position.step}")
    run = json.loads(state["run"])
    for name in ("lineage", "job"):
        if not isinstance(run[name], str | None):
            raise TypeError(f"its {name} is {run[name]!r}")
    (undone,) = _integers([run["undone_version"]], 1, at_least=0)
    listings, legs = json.loads(state["fingerprints"]), json.loads(state["legs"])
    holdings = {
        name: _holding(count, listings[name], legs[name])
        for name, count in zip(names, position.counts.tolist(), strict=True)
    }
    parked = {str(name): _holding(*row) for name, row in json.loads(state["parked"]).items()}
    everyone = _all_names(state)
    eras = tuple(_era(row, everyone) for row in json.loads(state["eras"]))
    if not eras or [era.step for era in eras] != sorted({era.step for era in eras}) or eras[-1].step > position.step:
        raise ValueError(f"its eras begin at steps {[era.step for era in eras]}")
    (seq_len,) = _integers([state["seq_len"]], 1, at_least=2)
    restored = Restored(
        position, log, run["lineage"], bool(run["had_service"]), run["job"], eras, parked, undone_version=undone
    )
    return Saved(restored, names, seq_len, holdings)


def _names(given: object) -> tuple[str, ...]:
    if not isinstance(given, list) or not given or not all(isinstance(name, str) for name in given):
        raise TypeError(f"its sources are {given!r}")
    return tuple(given)


def _all_names(state: Mapping[str, Any]) -> list[str]:
    """The sources, then those that were dropped."""
    return [*_names(json.loads(state["sources"])), *json.loads(state["parked"])]


def _position(step: object, counts: object, accumulators: object, num_sources: int) -> Position:
    (number,) = _integers([step], 1, at_least=0)
    taken = _integers(counts, num_sources, at_least=0)
    owed = _integers(accumulators, num_sources, at_least=-(1 << 62))
    if sum(owed):
        raise ValueError(f"its accumulators sum to {sum(owed)}")
    return Position(number, np.array(taken, np.int64), np.array(owed, np.int64))


def _holding(count: int, listing: list[Any], rows: list[list[Any]]) -> Holding:
    fingerprint, num_shards, exclusions = listing
    _integers([count, num_shards], 2, at_least=0)
    records = []
    for kind, seq_len, shards, left_out, holes, stop in rows:
        if kind not in ("whole", "on", "rest", "once"):
            raise ValueError(f"a leg is {kind!r}")
        _integers([seq_len, 0 if stop is None else stop], 2, at_least=0)
        ranges = tuple((first, number) for first, number in (_integers(run, 2, at_least=0) for run in shards))
        records.append(LegRecord(kind, seq_len, ranges, tuple(left_out), tuple(holes), stop))
    if not records or records[0].kind != "whole":
        raise ValueError(f"it has legs {rows!r}")
    return Holding(count, str(fingerprint), num_shards, tuple(exclusions), tuple(records))


def _era(row: list[Any], names: Sequence[str]) -> Era:
    step, numbers, counts, accumulators, sizes, tokens, caps, changes = row
    own = tuple(names[number] for number in _integers(numbers, len(numbers), at_least=0))
    pairs = tuple((first, size) for first, size in (_integers(pair, 2, at_least=0) for pair in sizes))
    if not pairs or pairs[0][0] != 0 or min(size for _, size in pairs) < 1:
        raise ValueError(f"its batch sizes are {sizes!r}")
    _integers([tokens], 1, at_least=0)
    position = _position(step, counts, accumulators, len(own))
    if not isinstance(changes, dict):
        raise TypeError(f"its changes at step {step} are {changes!r}")
    return Era(position, own, pairs, tokens, None if caps is None else tuple(_caps(caps, len(own))), changes)


def _caps(values: list[int], length: int) -> list[int]:
    return [_integers([value], 1, at_least=0)[0] if value < 1 << 62 else 1 << 62 for value in values[:length]]


def _integers(values: object, length: int, *, at_least: int) -> list[int]:
    if not isinstance(values, list) or len(values) != length:
        raise ValueError(f"{values!r} is not a list of {length}")
    for value in values:
        if type(value) is not int or not at_least <= value < 1 << 62:
            raise ValueError(f"{value!r} is not a whole number from {at_least}")
    return values
