"""The loader's checkpoint: a few fixed keys, the same on every rank, always at a step boundary.

    {format, seed, step, seq_len, lanes, packing, separators, sources, counts, accumulators, log, fingerprints, run}

Plain integers and strings; parts of variable length are JSON text. So it goes through `torch.distributed.checkpoint`
and plain `torch.save` alike, needs no communication to save, and loads at any world size.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from headrace.config import LoaderConfig
from headrace.errors import StateError
from headrace.mix import Revision, weights_at
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
    """The log with all but the last 256 revisions replaced by one that leads to the same weights from there on."""
    if len(log) <= MAX_LOG:
        return list(log)
    cut = len(log) - MAX_LOG
    last = log[cut - 1]
    anchor = Revision(last.id, last.from_step, weights_at(log[:cut], log[cut].from_step, names))
    return [anchor, *log[cut:]]


def encode(
    config: LoaderConfig,
    position: Position,
    log: Sequence[Revision],
    fingerprints: Mapping[str, str],
    *,
    lineage: str | None,
    had_service: bool,
) -> dict[str, Any]:
    """The checkpoint of a position: only revisions that took effect before it are in it."""
    past = [revision for revision in log if revision.from_step < position.step]
    opened = [revision.lineage for revision in past if revision.lineage]
    return {
        "format": FORMAT,
        "seed": config.seed,
        "step": position.step,
        "seq_len": config.seq_len,
        "lanes": config.lanes,
        "packing": config.packing,
        "separators": json.dumps([config.bos_id, config.eos_id]),
        "sources": json.dumps(config.names),
        "counts": json.dumps(position.counts.tolist()),
        "accumulators": json.dumps(position.accumulators.tolist()),
        "log": json.dumps([asdict(revision) for revision in fold(past, config.names)]),
        "fingerprints": json.dumps(fingerprints),
        "run": json.dumps({"lineage": opened[-1] if opened else lineage, "had_service": had_service}),
    }


def decode(state: Mapping[str, Any], config: LoaderConfig, fingerprints: Mapping[str, str]) -> Restored:
    """Check a checkpoint against this loader, and read it.

    Raises:
        StateError: not a checkpoint of this loader, a newer format, damaged, or of another seed, seq_len, lanes,
            packing, separators, sources or data; names what differs and both values.
    """
    missing = [key for key in _KEYS if key not in state]
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
    except (ValueError, TypeError, KeyError) as error:
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
    counts = np.array(json.loads(state["counts"]), np.int64)
    accumulators = np.array(json.loads(state["accumulators"]), np.int64)
    step = int(state["step"])
    shape = (len(config.names),)
    fits = counts.shape == accumulators.shape == shape and accumulators.sum() == 0
    if step < 0 or not fits or (counts < 0).any():
        raise ValueError(f"step {step}, counts {counts.tolist()} and accumulators {accumulators.tolist()} don't fit")
    log = tuple(Revision(**revision) for revision in json.loads(state["log"]))
    run = json.loads(state["run"])
    return Restored(Position(step, counts, accumulators), log, run["lineage"], bool(run["had_service"]))
