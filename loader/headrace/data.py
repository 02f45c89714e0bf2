"""What the configured sources hold, known before the first batch: manifests, weights and orders, checked."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from headrace.assemble import Assembler
from headrace.config import LoaderConfig
from headrace.errors import SourceError
from headrace.manifest import SourceManifest, read_manifest
from headrace.mix import weights_to_ppm
from headrace.order import SourceOrder
from headrace.reader import BlockCache, SourceReader


@dataclass(frozen=True, slots=True)
class Data:
    """The sources of one loader."""

    config: LoaderConfig
    manifests: tuple[SourceManifest, ...]
    weights_ppm: Mapping[str, int]
    "configured weights by source name; by tokens where none were given"

    @property
    def fingerprints(self) -> dict[str, str]:
        """Each source's fingerprint by name."""
        return {manifest.name: manifest.fingerprint for manifest in self.manifests}

    def orders(self) -> list[SourceOrder]:
        """The order of each source, afresh: an order remembers windows, so each thread needs its own."""
        config = self.config
        return [
            SourceOrder(
                seed=config.seed,
                name=manifest.name,
                seq_len=config.seq_len,
                lanes=config.lanes,
                block_tokens=manifest.block_tokens + manifest.block_documents * config.num_separators,
            )
            for manifest in self.manifests
        ]

    def assembler(self, orders: list[SourceOrder]) -> tuple[Assembler, BlockCache]:
        """What makes batches from plans, and the cache of blocks it reads through."""
        config = self.config
        readers = [SourceReader(manifest) for manifest in self.manifests]
        blocks = BlockCache(readers, orders, config.num_separators, config.cache_bytes)
        return Assembler(config, self.manifests, orders, blocks), blocks


def open_data(config: LoaderConfig) -> Data:
    """Read every source's footers, in parallel.

    Raises:
        SourceError, ShardError: a source that can't be read, or whose ids are known not to fit the vocabulary.
    """
    with ThreadPoolExecutor(min(8, len(config.sources)), "headrace-manifest") as pool:
        manifests = tuple(
            pool.map(lambda source: read_manifest(source.name, source.path, column=source.column), config.sources)
        )
    for manifest in manifests:
        _check_ids(config, manifest)
    if config.sources[0].weight is None:
        weights: dict[str, float] = {manifest.name: manifest.num_tokens for manifest in manifests}
    else:
        weights = {source.name: source.weight or 0 for source in config.sources}
    return Data(config, manifests, weights_to_ppm(weights, config.names))


def _check_ids(config: LoaderConfig, manifest: SourceManifest) -> None:
    """Refuse what the footers alone show to be wrong about the ids."""
    what = f"source {manifest.name!r} ({manifest.root})"
    size = config.vocab_size
    if size is not None and manifest.max_token is not None and manifest.max_token >= size:
        raise SourceError(
            f"{what} holds id {manifest.max_token}; with vocab_size {size} ids must be below that: correct vocab_size, "
            "or make the shards again with the right tokenizer"
        )
    limit = int(np.iinfo(manifest.token_dtype).max)
    if size is not None and size - 1 > limit:
        raise SourceError(
            f"{what} stores ids as {manifest.token_dtype}, which holds ids up to {limit}, but vocab_size is {size}: "
            "ids above that would have wrapped when it was written; write it again with a wider type, or correct "
            "vocab_size"
        )
