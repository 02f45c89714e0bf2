"""Time series as others see them."""

from typing import Literal

from ..fields import Reply

RankMetric = Literal[
    "tokens_per_s", "wait_p50_ms", "wait_p99_ms", "wait_max_ms", "wait_share", "queue_depth", "rss_bytes"
]
SourceMetric = Literal["share", "loss", "epoch"]
Metric = Literal[RankMetric, SourceMetric]
Axis = Literal["step", "tokens", "time"]
Column = Literal["step", "time"]
"""What the database orders by; tokens follow from steps."""

UNITS: dict[str, str] = {
    "tokens_per_s": "tokens/s",
    "wait_p50_ms": "ms",
    "wait_p99_ms": "ms",
    "wait_max_ms": "ms",
    "wait_share": "share",
    "queue_depth": "batches",
    "rss_bytes": "bytes",
    "share": "share",
    "loss": "loss",
    "epoch": "epochs",
}


class SeriesPoint(Reply):
    """A bucket of points: ``x`` is the last step in it (or its tokens, or Unix seconds), ``last`` the value there.

    ``step`` is the step of ``x``, ``peak_step`` that of ``max``; ``mean`` is of ``count`` values.
    """

    x: float
    step: int
    peak_step: int
    min: float
    max: float
    mean: float
    last: float
    count: int


class SourceSeries(Reply):
    """One source's line; ``target`` (with metric share) is the weight in force at each point, 0 to 1."""

    name: str
    points: list[SeriesPoint]
    target: list[float] | None = None


class Series(Reply):
    """A metric over steps, tokens or time. Metrics of ranks fill ``points``, metrics of sources fill ``sources``."""

    metric: Metric
    unit: str
    x: Axis
    points: list[SeriesPoint]
    sources: list[SourceSeries] | None = None
