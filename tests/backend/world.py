"""The service in this process with a clock that tests turn, and clients of every kind of caller."""

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import httpx
from argon2 import PasswordHasher
from fastapi import FastAPI
from headrace_server.app import build_app
from headrace_server.keys import service as keys
from headrace_server.models import Member, User
from headrace_server.principal import KeyScope, Role
from headrace_server.projects import repository as projects
from headrace_server.runtime import Runtime
from headrace_server.settings import Settings

from tests.backend.builders import Body, attempt_body, job_body, record

PASSWORD = "correct horse battery staple"


@cache
def _password_hash() -> str:
    return PasswordHasher().hash(PASSWORD)


class Clock:
    """Unix seconds that move only when told to."""

    def __init__(self) -> None:
        self.now = time.time()
        self._set_by = 0.0

    def __call__(self) -> float:
        return self.now

    def steady(self) -> float:
        """Seconds that passed, without what the clock was set by."""
        return self.now - self._set_by

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds

    def set_by(self, seconds: float) -> None:
        """Set the clock forward, or back."""
        self.now += seconds
        self._set_by += seconds


class World:
    """One running app. ``loader`` ingests, ``viewer`` reads, ``operator`` also operates, ``stranger`` is nobody."""

    def __init__(self, app: FastAPI, clock: Clock) -> None:
        self.app = app
        self.clock = clock
        self.runtime: Runtime = app.state.runtime
        self._clients: list[httpx.AsyncClient] = []

    async def open(self) -> None:
        """Make the default project and the callers."""
        self.stranger = self.client()
        self.loader = await self.caller("ingest")
        self.viewer = await self.caller("read")
        self.operator = await self.caller("read", "operate")

    def client(self, **headers: str) -> httpx.AsyncClient:
        """A client that sends these headers."""
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=True)
        client = httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers)
        self._clients.append(client)
        return client

    async def key(
        self,
        *scopes: KeyScope,
        project: str = "default",
        expires_at: float | None = None,
        job: str | None = None,
    ) -> str:
        """A new key."""
        async with self.runtime.database.write() as session:
            await projects.ensure(session, project, self.clock())
            row = await projects.by_name(session, project)
            assert row is not None
            _, key = await keys.create(
                session,
                row,
                name="-".join(scopes),
                scopes=scopes,
                by="test",
                now=self.clock(),
                expires_at=expires_at,
                request_id="test",
                job=job,
            )
        return key

    async def caller(self, *scopes: KeyScope, project: str = "default", job: str | None = None) -> httpx.AsyncClient:
        """A client with a new key."""
        return self.client(Authorization=f"Bearer {await self.key(*scopes, project=project, job=job)}")

    async def add_user(self, username: str = "ada", **roles: Role) -> None:
        """A user who signs in with PASSWORD: with these roles by project, or an administrator without any."""
        now = self.clock()
        async with self.runtime.database.write() as session:
            user = User(username=username, password_hash=_password_hash(), created_at=now, is_admin=not roles)
            session.add(user)
            await session.flush()
            for project, role in roles.items():
                await projects.ensure(session, project, now)
                row = await projects.by_name(session, project)
                assert row is not None
                session.add(Member(project_id=row.id, user_id=user.id, role=role, added_at=now))

    async def person(self, username: str = "ada", **roles: Role) -> httpx.AsyncClient:
        """The client, CSRF token included, of somebody with these roles by project, or an administrator."""
        await self.add_user(username, **roles)
        client = self.client()
        reply = await client.post("/api/v1/session", json={"username": username, "password": PASSWORD})
        assert reply.status_code == 200, reply.text
        client.headers["X-CSRF-Token"] = reply.json()["csrf_token"]
        return client

    async def job(self, name: str = "llama", **changes: Any) -> str:
        """A registered job's path."""
        reply = await self.loader.post("/api/v1/projects/default/jobs", json=job_body(name, **changes))
        assert reply.status_code == 200, reply.text
        return f"/api/v1/jobs/{reply.json()['id']}"

    async def attempt(self, job: str, world_size: int = 2, **changes: Any) -> Body:
        """A registered attempt's body."""
        body = attempt_body(world_size, **changes)
        reply = await self.loader.post(f"{job}/attempts", json=body)
        assert reply.status_code == 200, reply.text
        return body

    async def running_job(self, world_size: int = 2) -> tuple[str, Body]:
        """A job with a live attempt."""
        job = await self.job()
        return job, await self.attempt(job, world_size)

    async def report(self, job: str, attempt: Body, *records: Body) -> Body:
        """Post records, which must be taken as a batch; returns the reply."""
        body = {"attempt": attempt["id"], "records": list(records or [record()])}
        reply = await self.loader.post(f"{job}/reports", json=body)
        assert reply.status_code == 202, reply.text
        found: Body = reply.json()
        return found

    async def get(self, path: str, **query: Any) -> Any:
        """What the operator reads there; it must be there."""
        reply = await self.operator.get(path, params=query)
        assert reply.status_code == 200, reply.text
        return reply.json()

    async def edit(self, job: str, weights: Mapping[str, float], version: int, **more: Any) -> httpx.Response:
        """An operator's edit of ``version``."""
        body = {"weights": weights, "reason": "a test", **more}
        return await self.operator.put(f"{job}/mix", json=body, headers={"If-Match": f'"v{version}"'})

    async def close(self) -> None:
        """Close the clients."""
        for client in self._clients:
            await client.aclose()


@asynccontextmanager
async def running_world(settings: Settings) -> AsyncIterator[World]:
    """The app on a migrated database, running until the block ends."""
    clock = Clock()
    app = build_app(settings, clock, clock.steady)
    async with app.router.lifespan_context(app):
        world = World(app, clock)
        try:
            await world.open()
            yield world
        finally:
            await world.close()
