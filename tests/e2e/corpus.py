"""A small corpus of three sources, written here: random documents in Arrow shards."""

from pathlib import Path

import numpy as np
import pyarrow as pa

WEIGHTS = {"code": 0.5, "prose": 0.3, "legal": 0.2}
VOCAB_SIZE = 1000
EOS_ID = 0
_SHARDS = 2
_DOCUMENTS = 400


def write_corpus(folder: Path) -> None:
    """Two Arrow files a source, each of 400 documents of 20 to 199 tokens, under ``folder/<source>``."""
    random = np.random.default_rng(7)
    for source in WEIGHTS:
        (folder / source).mkdir(parents=True)
        for shard in range(_SHARDS):
            lengths = random.integers(20, 200, _DOCUMENTS)
            documents = [random.integers(1, VOCAB_SIZE, length).astype(np.uint16) for length in lengths]
            table = pa.table({"tokens": pa.array(documents, pa.list_(pa.uint16()))})
            path = folder / source / f"{shard:04d}.arrow"
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table, max_chunksize=100)
