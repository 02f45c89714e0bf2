"""The loader's checkpoint: a few fixed keys, the same on every rank, always at a step boundary.

    {format, seed, step, seq_len, lanes, packing, shuffle, separators,
     sources, counts, accumulators, log, fingerprints, run}

Plain integers and strings; parts of variable length are JSON text. So it goes through `torch.distributed.checkpoint`
and plain `torch.save` alike, needs no communication to save, and loads at any world size.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.config import LoaderConfig
from headrace.errors import StateError
from headrace.mix import PPM, Revision, weights_at
from headrace.plan import Position

FORMAT = 1
"the number of the format that this version writes"

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
    "sources",
    "counts",
    "accumulators",
    "log",
    "fingerprints",
    "run",
)


@dataclass(frozen=True, slots=True)
class Restored:
    """What a checkpoint says, checked against this loader."""

    position: Position
    log: tuple[Revision, ...]
    lineage: str | None
    "None: saved before the first step of a run"
    had_service: bool


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
    names = json.loads(state["sources"])
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


def _log_text(log: Sequence[Revision], names: Sequence[str]) -> str:
    rows = [
        [r.id, r.from_step, r.ramp_steps, r.lineage, [r.weights_ppm.get(name, 0) for name in names]]
        for r in fold(log, names)
    ]
    return json.dumps(rows, separators=(",", ":"))


def _integers(values: object, length: int, *, at_least: int) -> list[int]:
    if not isinstance(values, list) or len(values) != length:
        raise ValueError(f"{values!r} is not a list of {length}")
    for value in values:
        if type(value) is not int or not at_least <= value < 1 << 62:
            raise ValueError(f"{value!r} is not a whole number from {at_least}")
    return values


def encode(
    config: LoaderConfig,
    position: Position,
    log: Sequence[Revision],
    fingerprints: Mapping[str, str],
    *,
    lineage: str | None,
    had_service: bool,
) -> dict[str, Any]:
    """The checkpoint of a position: only revisions that took effect before it are in it, and the first."""
    past = [revision for i, revision in enumerate(log) if i == 0 or revision.from_step < position.step]
    opened = [revision.lineage for revision in past if revision.lineage]
    return {
        "format": FORMAT,
        "seed": config.seed,
        "step": position.step,
        "seq_len": config.seq_len,
        "lanes": config.lanes,
        "packing": config.packing,
        "shuffle": int(config.shuffle),
        "separators": json.dumps([config.bos_id, config.eos_id]),
        "sources": json.dumps(config.names),
        "counts": json.dumps(position.counts.tolist()),
        "accumulators": json.dumps(position.accumulators.tolist()),
        "log": _log_text(past, config.names),
        "fingerprints": json.dumps(fingerprints),
        "run": json.dumps({"lineage": opened[-1] if opened else lineage, "had_service": had_service}),
    }


def decode(state: Mapping[str, Any], config: LoaderConfig, fingerprints: Mapping[str, str]) -> Restored:
    """Check a checkpoint against this loader, and read it.

    Raises:
        StateError: not a checkpoint of this loader, a newer format, damaged, or of another seed, seq_len, lanes,
            packing, shuffle, separators, sources or data; names what differs and both values.
    """
    missing = [key for key in _KEYS if key not in (state or ())]
    if missing:
        raise StateError(f"the state has no {missing[0]!r}; pass what Loader.state_dict() returned, unchanged")
    if not isinstance(state["format"], int) or not 1 <= state["format"] <= FORMAT:
        raise StateError(
            f"the state has format {state['format']!r}; this version reads 1 to {FORMAT}: "
            "install the headrace that wrote it"
        )
    ours = {
        "seed": config.seed,
        "seq_len": config.seq_len,
        "lanes": config.lanes,
        "packing": config.packing,
        "shuffle": int(config.shuffle),
        "separators": json.dumps([config.bos_id, config.eos_id]),
        "sources": json.dumps(config.names),
    }
    for name, value in ours.items():
        if state[name] != value:
            raise StateError(
                f"the state was saved with {name} = {state[name]} but this loader has {value}; make the loader with "
                "what the run was started with"
            )
    try:
        return _read(state, config, fingerprints)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        if isinstance(error, StateError):
            raise
        what = f"{type(error).__name__}: {error}"
        raise StateError(f"the state is damaged ({what}); load an earlier checkpoint") from error


def _read(state: Mapping[str, Any], config: LoaderConfig, fingerprints: Mapping[str, str]) -> Restored:
    saved = json.loads(state["fingerprints"])
    for name, fingerprint in fingerprints.items():
        if saved[name] != fingerprint:
            raise StateError(
                f"the shards of source {name!r} have changed since the state was saved (fingerprint {saved[name]} "
                f"then, {fingerprint} now); restore the files that the run was started with"
            )
    (step,) = _integers([state["step"]], 1, at_least=0)
    counts = _integers(json.loads(state["counts"]), len(config.names), at_least=0)
    accumulators = _integers(json.loads(state["accumulators"]), len(config.names), at_least=-(1 << 62))
    if sum(accumulators):
        raise ValueError(f"its accumulators sum to {sum(accumulators)}")
    log = revisions_of(state)
    if log[0].from_step > step:
        raise ValueError(f"its log begins at step {log[0].from_step}, after its own step {step}")
    run = json.loads(state["run"])
    if not isinstance(run["lineage"], str | None):
        raise TypeError(f"its lineage is {run['lineage']!r}")
    position = Position(step, np.array(counts, np.int64), np.array(accumulators, np.int64))
    return Restored(position, log, run["lineage"], bool(run["had_service"]))
