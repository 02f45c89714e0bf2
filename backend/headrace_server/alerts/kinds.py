"""The kinds of rules: what each looks at, in which unit, and what a project begins with."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "rank_lost",
    "job_stalled",
    "data_wait",
    "throughput_drop",
    "mix_drift",
    "source_epochs",
    "source_exhaustion",
]


@dataclass(frozen=True, kw_only=True)
class KindOfRule:
    """What values of a kind mean, and the rule a project begins with.

    ``most`` is the largest threshold that makes sense; ``window`` is how far back is looked (None: not at all), in
    seconds for throughput and in steps for the mix; ``max_epochs`` is what a source may be read.
    """

    about: str
    name: str
    threshold: float
    clear_at: float
    for_s: float
    clear_for_s: float
    most: float
    above: bool = True
    window: int | None = None
    window_range: tuple[int, int] = (0, 0)
    max_epochs: float | None = None


KINDS: dict[Kind, KindOfRule] = {
    "rank_lost": KindOfRule(
        about="ranks that are silent for more than three report intervals, or never reported",
        name="Rank lost",
        threshold=0,
        clear_at=0,
        for_s=30,
        clear_for_s=60,
        most=1_000_000,
    ),
    "job_stalled": KindOfRule(
        about="seconds since a reporting rank advanced, or since any rank reported",
        name="Job stalled",
        threshold=300,
        clear_at=60,
        for_s=0,
        clear_for_s=60,
        most=86_400,
    ),
    "data_wait": KindOfRule(
        about="share of their time that ranks wait for data, mean over the ranks heard",
        name="Waiting for data",
        threshold=0.2,
        clear_at=0.1,
        for_s=300,
        clear_for_s=300,
        most=1,
    ),
    "throughput_drop": KindOfRule(
        about="token rate as a share of the attempt's own median over the window (seconds)",
        name="Throughput dropped",
        threshold=0.5,
        clear_at=0.8,
        for_s=300,
        clear_for_s=120,
        most=1,
        above=False,
        window=3600,
        window_range=(600, 86_400),
    ),
    "mix_drift": KindOfRule(
        about="largest difference between a source's delivered and asked share over the window (steps)",
        name="Mix drifts",
        threshold=0.05,
        clear_at=0.02,
        for_s=120,
        clear_for_s=120,
        most=1,
        window=200,
        window_range=(10, 2000),
    ),
    "source_epochs": KindOfRule(
        about="epochs of a source by the end of the run, at the newest weights",
        name="Source repeated too often",
        threshold=4,
        clear_at=4,
        for_s=60,
        clear_for_s=60,
        most=1_000_000,
    ),
    "source_exhaustion": KindOfRule(
        about="share of the epochs a source may be read (`max_epochs`) that has been delivered",
        name="Source near its end",
        threshold=0.9,
        clear_at=0.9,
        for_s=0,
        clear_for_s=60,
        most=1,
        max_epochs=4,
    ),
}
