"""Several ranks share the work evenly, however uneven the data."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from tests.loader.corpora import Documents, write_corpus
from tests.loader.several_ranks import data_of, stream_of


def test_wildly_uneven_documents_on_four_ranks(tmp_path: Path) -> None:
    """F20: shards of 1, 10 and many documents, one of a million tokens, many of 0 and 1; every rank gets a quarter."""
    long = list(range(1_000_000, 2_000_000))
    few: Documents = [list(range(100 * n, 100 * n + 60)) for n in range(1, 11)]
    many: Documents = [[n] if n % 3 else [] for n in range(2_000, 8_000)]
    corpus = write_corpus(tmp_path, {"web": [[long], few, many]}, layouts=("arrow", "parquet", "flat"))
    options = {"seq_len": 256, "global_batch_size": 64, "micro_batch_size": 16, "epochs": 1}
    opened = data_of(corpus.sources(), **options)
    found: Counter[int] = Counter()
    trained = []
    long_steps = []
    for rank in range(4):
        ids = []
        for item in stream_of(opened, rank, 4).items():
            rows = item.batch.input_ids.numpy()
            ids.append(rows)
            if rank == 0 and rows.max() >= 1_000_000:
                long_steps.append(item.batch.step)
        own = np.concatenate(ids)
        trained.append(int((own > 0).sum()))
        found.update(own[own > 0].tolist())
    assert max(found.values()) == 1
    assert len(found) == sum(map(len, corpus.documents["web"]))
    assert max(trained) <= 1.05 * sum(trained) / 4
    assert set(long_steps) == set(range(len(set(long_steps)))), "the long document is spread over all steps"
