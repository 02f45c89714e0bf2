"""Prometheus text: parseable, labelled by job and source, never by rank."""

import re

from tests.backend.builders import record
from tests.backend.world import World

SAMPLE = re.compile(r'^[a-z_]+(\{([a-z]+="(\\.|[^"\\])*",?)+\})? -?[0-9.e+-]+$')


async def test_metrics_are_prometheus_text(world: World) -> None:
    job = await world.job('quo"te\\')
    attempt = await world.attempt(job)
    await world.report(job, attempt, record(0), record(1))
    reply = await world.viewer.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    for line in reply.text.splitlines():
        assert line.startswith("# ") or SAMPLE.match(line), line
    assert 'headrace_job_step{project="default",job="quo\\"te\\\\"} 4' in reply.text
    assert 'headrace_job_tokens_per_second{project="default",job="quo\\"te\\\\"} 10000' in reply.text
    assert 'state="running"} 1' in reply.text
    assert 'headrace_source_target_ratio{project="default",job="quo\\"te\\\\",source="web"} 0.5' in reply.text
    assert "rank=" not in reply.text


async def test_a_key_sees_its_own_project_only(world: World) -> None:
    await world.job()
    other = await world.caller("read", project="other")
    assert "llama" not in (await other.get("/metrics")).text
