"""What every rank of a start must have alike: options, data, position, version of this library."""

from __future__ import annotations

import hashlib
from importlib.metadata import version

from headrace.data import Data
from headrace.state import Restored

_ALIKE = (
    "names",
    "on_bad_data",
    "transform_name",
    "seed",
    "seq_len",
    "batch_sizes",
    "micro_batch_size",
    "lanes",
    "packing",
    "eos_id",
    "bos_id",
    "vocab_size",
    "mix_lease_steps",
    "shuffle",
    "epochs",
    "on_exhausted",
    "remainder",
    "uneven",
)


def fingerprint(data: Data, restored: Restored) -> dict[str, object]:
    """By name; each value short enough to be shown when one differs."""
    config = data.config
    where = restored.position
    return {
        "headrace version": version("headrace"),
        **{name: getattr(config, name) for name in _ALIKE},
        "weights": dict(data.weights_ppm),
        "max_epochs": {source.name: source.max_epochs for source in config.sources},
        "data fingerprints": data.fingerprints,
        "exclusions": {listing.whole.name: list(listing.digests) for listing in data.listings},
        "step": where.step,
        "counts": where.counts.tolist(),
        "accumulators": where.accumulators.tolist(),
        "job": restored.job,
        "lineage": restored.lineage,
        "skip_steps": restored.skip_steps,
        "replay": restored.replays,
        "eras": [[era.step, dict(era.changes)] for era in restored.eras],
        "mix log": hashlib.blake2b(repr(restored.log).encode(), digest_size=8).hexdigest(),
    }
