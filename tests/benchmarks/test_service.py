"""What is promised of the service beside MLflow's is held only where the figures say so."""

from typing import Any

from benchmarks.service.__main__ import bars, table


def row(service: str, database: str, values: int, rate: float, p99: float) -> dict[str, Any]:
    return {
        "service": service,
        "database": database,
        "values_a_batch": values,
        "values_per_s": rate,
        "p50_ms": p99 / 2,
        "p99_ms": p99,
        "cpu_us_a_value": 1.0,
    }


def figures(*, slow: bool = False, late: bool = False, lost: bool = False) -> dict[str, Any]:
    ingest = []
    for database in ("sqlite", "postgresql"):
        ingest += [
            row("headrace", database, 1020, 3e3 if slow else 6e4, 2e3 if late else 200.0),
            row("headrace", database, 6800, 3e5, 300.0),
            row("mlflow", database, 200, 3e3, 1000.0),
            row("mlflow", database, 1000, 5e3, 1500.0),
        ]
    ours = {"service": "headrace", "outage_s": 120.0, "made": 10, "kept": 10 - lost, "unit": "tokens"}
    ours |= {"longest_call_s": 0.001, "exactly_once": not lost, "caught_up_s": 1.0}
    stuck = {"service": "mlflow, sync", "outage_s": 120.0, "kept": 3, "exactly_once": False, "error": "still in a call"}
    return {"ingest": ingest, "outage": [{**of, "database": "sqlite"} for of in (ours, stuck)]}


def test_each_promise_is_held_by_itself() -> None:
    assert all(bars(figures()).values())
    assert [name for name, held in bars(figures(slow=True)).items() if not held] == [
        "sqlite: more values a second than MLflow at its best",
        "postgresql: more values a second than MLflow at its best",
    ]
    late = [name for name, held in bars(figures(late=True)).items() if not held]
    assert late == [
        "sqlite: a shorter p99 at as many values a batch as MLflow's most",
        "postgresql: a shorter p99 at as many values a batch as MLflow's most",
    ]
    lost = [name for name, held in bars(figures(lost=True)).items() if not held]
    assert lost == ["sqlite: every report exactly once after 120 s away"]


def test_the_table_shows_what_was_lost_and_who_was_held_up() -> None:
    text = "\n".join(table(figures(lost=True)))
    assert "| sqlite | headrace | 10 tokens | 9 | no | 1.00 ms | 1.0 s |" in text
    assert "| sqlite | mlflow, sync | | 3 | no: still in a call | | |" in text
