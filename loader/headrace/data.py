"""What the configured sources hold, known before the first batch: manifests, weights and orders, checked."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headrace.best_fit import Windows, find_windows
from headrace.config import LoaderConfig, Source
from headrace.ends import NO_CAP, Ending, cap_of, end_of
from headrace.errors import SourceError
from headrace.exclusions import read_exclusions
from headrace.manifest import SourceManifest, read_manifest
from headrace.mix import PPM, weights_to_ppm
from headrace.order import SourceOrder
from headrace.pieces import BestFitPieces, ConcatPieces, Pieces
from headrace.reader import BlockCache, SourceReader

log = logging.getLogger("headrace")

TABLE_BYTES = 48
"what an opened document takes in its block's tables, whatever its length"


@dataclass(frozen=True, slots=True)
class Data:
    """The sources of one loader."""

    config: LoaderConfig
    manifests: tuple[SourceManifest, ...]
    weights_ppm: Mapping[str, int]
    "configured weights by source name; by tokens where none were given"
    windows: tuple[Windows, ...]
    "of each source, with best-fit packing; else empty"

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
                name=name,
                seq_len=config.seq_len,
                lanes=config.lanes,
                block_tokens=tokens,
                shuffle=config.shuffle,
                end=end_of(epochs, int(tokens.sum())),
            )
            for name, tokens, epochs in zip(config.names, self._units(), self._epochs(), strict=True)
        ]

    def ending(self) -> Ending | None:
        """When the run ends; None if it doesn't."""
        config = self.config
        caps = [
            cap_of(epochs, int(tokens.sum()), config.seq_len)
            for tokens, epochs in zip(self._units(), self._epochs(), strict=True)
        ]
        if min(caps) == NO_CAP:
            return None
        return Ending(np.array(caps, np.int64), config.on_exhausted == "stop", config.remainder == "drop")

    def working_set_bytes(self, orders: list[SourceOrder], dp_size: int) -> int:
        """About how much one rank must keep open: the blocks that its lanes' windows span.

        A document costs its place in the block's tables; a token of Parquet its decoded bytes, one of a mapped Arrow
        file nothing.
        """
        total = 0.0
        for manifest, order in zip(self.manifests, orders, strict=True):
            decoded = manifest.shards[0].path.endswith(".parquet")
            a_token = TABLE_BYTES * manifest.num_documents / manifest.num_tokens
            a_token += manifest.token_dtype.itemsize if decoded else 0
            tokens = order.span_tokens * max(1, order.num_lanes / dp_size)
            total += min(tokens, manifest.num_tokens) * a_token
        return int(total)

    def pieces(self, orders: list[SourceOrder], blocks: BlockCache) -> Pieces:
        """How sequences are put together from blocks."""
        if self.config.packing == "concat":
            return ConcatPieces(orders, blocks)
        return BestFitPieces(orders, self.windows, blocks, self.config.cache_bytes // 4)

    def blocks(self) -> BlockCache:
        """A cache of opened blocks, for one thread."""
        readers = [SourceReader(manifest) for manifest in self.manifests]
        return BlockCache(readers, self.config.num_separators, self.config.cache_bytes)

    def _epochs(self) -> list[float | None]:
        """For each source, the passes after which it is used up."""
        return [self.config.epochs or source.max_epochs for source in self.config.sources]

    def _units(self) -> list[npt.NDArray[np.int64]]:
        """For each source, tokens of each unit that is permuted: a block, or a window of whole sequences."""
        if self.config.packing == "concat":
            return self._tokens()
        return [windows.num_sequences * self.config.seq_len for windows in self.windows]

    def _tokens(self) -> list[npt.NDArray[np.int64]]:
        """For each source, tokens of each block, separators included."""
        return [_with_separators(self.config, manifest) for manifest in self.manifests]


def open_data(config: LoaderConfig) -> Data:
    """Read every source's footers, in parallel.

    Raises:
        SourceError, ShardError: a source that can't be read, or whose ids are known not to fit the vocabulary.
    """
    with ThreadPoolExecutor(min(8, len(config.sources)), "headrace-manifest") as pool:
        manifests = tuple(pool.map(_read, config.sources))
    for manifest in manifests:
        _check_ids(config, manifest)
        _warn_of_short(config, manifest)
    if config.sources[0].weight is None or config.epochs is not None:
        # By size, so that in whole passes all sources end together; none too small to have a weight.
        least = sum(manifest.num_tokens for manifest in manifests) / PPM
        weights: dict[str, float] = {manifest.name: max(manifest.num_tokens, least) for manifest in manifests}
    else:
        weights = {source.name: source.weight or 0 for source in config.sources}
    return Data(config, manifests, weights_to_ppm(weights, config.names), _windows(config, manifests))


def _read(source: Source) -> SourceManifest:
    """A source without what it excludes."""
    manifest = read_manifest(source.name, source.path, column=source.column)
    exclusions = read_exclusions(source.name, source.exclusions)
    if not exclusions.items:
        return manifest
    kept = exclusions.left_out(manifest, exclusions.items)
    log.info("source %r: %d documents left out by exclude", source.name, kept.num_excluded)
    return kept


def _windows(config: LoaderConfig, manifests: tuple[SourceManifest, ...]) -> tuple[Windows, ...]:
    if config.packing == "concat":
        return ()
    return tuple(
        find_windows(manifest.block_documents, _with_separators(config, manifest), config.seq_len)
        for manifest in manifests
    )


def _with_separators(config: LoaderConfig, manifest: SourceManifest) -> npt.NDArray[np.int64]:
    """Tokens of each block of a source, separators included."""
    return manifest.block_tokens + manifest.block_documents * config.num_separators


def _warn_of_short(config: LoaderConfig, manifest: SourceManifest) -> None:
    """Say so when a source is repeated within single sequences."""
    tokens = int(_with_separators(config, manifest).sum())
    if config.packing == "concat" and tokens < config.seq_len:
        warnings.warn(
            f"source {manifest.name!r} holds {tokens} tokens, fewer than seq_len {config.seq_len}: each of its "
            "sequences repeats it; add data, or pause it with weight 0",
            stacklevel=4,
        )


def _check_ids(config: LoaderConfig, manifest: SourceManifest) -> None:
    """Refuse what the footers alone show to be wrong about the ids."""
    what = f"source {manifest.name!r} ({manifest.root})"
    size = config.vocab_size
    if size is not None and manifest.max_token is not None and manifest.max_token >= size:
        raise SourceError(
            f"{what} holds id {manifest.max_token}; with vocab_size {size} ids must be below that: correct vocab_size, "
            "or make the shards again with the right tokenizer"
        )
    if size is None and manifest.max_token is not None and manifest.max_token >= config.id_limit:
        raise SourceError(
            f"{what} holds id {manifest.max_token}; {config.token_dtype} holds ids below {config.id_limit}: "
            "use a wider token_dtype"
        )
    limit = int(np.iinfo(manifest.token_dtype).max)
    if size is not None and size - 1 > limit:
        raise SourceError(
            f"{what} stores ids as {manifest.token_dtype}, which holds ids up to {limit}, but vocab_size is {size}: "
            "ids above that would have wrapped when it was written; write it again with a wider type, or correct "
            "vocab_size"
        )
