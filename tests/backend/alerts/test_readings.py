"""What rules read off figures: the number, and the words with the figures in them."""

from dataclasses import replace
from typing import Any

from headrace_server.alerts.readings import (
    Asked,
    Drift,
    Figures,
    Median,
    Reading,
    SilentRank,
    SourceEpochs,
    read,
)

WELL = Figures(
    attempt_number=2,
    world_size=8,
    step=1200,
    num_lost=0,
    num_missing=0,
    first_lost=None,
    hears=True,
    idle_s=3.0,
    first_idle_rank=None,
    wait_share=0.03,
    tokens_per_s=40_000.0,
)


def reading(kind: Any, asked: dict[str, Any] | None = None, **changes: Any) -> Reading:
    return read(Asked(kind=kind, **(asked or {})), replace(WELL, **changes))


def test_lost_ranks_are_counted_and_the_first_is_named_with_its_host() -> None:
    assert reading("rank_lost") == Reading(0, "all 8 ranks report")
    one = reading("rank_lost", num_lost=1, first_lost=SilentRank(3, "a", 95.0))
    assert one == Reading(1, "rank 3 on host a of 8 ranks last reported 95 s ago")
    two = reading("rank_lost", num_lost=2, num_missing=1, first_lost=SilentRank(3, "a", 400.0))
    assert two.value == 3
    assert two.words == (
        "rank 3 on host a (the first of 2 lost of 8) last reported 7 min ago; "
        "1 of 8 ranks have never reported in attempt 2"
    )


def test_stalled_is_reporting_without_advancing_or_no_word_at_all() -> None:
    assert reading("job_stalled") == Reading(3.0, "ranks last advanced 3 s ago, to step 1200")
    stuck = reading("job_stalled", idle_s=400.0, first_idle_rank=5)
    assert stuck == Reading(400.0, "rank 5 reports but has not advanced beyond step 1200 for 7 min")
    silent = reading("job_stalled", idle_s=400.0, hears=False)
    assert silent == Reading(400.0, "no rank has reported for 7 min")


def test_waits_are_shares_of_time_and_unknown_when_nobody_is_heard() -> None:
    assert reading("data_wait") == Reading(0.03, "ranks wait for data 3 % of their time at step 1200")
    assert reading("data_wait", wait_share=None).value is None


def test_throughput_is_a_share_of_its_own_median_once_there_is_one() -> None:
    asked = {"window": 3600}
    assert reading("throughput_drop", asked).value is None
    assert reading("throughput_drop", asked, medians={3600: Median(80_000.0, 9)}).value is None
    assert reading("throughput_drop", asked, medians={3600: Median(0.0, 60)}).value is None
    low = reading("throughput_drop", asked, medians={3600: Median(80_000.0, 60)})
    assert low == Reading(0.5, "40,000 tokens/s, 50 % of the median of 80,000 tokens/s over the last 60 min")


def test_drift_names_the_source_that_is_furthest_off_and_waits_for_enough_sequences() -> None:
    drifts = [Drift("web", 0.43, 0.5, 20_000, 200), Drift("code", 0.57, 0.5, 20_000, 200)]
    off = reading("mix_drift", {"window": 200}, drifts={200: drifts})
    assert off.value is not None and abs(off.value - 0.07) < 1e-9
    assert off.words == "web made up 43 % of the last 200 steps; 50 % were asked for"
    few = [replace(drift, num_sequences=99) for drift in drifts]
    assert reading("mix_drift", {"window": 200}, drifts={200: few}).value is None


def test_epochs_leave_out_paused_sources_and_ends_nobody_knows() -> None:
    epochs = [SourceEpochs("web", 1.5, 2.0, False), SourceEpochs("code", 2.5, 6.0, False)]
    far = reading("source_epochs", epochs=epochs)
    assert far == Reading(6.0, "code will have been read 6 times by the end of the run (2.5 so far)")
    near = reading("source_exhaustion", {"max_epochs": 4.0}, epochs=epochs)
    assert near == Reading(0.625, "code has been read 2.5 times of 4; 1.5 epochs are left")
    paused = [epochs[0], replace(epochs[1], paused=True)]
    assert reading("source_epochs", epochs=paused).value == 2.0
    assert reading("source_exhaustion", {"max_epochs": 4.0}, epochs=[replace(epochs[0], paused=True)]).value is None
    assert reading("source_epochs", epochs=[replace(epochs[0], by_end=None)]).value is None
