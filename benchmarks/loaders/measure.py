"""Every figure of the comparison, loaders in turn within each round so that a slow minute falls on all alike."""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.loaders.entries import LIMITS, Entry
from benchmarks.loaders.harness import SEQ_LEN, WEIGHTS
from benchmarks.loaders.processes import Bench, bare

GLOBAL_BATCH = 16
"sequences of a step where worlds are compared"
STEPS = 8
"that are compared"
NEAR, FAR = 10_000, 1_000_000
"sequences at which loaders are resumed"
NEAR_S, FAR_S, QUICK_S = 60.0, 40.0, 6.0
"seconds that the way there may take; to the far one, a loader whose state is a count needs none"
WORKERS = (0, 2)

Say = Callable[[str], None]
Told = dict[str, Any]
Results = dict[str, Told]
Keep = Callable[[Results], None]


def measure(
    bench: Bench, entries: Sequence[Entry], *, rounds: int, seconds: float, quick: bool, say: Say, keep: Keep
) -> Results:
    """All results by loader; a figure that could not be had is an `error` in its place.

    `keep` is given what there is after the rates and after each loader, so that a run that is stopped leaves that.
    """
    results: Results = {entry.name: _about(entry) for entry in (*LIMITS, *entries)}
    for entry in entries:
        say(f"{entry.name}: format")
        results[entry.name]["prepare"] = prepare(bench, entry)
    rates(bench, [*LIMITS, *entries], results, rounds=rounds, seconds=seconds, say=say)
    keep(results)
    for entry in entries:
        say(f"{entry.name}: state, shares, resume")
        mine = results[entry.name]
        mine |= near(bench, entry, mine, QUICK_S if quick else NEAR_S)
        if not quick:
            mine["far"] = far(bench, entry, mine)
            say(f"{entry.name}: the same at other numbers of ranks")
            mine["worlds"] = same_stream(bench, entry, (2, 4, 8))
            mine["elastic"] = elastic(bench, entry)
        keep(results)
    return results


def _about(entry: Entry) -> Told:
    return {"reads": entry.reads, "mixes": entry.mixes, "packs": entry.packs, "makes": entry.makes}


def prepare(bench: Bench, entry: Entry) -> Told:
    """Seconds and bytes of making the loader's format, measured when it was made."""
    folder = bench.prepared(entry)
    told = folder.with_suffix(".json")
    if not told.exists():
        shutil.rmtree(folder, ignore_errors=True)
        (figures,) = bench.run(entry, "prepare", limit_s=900)
        if "error" in figures:
            return figures
        made = [path.stat() for path in folder.rglob("*") if path.is_file()] if folder.exists() else []
        # What is only linked to was there before.
        figures["bytes"] = sum(status.st_size for status in made if status.st_nlink == 1)
        folder.parent.mkdir(parents=True, exist_ok=True)
        told.write_text(json.dumps(figures))
    kept: Told = json.loads(told.read_text())
    return kept


def rates(bench: Bench, entries: Sequence[Entry], results: Results, *, rounds: int, seconds: float, say: Say) -> None:
    """Tokens a second, CPU and first batch: medians of `rounds`, by number of workers."""
    seen: dict[tuple[str, int], list[Told]] = {}
    for number in range(rounds):
        import_s: dict[str, float] = {}
        for entry in entries:
            if entry.environment not in import_s:
                import_s[entry.environment] = bare(entry.environment)["import_s"]
            for workers in (0,) if entry.is_limit else WORKERS:
                say(f"round {number + 1} of {rounds}: {entry.name}, {workers} workers")
                (told,) = bench.run(entry, "rate", workers=workers, seconds=seconds, warm=entry.warm_s, limit_s=60)
                if "error" not in told:
                    alone_s = import_s[entry.environment]
                    told |= {"import_torch_s": alone_s, "beyond_torch_s": told["first_batch_s"] - alone_s}
                seen.setdefault((entry.name, workers), []).append(told)
    for (name, workers), told_all in seen.items():
        results[name][f"workers_{workers}"] = medians(told_all)


FIGURES = ("prepare", *(f"workers_{workers}" for workers in WORKERS), "near", "memory", "shares", "changed")
RANKS = ("far", "worlds", "elastic")
"what a quick run leaves out"


def failed(entry: Entry, reason: str, *, quick: bool) -> Told:
    """The row of a loader that could not be installed."""
    return _about(entry) | {key: {"error": reason} for key in (*FIGURES, *(() if quick else RANKS))}


def medians(told_all: Sequence[Told]) -> Told:
    """Of each figure over the rounds that worked, with how many they were; else what went wrong last."""
    good = [told for told in told_all if "error" not in told]
    if not good:
        return told_all[-1]
    return {key: statistics.median(told[key] for told in good) for key in good[0]} | {"rounds": len(good)}


def near(bench: Bench, entry: Entry, mine: Told, limit_s: float) -> Told:
    """Run to 10,000 sequences and go on from there in a new process: `near`, `memory`, `shares`, `changed`."""
    groups = ("near", "memory", "shares", "changed")
    if too_far := _too_far(mine, NEAR, limit_s):
        return dict.fromkeys(groups, too_far)
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        saved, went_on = _there_and_on(bench, entry, Path(folder), NEAR, 2 * NEAR_S)
    if "error" in saved:
        return dict.fromkeys(groups, saved)
    counts = np.array(saved["sources"])
    off = float(np.abs(counts - counts.sum() * np.array(WEIGHTS)).max())
    return {
        "near": went_on | {"counts": saved["counts"], "state_bytes_8_ranks": _of_8_ranks(saved)},
        "memory": {"own_bytes": saved["peak_own_bytes"] - bare(entry.environment)["own_bytes"]},
        "shares": {"error_sequences": off} if entry.mixes else {},
        "changed": saved["changed"],
    }


def _too_far(mine: Told, sequences: int, limit_s: float) -> Told | None:
    """Why a position isn't gone to, at the rate that was measured."""
    rate = mine["workers_0"].get("tokens_per_s")
    if rate is None:
        return {"error": mine["workers_0"]["error"]}
    way_s = sequences * SEQ_LEN / rate
    return {"why": f"not measured: {way_s:,.0f} s to get there at its rate"} if way_s > limit_s else None


def _there_and_on(bench: Bench, entry: Entry, folder: Path, sequences: int, limit_s: float) -> tuple[Told, Told]:
    (saved,) = bench.run(entry, "save", sequences=sequences, file=folder, limit=limit_s, limit_s=limit_s + 30)
    if "error" in saved:
        return saved, saved
    (went_on,) = bench.run(entry, "resume", file=folder, limit_s=60)
    went_on.pop("after", None)
    return saved, went_on


def _of_8_ranks(saved: Told) -> int | None:
    size: int | None = saved["state_bytes"]
    return None if size is None else size * (1 if saved["shares_state"] else 8)


def far(bench: Bench, entry: Entry, mine: Told) -> Told:
    """Going on at 1,000,000 sequences: from a state that counts so far, else from one of a run up to there."""
    if "error" in mine["near"]:
        return {"error": mine["near"]["error"]}
    if mine["near"].get("counts"):
        (went_on,) = bench.run(entry, "resume", sequences=FAR, limit_s=3 * FAR_S)
        return went_on if "error" in went_on else {"resume_s": went_on["resume_s"], "counted": True}
    if too_far := _too_far(mine, FAR, FAR_S):
        return too_far
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        _, went_on = _there_and_on(bench, entry, Path(folder), FAR, 3 * FAR_S)
    return went_on


def same_stream(bench: Bench, entry: Entry, worlds: Sequence[int]) -> Told:
    """Whether each step has the same sequences, whatever the number of ranks that share them."""
    first: list[list[int]] | None = None
    for world_size in worlds:
        told = bench.run(entry, "rows", world_size=world_size, batch_size=GLOBAL_BATCH // world_size, batches=STEPS)
        failed = [one["error"] for one in told if "error" in one]
        if failed:
            return {"error": failed[0]}
        steps = _steps([one["rows"] for one in told])
        first = first or steps
        if steps != first:
            return {"same": False, "differs_at": world_size}
    return {"same": True}


def elastic(bench: Bench, entry: Entry) -> Told:
    """Whether a state of 2 ranks goes on at 4 with the steps that 2 would have had.

    Each rank is given the states of both.
    """
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        options = {"batches": STEPS, "file": folder}
        saved = bench.run(
            entry, "save", world_size=2, batch_size=GLOBAL_BATCH // 2, sequences=64 * GLOBAL_BATCH, **options
        )
        if any("error" in one for one in saved):
            return {"error": next(one["error"] for one in saved if "error" in one)}
        went_on = bench.run(entry, "resume", world_size=4, batch_size=GLOBAL_BATCH // 4, **options)
    if any("error" in one for one in went_on):
        return {"error": next(one["error"] for one in went_on if "error" in one)}
    return {"same": _steps([one["after"] for one in saved]) == _steps([one["after"] for one in went_on])}


def _steps(ranks: list[list[list[int]]]) -> list[list[int]]:
    """The sequences of each step in order of their checksums, from those of each rank."""
    return [sorted(chain.from_iterable(batches)) for batches in zip(*ranks, strict=True)]
