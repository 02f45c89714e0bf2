"""Results of the comparison, built by hand."""

from typing import Any

from benchmarks.loaders.table import Loaders


def told(rate: float, **more: Any) -> dict[str, Any]:
    """A loader that does everything, at `rate` tokens a second."""
    figures: dict[str, Any] = {
        "reads": "documents",
        "mixes": True,
        "packs": True,
        "makes": "ids, labels",
        "prepare": {"prepare_s": 0.0, "bytes": 0},
        "workers_0": {"tokens_per_s": rate, "cpu_ns_per_token": 1e9 / rate, "beyond_torch_s": 0.4, "rounds": 5},
        "workers_2": {"tokens_per_s": rate, "cpu_ns_per_token": 1e9 / rate, "beyond_torch_s": 0.4, "rounds": 5},
        "near": {"resume_s": 0.1, "same": True, "state_bytes_8_ranks": 700},
        "memory": {"own_bytes": 50_000_000},
        "shares": {"error_sequences": 0.4},
        "changed": {"can": True},
        "far": {"resume_s": 0.1, "same": True},
        "worlds": {"same": True},
        "elastic": {"same": True},
    }
    return figures | more


def limit(rate: float) -> dict[str, Any]:
    """A mapped read."""
    return {"reads": "flat file", "mixes": True, "packs": False, "makes": "ids", "workers_0": {"tokens_per_s": rate}}


def run(**others: dict[str, Any]) -> Loaders:
    """Headrace at 150 M documents and 200 M rows tokens a second, beside others."""
    return {
        "mapped, random rows": limit(300e6),
        "headrace": told(150e6),
        "headrace, rows": told(200e6, packs=False),
        **others,
    }
