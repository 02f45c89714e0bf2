"""What the counts alone show to be wrong, or worth a warning, before anything is read."""

from __future__ import annotations

import warnings

import numpy as np

from headrace.config import LoaderConfig
from headrace.errors import ConfigError, SourceError
from headrace.manifest import SourceManifest


def warn_of_short(config: LoaderConfig, manifest: SourceManifest) -> None:
    """Say so when a source is repeated within single sequences."""
    tokens = manifest.num_tokens + manifest.num_documents * config.num_separators
    is_paused = any(source.name == manifest.name and source.weight == 0 for source in config.sources)
    if config.epochs is None and config.packing == "concat" and tokens < config.seq_len and not is_paused:
        warnings.warn(
            f"source {manifest.name!r} holds {tokens} tokens, fewer than seq_len {config.seq_len}: each of its "
            "sequences repeats it; add data, or pause it with weight 0",
            stacklevel=4,
        )


def check_ids(config: LoaderConfig, manifest: SourceManifest) -> None:
    """Refuses, before anything is trained on, ids that a footer shows to be out of range.

    Ids that no footer shows are checked when they are read. With `on_bad_data="mask"` documents that hold such ids are
    masked then, whatever a footer shows.

    Raises:
        SourceError: an id that is negative or too large, with its file; a type too narrow for the vocabulary.
    """
    what = f"source '{manifest.name}'"
    size, widest = config.vocab_size, int(np.iinfo(manifest.token_dtype).max)
    if size is not None and size - 1 > widest:
        raise SourceError(
            f"{what} ({manifest.root}) stores ids as {manifest.token_dtype}, which holds ids up to {widest}, but "
            f"vocab_size is {size}: ids above that would have wrapped when it was written; write it again with a wider "
            "type, or correct vocab_size"
        )
    if config.on_bad_data == "mask":
        return
    limit = config.id_limit
    for shard in manifest.shards:
        if not shard.num_blocks:
            continue
        place = f"{what}: {manifest.root / shard.path}"
        if shard.min_token is not None and shard.min_token < 0:
            raise SourceError(
                f"{place} has id {shard.min_token} in column '{manifest.column}'; ids must be at least 0: "
                "make the shard again, or leave it out with exclude"
            )
        if shard.max_token is not None and shard.max_token >= limit:
            why = f"with vocab_size {size}" if size is not None else f"{config.token_dtype} holds ids below {limit}, so"
            remedy = "correct vocab_size" if size is not None else "use a wider token_dtype"
            raise SourceError(
                f"{place} has id {shard.max_token} in column '{manifest.column}'; {why} ids must be from 0 to "
                f"{limit - 1}: {remedy}, make the shard again with the right tokenizer, or leave it out with exclude"
            )


def check_steps(name: str, value: object) -> None:
    """Raise ConfigError unless the value is a number of steps."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 40:
        raise ConfigError(f"{name} is {value!r}; it must be a whole number of steps, at least 0")
