"""Makes the control plane know a job and its attempts before anything is sent about them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from urllib.parse import quote

from headrace.telemetry.client import Client
from headrace.telemetry.description import Registration
from headrace.telemetry.failures import ServiceError
from headrace.telemetry.http_answer import Answer

_REFUSED_PAUSE_S = 30.0


class Registrar:
    """Creates the job and attempts on first use; repeats are harmless, since the service knows both by identity."""

    def __init__(self, client: Client, project: str, current: Registration) -> None:
        self._client = client
        self._project = project
        self._current = current
        self._job_id: str | None = None
        self._attempts: set[str] = set()

    def job_id(self, registration: Registration) -> str:
        """The job's UUID, once the service knows job and attempt. Raises ServiceError.

        An earlier start's job goes first, as its reports may name sources that the job no longer has; today's is
        then posted again, so that its sizes are the ones that stay.
        """
        if self._job_id is not None and registration.attempt_id in self._attempts:
            return self._job_id
        job_id = self._create_job(registration)
        answer = self._client.post(f"/jobs/{job_id}/attempts", json.dumps(registration.attempt).encode())
        _accepted(answer, f"attempt {registration.attempt_id}")
        if registration is not self._current:
            self._create_job(self._current)
        self._job_id = job_id
        self._attempts.add(registration.attempt_id)
        return job_id

    def forget(self) -> None:
        """Register again before the next use: the service no longer knows the job."""
        self._job_id = None
        self._attempts.clear()

    def _create_job(self, registration: Registration) -> str:
        answer = self._client.post(
            f"/projects/{quote(self._project, safe='')}/jobs", json.dumps(registration.job).encode()
        )
        job_id = _accepted(answer, f"job {str(registration.job.get('name'))!r} in project {self._project!r}").get("id")
        try:
            return str(uuid.UUID(str(job_id)))
        except ValueError:
            what = f"the new job's id is {str(job_id)[:60]!r}, not a UUID: check HEADRACE_URL"
            raise ServiceError("not headrace", what) from None


def _accepted(answer: Answer, what: str) -> Mapping[str, object]:
    if answer.ok:
        return answer.body
    raise ServiceError("refused", f"the control plane does not take {what}: {answer.reason}", _REFUSED_PAUSE_S)
