"""One start of a loader: agree, seal, plan, prefetch, report, end."""

from __future__ import annotations

import hashlib
import logging
import time
import uuid
from collections.abc import Callable, Mapping
from importlib.metadata import version

from headrace.agreement import (
    FollowerSeals,
    LeaderSeals,
    Seals,
    Start,
    World,
    broadcast_start,
    counts_tokens,
    open_store,
)
from headrace.batch import Batch
from headrace.data import Data
from headrace.mix import Revision, revision_at
from headrace.prefetch import Prefetcher
from headrace.state import Restored
from headrace.stream import Finished, Item, Stream, Waits
from headrace.telemetry.port import Activated, SourceSample, StepSample, Telemetry

log = logging.getLogger("headrace")

_ALIKE = (
    "names",
    "seed",
    "seq_len",
    "global_batch_size",
    "micro_batch_size",
    "lanes",
    "packing",
    "eos_id",
    "bos_id",
    "vocab_size",
    "mix_lease_steps",
)

Connect = Callable[[Start, World, bool], Telemetry]
"makes the telemetry of a start: (start, world, whether this rank reports its dp_rank's tokens)"


class Run:
    """Everything that lives from one start of the loader to its end."""

    def __init__(self, data: Data, world: World, restored: Restored, connect: Connect | None) -> None:
        """Collective: every rank makes its `Run` at the same time.

        Raises:
            AgreementError: ranks that differ, or no store to agree in.
        """
        self._data = data
        self._world = world
        self._telemetry: Telemetry | None = None
        self._stopped = False
        position = restored.position
        self.start = broadcast_start(world, lambda: _decide(restored), _fingerprint(data, restored))
        store = open_store(self.start.nonce) if world.world_size > 1 else None
        self._counts = counts_tokens(world, store)
        if connect is not None:
            self._telemetry = connect(self.start, world, self._counts)
        self.seals: Seals
        if world.rank == 0:
            self.seals = LeaderSeals(
                first_step=position.step,
                start=self.start,
                lease_steps=data.config.mix_lease_steps,
                store=store,
                latest_proposal=self._proposal,
                agreed=self._agreed,
            )
        else:
            assert store is not None
            self.seals = FollowerSeals(store, lambda: self._stopped)
        orders = data.orders()
        assembler, self._blocks = data.assembler(orders)
        self.stream = Stream(
            start=position,
            log=restored.log,
            seals=self.seals,
            orders=orders,
            names=data.config.names,
            assembler=assembler,
            global_batch_size=data.config.global_batch_size,
            dp_rank=world.dp_rank,
            dp_size=world.dp_size,
            with_cursors=self._telemetry is not None,
        )
        self._waits = Waits()
        micro_batches = data.config.global_batch_size // (data.config.micro_batch_size * world.dp_size)
        depth = data.config.prefetch * micro_batches
        self._prefetcher: Prefetcher[Item] = Prefetcher(self.stream.items(), depth, self._stop)
        if self._telemetry is not None and world.rank == 0:
            first = revision_at(restored.log, position.step)
            self._agreed(first, self.start.lineage)

    def take(self) -> tuple[Batch, Finished | None]:
        """The next micro-batch, and on the last of a step what is known of the step."""
        self._waits.begin()
        item = self._prefetcher.take()
        self._waits.end()
        if item.finished is not None:
            step = item.finished.plan.step
            self.stream.forget_before(step - self._data.config.prefetch)
            if self._telemetry is not None:
                self._telemetry.step_ended(self._sample(item.finished))
        return item.batch, item.finished

    def observe(self, step: int, sums: Mapping[str, tuple[float, int]]) -> None:
        """Pass losses by source on to the report."""
        if self._telemetry is not None:
            self._telemetry.observe(step, sums)

    def close(self, failed: str | None) -> None:
        """End the threads, and send what is left to report."""
        self._prefetcher.close()
        self._blocks.clear()
        if self._telemetry is not None:
            self._telemetry.finish(failed=failed)

    def _stop(self) -> None:
        self._stopped = True

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
                Activated(revision.id, revision.from_step, revision.weights_ppm, revision.ramp_steps)
            )

    def _sample(self, finished: Finished) -> StepSample:
        plan, config = finished.plan, self._data.config
        revision = revision_at(self.stream.log, plan.step)
        sources = []
        for k, name in enumerate(config.names):
            cursor = finished.cursors.get(k)
            sequences = cursor.sequences if cursor else 0
            sources.append(
                SourceSample(
                    name=name,
                    ordinal=int(plan.after.counts[k]),
                    epoch=finished.epochs[k],
                    file=cursor.file if cursor else None,
                    row=cursor.row if cursor else None,
                    target_ppm=int(plan.weights[k]),
                    sequences=sequences,
                    tokens=sequences * config.seq_len * self._counts,
                )
            )
        delivered = sum(source.sequences for source in sources) * config.seq_len
        return StepSample(
            step=plan.step,
            time=time.time(),
            waits_s=self._waits.take(),
            tokens=delivered * self._counts,
            total_tokens=int(plan.after.counts.sum()) * config.seq_len,
            queue_depth=self._prefetcher.num_ready,
            bytes_read=finished.bytes_read,
            revision=revision.id,
            sources=tuple(sources),
        )


def _decide(restored: Restored) -> Start:
    """Global rank 0's decision: a fresh nonce, and the lineage that goes on."""
    nonce = str(uuid.uuid4())
    known = [revision.version or 0 for revision in restored.log]
    return Start(nonce, restored.lineage or nonce, (), max(known))


def _fingerprint(data: Data, restored: Restored) -> dict[str, object]:
    """What every rank must have alike; each value short enough to be shown when one differs."""
    config = data.config
    shown = {name: getattr(config, name) for name in _ALIKE}
    where = restored.position
    return {
        "headrace version": version("headrace"),
        **shown,
        "weights": dict(data.weights_ppm),
        "data fingerprints": data.fingerprints,
        "step": where.step,
        "counts": where.counts.tolist(),
        "accumulators": where.accumulators.tolist(),
        "lineage": restored.lineage,
        "mix log": hashlib.blake2b(repr(restored.log).encode(), digest_size=8).hexdigest(),
    }
