"""The loaders that are compared, and how each is run."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Entry:
    """One row of the table. `driver` is a module of `drivers`, run in `environment` with `variables`."""

    name: str
    driver: str
    environment: str
    mixes: bool = True
    packs: bool = False
    reads: str = "rows cut beforehand"
    variables: dict[str, str] = field(default_factory=dict)
    is_limit: bool = False


LIMITS = (
    Entry("mapped, one after the other", "limits", "headrace", False, variables={"LIMIT": "sequential"}, is_limit=True),
    Entry("mapped, random rows", "limits", "headrace", True, variables={"LIMIT": "scattered"}, is_limit=True),
)
LOADERS = (
    Entry("headrace", "headrace", "headrace", packs=True, reads="Arrow documents"),
    Entry(
        "headrace, Parquet",
        "headrace",
        "headrace",
        packs=True,
        reads="Parquet documents",
        variables={"HEADRACE_FORM": "parquet"},
    ),
    Entry("mosaicml-streaming", "streaming", "streaming"),
    Entry("litData", "litdata", "litdata", reads="chunks of tokens"),
    Entry("grain, rows", "grain", "grain", variables={"GRAIN": "packed"}),
    Entry("grain, documents", "grain", "grain", packs=True, reads="documents", variables={"GRAIN": "documents"}),
    Entry("HF datasets, streaming", "datasets", "datasets", variables={"DATASETS": "stream"}),
    Entry("HF datasets, map", "datasets", "datasets", variables={"DATASETS": "map"}),
    Entry("StatefulDataLoader", "torchdata", "torchdata", mixes=False, variables={"TORCHDATA": "stateful"}),
    Entry("torchdata.nodes", "torchdata", "torchdata", variables={"TORCHDATA": "nodes"}),
    Entry("Megatron-Core", "megatron", "megatron", packs=True, reads="documents, indexed"),
    Entry("webdataset", "webdataset", "webdataset"),
)


def chosen(names: list[str] | None) -> tuple[Entry, ...]:
    """The loaders of these names, in the table's order; all for None. Raises ValueError for one that isn't there."""
    if names is None:
        return LOADERS
    unknown = set(names) - {entry.name for entry in LOADERS}
    if unknown:
        raise ValueError(f"no loader {sorted(unknown)[0]!r}; there are {', '.join(entry.name for entry in LOADERS)}")
    return tuple(entry for entry in LOADERS if entry.name in names)
