"""SQL of what only a comparison asks for: a job's loss over all of its sources."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from .. import models
from ..rollups import repository as rollups
from ..series.minutes import Minutes
from ..series.segments import Segment, within


def total_loss(segments: Sequence[Segment], minutes: Minutes | None) -> sa.Subquery:
    """A row a step, or a minute, with the columns of a round of reports: losses of all sources together."""
    table: Any = models.SourceProgress if minutes is None else minutes.of(models.SourceRollup, rollups.per_source)
    mean = table.loss_sum / sa.cast(table.loss_count, sa.Double)
    low, high = (mean, mean) if minutes is None else (table.loss_min, table.loss_max)
    total, num = sa.func.sum(table.loss_sum), sa.func.sum(table.loss_count)
    return (
        sa.select(
            table.attempt_id,
            sa.cast(sa.func.max(table.step), sa.Double).label("step"),
            sa.func.max(table.time).label("time"),
            sa.func.min(low).label("lo"),
            sa.func.max(high).label("hi"),
            total.label("total"),
            sa.cast(num, sa.Double).label("num"),
            (total / sa.cast(num, sa.Double)).label("last"),
        )
        .where(within(table.attempt_id, table.step, segments), table.loss_count > 0)
        .group_by(table.attempt_id, table.step if minutes is None else table.minute)
        .subquery()
    )
