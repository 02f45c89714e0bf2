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
from headrace.telemetry.spool import Spool

REFUSED = "refused"
"the kind of a failure to register that another try will hardly mend"
_REFUSED_PAUSE_S = 30.0


class Registrar:
    """Creates the job and attempts on first use; repeats are harmless, since the service knows both by identity.

    Attempts that earlier starts left in the spool are created before today's, so that today's is the newest.
    """

    def __init__(self, client: Client, project: str, spool: Spool, current: Registration) -> None:
        self._client = client
        self._project = project
        self._spool = spool
        self._current = current
        self._job_id: str | None = None
        self._attempts: set[str] = set()

    def job_id(self, registration: Registration) -> str:
        """The job's UUID, once the service knows job and attempt. Raises ServiceError."""
        if registration.attempt_id not in self._attempts:
            if registration is self._current:
                self._create_earlier()
            self._create(registration)
            if registration is not self._current and self._current.attempt_id in self._attempts:
                self._create_job(self._current)  # today's description is the one that stays
        assert self._job_id is not None
        return self._job_id

    def forget(self) -> None:
        """Register again before the next use: the service no longer knows the job."""
        self._job_id = None
        self._attempts.clear()

    def _create_earlier(self) -> None:
        for earlier in self._spool.registrations():
            if earlier.started_at < self._current.started_at and earlier.attempt_id not in self._attempts:
                try:
                    self._create(earlier)
                except ServiceError as error:
                    if error.kind != REFUSED:
                        raise

    def _create(self, registration: Registration) -> None:
        """The job as that start described it, as its reports may name sources that today's lacks; then the attempt."""
        job_id = self._create_job(registration)
        answer = self._client.post(f"/jobs/{job_id}/attempts", json.dumps(registration.attempt).encode())
        _accepted(answer, f"attempt {registration.attempt_id}")
        self._attempts.add(registration.attempt_id)
        self._job_id = job_id

    def _create_job(self, registration: Registration) -> str:
        path = f"/projects/{quote(self._project, safe='')}/jobs"
        answer = self._client.post(path, json.dumps(registration.job).encode())
        job_id = _accepted(answer, f"job {str(registration.job.get('name'))!r} in project {self._project!r}").get("id")
        try:
            return str(uuid.UUID(str(job_id)))
        except ValueError:
            what = f"the new job's id is {str(job_id)[:60]!r}, not a UUID: check HEADRACE_URL"
            raise ServiceError("not headrace", what) from None


def _accepted(answer: Answer, what: str) -> Mapping[str, object]:
    if answer.ok:
        return answer.body
    raise ServiceError(REFUSED, f"the control plane does not take {what}: {answer.reason}", _REFUSED_PAUSE_S)
