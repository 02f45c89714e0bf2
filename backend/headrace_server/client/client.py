"""The way in: where the server is, who is asking, and its jobs."""

import os
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Self
from urllib.parse import quote
from uuid import UUID

from ..audit.schemas import AuditEvent, AuditPage
from ..jobs.schemas import Job as JobReply
from ..jobs.schemas import JobPage, JobState, JobSummary
from ..projects.schemas import Project, ProjectList
from .errors import NotConfiguredError, NotFoundError
from .job import Job
from .transport import Transport

_PAGE = 200


def _given(value: str | None, variable: str, what: str) -> str:
    found = value or os.environ.get(variable, "").strip()
    if not found:
        raise NotConfiguredError(f"no {what}: set {variable}, or pass it to Client()")
    return found


class Client:
    """A server, by HEADRACE_URL and HEADRACE_TOKEN unless given; ``project`` by HEADRACE_PROJECT, else "default".

    Usable as a context manager; may be shared between threads. ``timeout_s`` is for each answer, ``retries`` for what
    can be repeated.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        project: str | None = None,
        timeout_s: float = 30.0,
        retries: int = 3,
    ) -> None:
        self.url = _given(url, "HEADRACE_URL", "URL")
        if not self.url.startswith(("http://", "https://")):
            raise NotConfiguredError(f"the URL is {self.url!r}; it must begin with http:// or https://")
        self.project = project or os.environ.get("HEADRACE_PROJECT") or "default"
        key = _given(token, "HEADRACE_TOKEN", "token")
        self._transport = Transport(self.url, key, timeout_s=timeout_s, retries=retries)

    def __repr__(self) -> str:
        return f"Client({self.url!r}, project={self.project!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection."""
        self._transport.close()

    def projects(self) -> list[Project]:
        """The projects that the token may see."""
        return self._transport.get(ProjectList, "/projects").items

    def jobs(
        self,
        q: str | None = None,
        *,
        state: JobState | None = None,
        archived: bool = False,
        owner: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> Iterator[JobSummary]:
        """Every job of the project, newest first, that is all of what is given; ``q`` is part of the name."""
        tag = [f"{name}={value}" for name, value in (tags or {}).items()]
        cursor: str | None = None
        more = True
        while more:
            page = self._transport.get(
                JobPage,
                self._jobs_path,
                q=q,
                state=state,
                archived=archived,
                owner=owner,
                tag=tag,
                cursor=cursor,
                limit=_PAGE,
            )
            yield from page.items
            cursor = page.next_cursor
            more = cursor is not None

    def job(self, name: str | UUID) -> Job:
        """The job of this name, archived or not, or with this id. Raises NotFoundError."""
        found = self._by_id(name)
        if found is not None:
            return found
        for archived in (False, True):
            for job in self.jobs(str(name), archived=archived):
                if job.name == str(name):
                    return Job(self._transport, job.id, job.name)
        raise NotFoundError(404, {"code": "not_found", "detail": f"project {self.project!r} has no job {str(name)!r}"})

    def _by_id(self, text: str | UUID) -> Job | None:
        try:
            found = self._transport.get(JobReply, f"/jobs/{UUID(str(text))}")
        except (ValueError, NotFoundError):
            return None  # a name may look like an id
        return Job(self._transport, found.id, found.name)

    def audit(self, job: Job | None = None) -> Iterator[AuditEvent]:
        """Who changed what, newest first: in the project, or of one job."""
        cursor: str | None = None
        more = True
        where = {"project": self.project} if job is None else {"job": str(job.id)}
        while more:
            page = self._transport.get(AuditPage, "/audit", cursor=cursor, limit=_PAGE, **where)
            yield from page.items
            cursor = page.next_cursor
            more = cursor is not None

    @property
    def _jobs_path(self) -> str:
        return f"/projects/{quote(self.project, safe='')}/jobs"
