"""How one source goes on under a change: what is left of its epoch first, then what was appended, then all of it.

Nothing that was delivered is repeated, but for the fewer than `seq_len` tokens of a sequence that had already reached
into the next epoch; both that and what can't be delivered at another length are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headrace.config import LoaderConfig
from headrace.data import Listing
from headrace.legs import Kind, Leg, LegRecord, lay_out, with_separators
from headrace.order import SourceOrder
from headrace.recut import cut_rest
from headrace.rest import Key, ranges_left
from headrace.selection import numbers_of, ranges_of


@dataclass(frozen=True, slots=True)
class Continuation:
    """The legs of a source from a change on, and what the change cost."""

    records: tuple[LegRecord, ...]
    repeated_tokens: int = 0
    "places of the next epoch that were delivered before this one ended"
    dropped_tokens: int = 0
    "places of this epoch that can't be delivered at the new length"
    dropped_share: float = 0.0
    "of the source"


def go_on(
    config: LoaderConfig,
    source: int,
    listing: Listing,
    records: Sequence[LegRecord],
    count: int,
) -> Continuation:
    """The legs of a source of which `count` sequences were delivered in `records`, whose shards are the listing's.

    What is new is whatever the listing and the configuration have beyond the records: shards, exclusions, `seq_len`.
    """
    legs = lay_out(config, source, records, listing.view)
    number = next(i for i in reversed(range(len(legs))) if legs[i].first_ordinal <= count)
    current = legs[number]
    taken = min(count - current.first_ordinal, current.num_sequences)
    whole = listing.whole_record(config.seq_len)
    past = [*records[:number], *([replace(records[number], stop=taken)] if taken else [])]
    if number == len(legs) - 1 and taken == current.num_sequences:
        # It has had its `max_epochs`: nothing of it is to come, whatever it has now.
        return Continuation(tuple(records))
    if _is_fresh(current, taken):
        return Continuation((*past, whole))
    left, cost = _left(config, current, taken, records[number - 1] if number else None, listing.digests)
    played = _played([*records[:number], *([records[number]] if left else [])])
    owed = ranges_of(shard for shard in range(len(listing.whole.shards)) if shard not in played)
    once = LegRecord("once", config.seq_len, owed, listing.digests)
    follow = [once] if owed and listing.view(once).num_blocks else []
    return replace(cost, records=(*past, *([left] if left else []), *follow, whole))


def _is_fresh(current: Leg, taken: int) -> bool:
    """Whether a pass over the source has just ended, and nothing of the next was delivered."""
    if current.record.kind != "whole":
        return False
    order = current.stretch.make_order()
    assert isinstance(order, SourceOrder)
    return (current.stretch.skip + taken) * order.seq_len % order.total_tokens == 0


def _left(
    config: LoaderConfig, current: Leg, taken: int, before: LegRecord | None, digests: tuple[str, ...]
) -> tuple[LegRecord | None, Continuation]:
    """The leg that delivers what is left of the epoch, if anything is, and its cost."""
    record, old = current.record, current.stretch
    if not taken and record.kind == "once":
        return None, Continuation(())
    holes = tuple(digest for digest in digests if digest not in record.left_out)
    if not taken and before is not None:
        # Not begun: it is still what is left of the leg before.
        kind: Kind = "on" if before.seq_len == config.seq_len else "rest"
        return replace(record, kind=kind, seq_len=config.seq_len, holes=holes, stop=None), Continuation(())
    at = old.skip + taken
    order = old.make_order()
    repeated = 0
    if isinstance(order, SourceOrder) and record.kind == "whole":
        ranges = ranges_left(order, at)
        end = order.epoch_end(at) * order.seq_len
        reached = len(ranges.begin) > 0 and int(ranges.begin[-1] + ranges.size[-1]) == order.total_tokens
        repeated = 0 if reached else end - (at * order.seq_len // order.total_tokens + 1) * order.total_tokens
    kind = "on" if record.seq_len == config.seq_len else "rest"
    left = LegRecord(kind, config.seq_len, record.shards, record.left_out, holes)
    if kind == "on":
        return left, Continuation((), repeated)
    tokens = with_separators(config, current.manifest)
    recut = cut_rest(old.make_order, at, old.windows, tokens, config.seq_len, Key(seed=0, name="", label=""))
    dropped = recut.dropped_tokens / max(1, int(tokens.sum()))
    return (left if recut.num_sequences else None), Continuation((), repeated, recut.dropped_tokens, dropped)


def _played(records: Sequence[LegRecord]) -> set[int]:
    """The shards that the pass over the source which `records` end in has covered, or is covering."""
    played: set[int] = set()
    for record in reversed(records):
        played.update(numbers_of(record.shards))
        if record.kind == "whole":
            break
    return played
