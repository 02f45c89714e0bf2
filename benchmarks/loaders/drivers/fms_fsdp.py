"""The loader of foundation-model-stack/fms-fsdp, from a checkout that FMS_FSDP names; nothing of it is changed.

Its own format (a record batch a document), the count file it asks for, and its own `get_data_loader` with the defaults
of its training configuration: 1,024 logical shards, a shuffle buffer of 10,000 lines.
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

sys.path.insert(0, os.environ["FMS_FSDP"])
from fms_fsdp.utils import dataloader_utils
from fms_fsdp.utils.dataset_utils import ArrowHandler, PreloadBufferDataset

from benchmarks.loaders.harness import SEQ_LEN, SOURCES, WEIGHTS, Batch, Work, main, offsets_of, tokens_of

# The table of handlers holds this class where an instance is needed.
dataloader_utils._handler_map["arrow"] = ArrowHandler()
BUFFER = int(os.environ.get("FMS_FSDP_BUFFER", "10000"))
"lines that are shuffled; its builder has 10,000"
dataloader_utils.PreloadBufferDataset = lambda data, lines: PreloadBufferDataset(data, min(lines, BUFFER))

SHARDS = 8
"files of a source"
SCHEMA = pa.schema([pa.field("tokens", pa.uint32())])
"32 bits, which it documents"


class FmsFsdp:
    """Documents drawn at random from logical shards, joined, cut, and shuffled in a buffer of lines."""

    shares_state = counts = False

    def __init__(self, work: Work) -> None:
        nowhere = str(work.prepared / "nowhere")
        config = SimpleNamespace(
            datasets=",".join(SOURCES),
            weights=",".join(map(str, WEIGHTS)),
            strip_tokens="",
            bos_token=None,
            eos_token=0,
            bol_token=None,
            eol_token=None,
            file_type="arrow",
            tokenizer_path="",
            col_name="tokens",
            data_path=str(work.prepared / "data"),
            seed=work.seed,
            logical_shards=1024,
            seq_length=SEQ_LEN,
            ckpt_load_path=nowhere,
            ckpt_save_path=nowhere,
            resuming_dataset=False,
            checkpoint_interval=1 << 40,
            batch_size=work.batch_size,
            num_workers=work.workers,
        )
        sys.stdout.flush()
        self._loader = dataloader_utils.get_data_loader(config, work.rank, work.world_size)

    @staticmethod
    def prepare(corpus: Path, prepared: Path) -> None:
        counts = []
        for source in SOURCES:
            (prepared / "data" / source).mkdir(parents=True, exist_ok=True)
            tokens, offsets = tokens_of(corpus, source), offsets_of(corpus, source)
            edges = np.linspace(0, len(offsets) - 1, SHARDS + 1).astype(int).tolist()
            for shard, (first, last) in enumerate(pairwise(edges)):
                name = f"{shard:05d}.arrow"
                path = str(prepared / "data" / source / name)
                with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, SCHEMA) as writer:
                    for begin, end in pairwise(offsets[first : last + 1].tolist()):
                        ids = pa.array(tokens[begin : end - 1].astype(np.uint32))
                        writer.write(pa.record_batch([ids], schema=SCHEMA))
                counts.append((f"/{source}/{name}", last - first, int(offsets[last] - offsets[first])))
        (prepared / "data" / "meta").mkdir(exist_ok=True)
        with (prepared / "data" / "meta" / "combined_counts.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("dataset/filename", "documents", "tokens"), *counts])

    def __iter__(self) -> Iterator[Batch]:
        for ids, labels in self._loader:
            yield ids.long(), labels.long()

    def state(self) -> Any:
        return self._loader.dataset.state_dict()

    def load(self, states: list[Any]) -> None:
        # Below its outermost layer, which looks for files.
        self._loader.dataset.setup()
        self._loader.dataset.dataset.load_state_dict(states)

    def state_at(self, sequences: int) -> Any:
        raise NotImplementedError

    def change_weights(self, weights: tuple[float, ...]) -> None:
        raise NotImplementedError("weights are given when the dataset is made")


if __name__ == "__main__":
    main(FmsFsdp)
