"""Bodies as a loader sends them, whole and right; tests change what they are about."""

import time
import uuid
from typing import Any

Body = dict[str, Any]
DEFAULT_SOURCES = {"web": 500_000, "code": 300_000, "legal": 200_000}


def job_body(name: str = "llama", **changes: Any) -> Body:
    """A job with three sources, 128 tokens a sequence, 100 sequences a step."""
    sources = [
        {"name": source, "weight_ppm": ppm, "num_documents": 1000, "num_tokens": 1_280_000, "num_shards": 4}
        for source, ppm in DEFAULT_SOURCES.items()
    ]
    body: Body = {
        "name": name,
        "seq_len": 128,
        "global_batch_size": 100,
        "total_steps": 1000,
        "seed": 1234,
        "packing": "concat",
        "sources": sources,
    }
    return {**body, **changes}


def attempt_body(world_size: int = 2, **changes: Any) -> Body:
    """A fresh start."""
    body: Body = {
        "id": str(uuid.uuid4()),
        "lineage": str(uuid.uuid4()),
        "parent_lineage": None,
        "world_size": world_size,
        "dp_size": world_size,
        "resumed_from_step": None,
        "started_at": time.time(),
        "loader_version": "0.1.0",
        "hostname": "node-0",
    }
    return {**body, **changes}


def source_record(name: str, step: int, ppm: int, **changes: Any) -> Body:
    """A source that has had exactly its share of 100 sequences a step through ``step``."""
    body: Body = {
        "name": name,
        "ordinal": (step + 1) * 100 * ppm // 1_000_000,
        "epoch": 0,
        "file": f"{name}/part-0.arrow",
        "row": step,
        "target_ppm": ppm,
        "sequences": 10,
        "tokens": 1280,
        "loss_sum": 30.0,
        "loss_count": 10,
    }
    return {**body, **changes}


def record(rank: int = 0, seq: int = 0, step: int = 4, **changes: Any) -> Body:
    """A report of five steps in two seconds."""
    body: Body = {
        "rank": rank,
        "seq": seq,
        "time": 1_800_000_000.0 + 2 * seq,
        "interval_s": 2.0,
        "step": step,
        "steps": 5,
        "tokens": 10_000,
        "total_tokens": (step + 1) * 12_800,
        "wait_p50_ms": 0.1,
        "wait_p99_ms": 1.5,
        "wait_max_ms": 3.0,
        "wait_share": 0.02,
        "queue_depth": 2,
        "rss_bytes": 1 << 30,
        "bytes_read": 4096,
        "host": "node-0",
        "local_rank": rank,
        "dp_rank": rank,
        "dropped": 0,
        "mix_revision": "config:1",
        "mix_version": 1,
        "mix_seen": 1 if rank == 0 else None,
        "sources": [source_record(name, step, ppm) for name, ppm in DEFAULT_SOURCES.items()],
    }
    return {**body, **changes}


def activation_body(attempt: Body, revision: str = "service:2", step: int = 10, **changes: Any) -> Body:
    """The leader's word that a revision took effect."""
    body: Body = {
        "attempt": attempt["id"],
        "lineage": attempt["lineage"],
        "revision": revision,
        "step": step,
        "weights_ppm": dict(DEFAULT_SOURCES),
        "ramp_steps": 0,
        "at": time.time(),
    }
    return {**body, **changes}
