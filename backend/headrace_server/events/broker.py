"""Hands events to listeners. In memory, never waits for a slow listener: one that falls behind gets a new snapshot."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

from ..errors import StreamsFullError
from .announcements import MixChanged
from .followers import Followers

EventName = Literal["snapshot", "job", "mix", "activation", "change", "alert", "version", "ping", "resync", "end"]
_MAX_WAITING = 500
_SNAPSHOTS_AT_ONCE = 4
_RETRY_AFTER_S = 10


@dataclass(frozen=True)
class Event:
    """An event as it goes out: its name and its JSON."""

    name: EventName
    data: str


@dataclass(eq=False)
class Listener:
    """One open stream: what it may see (None: every project) and what it asked for (None: every job)."""

    projects: frozenset[int] | None
    jobs: frozenset[UUID] | None
    queue: "asyncio.Queue[Event]" = field(default_factory=lambda: asyncio.Queue(_MAX_WAITING))

    def wants(self, project_id: int, job: UUID) -> bool:
        """Whether an event about this job is for this listener."""
        visible = self.projects is None or project_id in self.projects
        return visible and (self.jobs is None or job in self.jobs)

    def put(self, event: Event) -> None:
        """Queue an event; when the listener is too slow, drop what waits and ask it to start over."""
        if self.queue.full():
            self.start_over()
        else:
            self.queue.put_nowait(event)

    def start_over(self) -> None:
        """Drop what waits, and ask the listener to take a new snapshot."""
        while not self.queue.empty():
            self.queue.get_nowait()
        self.queue.put_nowait(Event("resync", "{}"))


class Broker:
    """The listeners and followers of this process, and what changed since the composer last looked."""

    def __init__(self, max_streams: int) -> None:
        self.followers = Followers()
        # Few snapshots are read at once, so that a crowd that reconnects leaves connections to everybody else.
        self.snapshots = asyncio.Semaphore(_SNAPSHOTS_AT_ONCE)
        self._max_streams = max_streams
        self._num_streams = 0
        self._listeners: set[Listener] = set()
        self._changes: asyncio.Queue[object] = asyncio.Queue()
        self._closed = False

    @contextmanager
    def listening(self, projects: frozenset[int] | None, jobs: frozenset[UUID] | None) -> Iterator[Listener]:
        """A listener for as long as the block lasts."""
        listener = Listener(projects, jobs)
        self._listeners.add(listener)
        if self._closed:
            listener.put(Event("end", "{}"))
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    @property
    def num_listeners(self) -> int:
        """How many listen to events."""
        return len(self._listeners)

    @contextmanager
    def streaming(self) -> Iterator[None]:
        """A place for one more stream for as long as the block lasts. Raises StreamsFullError; nobody is sent away."""
        if self._num_streams >= self._max_streams:
            raise StreamsFullError(
                f"{self._num_streams} streams are open, and this server holds no more; try again in {_RETRY_AFTER_S} s,"
                " or ask for what you need without a stream",
                retry_after_s=_RETRY_AFTER_S,
            )
        self._num_streams += 1
        try:
            yield
        finally:
            self._num_streams -= 1

    @property
    def num_streams(self) -> int:
        """How many streams are open, of browsers and of leaders."""
        return self._num_streams

    def changed(self, announced: Sequence[object]) -> None:
        """Tell followers of committed edits, and note every change for the composer, if anybody listens."""
        for change in announced:
            if isinstance(change, MixChanged):
                self.followers.tell(change.job_id, change.version)
        if self._listeners:
            for change in announced:
                self._changes.put_nowait(change)

    def take_changes(self) -> list[object]:
        """Everything noted since the last call."""
        taken: list[object] = []
        while not self._changes.empty():
            taken.append(self._changes.get_nowait())
        return taken

    def publish(self, project_id: int, job: UUID, event: Event) -> None:
        """Queue an event for everyone who follows the job."""
        for listener in self._listeners:
            if listener.wants(project_id, job):
                listener.put(event)

    def start_over(self) -> None:
        """Have every listener take a new snapshot: something may have been missed."""
        for listener in self._listeners:
            listener.start_over()

    def close(self) -> None:
        """End every stream; the clients reconnect to whoever serves next."""
        self._closed = True
        self.followers.close()
        for listener in self._listeners:
            listener.put(Event("end", "{}"))
