"""What the configured sources hold, known before the first batch: manifests, weights and legs, checked."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from headrace.checks import check_ids, warn_of_short
from headrace.collecting import without_collecting
from headrace.config import LoaderConfig, Source
from headrace.courses import Courses, Orders
from headrace.ends import NO_CAP, Ending
from headrace.exclusions import Exclusions, read_exclusions
from headrace.holes import BadData
from headrace.legs import Leg, LegRecord, lay_out
from headrace.listing import remember_listing
from headrace.manifest import SourceManifest, read_manifest
from headrace.mix import PPM, weights_to_ppm
from headrace.pieces import BestFitPieces, ConcatPieces, Pieces
from headrace.places import Place
from headrace.reader import BlockCache, SourceReader
from headrace.selection import select_shards
from headrace.separators import check_separators, first_look

if TYPE_CHECKING:
    from headrace.places.remote import Remote

log = logging.getLogger("headrace")

FETCH_THREADS = 32
"threads that fetch blocks from object storage"

DECODE_THREADS = 2
"threads that decode local blocks ahead: a rank is one of several on its machine"

TABLE_BYTES = 48
"what an opened document takes in its block's tables, whatever its length"


@dataclass(frozen=True, slots=True)
class Listing:
    """One source as it lies on disk, and what of it the user leaves out."""

    whole: SourceManifest
    "nothing left out"
    exclusions: Exclusions
    kept: SourceManifest
    "without what the user leaves out"

    def view(self, record: LegRecord) -> SourceManifest:
        """What a leg reads: its shards without what is left out of it, and with its holes."""
        by_digest = {item.digest: item for item in self.exclusions.items}
        manifest = self.kept
        if set(record.left_out) != set(by_digest):
            manifest = self.exclusions.left_out(self.whole, [by_digest[digest] for digest in record.left_out])
        if record.holes:
            manifest = self.exclusions.with_holes(manifest, [by_digest[digest] for digest in record.holes])
        return select_shards(manifest, record.shards)

    @property
    def digests(self) -> tuple[str, ...]:
        """What the user leaves out, each item by its digest."""
        return tuple(item.digest for item in self.exclusions.items)

    def whole_record(self, seq_len: int) -> LegRecord:
        """The leg of epochs over everything that is kept."""
        return LegRecord("whole", seq_len, ((0, len(self.whole.shards)),), self.digests)


@dataclass(frozen=True, slots=True)
class Data:
    """The sources of one loader."""

    config: LoaderConfig
    listings: tuple[Listing, ...]
    weights_ppm: Mapping[str, int]
    "configured weights by source name; by tokens where none were given"
    legs: tuple[Leg, ...]
    "of every source, one source after another, each in the order of its ordinals"
    told: set[tuple[str, str, int]] = field(default_factory=set)
    "(source, shard, block) of what was logged as masked, however often it is read"

    @property
    def manifests(self) -> tuple[SourceManifest, ...]:
        """What each source holds, without what the user leaves out."""
        return tuple(listing.kept for listing in self.listings)

    @property
    def fingerprints(self) -> dict[str, str]:
        """Each source's fingerprint by name."""
        return {listing.whole.name: listing.whole.fingerprint for listing in self.listings}

    @property
    def records(self) -> dict[str, tuple[LegRecord, ...]]:
        """The legs of each source, by its name, as a checkpoint has them."""
        names = self.config.names
        return {
            name: tuple(leg.record for leg in self.legs if leg.source == source) for source, name in enumerate(names)
        }

    def with_records(self, records: Mapping[str, Sequence[LegRecord]]) -> Data:
        """The same data read in these legs."""
        if records == self.records:
            return self
        legs = _lay_out(self.config, self.listings, records)
        return Data(self.config, self.listings, self.weights_ppm, legs, self.told)

    def remember(self) -> None:
        """Keep the listings of all sources, so that a later start can say what changed since."""
        for listing in self.listings:
            remember_listing(listing.whole)

    def legs_of(self, source: int) -> tuple[Leg, ...]:
        """The legs of one source."""
        return tuple(leg for leg in self.legs if leg.source == source)

    def orders(self) -> Orders:
        """The order of each leg, afresh: an order remembers windows, so each thread needs its own."""
        return Orders(self.legs)

    def courses(self, orders: Orders) -> Courses:
        """Where the ordinals of each source lie."""
        return Courses(self.legs, orders)

    def ending(self) -> Ending | None:
        """When the run ends; None if it doesn't."""
        config = self.config
        caps = [self.legs_of(source)[-1].end_ordinal for source in range(len(config.names))]
        if min(caps) == NO_CAP:
            return None
        return Ending(np.array(caps, np.int64), config.on_exhausted == "stop", config.remainder == "drop")

    def working_set_bytes(self, orders: Orders, dp_size: int) -> int:
        """About how much one rank must keep open: the blocks that its lanes' windows span.

        A document costs its place in the block's tables; a token of Parquet its decoded bytes, one of a mapped Arrow
        file nothing.
        """
        total = 0.0
        last = {leg.source: number for number, leg in enumerate(self.legs)}
        for number in last.values():
            manifest, order = self.legs[number].manifest, orders[number]
            decoded = is_held(manifest)
            a_token = TABLE_BYTES * manifest.num_documents / manifest.num_tokens
            a_token += manifest.token_dtype.itemsize if decoded else 0
            tokens = order.span_tokens * max(1, order.num_lanes / dp_size)
            total += min(tokens, manifest.num_tokens) * a_token
        return int(total)

    @property
    def fetched_legs(self) -> list[bool]:
        """For each leg, whether its blocks are fetched ahead by threads: from object storage, or to be decoded."""
        return [is_held(leg.manifest) for leg in self.legs]

    @property
    def fetch_bytes(self) -> int:
        """What of `cache_bytes` is for blocks that are fetched ahead.

        From object storage enough to replace all that are in use, as lanes change windows together; a local block is
        decoded soon enough from a quarter.
        """
        if not any(self.fetched_legs):
            return 0
        return self.config.cache_bytes // (2 if self.remotes() else 4)

    @property
    def fetch_threads(self) -> int:
        """Threads that fetch ahead: many to hide a store's latency, few where decoding is all there is to do."""
        return FETCH_THREADS if self.remotes() else DECODE_THREADS

    def remotes(self) -> list[Remote]:
        """The object stores that sources lie on."""
        roots = [listing.whole.root for listing in self.listings]
        return [root.remote for root in roots if root.remote is not None]

    def largest_block(self) -> tuple[int, Place] | None:
        """About the bytes of the largest block that must be held as a whole, and its file; None without any."""
        found = None
        for manifest in self.manifests:
            if is_held(manifest):
                block = int(np.argmax(manifest.block_tokens))
                nbytes = int(manifest.block_tokens[block]) * manifest.token_dtype.itemsize
                nbytes += int(manifest.block_documents[block]) * TABLE_BYTES
                if found is None or nbytes > found[0]:
                    found = nbytes, manifest.root / manifest.shards[int(manifest.block_shard[block])].path
        return found

    def pieces(self, orders: Orders, blocks: BlockCache) -> Pieces:
        """How sequences are put together from blocks."""
        if self.config.packing == "concat":
            return ConcatPieces(orders, blocks)
        windows = [leg.stretch.windows for leg in self.legs if leg.stretch.windows is not None]
        return BestFitPieces(orders, windows, blocks, self.config.cache_bytes - self.fetch_bytes)

    def blocks(self) -> BlockCache:
        """A cache of opened blocks of all legs, for one thread."""
        config = self.config
        bad_data = BadData(config.on_bad_data == "mask", config.id_limit, config.packing == "best_fit", self.told)
        manifests = [leg.manifest for leg in self.legs]
        readers = [
            SourceReader(manifest, bad_data, first_look(manifest, config.bos_id, config.eos_id))
            for manifest in manifests
        ]
        return BlockCache(readers, self.config.num_separators, self.config.cache_bytes - self.fetch_bytes)


def is_held(manifest: SourceManifest) -> bool:
    """Whether blocks are held in memory of their own: those of object storage, and those that are decoded."""
    return manifest.root.remote is not None or any(shard.path.endswith(".parquet") for shard in manifest.shards[:1])


def open_data(config: LoaderConfig) -> Data:
    """Read every source's footers, in parallel.

    Raises:
        SourceError, ShardError: a source that can't be read, whose ids are known not to fit the vocabulary, or whose
            documents carry separators already.
    """
    with without_collecting(), ThreadPoolExecutor(min(8, len(config.sources)), "headrace-manifest") as pool:
        listings = tuple(pool.map(lambda source: _read(source, config.disk_cache_bytes), config.sources))
        for listing in listings:
            check_ids(config, listing.kept)
            warn_of_short(config, listing.kept)
        tuple(pool.map(lambda listing: _check_separators(config, listing.kept), listings))
    if config.sources[0].weight is None or config.epochs is not None:
        # By size, so that in whole passes all sources end together; none too small to have a weight.
        sizes = {listing.kept.name: listing.kept.num_tokens for listing in listings}
        least = sum(sizes.values()) / PPM
        weights: dict[str, float] = {name: max(size, least) for name, size in sizes.items()}
    else:
        weights = {source.name: source.weight or 0 for source in config.sources}
    records = {listing.whole.name: (listing.whole_record(config.seq_len),) for listing in listings}
    return Data(config, listings, weights_to_ppm(weights, config.names), _lay_out(config, listings, records))


def _read(source: Source, disk_cache_bytes: int) -> Listing:
    """A source, and what is left of it without what it excludes."""
    exclusions = read_exclusions(source.name, source.exclusions)
    whole = read_manifest(
        source.name,
        source.path,
        column=source.column,
        index=source.index,
        disk_cache_bytes=disk_cache_bytes,
        is_left_out=exclusions.leaves_out,
    )
    if not exclusions.items:
        return Listing(whole, exclusions, whole)
    exclusions.check(whole)
    kept = exclusions.left_out(whole, exclusions.items)
    log.info("source %r: %d documents left out by exclude", source.name, kept.num_excluded)
    return Listing(whole, exclusions, kept)


def _check_separators(config: LoaderConfig, manifest: SourceManifest) -> None:
    check_separators(manifest, config.bos_id, config.eos_id, may_fail=config.on_bad_data == "mask")


def _lay_out(
    config: LoaderConfig, listings: Sequence[Listing], records: Mapping[str, Sequence[LegRecord]]
) -> tuple[Leg, ...]:
    laid = [
        lay_out(config, source, records[listing.whole.name], listing.view) for source, listing in enumerate(listings)
    ]
    return tuple(leg for legs in laid for leg in legs)
