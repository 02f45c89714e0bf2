"""A run as the control plane recorded it, for looking back without a checkpoint: the job's facts and its mix."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from headrace.errors import ConfigError, StateError
from headrace.mix import Revision
from headrace.telemetry.answers import read_activations
from headrace.telemetry.client import Client
from headrace.telemetry.connect import endpoint_of
from headrace.telemetry.failures import ServiceError
from headrace.telemetry.http_answer import Answer
from headrace.telemetry.port import Activated


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """What the control plane knows of a job."""

    name: str
    options: Mapping[str, Any]
    "`seq_len`, `global_batch_size`, `seed` and `packing`"
    sources: tuple[str, ...]
    "in the order of the job"
    sizes: Mapping[str, tuple[int, int, int]]
    "by source: shards, documents, tokens"
    log: tuple[Revision, ...]
    "every change of the mix that the newest lineage is made of"
    beginning: Beginning | None = None
    "where its steps were not all alike: what the newest start went on from"


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a start went on from; `log` in the record is then what came from there on."""

    state: Mapping[str, Any]
    "as `Loader.state_dict` gives it"
    skip_steps: int


def read_record(
    job: str, *, url: str | None = None, token: str | None = None, project: str | None = None
) -> RecordedRun:
    """Ask the control plane for a job; what is None comes from the environment, as for `Loader`.

    Raises:
        ConfigError: no URL, no such job, or no usable answer.
        StateError: a record that doesn't tell the run: without a start, or of steps that were not all alike.
    """
    client = Client(endpoint_of(job, url, token))
    project = project or os.environ.get("HEADRACE_PROJECT") or "default"
    try:
        found = _find(client, project, job)
        facts = _get(client, f"/jobs/{found}")
        attempts = _items(_get(client, f"/jobs/{found}/attempts"))
        activations = _get(client, f"/jobs/{found}/activations")
        recorded = [activated for activated, _ in read_activations(activations)]
        posted_by = [str(item["attempt"]) for item in _items(activations)]
        begun = _beginning(client, found, attempts)
    except ServiceError as error:
        raise ConfigError(f"--job {job}: {error}") from error
    finally:
        client.close()
    if begun is None:
        _check_alike(job, facts)
    lineages = _lineages(recorded, posted_by, attempts)
    if begun is not None:
        own = str(_newest(attempts)["lineage"])
        lineages = lineages[lineages.index(own) :] if own in lineages else [own]
    elif not lineages:
        raise StateError(f"job {job!r} has not started yet: nothing is recorded of its mix; give a checkpoint")
    return RecordedRun(
        name=job,
        options={name: facts[name] for name in ("seq_len", "global_batch_size", "seed", "packing")},
        sources=tuple(source["name"] for source in facts["sources"]),
        sizes={s["name"]: (s["num_shards"], s["num_documents"], s["num_tokens"]) for s in facts["sources"]},
        log=stitch(recorded, lineages),
        beginning=begun,
    )


def _newest(attempts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The start that the service shows: the last to have begun."""
    return max(attempts, key=lambda attempt: (str(attempt["started_at"]), int(attempt["number"])))


def _beginning(client: Client, job_id: str, attempts: Sequence[Mapping[str, Any]]) -> Beginning | None:
    """What the newest start went on from; None where only the mix ever changed, or an older part knows nothing."""
    if not attempts or _newest(attempts)["resumed_from_step"] is None:
        return None
    answer: Answer = client.get(f"/jobs/{job_id}/attempts/{_newest(attempts)['id']}/beginning")
    found = answer.body.get("beginning") if answer.ok else None
    if not isinstance(found, dict) or not isinstance(found.get("state"), dict):
        return None
    return Beginning(found["state"], int(found.get("skip_steps", 0)))


def _find(client: Client, project: str, job: str) -> str:
    query = urlencode({"q": job, "limit": 100})
    names = []
    for item in _items(_get(client, f"/projects/{quote(project, safe='')}/jobs?{query}")):
        if item["name"] == job:
            return str(item["id"])
        names.append(item["name"])
    like = f"; those like it are {', '.join(names[:5])}" if names else ""
    raise ConfigError(f"--job is {job!r}; project {project!r} has no such job{like}")


def _get(client: Client, path: str) -> Mapping[str, Any]:
    answer: Answer = client.get(path)
    if not answer.ok:
        raise ServiceError("refused", f"the control plane does not give {path}: {answer.reason}")
    return answer.body


def _items(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    items = body.get("items")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ServiceError("not headrace", f"the control plane answers {str(body)[:100]}; check HEADRACE_URL")
    return items


def _check_alike(job: str, facts: Mapping[str, Any]) -> None:
    """Refuse a run whose steps were not all of one size, which the record doesn't tell apart."""
    if facts["step"] is None:
        return
    steps, size = facts["step"] + 1, facts["global_batch_size"] * facts["seq_len"]
    if facts["tokens"] != steps * size:
        raise StateError(
            f"job {job!r} has delivered {facts['tokens']} tokens in {steps} steps, which is not {size} in each: its "
            "batch size or seq_len changed, or steps were moved past; give a checkpoint, which knows where"
        )


def _lineages(
    recorded: Sequence[Activated], posted_by: Sequence[str], attempts: Sequence[Mapping[str, Any]]
) -> list[str]:
    """The lineages that lead to the newest, oldest first."""
    by_id = {str(attempt["id"]): attempt for attempt in attempts}
    parents: dict[str, str | None] = {}
    newest: tuple[int, str] | None = None
    for activated, attempt_id in zip(recorded, posted_by, strict=True):
        attempt = by_id[attempt_id]
        lineage, begun_in = str(activated.lineage), str(attempt["lineage"])
        parent = attempt["parent_lineage"] if lineage == begun_in else begun_in
        if parents.get(lineage) is None:
            parents[lineage] = None if parent is None or parent == lineage else str(parent)
        if newest is None or int(attempt["number"]) >= newest[0]:
            newest = (int(attempt["number"]), lineage)
    chain: list[str] = []
    current = None if newest is None else newest[1]
    while current is not None and current not in chain:
        chain.insert(0, current)
        current = parents.get(current)
    return chain


def stitch(recorded: Sequence[Activated], lineages: Sequence[str]) -> tuple[Revision, ...]:
    """The log of a run from the record of its lineages: each holds up to where the next one begins.

    Args:
        recorded: activations in the order in which they take effect, of every lineage.
        lineages: those that the run went through, oldest first.
    """
    by_id: dict[str, Revision] = {}
    for number, lineage in enumerate(lineages):
        begins = [a.step for other in lineages[number + 1 :] for a in recorded if a.lineage == other]
        until = min(begins, default=None)
        for activated in recorded:
            if activated.lineage == lineage and (until is None or activated.step < until):
                by_id[activated.revision] = Revision(
                    activated.revision, activated.step, dict(activated.weights_ppm), activated.ramp_steps
                )
    return tuple(sorted(by_id.values(), key=lambda revision: revision.from_step))
