"""How much best-fit packing pads and cuts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.bench.workload import Workload
from headrace.config import parse_config
from headrace.data import open_data

SAMPLE = 256
"sequences of a source whose windows are packed to see how many documents are cut"


@dataclass(frozen=True, slots=True)
class Fit:
    """What packing costs."""

    padded_share: float
    "part of all places of an epoch that is padding, exactly"
    cut_share: float | None
    "part of the documents of some windows that are cut though they fit a sequence; None with joined documents"


def measure_fit(workload: Workload) -> Fit:
    """Padding follows from the manifests; for the documents cut, the windows of some sequences are packed."""
    data = open_data(parse_config({"sources": workload.sources, **workload.options}))
    places = tokens = 0
    orders = data.orders()
    pieces = data.pieces(orders, data.blocks())
    if pieces.cuts is None:
        return Fit(0.0, None)
    for number, leg in enumerate(data.legs):
        manifest, windows = leg.manifest, leg.stretch.windows
        assert windows is not None, "best-fit packing has windows"
        places += int(windows.num_sequences.sum()) * workload.seq_len
        tokens += manifest.num_tokens + manifest.num_documents * data.config.num_separators
        number_of = min(SAMPLE, int(windows.num_sequences.sum()))
        pieces.table(number, np.arange(number_of), np.arange(number_of))
    pieces.clear()
    return Fit(1 - tokens / places, pieces.cuts.share)
