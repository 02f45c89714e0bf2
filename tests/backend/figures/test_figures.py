"""Figures: what Plotly may be given, in both themes, with the same numbers as a table."""

import json
import time
from typing import Any

import pytest
from headrace_server.figures import depth, epochs, loss, mix, throughput, wait
from headrace_server.figures.canvas import CONFIG, MAX_MARKS, UI_REVISION, Mark, Style, plotlyjs_version
from headrace_server.figures.palette import SOURCE_COLORS
from headrace_server.figures.schemas import Figure
from headrace_server.series.schemas import SeriesPoint, SourceSeries

HOSTILE = '<b>x</b> <a href="javascript:alert(1)">%{x}</a> $x^2$'


def point(x: float, value: float, spread: float = 0.0) -> SeriesPoint:
    return SeriesPoint(x=x, min=value - spread, max=value + spread, mean=value, last=value, count=1)


def source(name: str, values: list[float], target: float | None = None) -> SourceSeries:
    points = [point(10 * i, value) for i, value in enumerate(values)]
    return SourceSeries(name=name, points=points, target=None if target is None else [target] * len(values))


def every_figure(style: Style, names: tuple[str, ...] = ("web", "code")) -> list[Figure]:
    sources = [source(name, [1 / len(names)] * 5, 1 / len(names)) for name in names]
    points = [point(10 * i, 100.0 + i, 5.0) for i in range(5)]
    forecast = epochs.Forecast(last_step=100, epochs=dict.fromkeys(names, 2.5))
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
@pytest.mark.parametrize("axis", ["step", "time"])
def test_every_figure_keeps_the_common_rules(theme: Any, axis: Any) -> None:
    marks = [Mark(20, "v2", "mix version 2", "mix"), Mark(30, "start 2", "attempt 2", "attempt")]
    for figure in every_figure(Style(theme, axis, marks)):
        layout = figure.figure.layout
        assert {trace["type"] for trace in figure.figure.data} == {"scatter"}, "all the basic bundle can draw"
        assert layout["uirevision"] == UI_REVISION
        assert layout["hovermode"] == "x unified"
        assert "title" not in layout
        assert "template" not in layout
        assert layout["yaxis"]["title"]["text"]
        assert layout["xaxis"]["title"]["text"] == ("step" if axis == "step" else "time (UTC)")
        assert [note["text"] for note in layout["annotations"]] == ["v2", "start 2"]
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
    assert len(loss.build(sources, Style()).figure.data) == 20


def test_a_source_that_came_later_leaves_no_hole() -> None:
    late = SourceSeries(name="late", points=[point(10, 0.5)], target=[0.5])
    figure = mix.build([source("web", [1.0, 0.5], 0.5), late], Style())
    bands = [trace for trace in figure.figure.data if trace.get("stackgroup")]
    assert [band["x"] for band in bands] == [[0, 10], [0, 10]]
    assert bands[1]["y"] == [0.0, 0.5]


def test_the_worst_rank_shows_in_the_wait() -> None:
    points = [point(0, 5.0, 4.0)]
    figure = wait.build(wait.WaitSeries(points, points, points, points), Style())
    assert {trace["name"]: trace["y"] for trace in figure.figure.data} == {
        "p50": [5.0],
        "p99": [9.0],
        "max": [9.0],
        "share of time": [5.0],
    }


def test_a_forecast_is_dashed_over_steps_and_only_there() -> None:
    forecast = epochs.Forecast(last_step=100, epochs={"web": 3.0, "code": None})
    sources = [source("web", [0.5, 1.0]), source("code", [0.1, 0.2])]
    figure = epochs.build(sources, forecast, Style())
    [ahead] = [trace for trace in figure.figure.data if trace["line"].get("dash") == "dash"]
    assert (ahead["x"], ahead["y"]) == ([10, 100], [1.0, 3.0])
    assert ahead["line"]["color"] == SOURCE_COLORS[0]
    assert figure.table.rows[-1] == [100, 3.0, None]
    assert "web 1.00, 3.00 by the end" in figure.description
    by_time = epochs.build(sources, forecast, Style(axis="time"))
    assert len(by_time.figure.data) == 2
    done = epochs.build([source("web", [1.0] * 11)], forecast, Style())
    assert len(done.figure.data) == 1, "nothing to forecast at the end"


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
    layout = throughput.build([point(0, 1)], Style(marks=marks)).figure.layout
    assert len(layout["shapes"]) == MAX_MARKS
    assert layout["annotations"][-1]["text"] == "v99"


def test_times_are_utc() -> None:
    assert Style(axis="time").x(1_800_000_000.25) == "2027-01-15 08:00:00.250"


def test_a_large_figure_is_built_quickly() -> None:
    sources = [source(f"s{i}", [0.125] * 1500, 0.125) for i in range(8)]
    began = time.process_time()
    mix.build(sources, Style())
    assert time.process_time() - began < 1.0


def test_the_plotlyjs_version_is_a_version() -> None:
    assert plotlyjs_version().split(".")[0] == "4"


def test_labels_of_close_marks_do_not_print_over_each_other() -> None:
    """The line and what hovering says stay; a label comes back as soon as there is room."""
    marks = [Mark(x, f"v{x}", f"edit at {x}", "mix") for x in (100, 110, 139, 140, 200)]
    layout = throughput.build([point(x, 1) for x in range(0, 1001, 10)], Style(marks=marks)).figure.layout
    assert [note["text"] for note in layout["annotations"]] == ["v100", "·", "·", "v140", "v200"]
    assert [note["hovertext"] for note in layout["annotations"]] == [f"edit at {mark.x}" for mark in marks]
    assert len(layout["shapes"]) == 5
