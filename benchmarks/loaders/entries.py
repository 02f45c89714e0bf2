"""The loaders that are compared, and how each is run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Entry:
    """One row of the table. `driver` is a module of `drivers`, run in `environment` with `variables`."""

    name: str
    driver: str
    environment: str
    reads: str
    mixes: bool = True
    "whether it mixes sources by weight"
    packs: bool = False
    "whether it cuts rows from documents itself"
    makes: str = "ids"
    "what is in its batches; the driver adds the labels where they are not"
    variables: dict[str, str] = field(default_factory=dict)
    rate_variables: dict[str, str] = field(default_factory=dict)
    "those that hold only where rates are measured"
    warm_s: float = 0.3
    "how long it runs before its rate is measured"
    is_limit: bool = False


ROWS, DOCUMENTS = "rows cut beforehand", "documents"

LIMITS = (
    Entry(
        "mapped, one after the other",
        "limits",
        "headrace",
        "flat file",
        mixes=False,
        variables={"LIMIT": "sequential"},
        is_limit=True,
    ),
    Entry("mapped, random rows", "limits", "headrace", "flat file", variables={"LIMIT": "scattered"}, is_limit=True),
)
ALL = "ids, labels, positions"
HEADRACE = (
    Entry("headrace", "headrace", "headrace", "Arrow documents", packs=True, makes=ALL),
    Entry(
        "headrace, Parquet",
        "headrace",
        "headrace",
        "Parquet documents",
        packs=True,
        makes=ALL,
        variables={"HEADRACE_FORM": "parquet"},
    ),
    Entry("headrace, rows", "headrace", "headrace", ROWS, makes="ids, labels", variables={"HEADRACE_FORM": "rows"}),
)
OTHERS = (
    Entry("mosaicml-streaming", "streaming", "streaming", ROWS),
    Entry("litData", "litdata", "litdata", "chunks of tokens"),
    Entry("grain, rows", "grain", "grain", ROWS, variables={"GRAIN": "packed"}),
    Entry("grain, documents", "grain", "grain", DOCUMENTS, packs=True, variables={"GRAIN": "documents"}),
    Entry("HF datasets, streaming", "datasets", "datasets", ROWS, variables={"DATASETS": "stream"}),
    Entry("HF datasets, map", "datasets", "datasets", ROWS, variables={"DATASETS": "map"}),
    Entry("StatefulDataLoader", "torchdata", "torchdata", ROWS, mixes=False, variables={"TORCHDATA": "stateful"}),
    Entry("torchdata.nodes", "torchdata", "torchdata", ROWS, variables={"TORCHDATA": "nodes"}),
    Entry("Megatron-Core", "megatron", "megatron", DOCUMENTS, packs=True, makes="ids, labels, positions, mask"),
    Entry("webdataset", "webdataset", "webdataset", ROWS),
)
LOADERS = (*HEADRACE, *OTHERS)


def fms_fsdp(checkout: Path) -> Entry:
    """The loader of foundation-model-stack/fms-fsdp in a checkout of it. Raises ValueError where it isn't one."""
    if not (checkout / "fms_fsdp" / "utils" / "dataset_utils.py").is_file():
        raise ValueError(f"{checkout} is no checkout of foundation-model-stack/fms-fsdp: no fms_fsdp/utils in it")
    return Entry(
        "fms-fsdp",
        "fms_fsdp",
        "fms_fsdp",
        DOCUMENTS,
        packs=True,
        makes="ids, labels (int32)",
        variables={"FMS_FSDP": str(checkout.resolve())},
        # It fills its buffer at half its rate, and of 10,000 lines for many seconds.
        rate_variables={"FMS_FSDP_BUFFER": "1000"},
        warm_s=4.0,
    )


def chosen(names: list[str] | None, among: tuple[Entry, ...] = LOADERS) -> tuple[Entry, ...]:
    """The loaders of these names, in the table's order; all for None. Raises ValueError for one that isn't there."""
    if names is None:
        return among
    unknown = set(names) - {entry.name for entry in among}
    if unknown:
        raise ValueError(f"no loader {sorted(unknown)[0]!r}; there are {', '.join(entry.name for entry in among)}")
    return tuple(entry for entry in among if entry.name in names)
