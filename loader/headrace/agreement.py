"""How all ranks learn of a change of the mix at one agreed step.

Ranks plan ahead, so a change is agreed on the planning clock. The leader (global rank 0) *seals* steps: it writes, in
the job's own c10d store, "final through step H" and how many revisions this start has agreed so far. A rank that wants
to plan past the last seal it read reads the next one. A sealed step never changes, so all that matters is that a seal
is read before a step beyond the last one is planned: there is no timing assumption, no collective, and one small read
every `mix_lease_steps`.

The seal is one key, overwritten: a late reader finds a later seal, which says the same of earlier steps. Each revision
has a key of its own, written before the seal that counts it, so the store grows with changes only, not with steps. A
leader that ends says so in its last seal, so that no rank waits for another. The
only collective is one broadcast at start: a random nonce, which is the attempt's id and the prefix of the keys (a store
may outlive a restart), what is replayed, and a fingerprint that every rank checks.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Protocol

import torch.distributed as dist
from torch.distributed import PrefixStore, Store, TCPStore  # type: ignore[attr-defined]

from headrace.errors import AgreementError, ConfigError
from headrace.mix import Revision

_SEAL = "seal"
_REVISION = "revision/"
_ENDED = "ended"
_FIRST_POLL_S = 0.0002
_LONGEST_POLL_S = 0.02
_END_S = 1.0
_CUT = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class World:
    """This process among the ranks of the job."""

    rank: int
    "global rank"
    world_size: int
    dp_rank: int
    "which share of each global batch this rank reads; ranks with the same one get the same batches"
    dp_size: int


@dataclass(frozen=True, slots=True)
class Start:
    """What global rank 0 decided at this start, the same on every rank."""

    nonce: str
    "a UUID: the attempt's id, and the prefix of the store's key"
    lineage: str
    replay: tuple[Revision, ...]
    "recorded changes after the resumed step, applied again at their steps unless a newer version comes first"
    known_version: int
    "the newest service version that the checkpoint and the replay know; a newer one is an edit"
    undone_version: int = 0
    "the newest of those that a rewind undid"


class Seals(Protocol):
    """Answers which revisions are final."""

    def through(self, step: int) -> Sequence[Revision]:
        """Every revision agreed in this start, final for all steps up to `step`. May wait for the leader."""


def find_world(rank: int | None, world_size: int | None, dp_rank: int | None, dp_size: int | None) -> World:
    """This rank and the world size: as given, from torch.distributed, or from the torchrun environment.

    Raises:
        ConfigError: only one of a pair given, a rank out of range, more than one rank without a process group, or
            other ranks than it has.
    """
    if (rank is None) != (world_size is None) or (dp_rank is None) != (dp_size is None):
        raise ConfigError(
            f"rank is {rank}, world_size {world_size}, dp_rank {dp_rank}, dp_size {dp_size}; "
            "give both of a pair or neither"
        )
    if rank is None or world_size is None:
        if dist.is_available() and dist.is_initialized():
            rank, world_size = dist.get_rank(), dist.get_world_size()
        else:
            rank, world_size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    own, size = (rank, world_size) if dp_rank is None or dp_size is None else (dp_rank, dp_size)
    for label, value, limit in (("rank", rank, world_size), ("dp_rank", own, size)):
        if not 0 <= value < limit:
            raise ConfigError(f"{label} is {value}; with a size of {limit} it must be from 0 to {limit - 1}")
    if size > world_size or world_size % size:
        raise ConfigError(f"dp_size is {size}; it must divide the world size, {world_size}")
    if world_size > 1 and not (dist.is_available() and dist.is_initialized()):
        raise ConfigError(
            f"world size is {world_size} but torch.distributed has no process group, so ranks could not agree on "
            "changes of the mix; call torch.distributed.init_process_group() before the first batch"
        )
    if world_size > 1 and (rank, world_size) != (dist.get_rank(), dist.get_world_size()):
        raise ConfigError(
            f"rank is {rank} and world_size {world_size}, but torch.distributed has rank {dist.get_rank()} of "
            f"{dist.get_world_size()}; leave both out, and give dp_rank and dp_size where ranks share their data"
        )
    return World(rank, world_size, own, size)


def broadcast_start(world: World, decide: Callable[[], Start], fingerprint: Mapping[str, object]) -> Start:
    """Give every rank the leader's decision; the one collective of a start.

    Args:
        world: this process.
        decide: called on global rank 0 only.
        fingerprint: what must be equal on every rank: data, configuration, position.

    Raises:
        AgreementError: this rank's fingerprint differs from rank 0's; names the field and both values.
    """
    if world.world_size == 1:
        return decide()
    box: list[tuple[Start, dict[str, object]] | None] = [None]
    if world.rank == 0:
        box = [(decide(), dict(fingerprint))]
    dist.broadcast_object_list(box, src=0)
    assert box[0] is not None
    start, expected = box[0]
    for name, value in expected.items():
        if fingerprint.get(name) != value:
            raise AgreementError(
                f"rank {world.rank} has {name} = {fingerprint.get(name)!r} but rank 0 has {value!r}; every rank must "
                "be given the same options, data and checkpoint"
            )
    return start


class LeaderSeals:
    """Global rank 0: decides what the next steps hold, and seals it for the others.

    `through` is called by the planning thread; `propose` by any thread.
    """

    def __init__(
        self,
        *,
        first_step: int,
        start: Start,
        lease_steps: int,
        store: Store | None,
        latest_proposal: Callable[[], Revision | None],
        agreed: Callable[[Revision, str], None],
    ) -> None:
        """`store` is None for a single rank. `agreed(revision, lineage)` is called once for every sealed revision."""
        self._sealed = first_step - 1
        self._lease = lease_steps
        self._store = store
        self._latest_proposal = latest_proposal
        self._agreed = agreed
        self._replay = sorted(start.replay, key=lambda revision: revision.from_step)
        self._known_version = start.known_version
        self._lineage = start.lineage
        self._nonce = start.nonce
        self._revisions: list[Revision] = []
        self._local: list[Revision] = []
        self._local_lock = threading.Lock()
        self._sealing = threading.Lock()
        self._has_ended = False
        self._num_local = 0

    def propose(self, weights_ppm: Mapping[str, int], ramp_steps: int) -> str:
        """Queue a change from this process for the next unsealed step; returns its revision id."""
        with self._local_lock:
            self._num_local += 1
            revision = Revision(f"local:{self._nonce[:8]}:{self._num_local}", 0, dict(weights_ppm), ramp_steps)
            self._local.append(revision)
            return revision.id

    def through(self, step: int) -> Sequence[Revision]:
        """Seal as many leases as reach `step`; none after `end`, when nobody takes what is planned."""
        with self._sealing:
            while self._sealed < step and not self._has_ended:
                self._seal(self._sealed + 1, self._sealed + self._lease)
        return self._revisions

    def end(self) -> None:
        """Seal nothing more: a rank that waits for a later step stops instead."""
        if not self._sealing.acquire(timeout=_END_S):
            return  # the planning thread waits for a store that does not answer: nobody would hear it
        try:
            self._has_ended = True
            if self._store is not None:
                with suppress(RuntimeError, dist.DistError):  # a store that is gone has no one waiting
                    self._store.set(_SEAL, json.dumps([self._sealed, len(self._revisions), _ENDED]))
        finally:
            self._sealing.release()

    def _seal(self, first: int, last: int) -> None:
        before = len(self._revisions)
        edits = self._take_edits(first, last)
        until = max(first, edits[0].from_step) if edits else last + 1
        while self._replay and self._replay[0].from_step < until:
            self._revisions.append(self._replay.pop(0))
        if edits and self._replay:
            # An edit that the record does not know ends the replay and opens a lineage.
            self._replay.clear()
            edits[0] = replace(edits[0], lineage=self._nonce)
        self._revisions += [replace(edit, from_step=max(first, edit.from_step)) for edit in edits]
        if self._store is not None:
            with _reaching_the_store():
                for number, revision in enumerate(self._revisions[before:], before):
                    self._store.set(f"{_REVISION}{number}", json.dumps(asdict(revision)))
                self._store.set(_SEAL, json.dumps([last, len(self._revisions)]))
        self._sealed = last
        for revision in self._revisions[before:]:
            self._lineage = revision.lineage or self._lineage
            self._agreed(revision, self._lineage)

    def _take_edits(self, first: int, last: int) -> list[Revision]:
        with self._local_lock:
            edits, self._local = self._local, []
        proposal = self._latest_proposal()
        if proposal is not None and (proposal.version or 0) > self._known_version and proposal.from_step <= last:
            self._known_version = proposal.version or 0
            edits.append(proposal)
        return sorted(edits, key=lambda edit: max(first, edit.from_step))


class FollowerSeals:
    """Every other rank: reads the leader's seals."""

    def __init__(self, store: Store, stopped: Callable[[], bool]) -> None:
        """`stopped` ends a wait early, with AgreementError."""
        self._store = store
        self._stopped = stopped
        self._through = -1
        self._ended = False
        self._revisions: list[Revision] = []

    def through(self, step: int) -> Sequence[Revision]:
        """Read seals until one covers `step`.

        Raises:
            AgreementError: the store can't be reached, the leader ended before that step, or this loader was stopped
                while it waited.
        """
        pause = _FIRST_POLL_S
        while self._through < step:
            if not self._read():
                if self._ended:
                    raise AgreementError(
                        f"global rank 0 ended with step {self._through} as the last that was agreed, so step {step} "
                        "never will be: it failed (see its log), or ranks take different numbers of steps"
                    )
                if self._stopped():
                    raise AgreementError(f"stopped while waiting for the seal of step {step}")
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_POLL_S)
        return self._revisions

    def _read(self) -> bool:
        """Take in the newest seal; True if it covers more than the last one."""
        with _reaching_the_store():
            if self._through < 0 and not self._store.check([_SEAL]):
                return False
            through, num_revisions, *ended = json.loads(self._store.get(_SEAL))
            for number in range(len(self._revisions), num_revisions):
                revision = json.loads(self._store.get(f"{_REVISION}{number}"))
                self._revisions.append(Revision(**revision))
        newer: bool = through > self._through
        self._through = through
        self._ended = bool(ended)
        return newer


@contextmanager
def _reaching_the_store() -> Iterator[None]:
    try:
        yield
    except (RuntimeError, dist.DistError) as error:
        raise AgreementError(
            f"the job's store can't be reached ({error}); global rank 0 or the torchrun agent that hosts it ended"
        ) from error


def open_store(nonce: str, timeout_s: float = 30.0) -> Store:
    """A connection of this loader's own to the job's c10d store, under a prefix of this start.

    `timeout_s` is for connecting. A link that is cut later is waited for as long as torch itself waits, 5 minutes.

    Raises:
        AgreementError: MASTER_ADDR and MASTER_PORT are not set, or nothing answers there.
    """
    host, port = os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT")
    if not host or not port:
        raise AgreementError(
            f"MASTER_ADDR is {host!r} and MASTER_PORT is {port!r}; set both to the job's c10d store (torchrun does), "
            "so that ranks can agree on changes of the mix"
        )
    try:
        store = TCPStore(host, int(port), is_master=False, timeout=timedelta(seconds=timeout_s))
    except (RuntimeError, ValueError, dist.DistError) as error:
        raise AgreementError(f"the job's store at {host}:{port} can't be reached: {error}") from error
    store.set_timeout(_CUT)
    return PrefixStore(f"headrace/{nonce}", store)


def counts_tokens(world: World, store: Store | None) -> bool:
    """Whether this rank reports the tokens of its `dp_rank`: exactly one of the ranks that share it does.

    Decided in the store by who comes first; the others hold the same batches.
    """
    if store is None or world.dp_size == world.world_size:
        return True
    return int(store.add(f"dp_rank/{world.dp_rank}", 1)) == 1
