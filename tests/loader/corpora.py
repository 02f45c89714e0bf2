"""Real corpora on disk: documents whose tokens say which they are, in every layout of shards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from headrace import Batch, Loader, Source
from headrace.formats.writer import ShardWriter

Documents = list[list[int] | None]
"rows of a shard; None is a null row, [] an empty one"

LAYOUTS = ("headrace", "arrow", "flat", "parquet")


@dataclass(frozen=True)
class Corpus:
    """Sources under one folder, each a folder of shards, and the documents in them."""

    root: Path
    documents: Mapping[str, list[list[int]]]
    "by source: those that are neither null nor empty, in the order of shards and rows"

    def sources(self, **weights: float) -> list[Source]:
        """Every source, with these weights; none given: in proportion to tokens."""
        names = weights or dict.fromkeys(self.documents)
        return [Source(name, str(self.root / name), weight) for name, weight in names.items()]

    def num_tokens(self, name: str, num_separators: int = 0) -> int:
        """Tokens of one epoch of a source, separators counted."""
        return sum(len(document) + num_separators for document in self.documents[name])


def numbered(lengths: Sequence[int], first: int = 1) -> Documents:
    """Documents of these lengths whose tokens count up from `first`, so that no two tokens are the same."""
    starts = np.concatenate(([0], np.cumsum(lengths))) + first
    return [list(range(start, stop)) for start, stop in pairwise(starts.tolist())]


def write_shard(path: Path, rows: Documents, layout: str, token_type: npt.DTypeLike, batch_rows: int = 7) -> None:
    """Write one shard; record batches or row groups of `batch_rows` rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    type_ = pa.from_numpy_dtype(np.dtype(token_type))
    if layout == "headrace":
        with ShardWriter(path.with_suffix(".arrow"), dtype=token_type) as shard:
            shard.write([row or [] for row in rows])
        return
    if layout == "flat":
        schema = pa.schema([("tokens", type_)])
        with pa.ipc.new_file(str(path.with_suffix(".arrow")), schema) as writer:
            for row in rows:
                writer.write_batch(pa.record_batch([pa.array(row or [], type_)], schema=schema))
        return
    table = pa.table({"tokens": pa.array(rows, pa.list_(type_))})
    if layout == "parquet":
        pq.write_table(table, path.with_suffix(".parquet"), row_group_size=batch_rows)
        return
    with pa.ipc.new_file(str(path.with_suffix(".arrow")), table.schema) as writer:
        writer.write_table(table, max_chunksize=batch_rows)


def write_corpus(
    root: Path,
    sources: Mapping[str, Sequence[Documents]],
    *,
    layouts: Sequence[str] = ("headrace",),
    token_type: npt.DTypeLike = np.uint32,
) -> Corpus:
    """Write sources, each a list of shards; `layouts` are taken in turn."""
    for s, (name, shards) in enumerate(sources.items()):
        for n, rows in enumerate(shards):
            write_shard(root / name / f"{n:05}", rows, layouts[(s + n) % len(layouts)], token_type)
    return Corpus(root, {name: [row for rows in shards for row in rows if row] for name, shards in sources.items()})


def random_corpus(
    root: Path, sizes: Mapping[str, int], *, mean: int = 20, layouts: Sequence[str] = ("headrace",), seed: int = 3
) -> Corpus:
    """Sources of so many documents in three shards each; lengths vary widely, all tokens differ."""
    rng = np.random.default_rng(seed)
    first = 1
    sources: dict[str, list[Documents]] = {}
    for name, number in sizes.items():
        lengths = rng.geometric(1 / mean, number).tolist()
        documents = numbered(lengths, first)
        first += sum(lengths)
        sources[name] = [documents[n::3] for n in range(min(3, number))]
    return write_corpus(root, sources, layouts=layouts)


@contextmanager
def open_loader(sources: Sequence[Source], **options: Any) -> Iterator[Loader]:
    """A loader with small defaults, closed at the end."""
    chosen: dict[str, Any] = {"seq_len": 16, "global_batch_size": 8, "micro_batch_size": 4, "seed": 1, "eos_id": 0}
    with Loader(sources, **(chosen | options)) as loader:
        yield loader


def take_step(loader: Loader) -> list[Batch]:
    """The micro-batches of one step."""
    batches = [next(loader)]
    while not batches[-1].last_of_step:
        batches.append(next(loader))
    return batches


def sequences(batches: Sequence[Batch]) -> list[tuple[int, ...]]:
    """The ids of each sequence, in slot order."""
    return [tuple(row) for batch in batches for row in batch.input_ids.tolist()]
