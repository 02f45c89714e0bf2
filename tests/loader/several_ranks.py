"""The stream of several ranks in one process: each rank's own `Stream`, without a process group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from headrace.assemble import Assembler
from headrace.batch import Batch
from headrace.config import parse_config
from headrace.data import Data, open_data
from headrace.mix import Revision
from headrace.plan import Position
from headrace.stream import Finished, Stream


class Sealed:
    """Seals of a run whose mix never changes."""

    def through(self, step: int) -> list[Revision]:
        """See `Seals.through`."""
        return []


@dataclass(frozen=True)
class Row:
    """One sequence as the training loop gets it."""

    source: int
    ids: tuple[int, ...]
    labels: tuple[int, ...]
    positions: tuple[int, ...]


def rows_of(batch: Batch) -> list[Row]:
    """Every sequence of a micro-batch."""
    assert batch.labels is not None
    assert batch.position_ids is not None
    assert batch.num_trained_tokens == int((batch.labels >= 0).sum())
    columns = (batch.input_ids.tolist(), batch.labels.tolist(), batch.position_ids.tolist())
    sequences = zip(batch.source.tolist(), *columns, strict=True)
    return [Row(source, tuple(ids), tuple(labels), tuple(places)) for source, ids, labels, places in sequences]


def data_of(sources: Any, **options: Any) -> Data:
    """Opened sources, with small defaults."""
    chosen: dict[str, Any] = {"seq_len": 16, "global_batch_size": 8, "micro_batch_size": 2, "seed": 1, "eos_id": 0}
    return open_data(parse_config({"sources": sources, **chosen, **options}))


def stream_of(
    data: Data, rank: int, world_size: int, start: Position | None = None, log: Sequence[Revision] = ()
) -> Stream:
    """One rank's stream from `start` on."""
    orders, blocks = data.orders(), data.blocks()
    courses = data.courses(orders)
    manifests = [leg.manifest for leg in data.legs]
    return Stream(
        start=start or Position.start(len(data.config.names)),
        log=log or [Revision("config:1", 0, data.weights_ppm)],
        seals=Sealed(),
        courses=courses,
        names=data.config.names,
        assembler=Assembler(data.config, manifests, courses, data.pieces(orders, blocks), blocks),
        batch_sizes=data.config.batch_sizes,
        micro_batch_size=data.config.micro_batch_size,
        dp_rank=rank,
        dp_size=world_size,
        tokens_a_sequence=0,
        ending=data.ending(),
        collate=data.config.collate,
    )


def whole_steps(
    data: Data, world_size: int, number: int | None = None, start: Position | None = None
) -> tuple[list[list[Row]], Position]:
    """The sequences of the next steps over all ranks, in slot order, and the position after them; None: to the end."""
    steps: list[list[Row]] = []
    after = start or Position.start(len(data.config.names))
    for rank in range(world_size):
        own = 0
        items = stream_of(data, rank, world_size, start).items()
        rows: list[Row] = []
        for item in items:
            rows += rows_of(item.batch)
            if item.finished is not None:
                if rank == 0:
                    steps.append([])
                steps[own] += rows
                after, rows, own = item.finished.plan.after, [], own + 1
                if own == number:
                    break
        assert own == len(steps)
    return steps, after


def finished_steps(data: Data, number: int, rank: int = 0, world_size: int = 1) -> list[Finished]:
    """What is known of a rank's first steps."""
    done = (item.finished for item in stream_of(data, rank, world_size).items())
    return list(islice((finished for finished in done if finished is not None), number))
