"""Going on from a checkpoint: what of it still holds, and how the run goes on where something has changed.

State beats configuration, except for what the user may change between starts: the batch size, the sources, their shards
(added only), what is left out of them (more only), and `seq_len`. Each begins an era, is counted and said. Everything
else that differs is refused by name.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from headrace.config import LoaderConfig
from headrace.continuing import go_on
from headrace.data import Data, Listing
from headrace.eras import Era, merged
from headrace.errors import StateError
from headrace.legs import LegRecord
from headrace.listing import changed_shards, earlier_shards
from headrace.mix import PPM, Revision, largest_remainder, weights_at
from headrace.plan import Position
from headrace.replay import advance
from headrace.selection import numbers_of, ranges_of
from headrace.state import Holding, Restored, Saved

log = logging.getLogger("headrace")

MAX_DROP = 0.01
"share of a source that a change of `seq_len` may drop without `allow_drop`"


@dataclass(slots=True)
class _Changes:
    """What is different, by kind, then by source; as JSON."""

    found: dict[str, Any] = field(default_factory=dict)

    def of(self, kind: str, name: str, value: int) -> None:
        """Note something of one source, unless it is nothing."""
        if value:
            self.found.setdefault(kind, {})[name] = value


def resume(saved: Saved, data: Data, job: str | None = None) -> tuple[Restored, Data]:
    """Where a run goes on, as part of `job`, and in which legs its sources are read.

    Raises:
        StateError: another job's checkpoint; shards that changed, went missing or shrank, or were appended without
            leave; exclusions that were taken back; or a new `seq_len` that would drop too much. Names the source, and
            the file where it is known.
    """
    config = data.config
    saved = replace(saved, restored=_in_job(saved.restored, job, config.parent_job))
    old = saved.restored
    changes = _Changes()
    records = {}
    counts = []
    for source, listing in enumerate(data.listings):
        name = listing.whole.name
        holding = saved.holdings.get(name) or old.parked.get(name)
        if holding is None:
            records[name], count = data.records[name], 0
        else:
            records[name], count = _records(config, source, listing, holding, changes), holding.count
        counts.append(count)
    laid = data.with_records(records)
    if config.seq_len != saved.seq_len:
        changes.found["seq_len"] = [saved.seq_len, config.seq_len]
    if config.batch_sizes != old.eras[-1].batch_sizes:
        changes.found["global_batch_size"] = [old.eras[-1].batch_sizes, config.batch_sizes]
    restored = old
    if saved.names != config.names:
        restored = _with_sources(saved, data, changes)
    if changes.found:
        tokens = old.eras[-1].tokens_at(old.position.counts, saved.seq_len)
        position = restored.position._replace(counts=np.array(counts, np.int64))
        same = [known.changes for known in old.eras if known.step == position.step]
        found = merged(same[-1], changes.found) if same else changes.found
        era = Era(position, config.names, config.batch_sizes, tokens, _caps(laid), found)
        eras = tuple(known for known in old.eras if known.step < position.step)
        restored = replace(restored, position=position, eras=(*eras, era), departs=True)
        log.warning("from step %d on, this run differs from the one that was saved: %s", position.step, changes.found)
    return restored, laid


def move_past(restored: Restored, replay: tuple[Revision, ...], data: Data) -> tuple[Restored, tuple[Revision, ...]]:
    """The same run `restored.skip_steps` steps later, and the revisions that are still to be replayed.

    The counts are those that the steps would have led to, recorded changes of the mix among them included.
    """
    if not restored.skip_steps:
        return restored, replay
    config, begin = data.config, restored.position
    step = begin.step + restored.skip_steps
    past = (*restored.log, *(revision for revision in replay if revision.from_step < step))
    ending = data.ending()
    caps = None if ending is None else ending.clamps
    position = advance(begin, past, config.names, config.batch_sizes, step, caps)
    changes = {"skipped_steps": restored.skip_steps}
    tokens = restored.eras[-1].tokens_at(begin.counts, config.seq_len)
    era = Era(position, config.names, config.batch_sizes, tokens, _caps(data), changes)
    log.warning("moving past %d steps: the run goes on at step %d", restored.skip_steps, step)
    moved = replace(restored, position=position, log=past, eras=(*restored.eras, era), skip_steps=0)
    return moved, tuple(revision for revision in replay if revision.from_step >= step)


def beginning(data: Data, first: Revision, job: str | None = None) -> Restored:
    """The start of a run that has delivered nothing."""
    position = Position.start(len(data.config.names))
    era = Era(position, data.config.names, data.config.batch_sizes, 0, _caps(data), {})
    return Restored(position, (first,), None, False, job, (era,), {})


def holdings_of(data: Data, position: Position) -> dict[str, Holding]:
    """Each source as it is read now."""
    records = data.records
    return {
        listing.whole.name: Holding(
            int(position.counts[k]),
            listing.whole.fingerprint,
            len(listing.whole.shards),
            listing.digests,
            records[listing.whole.name],
        )
        for k, listing in enumerate(data.listings)
    }


def _in_job(restored: Restored, job: str | None, parent_job: str | None) -> Restored:
    """The same run as part of `job`; None keeps the job that it has.

    Of another job, it goes on in a lineage of its own, without that job's record: its changes of the mix keep their
    weights and steps, and get names that no version of this job has.

    Raises:
        StateError: it is of a job that is neither `job` nor `parent_job`.
    """
    if job is None or restored.job in (None, job):
        return replace(restored, job=job or restored.job)
    if restored.job != parent_job:
        raise StateError(
            f"the state is of job {restored.job!r} and this loader's job is {job!r}; give it that job's checkpoint, or "
            f"parent_job={restored.job!r} to branch off"
        )
    log.warning("job %r branches off job %r at step %d", job, parent_job, restored.position.step)
    renamed = tuple(
        revision if revision.version is None else replace(revision, id=f"local:{restored.lineage}:{revision.version}")
        for revision in restored.log
    )
    return replace(restored, log=renamed, had_service=False, job=job, undone_version=0, departs=True)


def _caps(data: Data) -> tuple[int, ...] | None:
    ending = data.ending()
    return None if ending is None or ending.clamps is None else tuple(ending.clamps.tolist())


def _records(
    config: LoaderConfig, source: int, listing: Listing, holding: Holding, changes: _Changes
) -> tuple[LegRecord, ...]:
    """The legs of a source from here on."""
    name, whole = listing.whole.name, listing.whole
    known = _known_shards(config, listing, holding)
    records = holding.records
    if known is not None:
        records = tuple(
            replace(record, shards=ranges_of(known[number] for number in numbers_of(record.shards)))
            for record in records
        )
        changes.of("appended_shards", name, len(whole.shards) - len(known))
    digests = set(listing.digests)
    if not digests.issuperset(holding.exclusions):
        raise StateError(
            f"source {name!r} left out {len(holding.exclusions)} items when the state was saved, of which "
            f"{len(set(holding.exclusions) - digests)} are no longer in exclude, or are other lists now; exclude may "
            "only grow: put them back as they were, and add to them"
        )
    grown = len(digests) - len(holding.exclusions)
    changes.of("exclusions", name, grown)
    if known is None and not grown and records[-1].seq_len == config.seq_len:
        return records
    went_on = go_on(config, source, listing, records, holding.count)
    if went_on.dropped_share > MAX_DROP and not config.allow_drop:
        raise StateError(
            f"seq_len {records[-1].seq_len} → {config.seq_len} would drop {went_on.dropped_tokens} tokens of source "
            f"{name!r} from this epoch, {went_on.dropped_share:.1%} of it: windows that were begun can't be packed "
            "anew; change seq_len nearer to the end of an epoch, or set allow_drop=True"
        )
    changes.of("repeated_tokens", name, went_on.repeated_tokens)
    changes.of("dropped_tokens", name, went_on.dropped_tokens)
    return went_on.records


def _known_shards(config: LoaderConfig, listing: Listing, holding: Holding) -> list[int] | None:
    """Where the shards of the state are in the listing now; None if they are all, unchanged."""
    whole = listing.whole
    if whole.fingerprint == holding.fingerprint:
        return None
    known = earlier_shards(whole, holding.fingerprint, holding.num_shards)
    if known is None:
        raise StateError(
            f"the shards of source {whole.name!r} have changed since the state was saved (fingerprint "
            f"{holding.fingerprint} then, {whole.fingerprint} now): "
            f"{changed_shards(whole, holding.fingerprint, holding.num_shards)}; restore the files that the run was "
            "started with"
        )
    if config.on_data_change == "error":
        new = sorted(set(range(len(whole.shards))) - set(known))
        raise StateError(
            f"source {whole.name!r} has {len(new)} shards more than when the state was saved, such as "
            f"{whole.shards[new[0]].path!r}; take them away, or set on_data_change='append' to read them once after "
            "this epoch and then with the others"
        )
    return known


def _with_sources(saved: Saved, data: Data, changes: _Changes) -> Restored:
    """The run with other sources than it had: those that stay keep their places, the mix is made anew."""
    old, config = saved.restored, data.config
    added = [name for name in config.names if name not in saved.names]
    dropped = [name for name in saved.names if name not in config.names]
    if added:
        changes.found["added_sources"] = added
    if dropped:
        changes.found["dropped_sources"] = dropped
    if not added and not dropped:
        changes.found["sources"] = [list(saved.names), list(config.names)]
    changes.found["configured_weights_ppm"] = dict(data.weights_ppm)
    weights = _mix_with(weights_at(old.log, old.position.step, saved.names), data.weights_ppm, added)
    owed = dict(zip(saved.names, old.position.accumulators.tolist(), strict=True))
    accumulators = np.array([owed.get(name, 0) for name in config.names], np.int64)
    heir = max(range(len(config.names)), key=lambda k: weights[config.names[k]])
    accumulators[heir] -= accumulators.sum()
    number = 1 + sum(revision.id.startswith("config:") for revision in old.log)
    revision = Revision(f"config:{number}", old.position.step, weights)
    parked = {name: holding for name, holding in old.parked.items() if name not in config.names}
    parked |= {name: saved.holdings[name] for name in dropped}
    position = Position(old.position.step, np.zeros(len(config.names), np.int64), accumulators)
    return replace(old, position=position, log=(*old.log, revision), parked=parked)


def _mix_with(in_force: Mapping[str, int], configured: Mapping[str, int], added: list[str]) -> dict[str, int]:
    """The weights of the sources that are configured: new ones get their share, the others what is left, as before."""
    share = sum(configured[name] for name in added)
    stay = {name: in_force[name] for name in configured if name not in added}
    total = sum(stay.values())
    if total == 0:
        return dict(configured)
    exact = [
        Fraction(configured[name]) if name in added else Fraction(stay[name] * (PPM - share), total)
        for name in configured
    ]
    return dict(zip(configured, largest_remainder(exact), strict=True))


def warn_of_other_weights(data: Data, restored: Restored) -> None:
    """Say so when the weights in the script are neither those the run began with nor those now in force."""
    ours = dict(data.weights_ppm)
    in_force = weights_at(restored.log, restored.position.step, data.config.names)
    begun = [dict(revision.weights_ppm) for revision in restored.log if revision.id.startswith("config:")]
    begun += [era.changes.get("configured_weights_ppm", {}) for era in restored.eras]
    if ours not in (in_force, *begun):
        warnings.warn(
            f"the script's weights are {ours} ppm but the checkpoint goes on with {in_force}; the checkpoint wins: "
            "call set_weights, or edit the mix in the control plane, to change them",
            stacklevel=3,
        )
