"""Leaders that follow the mix of one job. In memory; a follower holds one number, however fast edits come."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(eq=False)
class Follower:
    """One leader's open stream: the newest version it has been told of, and whether that is news."""

    version: int = 0
    ended: bool = False
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, version: int) -> None:
        """There is this version; older ones are no news."""
        if version > self.version:
            self.version = version
            self.news.set()

    def end(self) -> None:
        """Wake the stream so that it ends."""
        self.ended = True
        self.news.set()


class Followers:
    """The followers of this process, by the row id of their job."""

    def __init__(self) -> None:
        self._by_job: dict[int, set[Follower]] = {}
        self._closed = False

    @contextmanager
    def following(self, job_id: int) -> Iterator[Follower]:
        """A follower for as long as the block lasts."""
        follower = Follower()
        self._by_job.setdefault(job_id, set()).add(follower)
        if self._closed:
            follower.end()
        try:
            yield follower
        finally:
            self._by_job[job_id].discard(follower)
            if not self._by_job[job_id]:
                del self._by_job[job_id]

    @property
    def job_ids(self) -> list[int]:
        """Row ids of the jobs that somebody follows."""
        return list(self._by_job)

    def tell(self, job_id: int, version: int) -> None:
        """Tell everyone who follows the job that there is this version."""
        for follower in self._by_job.get(job_id, ()):
            follower.tell(version)

    def close(self) -> None:
        """End every stream, now and from now on."""
        self._closed = True
        for followers in self._by_job.values():
            for follower in followers:
                follower.end()
