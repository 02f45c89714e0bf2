"""How a loader and its ranks are described to the control plane."""

from __future__ import annotations

import os
from collections.abc import Mapping

from headrace.agreement import World
from headrace.data import Data
from headrace.plan import size_at
from headrace.telemetry.description import JobDescription, RankIdentity, SourceDescription
from headrace.telemetry.port import Telemetry

# No run gets this far, and JSON's numbers hold whatever is below.
_FOREVER = 1 << 53


class Reporting:
    """Where one loader reports to, if anywhere. Fulfils `run.Connect`."""

    def __init__(self, data: Data, *, job: str | None, url: str | None, token: str | None, project: str | None) -> None:
        """An empty `job`, and what else is None, come from the HEADRACE_ variables; with no job nothing is reported.

        Raises:
            ConfigError: a job without a control plane, or a URL or token that can't be used.
        """
        self._data = data
        self._job = job if job != "" else os.environ.get("HEADRACE_JOB") or None
        if self._job is not None:
            from headrace.telemetry.connect import endpoint_of  # noqa: PLC0415  # an HTTP client costs 60 ms

            endpoint_of(self._job, url, token)
        self._url = url
        self._token = token
        self._project = project

    @property
    def job(self) -> str | None:
        """The job's name in the control plane; None where nothing is reported."""
        return self._job

    def __call__(
        self,
        *,
        world: World,
        counts_tokens: bool,
        attempt: str,
        lineage: str,
        resumed_from_step: int | None,
        parent_lineage: str | None,
        weights_ppm: Mapping[str, int],
        beginning: Mapping[str, object] | None,
    ) -> Telemetry | None:
        """This rank's telemetry of one start; None without a job.

        Raises:
            ConfigError: a job without a control plane, or settings that can't be used.
        """
        if self._job is None:
            return None
        from headrace.telemetry.connect import connect  # noqa: PLC0415

        identity = RankIdentity(
            rank=world.rank,
            local_rank=int(os.environ.get("LOCAL_RANK", "0")),
            dp_rank=world.dp_rank,
            world_size=world.world_size,
            dp_size=world.dp_size,
            counts_tokens=counts_tokens,
            leader=world.rank == 0,
            attempt=attempt,
            lineage=lineage,
            parent_lineage=parent_lineage,
            resumed_from_step=resumed_from_step,
            beginning=beginning,
        )
        description = describe(self._data, resumed_from_step or 0, weights_ppm)
        return connect(identity, description, job=self._job, url=self._url, token=self._token, project=self._project)


def describe(data: Data, step: int, weights_ppm: Mapping[str, int]) -> JobDescription:
    """The job as it is from `step` on, the same on every rank."""
    config = data.config
    ends = [int(data.legs_of(source)[-1].end_ordinal) for source in range(len(config.names))]
    return JobDescription(
        sources=tuple(
            SourceDescription(
                name=manifest.name,
                weight_ppm=weights_ppm[manifest.name],
                num_documents=manifest.num_documents,
                num_tokens=manifest.num_tokens + manifest.num_documents * config.num_separators,
                num_shards=len(manifest.shards),
                end_ordinal=end if end < _FOREVER else None,
            )
            for manifest, end in zip(data.manifests, ends, strict=True)
        ),
        seq_len=config.seq_len,
        global_batch_size=size_at(config.batch_sizes, step),
        total_steps=config.total_steps,
        seed=config.seed,
        packing=config.packing,
    )
