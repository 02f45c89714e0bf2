"""One start of a loader: agree, seal, plan, prefetch, report, end."""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from torch.distributed import Store  # type: ignore[attr-defined]

from headrace.agreement import (
    FollowerSeals,
    LeaderSeals,
    Start,
    World,
    broadcast_start,
    counts_tokens,
    open_store,
)
from headrace.ahead import ReadAhead
from headrace.assemble import Assembler
from headrace.data import Data
from headrace.fetching import Fetcher
from headrace.fingerprint import fingerprint
from headrace.mix import PPM, Revision, revision_at, weights_at
from headrace.plan import micro_batches
from headrace.prefetch import Prefetcher
from headrace.reader import BlockCache
from headrace.resume import holdings_of, move_past
from headrace.state import Restored, encode
from headrace.stream import Finished, Item, Stream, Waits
from headrace.telemetry.port import Activated, StepSample, Telemetry

log = logging.getLogger("headrace")

CLOSE_S = 0.4
"what ending all threads takes at most, beside the time for the last reports"


class Connect(Protocol):
    """Makes this rank's telemetry of one start; None when nothing is reported."""

    def __call__(
        self,
        *,
        world: World,
        counts_tokens: bool,
        attempt: str,
        lineage: str,
        resumed_from_step: int | None,
        parent_lineage: str | None,
        weights_ppm: Mapping[str, int],
        beginning: Mapping[str, object] | None,
    ) -> Telemetry | None:
        """`attempt` and `lineage` are UUIDs; `counts_tokens`: whether this rank reports its dp_rank's tokens.

        `parent_lineage` is that of the checkpoint where the run departs from it; `weights_ppm` are in force where this
        start begins. `beginning` is for the record, where the run changed: see `RankIdentity`.
        """


MAX_BEGINNING_BYTES = 200_000
"of what a start tells the control plane of the run before it; the same as a server takes"

_Joined = tuple[Store | None, bool, Telemetry | None]
"(the job's store, whether this rank counts its dp_rank's tokens, telemetry)"


class Run:
    """Everything that lives from one start of the loader to its end."""

    def __init__(
        self,
        data: Data,
        world: World,
        restored: Restored,
        connect: Connect,
        change: tuple[Mapping[str, int], int] | None = None,
    ) -> None:
        """Collective: every rank makes its `Run` at the same time.

        `change` is (weights in parts per million, ramp steps) to agree on before the first step is planned.

        Raises:
            AgreementError: ranks that differ, or no store to agree in.
        """
        self._data = data
        self._world = world
        self._loaded = restored
        self._connect = connect
        self._stopped = False
        self._waits = Waits()
        self._joined: _Joined | None = None
        self.start = broadcast_start(world, self._decide, fingerprint(data, restored))
        if self._joined is None:
            self._joined = self._join(self.start.nonce, self.start.lineage)
        store, self._counts, self._telemetry = self._joined
        moved, replay = move_past(restored, self.start.replay, data)
        self.restored = replace(
            moved, lineage=self.start.lineage, undone_version=self.start.undone_version, replays=True, departs=False
        )
        self.start = replace(self.start, replay=replay)
        self._seals = self._make_seals(store)
        if change is not None and isinstance(self._seals, LeaderSeals):
            self._seals.propose(*change)
        data.remember()
        orders = data.orders()
        self._tell_working_set(data.working_set_bytes(orders, world.dp_size))
        blocks = data.blocks()
        self._pieces = data.pieces(orders, blocks)
        courses = data.courses(orders)
        manifests = [leg.manifest for leg in data.legs]
        assembler = Assembler(data.config, manifests, courses, self._pieces, blocks)
        self._stream = Stream(
            start=self.restored.position,
            log=self.restored.log,
            seals=self._seals,
            courses=courses,
            names=data.config.names,
            assembler=assembler,
            batch_sizes=data.config.batch_sizes,
            micro_batch_size=data.config.micro_batch_size,
            dp_rank=world.dp_rank,
            dp_size=world.dp_size,
            tokens_a_sequence=None if self._telemetry is None else data.config.seq_len * self._counts,
            ending=data.ending(),
            collate=data.config.collate,
            opens_ahead=not any(data.fetched_legs),
        )
        self._fetcher = self._fetch_ahead(blocks)
        if world.rank == 0:
            self._agreed(revision_at(self.restored.log, self.restored.position.step), self.start.lineage)
        largest = max(size for _, size in data.config.batch_sizes)
        num_micro = micro_batches(largest, data.config.micro_batch_size, world.dp_size)
        self._prefetcher: Prefetcher[Item] = Prefetcher(
            self._stream.items(), data.config.prefetch * num_micro, self._stop
        )

    def _fetch_ahead(self, blocks: BlockCache) -> Fetcher | None:
        """Start fetching ahead what lies on object storage or must be decoded; None where nothing does."""
        data = self._data
        if not any(data.fetched_legs):
            return None
        fetcher = Fetcher(blocks.fetch, data.fetch_bytes, data.fetch_threads)
        blocks.fetch_by(fetcher.take)
        self._stream.on_planned = ReadAhead(
            legs=data.legs,
            is_ahead=data.fetched_legs,
            pieces=self._pieces,
            fetcher=fetcher,
            plan=self._stream.guess,
            slots=self._stream.slots,
        ).planned
        return fetcher

    def _tell_working_set(self, needed: int) -> None:
        """Say what this rank keeps open, and warn where `cache_bytes` can't hold it."""
        limit = self._data.config.cache_bytes
        largest = self._data.largest_block()
        if largest is not None and largest[0] > limit:
            log.warning(
                "a block of %s takes about %s MiB by itself, and cache_bytes is %s MiB: a row group is opened as a "
                "whole; raise cache_bytes, or write shards with smaller row groups",
                largest[1],
                f"{largest[0] / 2**20:,.0f}",
                f"{limit / 2**20:,.0f}",
            )
        shown = f"working set: about {needed / 2**20:,.0f} MiB of open blocks on this rank"
        room = f"cache_bytes is {limit / 2**20:,.0f} MiB"
        if self._data.fetch_bytes:
            limit -= self._data.fetch_bytes
            room += f", of which {limit / 2**20:,.0f} MiB are for them and the rest for blocks that are fetched ahead"
        if needed <= limit:
            log.info("%s; %s", shown, room)
            return
        log.warning(
            "%s, but %s: blocks will be opened again and again; raise cache_bytes, lower lanes, or write shards with "
            "smaller row groups",
            shown,
            room,
        )

    def take(self) -> Item:
        """The next micro-batch, and on the last of a step what is known of the step."""
        self._waits.begin()
        item = self._prefetcher.take()
        self._waits.end()
        if item.finished is not None:
            step = item.finished.plan.step
            self.stream.forget_before(step - self._data.config.prefetch)
            if self._telemetry is not None:
                self._telemetry.step_ended(self._sample(item.finished))
        return item

    @property
    def has_forked(self) -> bool:
        """Whether this is a forked child of the process that made it, where its threads and locks are lost."""
        return self._prefetcher.has_forked

    @property
    def stream(self) -> Stream:
        """The stream; HeadraceError in a forked child, where a lock of it may be held for ever."""
        self._prefetcher.check_process()
        return self._stream

    @property
    def seals(self) -> LeaderSeals | FollowerSeals:
        """The agreement; HeadraceError in a forked child."""
        self._prefetcher.check_process()
        return self._seals

    @property
    def reports(self) -> bool:
        """Whether somebody is told of the run."""
        return self._telemetry is not None

    def observe(self, step: int, sums: Mapping[str, tuple[float, int]]) -> None:
        """Pass losses by source on to the report."""
        if self._telemetry is not None:
            self._telemetry.observe(step, sums)

    def close(self, failed: str | None) -> None:
        """End the threads, and send what is left to report. In a forked child there is nothing to do."""
        if self.has_forked:
            return
        began = time.monotonic()
        self._prefetcher.close()
        if isinstance(self._seals, LeaderSeals):
            self._seals.end()
        if self._fetcher is not None:
            self._fetcher.close(timeout_s=max(0.0, CLOSE_S - (time.monotonic() - began)))
        for remote in self._data.remotes():
            remote.resume()
        self._pieces.clear()
        cuts = self._pieces.cuts
        if cuts is not None:
            log.info("best fit: cut %d of %d documents (%.3f %%)", cuts.cut, cuts.documents, 100 * cuts.share)
        if self._telemetry is not None:
            self._telemetry.finish(failed=failed)

    def _stop(self) -> None:
        self._stopped = True
        for remote in self._data.remotes():
            remote.interrupt()
        if self._fetcher is not None:
            self._fetcher.stop()

    def _join(self, nonce: str, lineage: str) -> _Joined:
        """This rank's own connections: to the job's store and to the control plane."""
        store = open_store(nonce) if self._world.world_size > 1 else None
        counts = counts_tokens(self._world, store)
        began = self._loaded.lineage is None
        telemetry = self._connect(
            world=self._world,
            counts_tokens=counts,
            attempt=nonce,
            lineage=lineage,
            resumed_from_step=None if began else self._loaded.position.step,
            parent_lineage=None if began or lineage == self._loaded.lineage else self._loaded.lineage,
            weights_ppm=weights_at(self._loaded.log, self._loaded.position.step, self._data.config.names),
            beginning=_beginning(self._loaded, self._data),
        )
        return store, counts, telemetry

    def _decide(self) -> Start:
        """Global rank 0's decision: a fresh nonce, the lineage that goes on, and what of it is replayed."""
        nonce = str(uuid.uuid4())
        loaded = self._loaded
        lineage = nonce if loaded.departs else loaded.lineage or nonce
        self._joined = self._join(nonce, lineage)
        replay: tuple[Revision, ...] = ()
        undone = loaded.undone_version
        telemetry = self._joined[2]
        if telemetry is not None and loaded.had_service and loaded.lineage and not loaded.has_other_sources:
            wait_s, step = self._data.config.resume_wait_s, loaded.position.step
            record = telemetry.replay_record(loaded.lineage, step, wait_s)
            if record is None:
                lineage = nonce
                log.warning(
                    "the control plane did not answer within %s s, so changes of the mix that were agreed after step "
                    "%d are not replayed: the stream goes on with the checkpoint's own log, in a new lineage",
                    wait_s,
                    step,
                )
            else:
                replay = recorded_revisions(record, loaded.log, self._data.config.names)
                if not loaded.replays:
                    undone = max([undone, *_versions(replay)])
                    log.warning("going back to step %d without %d changes of the mix after it", step, len(replay))
                    replay = ()
        return Start(nonce, lineage, replay, max([undone, *_versions(loaded.log), *_versions(replay)]), undone)

    def _make_seals(self, store: Store | None) -> LeaderSeals | FollowerSeals:
        if self._world.rank:
            assert store is not None
            return FollowerSeals(store, lambda: self._stopped)
        return LeaderSeals(
            first_step=self.restored.position.step,
            start=self.start,
            lease_steps=self._data.config.mix_lease_steps,
            store=store,
            latest_proposal=self._proposal,
            agreed=self._agreed,
        )

    def _proposal(self) -> Revision | None:
        if self._telemetry is None:
            return None
        proposal = self._telemetry.latest_proposal()
        if proposal is None:
            return None
        return Revision(proposal.revision, proposal.from_step or 0, dict(proposal.weights_ppm), proposal.ramp_steps)

    def _agreed(self, revision: Revision, lineage: str) -> None:
        log.info("mix %s from step %d: %s", revision.id, revision.from_step, dict(revision.weights_ppm))
        if self._telemetry is not None:
            self._telemetry.activated(
                Activated(revision.id, revision.from_step, revision.weights_ppm, revision.ramp_steps, lineage)
            )

    def _sample(self, finished: Finished) -> StepSample:
        plan, seq_len = finished.plan, self._data.config.seq_len
        return StepSample(
            step=plan.step,
            time=time.time(),
            waits_s=self._waits.take(),
            tokens=sum(source.tokens for source in finished.sources),
            total_tokens=self.restored.eras[-1].tokens_at(plan.after.counts, seq_len),
            queue_depth=self._prefetcher.num_ready,
            bytes_read=finished.bytes_read,
            revision=finished.revision,
            sources=finished.sources,
            masked_tokens=finished.masked_tokens * self._counts,
            masked_at=finished.masked_at,
        )


def _beginning(loaded: Restored, data: Data) -> Mapping[str, object] | None:
    """What the record needs beside the changes of the mix to name this run's steps; None where that is nothing.

    A checkpoint, so that whatever may change on a resume is in it. One of an unusual size stays here.
    """
    alike = len(loaded.eras) == 1 and loaded.eras[0].step == 0 and not loaded.skip_steps
    if loaded.lineage is None or alike:
        return None
    state = encode(data.config, loaded.position, loaded.log, loaded, holdings_of(data, loaded.position))
    found = {"state": state, "skip_steps": loaded.skip_steps}
    return found if len(json.dumps(found)) <= MAX_BEGINNING_BYTES else None


def _versions(revisions: Sequence[Revision]) -> list[int]:
    return [revision.version or 0 for revision in revisions]


def recorded_revisions(
    record: Sequence[Activated], known: Sequence[Revision], names: Sequence[str]
) -> tuple[Revision, ...]:
    """A record as revisions in the order of their steps, each once: attempts that replayed one recorded it again.

    Those that the checkpoint's log has are left out, and, with a warning, those that are not of these sources.
    """
    by_id: dict[str, Revision] = {}
    for activated in record:
        weights = {name: activated.weights_ppm.get(name, 0) for name in names}
        if sum(weights.values()) != PPM:
            log.warning(
                "the recorded change %s at step %d is not replayed: its weights %s are not of the sources %s",
                activated.revision,
                activated.step,
                dict(activated.weights_ppm),
                ", ".join(names),
            )
        else:
            by_id[activated.revision] = Revision(activated.revision, activated.step, weights, activated.ramp_steps)
    for revision in known:
        by_id.pop(revision.id, None)
    return tuple(sorted(by_id.values(), key=lambda revision: revision.from_step))
