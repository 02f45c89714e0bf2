"""`Loader`: what a training script makes, iterates and checkpoints. Assembly only; every decision is made elsewhere."""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, NoReturn, Self

import torch
from torch.distributed.device_mesh import DeviceMesh

from headrace.agreement import LeaderSeals, World, find_world
from headrace.batch import Batch
from headrace.checks import check_steps
from headrace.closing import close_at_exit, reason_of
from headrace.collecting import without_collecting
from headrace.config import Source, parse_config
from headrace.data import open_data
from headrace.errors import HeadraceError, StateError
from headrace.find import Delivery, find_row
from headrace.handed import Handed, Remainder
from headrace.losses import LAST_LOSSES_S, Losses, check_losses
from headrace.manifest import SourceManifest
from headrace.mesh import data_rank
from headrace.mix import Revision, weight_array, weights_at, weights_to_ppm
from headrace.plan import batches_before, check_batch, steps_within
from headrace.replay import advance
from headrace.report import Reporting
from headrace.resume import beginning, holdings_of, resume, warn_of_other_weights
from headrace.run import Run
from headrace.state import Restored, decode, encode
from headrace.steps import Steps
from headrace.stream import Item
from headrace.trace import Traced, trace_run


class Loader:
    """Feeds one rank of a training run: iterate it for `Batch`es, for ever.

    The stream of global batches is a pure function of the data, `seed`, `seq_len`, `packing`, `lanes` and the log of
    mix changes: world size, restarts, threads and `prefetch` never change what global batch *s* holds.

    Args:
        sources: what to mix; see `Source`.
        seq_len: tokens in a sequence, at least 2. On a resume, what is left of an epoch is cut at a new length.
        global_batch_size: sequences in a step over all data ranks, or a schedule: `[(0, 256), (10_000, 512)]`.
        micro_batch_size: sequences in one `Batch`; `global_batch_size` must be a multiple of it times the data ranks.
        seed: of every permutation; 0 to 2^63 − 1.
        eos_id: the separator put after each document; None where documents already carry one.
        bos_id: the id put before each document, or None.
        vocab_size: ids from this on are refused; None allows any that is not negative.
        lanes: ranges of each source that a global batch draws from; a power of two. Part of the checkpoint.
        packing: `"concat"` joins documents and cuts at `seq_len`; `"best_fit"` keeps them whole, and pads a little.
        outputs: which tensors to make: `input_ids` and any of `labels`, `position_ids`, `cu_seqlens`. Fewer is faster.
        token_dtype: of `input_ids`; a narrow one can be widened on the device. Labels are then int32.
        prefetch: steps prepared ahead on a thread; 0 prepares each in the training loop.
        mix_lease_steps: steps that one agreement covers; more means fewer reads of the job's store and a later change.
        cache_bytes: memory for opened blocks.
        disk_cache_bytes: disk under `HEADRACE_CACHE`, for all processes of this machine together, for what was read
            from object storage; 0 keeps nothing.
        total_steps: the planned end, for forecasts only.
        resume_wait_s: how long a resumed run waits for the control plane's record of changes after the checkpoint.
        epochs: end after so many passes over every source, whatever the weights, as for validation; None: no end.
        shuffle: False reads every source in the order of its shards.
        on_exhausted: when a source has had its `max_epochs`, `"renormalise"` shares its place among the others, and
            `"stop"` ends the run before it.
        remainder: `"pad"` fills the last step of a run that ends with rows of padding, `"drop"` leaves it out.
        uneven: where data ranks × `micro_batch_size` don't divide the batch, `"error"`, or `"pad"` to fill the ranks'
            last micro-batches with rows of padding; scale the loss by `Batch.num_trained_tokens` over all ranks.
        on_data_change: when a source has more shards than its checkpoint knows, `"error"`, or `"append"` to read them
            once after the epoch that is under way, and then with the others.
        allow_drop: let a change of `seq_len` drop more than 1 % of a source (best-fit windows that were begun).
        job: the job's name in the control plane; by default `HEADRACE_JOB`. None: no telemetry and no live mix.
        parent_job: another job whose checkpoints this one may go on from, as a branch of it.
        url, token, project: the control plane (default `HEADRACE_URL`, `HEADRACE_TOKEN`, `HEADRACE_PROJECT`).
        rank, world_size: default from torch.distributed, else from the torchrun environment.
        dp_rank, dp_size: which share of a global batch this rank reads, where several ranks share data.
        mesh: the same from the data-parallel dimensions of a `DeviceMesh`, `mesh["dp"]`; of several, the last fastest.
        on_bad_data: `"stop"` ends the run at data that can't be used, `"mask"` puts padding in its place.
        transform: changes the ids of each sequence: `f(tokens, boundaries, rng)`; must be pure, see `transform`.
        transform_name: what checkpoints call it, instead of its qualified name.
        collate: makes of each `Batch` what iteration yields, on the prefetch thread.

    Raises:
        ConfigError: an option that is not allowed. SourceError, ShardError: data that can't be read. Both before the
            first batch, naming the value, what is allowed and what to do.
    """

    @without_collecting()
    def __init__(
        self,
        sources: Sequence[Source],
        *,
        job: str | None = "",
        url: str | None = None,
        token: str | None = None,
        project: str | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        dp_rank: int | None = None,
        dp_size: int | None = None,
        mesh: DeviceMesh | None = None,
        **options: Any,
    ) -> None:
        config = parse_config({"sources": sources, **options})
        self._given_world = (rank, world_size, dp_rank, dp_size)
        self._mesh = mesh
        self._config = config
        self._find_world()
        self._opened = self._data = open_data(config)
        self._reporting = Reporting(self._data, job=job, url=url, token=token, project=project)
        first = Revision("config:1", 0, self._data.weights_ppm)
        self._restored = self._beginning = beginning(self._data, first, self._reporting.job)
        self._delivered = self._restored.position
        self._ended = False
        self._run: Run | None = None
        self._dropped: weakref.finalize[..., Loader] | None = None
        self._losses = Losses(config.names)
        self._handed = Handed()
        self._closed = False
        self._at_exit = close_at_exit(self)

    @property
    def source_names(self) -> tuple[str, ...]:
        """The sources' names; `Batch.source` counts along them."""
        return self._config.names

    @property
    def manifests(self) -> tuple[SourceManifest, ...]:
        """What each source holds: shards, blocks, documents, tokens."""
        return self._data.manifests

    @property
    def weights_ppm(self) -> dict[str, int]:
        """The weights in force at the next step, in parts per million by source."""
        return weights_at(self._log, self.step, self.source_names)

    @property
    def step(self) -> int:
        """Steps handed out whole or moved past, and so the number of the next."""
        return self._delivered.step + (self._restored.skip_steps if self._run is None else 0)

    @property
    def num_masked_tokens(self) -> int:
        """Places of this rank's steps so far that held padding instead of the tokens of a document."""
        return self._handed.masked_tokens

    @property
    def remainder(self) -> Remainder | None:
        """What the end of a run padded and left out; None before it."""
        return self._handed.remainder

    @property
    def changes(self) -> dict[int, dict[str, Any]]:
        """What began to differ on a resume, by the step from which it does: skipped steps, batch size, sources, …"""
        return {era.step: dict(era.changes) for era in self._now.eras if era.changes}

    def __iter__(self) -> Self:
        """The loader itself: a loop that was left goes on where it stopped; a run that has ended begins anew."""
        if self._ended:
            self._end_run(failed=None)
            self._data, self._restored = self._opened, self._beginning
            self._delivered = self._restored.position
            self._handed = Handed()
            self._ended = False
        return self

    def __len__(self) -> int:
        """Micro-batches that this rank gets from the first step of the run to its end, if the mix stays as it is.

        Raises:
            TypeError: the run has no end.
        """
        ending = self._opened.ending()
        names, sizes = self.source_names, self._config.batch_sizes
        start, log = self._beginning.position, self._beginning.log
        steps = None
        if ending is not None:
            steps = ending.num_steps(
                weight_array(log, 0, names),
                lambda num_sequences: steps_within(sizes, num_sequences),
                lambda step: advance(start, log, names, sizes, step).counts,
            )
        if steps is None:
            raise TypeError("this loader goes on for ever; give epochs, or max_epochs of its sources, for an end")
        return batches_before(sizes, steps, self._config.micro_batch_size, self._find_world().dp_size)

    def __next__(self) -> Batch:
        """The next micro-batch of this rank; with `collate`, what that made of it.

        Raises:
            DataError: data that can't be read, named. AgreementError: the leader or the job's store is gone.
        """
        try:
            item = self._first() if self._run is None else self._running().take()
        except StopIteration:
            self._end()
            raise
        self._handed.add(item)
        if item.finished is not None:
            self._delivered = item.finished.plan.after
        given: Batch = item.given
        return given

    def state_dict(self, step: int | None = None) -> dict[str, Any]:
        """The checkpoint of the last step whose final micro-batch was handed out; the same on every rank.

        Args:
            step: the state before this step instead, for trainers that take batches ahead of their training; within
                `prefetch` + 1 steps of the last one.

        Raises:
            StateError: a step out of that range.
        """
        position = self._delivered
        if step is not None and step != position.step:
            if self._run is None:
                raise StateError(f"step is {step}; before the first batch only the state of {position.step} is known")
            position = self._run.stream.position(step)
        if self._run is None:
            self._data.remember()
        return encode(self._config, position, self._log, self._now, holdings_of(self._data, position))

    def load_state_dict(self, state: Mapping[str, Any], *, skip_steps: int = 0, replay: bool = True) -> None:
        """Go on from a checkpoint, at any world size. Call it on every rank.

        Args:
            state: what `state_dict` returned.
            skip_steps: move past so many steps without delivering them, a spike of the loss say. Steps keep their
                numbers: the next is `state["step"] + skip_steps`, with the global batch that it would have had anyway.
            replay: make the changes of the mix that the control plane recorded after the checkpoint again, at their
                steps; False goes back to before them: only an edit that comes after this start changes the mix.

        Raises:
            StateError: a checkpoint that does not fit this loader, with what differs. ConfigError: `skip_steps`.
        """
        check_steps("skip_steps", skip_steps)
        restored, data = resume(decode(state, self._config), self._opened, self._reporting.job)
        warn_of_other_weights(self._data, restored)
        self._end_run(failed=None)
        departs = restored.departs or not replay
        self._restored = replace(restored, skip_steps=skip_steps, replays=replay, departs=departs)
        self._data = data
        self._delivered = restored.position
        self._ended = False

    def set_weights(self, weights: Mapping[str, float], *, ramp_steps: int = 0) -> None:
        """Change the mix at the first step that is not yet agreed. Call it on every rank; the leader's call counts.

        Args:
            weights: one for each source, on any scale; 0 pauses it.
            ramp_steps: steps over which the mix moves there, linearly; 0 is at once.

        Raises:
            ConfigError: weights that are not allowed, naming the source. HeadraceError: this loader is closed.
        """
        ppm = weights_to_ppm(weights, self.source_names)
        check_steps("ramp_steps", ramp_steps)
        if self._run is None:
            self._running(change=(ppm, ramp_steps))
        elif isinstance(self._run.seals, LeaderSeals):
            self._run.seals.propose(ppm, ramp_steps)

    def trace(self, step: int) -> list[Traced]:
        """The documents of a global batch, past or to come: (slot, source, path, row, start, end) of each stretch.

        Counts are replayed from the nearest known ones, which takes the same moment for any step. A step that is not
        yet agreed is named as it will be if the mix stays as it is.

        Raises:
            StateError: a step before 0, before what the checkpoint reaches back to, one that was moved past, one whose
                sources are no longer all configured, or one after the end of the run.
        """
        known = (self._restored.position, self._delivered)
        return trace_run(self._data, self._now.eras, self._log, known, step)

    def find(
        self,
        path: str,
        row: int,
        *,
        source: str | None = None,
        first_step: int | None = None,
        until_step: int | None = None,
    ) -> list[Delivery]:
        """The steps that hold a document, the reverse of `trace`: (step, slot, epoch, start, end) of each stretch.

        Args:
            path: its shard: relative to the source's path, with it, or any end of it that only one shard has.
            row: its row in the shard, from 0.
            source: the source's name, where several have such a shard.
            first_step: where to begin; None: as far back as is known.
            until_step: the last step; None: the end of the next pass over the document. Steps that are not agreed
                yet are as they will be if the mix stays as it is.

        Raises:
            ConfigError: no such document. StateError: `first_step` is before what the checkpoint reaches back to.
        """
        steps = Steps(self._now.eras, self._log, (self._now.position, self._delivered), self._data.ending())
        span = (first_step, until_step)
        return find_row(self._data, steps, path, row, source=source, span=span, next_step=self.step)

    def observe(self, batch: object, losses: torch.Tensor) -> None:
        """Report the losses of a micro-batch by source, without a collective and without waiting for a device.

        Args:
            batch: the `Batch` that was trained on. With `collate`, what iteration yielded last stands for its batch,
                and so does None.
            losses: float (micro_batch,), any device: the mean loss of each sequence.

        Raises:
            ConfigError: a shape other than (micro_batch,), or no batch and not what was yielded last.
        """
        meant = self._handed.batch_of(batch)
        check_losses(meant, losses)
        if self._run is not None and self._run.reports:
            for step, sums in self._losses.add(meant, losses):
                self._run.observe(step, sums)

    def close(self, *, failed: str | None = None) -> None:
        """End the threads and send what is left to report; safe to call twice.

        Args:
            failed: why the run failed, for the control plane; None: it ended well.
        """
        self._closed = True
        self._end_run(failed)
        atexit.unregister(self._at_exit)

    def __enter__(self) -> Self:
        """A loader that closes itself, and reports a failure as one."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(failed=None if error is None else reason_of(error))

    def _end(self) -> None:
        """The run is over; said once."""
        if not self._ended:
            self._handed.end(self.source_names, self._delivered, self._data.ending(), self._config.seq_len)
        self._ended = True

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied: threads and open files don't travel to another process."""
        raise HeadraceError("a Loader can't be pickled or copied; make it in the process that reads it")

    def _find_world(self) -> World:
        rank, world_size, dp_rank, dp_size = self._given_world
        if self._mesh is not None:
            dp_rank, dp_size = data_rank(self._mesh, dp_rank, dp_size)
        world = find_world(rank, world_size, dp_rank, dp_size)
        for _, size in self._config.batch_sizes if self._config.uneven == "error" else ():
            check_batch(size, self._config.micro_batch_size, world.dp_size)
        return world

    @property
    def _now(self) -> Restored:
        """What this start went on from."""
        now = self._restored if self._run is None else self._run.restored
        return replace(now, had_service=now.had_service or self._reporting.job is not None)

    @property
    def _log(self) -> Sequence[Revision]:
        """Every change of the mix that this rank knows."""
        return self._restored.log if self._run is None else self._run.stream.log

    @without_collecting()
    def _first(self) -> Item:
        """The first micro-batch of a start."""
        return self._running().take()

    def _running(self, change: tuple[Mapping[str, int], int] | None = None) -> Run:
        if self._closed:
            raise HeadraceError("this loader is closed; make a new one")
        if self._run is None:
            self._run = Run(self._data, self._find_world(), self._restored, self._reporting, change)
            self._delivered = self._run.restored.position
            # A loader that is dropped takes its threads and open files along.
            self._dropped = weakref.finalize(self, self._run.close, None)
            self._dropped.atexit = False
        return self._run

    def _end_run(self, failed: str | None) -> None:
        now, run, self._run = self._now, self._run, None
        if run is not None and self._dropped is not None:
            self._dropped.detach()
            for step, sums in self._losses.rest(LAST_LOSSES_S) if not run.has_forked else ():
                run.observe(step, sums)
            run.close(failed)
            if run.has_forked:
                return
            # What this start agreed stays part of the state.
            self._restored = replace(now, position=self._delivered, log=tuple(run.stream.log))
