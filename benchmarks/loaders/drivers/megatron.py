"""Megatron-Core's blended GPT datasets: mapped .bin and .idx, with document, sample and shuffle indices built first."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from megatron.core.datasets.blended_megatron_dataset_builder import BlendedMegatronDatasetBuilder
from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig
from megatron.core.datasets.indexed_dataset import _IndexWriter

from benchmarks.loaders.harness import SEQ_LEN, SOURCES, WEIGHTS, Batch, Work, main, offsets_of

NUM_SAMPLES = 1_100_000
"that the blend is built for"


class _Tokenizer:
    vocab_size = 48_001
    eod = 0
    pad = -1
    unique_identifiers = {"class": "ids"}  # noqa: RUF012


class _Sampler:
    """The samples of this rank, from `first` on: a slice of each global batch."""

    def __init__(self, work: Work, first: int) -> None:
        self._work, self._first = work, first

    def __len__(self) -> int:
        return NUM_SAMPLES

    def __iter__(self) -> Iterator[list[int]]:
        size, all_ranks = self._work.batch_size, self._work.batch_size * self._work.world_size
        for first in range(self._first, NUM_SAMPLES - all_ranks + 1, all_ranks):
            begin = first + self._work.rank * size
            yield list(range(begin, begin + size))


def _collate(samples: list[dict[str, Any]]) -> Batch:
    return torch.stack([one["tokens"] for one in samples]), torch.stack([one["labels"] for one in samples])


def _blend(prepared: Path, seed: int) -> Any:
    if not torch.distributed.is_initialized():
        with tempfile.TemporaryDirectory() as folder:
            torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
    config = GPTDatasetConfig(
        random_seed=seed,
        sequence_length=SEQ_LEN,
        blend_per_split=[([str(prepared / source) for source in SOURCES], list(WEIGHTS)), None, None],
        path_to_cache=str(prepared / "indices"),
        tokenizer=_Tokenizer(),
        reset_position_ids=False,
        reset_attention_mask=False,
        eod_mask_loss=False,
        create_attention_mask=False,
        mmap_bin_files=True,
    )
    return BlendedMegatronDatasetBuilder(GPTDataset, [NUM_SAMPLES, None, None], lambda: True, config).build()[0]


class Megatron:
    """A position is the number of samples that were consumed."""

    shares_state = counts = True

    def __init__(self, work: Work) -> None:
        self._work, self._done = work, 0
        self._data = _blend(work.prepared, work.seed)

    @staticmethod
    def prepare(corpus: Path, prepared: Path) -> None:
        prepared.mkdir(parents=True, exist_ok=True)
        for source in SOURCES:
            lengths = np.diff(offsets_of(corpus, source))
            (prepared / f"{source}.bin").unlink(missing_ok=True)
            os.link(corpus / "raw" / source / "tokens.bin", prepared / f"{source}.bin")
            with _IndexWriter(str(prepared / f"{source}.idx"), np.uint16) as writer:
                writer.write(lengths.tolist(), None, list(range(len(lengths) + 1)))
        _blend(prepared, seed=1)

    def __iter__(self) -> Iterator[Batch]:
        more = {"prefetch_factor": 4} if self._work.workers else {}
        loader = torch.utils.data.DataLoader(
            self._data,
            batch_sampler=_Sampler(self._work, self._done),
            num_workers=self._work.workers,
            collate_fn=_collate,
            **more,
        )
        for batch in loader:
            self._done += self._work.batch_size * self._work.world_size
            yield batch

    def state(self) -> Any:
        return self.state_at(self._done)

    def state_at(self, sequences: int) -> Any:
        return {"consumed_samples": sequences}

    def load(self, states: list[Any]) -> None:
        self._done = states[0]["consumed_samples"]

    def change_weights(self, weights: tuple[float, ...]) -> None:
        raise NotImplementedError("the blend is built beforehand")


if __name__ == "__main__":
    main(Megatron)
