"""Figures: what Plotly may be given, in both themes, with the same numbers as a table."""

import json
import time
from typing import Any

import pytest
from headrace_server.figures import depth, epochs, loss, mix, throughput, wait
from headrace_server.figures.canvas import CONFIG, UI_REVISION, Style, moment, plotlyjs_version
from headrace_server.figures.marks import MAX_MARKS, Mark
from headrace_server.figures.palette import SOURCE_COLORS, SOURCE_SYMBOLS
from headrace_server.figures.schemas import Extent, Figure
from headrace_server.figures.smoothing import reach, smoothed
from headrace_server.series.schemas import SeriesPoint, SourceSeries

HOSTILE = '<b>x</b> <a href="javascript:alert(1)">%{x}</a> $x^2$'


def point(x: float, value: float, spread: float = 0.0) -> SeriesPoint:
    return SeriesPoint(
        x=x, step=int(x), peak_step=int(x), min=value - spread, max=value + spread, mean=value, last=value, count=1
    )


def source(name: str, values: list[float], target: float | None = None) -> SourceSeries:
    points = [point(10 * i, value) for i, value in enumerate(values)]
    return SourceSeries(name=name, points=points, target=None if target is None else [target] * len(values))


def every_figure(style: Style, names: tuple[str, ...] = ("web", "code")) -> list[Figure]:
    sources = [source(name, [1 / len(names)] * 5, 1 / len(names)) for name in names]
    points = [point(10 * i, 100.0 + i, 5.0) for i in range(5)]
    forecast = epochs.Forecast(last_x=100, epochs=dict.fromkeys(names, 2.5))
    return [
        mix.build(sources, style),
        throughput.build(points, style),
        wait.build(wait.WaitSeries(points, points, points, points), style),
        loss.build(sources, style),
        epochs.build(sources, forecast, style),
        depth.build_queue(points, style),
        depth.build_memory(points, style),
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("axis", ["step", "tokens", "time"])
def test_every_figure_keeps_the_common_rules(theme: Any, axis: Any) -> None:
    marks = [Mark(20, "v2", "mix version 2", "mix", 2), Mark(30, "start 2", "attempt 2", "attempt", 2)]
    for figure in every_figure(Style(theme, axis, marks)):
        layout = figure.figure.layout
        assert {trace["type"] for trace in figure.figure.data} == {"scatter"}, "all the basic bundle can draw"
        assert layout["uirevision"] == UI_REVISION
        assert layout["hovermode"] == "x unified"
        assert "title" not in layout
        assert "template" not in layout
        assert layout["yaxis"]["title"]["text"]
        assert layout["xaxis"]["title"]["text"] == {"step": "step", "tokens": "tokens", "time": "time (UTC)"}[axis]
        assert layout["margin"]["l"] == 72 and not layout["yaxis"].get("automargin"), "one width under one x axis"
        assert layout["yaxis"]["fixedrange"], "a drag is a zoom into x"
        assert [note["text"] for note in layout["annotations"]][:2] == ["v2", "start 2"]
        assert [(mark.kind, mark.number, mark.x, mark.label) for mark in figure.marks] == [
            ("mix", 2, 20, 0),
            ("attempt", 2, 30, 1),
        ]
        assert figure.extent == Extent(low=0, high=40), "without the forecast"
        if axis != "step":
            assert [column.key for column in figure.table.columns[:2]] == ["x", "step"]
            assert [row[1] for row in figure.table.rows[:5]] == [0, 10, 20, 30, 40]
            [where] = [trace for trace in figure.figure.data if trace.get("opacity") == 0]
            assert where["customdata"][1][0] == 10, "hovering says the step"
        assert [line["line"]["dash"] for line in layout["shapes"]] == ["dot", "solid"]
        assert figure.figure.config == CONFIG
        assert figure.title and figure.description.endswith(".")
        assert len(figure.table.rows) >= 5
        assert all(len(row) == len(figure.table.columns) for row in figure.table.rows)
        assert len({column.key for column in figure.table.columns}) == len(figure.table.columns)
        json.loads(figure.model_dump_json())


def test_nothing_of_a_figure_leaves_the_origin() -> None:
    assert CONFIG["showSendToCloud"] is False
    assert CONFIG["displaylogo"] is False
    assert CONFIG["plotlyServerURL"] == ""
    for figure in every_figure(Style()):
        assert "http" not in figure.model_dump_json()


def test_names_are_shown_literally() -> None:
    for figure in every_figure(Style(marks=[Mark(1, HOSTILE, HOSTILE, "mix")]), (HOSTILE, "b")):
        drawn = json.dumps([figure.figure.data, figure.figure.layout])
        assert "<b>" not in drawn and "<a" not in drawn
    shown = every_figure(Style(), (HOSTILE, "b"))[0]
    assert shown.table.columns[1].label == f"{HOSTILE} target", "a table shows text as it is"


def test_the_mix_is_stacked_with_dashed_targets_between() -> None:
    sources = [source("web", [0.6, 0.5], 0.5), source("code", [0.3, 0.3], 0.3), source("legal", [0.1, 0.2], 0.2)]
    figure = mix.build(sources, Style())
    bands = [trace for trace in figure.figure.data if trace.get("stackgroup")]
    targets = [trace for trace in figure.figure.data if trace["name"] == "target"]
    assert [band["name"] for band in bands] == ["web", "code", "legal"]
    assert [band["line"]["color"] for band in bands] == list(SOURCE_COLORS[:3])
    assert [trace["y"] for trace in targets] == [[0.5, 0.5], [0.8, 0.8]]
    assert {trace["line"]["dash"] for trace in targets} == {"dash"}
    assert figure.table.rows[1] == [10, 50.0, 50.0, 30.0, 30.0, 20.0, 20.0]
    assert "web 50.0% (target 50.0%)" in figure.description


def test_sources_past_the_palette_are_one_band_but_all_in_the_table() -> None:
    sources = [source(f"s{i}", [0.05], 0.05) for i in range(20)]
    figure = mix.build(sources, Style())
    bands = [trace for trace in figure.figure.data if trace.get("stackgroup")]
    assert len(bands) == 9
    assert bands[-1]["name"] == "Other (12 sources)"
    assert bands[-1]["y"] == [0.6]
    assert len(figure.table.columns) == 41
    assert "s7 5.0% (target 5.0%), and 12 more" in figure.description
    for lines in (loss.build(sources, Style()), epochs.build(sources, epochs.Forecast(), Style())):
        names = [trace["name"] for trace in lines.figure.data if trace.get("showlegend", True)]
        assert names == ["Other (12 sources), least to most", *(f"s{i}" for i in range(8))]
        assert len(lines.table.columns) == 21


def test_the_rest_is_a_range_in_which_every_source_counts_from_where_it_was_last() -> None:
    rest = [source("a", [5.0, 1.0, 3.0]), SourceSeries(name="b", points=[point(10, 2.0)])]
    low, high, *_ = loss.build([source(f"s{i}", [0.0]) for i in range(8)] + rest, Style()).figure.data
    assert (low["y"], high["y"]) == ([5.0, 1.0, 2.0], [5.0, 2.0, 3.0])


def test_sources_are_told_apart_without_colour() -> None:
    sources = [source(f"s{i}", [0.125, 0.125], 0.125) for i in range(8)]
    symbols = [trace["marker"]["symbol"] for trace in loss.build(sources, Style()).figure.data]
    assert symbols == list(SOURCE_SYMBOLS)
    assert len(set(symbols)) == len(SOURCE_COLORS)
    notes = mix.build(sources, Style(marks=[Mark(1, "v2", "", "mix", 2)])).figure.layout["annotations"]
    assert [note["text"] for note in notes] == ["v2", *(f"s{i}" for i in range(8))], "a band has its name in it"
    assert [round(note["y"], 4) for note in notes[1:]] == [0.0625 + 0.125 * i for i in range(8)]
    thin = mix.build([source("web", [0.98], 0.98), source("code", [0.02], 0.02)], Style())
    assert [note["text"] for note in thin.figure.layout["annotations"]] == ["web"]
    dashes = {trace["name"]: trace["line"]["dash"] for trace in wait_of([1.0]).figure.data}
    assert len(set(list(dashes.values())[:3])) == 3


def wait_of(values: list[float], style: Style | None = None) -> Figure:
    points = [point(10 * i, value) for i, value in enumerate(values)]
    return wait.build(wait.WaitSeries(points, points, points, points), style or Style())


def test_a_source_that_came_later_leaves_no_hole() -> None:
    late = SourceSeries(name="late", points=[point(10, 0.5)], target=[0.5])
    figure = mix.build([source("web", [1.0, 0.5], 0.5), late], Style())
    bands = [trace for trace in figure.figure.data if trace.get("stackgroup")]
    assert [band["x"] for band in bands] == [[0, 10], [0, 10]]
    assert bands[1]["y"] == [0.0, 0.5]


def test_the_worst_rank_shows_in_the_wait() -> None:
    points = [point(40, 5.0, 4.0).model_copy(update={"peak_step": 33})]
    figure = wait.build(wait.WaitSeries(points, points, points, points), Style())
    assert {trace["name"]: trace["y"] for trace in figure.figure.data} == {
        "median": [5.0],
        "99th percentile": [9.0],
        "longest": [9.0],
        "share of time": [5.0],
    }
    at = [column.key for column in figure.table.columns].index("trace_step")
    assert figure.table.rows[0][at] == 33, "the step of the spike, not that of its bucket's end"


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_smoothed_is_the_mean_of_all_values_in_the_window_however_they_were_bucketed(share: float) -> None:
    values = [[float(i * j % 7) for j in range(1 + i % 3)] for i in range(40)]
    points = [point(i, sum(held) / len(held)).model_copy(update={"count": len(held)}) for i, held in enumerate(values)]
    around = reach(len(points), share)
    for i, mean in enumerate(smoothed(points, share)):
        window = [value for held in values[max(0, i - around) : i + around + 1] for value in held]
        assert mean == pytest.approx(sum(window) / len(window), rel=1e-12)
    assert smoothed(points, 0) == [p.mean for p in points]
    assert smoothed([], share) == []


def test_smoothing_keeps_the_raw_line_faint_and_says_how() -> None:
    style = Style(smooth=0.05)
    points = [point(i, float(i % 2)) for i in range(40)]
    sources = [SourceSeries(name="web", points=points)]
    for figure, name in (
        (throughput.build(points, style), "all ranks"),
        (loss.build(sources, style), "web"),
        (wait.build(wait.WaitSeries(points, points, points, points), style), "share of time"),
    ):
        assert "Smoothed: the mean of all values in a window of 5% of what is shown" in figure.description
        same_axis = [t for t in figure.figure.data if name != "share of time" or t.get("yaxis") == "y2"]
        [drawn] = [t for t in same_axis if t["name"] == name and t.get("opacity", 1) == 1]
        [raw] = [t for t in same_axis if t.get("opacity", 1) < 1]
        assert raw["y"] == [p.mean for p in points]
        assert raw["hoverinfo"] == "skip"
        assert max(drawn["y"]) < 0.7
        assert [column.key for column in figure.table.columns if column.key.endswith("smoothed")]
    worst = wait_of([0.0, 9.0, 0.0], style).figure.data
    assert [t["y"] for t in worst if t["name"] == "longest"] == [[0.0, 9.0, 0.0]], "a worst is no mean"


def test_a_forecast_is_dashed_to_the_planned_end() -> None:
    forecast = epochs.Forecast(last_x=100, epochs={"web": 3.0, "code": None})
    sources = [source("web", [0.5, 1.0]), source("code", [0.1, 0.2])]
    figure = epochs.build(sources, forecast, Style())
    [ahead] = [trace for trace in figure.figure.data if trace["line"].get("dash") == "dash"]
    assert (ahead["x"], ahead["y"]) == ([10, 100], [1.0, 3.0])
    assert ahead["line"]["color"] == SOURCE_COLORS[0]
    assert figure.table.rows[-1] == [100, 3.0, None]
    assert "web 1.00, 3.00 by the end" in figure.description
    by_time = epochs.build(sources, epochs.Forecast(epochs={"web": 3.0}), Style(axis="time"))
    assert not [trace for trace in by_time.figure.data if trace.get("line", {}).get("dash") == "dash"]
    assert "3.00 by the end" in by_time.description
    assert "the run has no pace now" in by_time.description
    done = epochs.build([source("web", [1.0] * 11)], forecast, Style())
    assert len(done.figure.data) == 1, "nothing to forecast at the end"


def test_over_time_a_forecast_says_the_pace_it_assumes() -> None:
    forecast = epochs.Forecast(last_x=100, in_s=7200, steps_per_s=1.5, epochs={"web": 3.0})
    figure = epochs.build([source("web", [0.5, 1.0])], forecast, Style(axis="time"))
    [ahead] = [trace for trace in figure.figure.data if trace.get("line", {}).get("dash") == "dash"]
    assert (ahead["x"], ahead["y"]) == ([moment(10), moment(100)], [1.0, 3.0])
    assert "That assumes the present pace of 1.5 steps/s, which ends the run in 2 h." in figure.description
    assert figure.table.rows[-1] == [moment(100), None, 3.0]


def test_empty_series_make_empty_figures() -> None:
    style = Style()
    empty = [SourceSeries(name="web", points=[], target=[])]
    for figure in (
        mix.build(empty, style),
        mix.build([], style),
        throughput.build([], style),
        wait.build(wait.WaitSeries([], [], [], []), style),
        loss.build(empty, style),
        epochs.build(empty, epochs.Forecast(), style),
    ):
        assert figure.figure.data == []
        assert figure.table.rows == []
        assert "yet" in figure.description


def test_marks_are_capped_to_the_newest() -> None:
    marks = [Mark(i, f"v{i}", "", "mix") for i in range(100)]
    layout = throughput.build([point(x, 1) for x in range(100)], Style(marks=marks)).figure.layout
    assert len(layout["shapes"]) == MAX_MARKS
    assert layout["annotations"][-1]["text"].startswith("v")
    assert layout["annotations"][0]["text"].startswith("v60"), "the older ones are left out"


def test_times_are_utc() -> None:
    assert Style(axis="time").x(1_800_000_000.25) == "2027-01-15 08:00:00.250"


def test_a_large_figure_is_built_quickly() -> None:
    sources = [source(f"s{i}", [0.125] * 1500, 0.125) for i in range(8)]
    began = time.process_time()
    mix.build(sources, Style())
    assert time.process_time() - began < 1.0


def test_the_plotlyjs_version_is_a_version() -> None:
    assert plotlyjs_version().split(".")[0] == "4"


def test_marks_without_room_for_a_label_share_one_that_tells_of_all() -> None:
    marks = [Mark(x, f"v{x}", f"edit at {x}", "mix", x) for x in (100, 110, 139, 180, 300)]
    points = [point(x, 1) for x in range(0, 1001, 10)]
    figure = throughput.build(points, Style(marks=marks))
    assert [note["text"] for note in figure.figure.layout["annotations"]] == ["v100 +2", "v180", "v300"]
    assert figure.figure.layout["annotations"][0]["hovertext"] == "edit at 100<br>edit at 110<br>edit at 139"
    assert [mark.label for mark in figure.marks] == [0, 0, 0, 1, 2]
    assert len(figure.figure.layout["shapes"]) == 5
    narrow = throughput.build(points, Style(marks=marks, width_px=360))
    assert [note["text"] for note in narrow.figure.layout["annotations"]] == ["v100 +4"]
    zoomed = throughput.build(points[9:15], Style(marks=marks, low=90, high=140))
    assert [note["text"] for note in zoomed.figure.layout["annotations"]] == ["v100", "v110", "v139"], "zoom parts them"


def test_a_label_at_the_right_end_stands_left_of_its_line() -> None:
    points = [point(x, 1) for x in range(0, 1001, 10)]

    def notes(*xs: int) -> list[tuple[str, str]]:
        marks = [Mark(x, f"v{x}", "", "mix", x) for x in xs]
        layout = throughput.build(points, Style(marks=marks)).figure.layout
        return [(note["text"], note["xanchor"]) for note in layout["annotations"]]

    assert notes(500, 990) == [("v500", "left"), ("v990", "right")]
    assert notes(900, 990) == [("v900 +1", "left")], "there is no room for two between them"
    assert notes(980, 990) == [("v980 +1", "right")]


def test_a_legend_that_wraps_has_room_below_the_axis() -> None:
    def below(num_sources: int, width_px: int) -> int:
        sources = [source(f"a-source-named-{i}", [1.0]) for i in range(num_sources)]
        found: int = loss.build(sources, Style(width_px=width_px)).figure.layout["margin"]["b"]
        return found

    assert below(3, 1000) == 76
    assert below(8, 1000) == 76 + 19
    assert below(8, 400) == 76 + 7 * 19
