"""Smoothing: exact means over a window. Pure.

A point is the mean of ``count`` values. The mean of the points in a window, weighed by their counts, is therefore the
mean of all values in it, to the last digit: however the points were bucketed, nothing is lost or counted twice. It
costs one pass. At either end the window is what there is of it.
"""

from collections.abc import Sequence
from itertools import accumulate

from ..series.schemas import SeriesPoint


def reach(num_points: int, share: float) -> int:
    """How many points to either side a window of ``share`` (0 to 1) of all of them takes; 0 is no smoothing."""
    return 0 if share <= 0 else max(1, round(share * num_points / 2))


def smoothed(points: Sequence[SeriesPoint], share: float) -> list[float]:
    """The mean of all values in a centred window of ``share`` (0 to 1) of the points, at each of them."""
    num, around = len(points), reach(len(points), share)
    if around == 0:
        return [point.mean for point in points]
    sums = [0.0, *accumulate(point.mean * max(1, point.count) for point in points)]
    counts = [0, *accumulate(max(1, point.count) for point in points)]
    found = []
    for i in range(num):
        first, end = max(0, i - around), min(num, i + around + 1)
        found.append((sums[end] - sums[first]) / (counts[end] - counts[first]))
    return found


def method(share: float) -> str:
    """How it was smoothed, as a sentence for the description; empty where it was not."""
    if share <= 0:
        return ""
    return (
        f" Smoothed: the mean of all values in a window of {share:.0%} of what is shown, at its middle; raw is faint."
    )
