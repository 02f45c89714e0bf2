"""Hands events to listeners. In memory, never waits for a slow listener: one that falls behind gets a new snapshot."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

EventName = Literal["snapshot", "job", "mix", "activation", "ping", "resync", "end"]
_MAX_WAITING = 500


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
            while not self.queue.empty():
                self.queue.get_nowait()
            event = Event("resync", "{}")
        self.queue.put_nowait(event)


class Broker:
    """The listeners of this process, and what changed since the composer last looked."""

    def __init__(self) -> None:
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
        """How many streams are open."""
        return len(self._listeners)

    def changed(self, announced: list[object]) -> None:
        """Note committed changes for the composer; without listeners there is nobody to tell."""
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

    def close(self) -> None:
        """End every stream; the clients reconnect to whoever serves next."""
        self._closed = True
        for listener in self._listeners:
            listener.put(Event("end", "{}"))
