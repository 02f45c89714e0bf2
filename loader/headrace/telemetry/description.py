"""What the control plane is told about a job, an attempt and a rank, before the first report."""

from __future__ import annotations

import json
import socket
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version

from headrace.telemetry.plain_text import plain_text


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceDescription:
    """One source as configured."""

    name: str
    weight_ppm: int
    "weight where this start begins; all sources' weights sum to 1,000,000"
    num_documents: int
    num_tokens: int
    "in one epoch"
    num_shards: int
    end_ordinal: int | None = None
    "sequences of it after which it is used up; None: it repeats for ever"


@dataclass(frozen=True, kw_only=True, slots=True)
class JobDescription:
    """A job as configured, the same on every rank."""

    sources: tuple[SourceDescription, ...]
    seq_len: int
    global_batch_size: int
    total_steps: int | None
    "for forecasts only"
    seed: int
    packing: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RankIdentity:
    """This rank of this start."""

    rank: int
    "global rank"
    local_rank: int
    dp_rank: int
    world_size: int
    dp_size: int
    counts_tokens: bool
    "whether this is the lowest global rank of its dp_rank"
    leader: bool
    "whether this rank talks to the control plane about the mix"
    attempt: str
    "UUID of this start, the same on every rank"
    lineage: str
    "UUID"
    parent_lineage: str | None
    resumed_from_step: int | None
    beginning: Mapping[str, object] | None = None
    """where this start goes on with a run whose steps were not all alike: its checkpoint as `state`, and the
    `skip_steps` to move past; what the record of changes alone doesn't tell"""


@dataclass(frozen=True, slots=True)
class Registration:
    """The bodies that create a job and an attempt: what delivering the attempt's reports later takes. No secret."""

    job: Mapping[str, object]
    attempt: Mapping[str, object]

    @property
    def attempt_id(self) -> str:
        """The attempt's UUID."""
        return str(self.attempt["id"])

    @property
    def source_names(self) -> list[str]:
        """The job's sources, in the job's order."""
        sources = self.job["sources"]
        assert isinstance(sources, Sequence)
        return [str(source["name"]) for source in sources]

    @property
    def started_at(self) -> float:
        """When the attempt started, in Unix seconds."""
        started_at = self.attempt.get("started_at")
        return float(started_at) if isinstance(started_at, int | float) else 0.0

    def to_json(self) -> bytes:
        """One JSON object with `job` and `attempt`."""
        return json.dumps({"job": self.job, "attempt": self.attempt}, indent=1).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Registration:
        """The inverse of `to_json`. Raises ValueError for anything else."""
        body = json.loads(text)
        try:
            job, attempt = dict(body["job"]), dict(body["attempt"])
            uuid.UUID(attempt["id"])
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"not a registration: {text[:80]!r}") from error
        return cls(job, attempt)


def registration(job: str, identity: RankIdentity, description: JobDescription) -> Registration:
    """The registration of this start of `job`."""
    return Registration(
        {"name": job, **asdict(description), "sources": [asdict(source) for source in description.sources]},
        {
            "id": str(uuid.UUID(identity.attempt)),
            "lineage": identity.lineage,
            "parent_lineage": identity.parent_lineage,
            "world_size": identity.world_size,
            "dp_size": identity.dp_size,
            "resumed_from_step": identity.resumed_from_step,
            "started_at": time.time(),
            "loader_version": version("headrace"),
            "hostname": plain_text(socket.gethostname(), 255),
            **({} if identity.beginning is None else {"beginning": dict(identity.beginning)}),
        },
    )
