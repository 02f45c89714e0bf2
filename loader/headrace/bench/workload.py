"""What is measured: sources and options that decide what a batch costs, as a cold process can be told them too."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

from headrace.config import Source
from headrace.loader import Loader


@dataclass(frozen=True, slots=True)
class Workload:
    """One process that loads `micro_batches` batches of `micro_batch` sequences a step."""

    sources: tuple[Source, ...]
    seq_len: int = 4096
    micro_batch: int = 8
    micro_batches: int = 4
    eos_id: int | None = None
    outputs: tuple[str, ...] = ("input_ids", "labels", "position_ids")
    packing: str = "concat"
    vocab_size: int | None = None
    cache_bytes: int = 1 << 30

    @property
    def step_tokens(self) -> int:
        """Tokens in a step."""
        return self.micro_batch * self.micro_batches * self.seq_len

    @property
    def options(self) -> dict[str, Any]:
        """The options of the loader."""
        return {
            "seq_len": self.seq_len,
            "global_batch_size": self.micro_batch * self.micro_batches,
            "micro_batch_size": self.micro_batch,
            "seed": 0,
            "eos_id": self.eos_id,
            "outputs": self.outputs,
            "packing": self.packing,
            "vocab_size": self.vocab_size,
            "cache_bytes": self.cache_bytes,
        }

    def loader(self) -> Loader:
        """A loader of its own, without telemetry.

        Raises:
            ConfigError, SourceError, ShardError: as `Loader`.
        """
        return Loader(self.sources, job=None, rank=0, world_size=1, **self.options)

    def to_json(self) -> str:
        """As `from_json` reads it."""
        return json.dumps(dataclasses.asdict(self))

    @staticmethod
    def from_json(text: str) -> Workload:
        """What `to_json` wrote."""
        fields = json.loads(text)
        fields["sources"] = tuple(Source(**source) for source in fields["sources"])
        return Workload(**fields | {"outputs": tuple(fields["outputs"])})
