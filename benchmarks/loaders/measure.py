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
from benchmarks.loaders.harness import WEIGHTS
from benchmarks.loaders.processes import Bench, import_torch_s

GLOBAL_BATCH = 16
"sequences of a step where worlds are compared"
STEPS = 8
"that are compared"
NEAR, FAR = 10_000, 1_000_000
"sequences at which loaders are resumed"
WORKERS = (0, 2)

Say = Callable[[str], None]
Results = dict[str, dict[str, Any]]


def measure(bench: Bench, entries: Sequence[Entry], *, rounds: int, seconds: float, quick: bool, say: Say) -> Results:
    """All results by loader; a figure that could not be had is an `error` in its place."""
    results: Results = {entry.name: {"reads": entry.reads, "mixes": entry.mixes} for entry in (*LIMITS, *entries)}
    for entry in entries:
        say(f"{entry.name}: format")
        results[entry.name]["prepare"] = prepare(bench, entry)
    rates(bench, [*LIMITS, *entries], results, rounds=rounds, seconds=seconds, say=say)
    for entry in entries:
        say(f"{entry.name}: state, shares, resume, worlds")
        mine = results[entry.name]
        mine["near"] = resume(bench, entry, NEAR, limit_s=40 if quick else 90)
        mine["shares"] = share_error(bench, entry)
        mine["changed"] = bench.run(entry, "changed", batches=100)[0]
        if not quick:
            mine["far"] = resume(bench, entry, FAR, limit_s=90)
        mine["worlds"] = same_stream(bench, entry, (2, 4) if quick else (2, 4, 8))
        mine["elastic"] = elastic(bench, entry)
    return results


def prepare(bench: Bench, entry: Entry) -> dict[str, Any]:
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
    kept: dict[str, Any] = json.loads(told.read_text())
    return kept


def rates(bench: Bench, entries: Sequence[Entry], results: Results, *, rounds: int, seconds: float, say: Say) -> None:
    """Tokens a second, CPU, first batch and memory: medians of `rounds`, by number of workers."""
    seen: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for number in range(rounds):
        for entry in entries:
            for workers in (0,) if entry.is_limit else WORKERS:
                say(f"round {number + 1} of {rounds}: {entry.name}, {workers} workers")
                (told,) = bench.run(entry, "rate", workers=workers, seconds=seconds, limit_s=90)
                if "error" not in told:
                    told["first_batch_s"] -= import_torch_s(entry)
                seen.setdefault((entry.name, workers), []).append(told)
    for (name, workers), told_all in seen.items():
        good = [told for told in told_all if "error" not in told]
        results[name][f"workers_{workers}"] = (
            {key: statistics.median(told[key] for told in good) for key in good[0]} | {"rounds": len(good)}
            if good
            else told_all[-1]
        )


def resume(bench: Bench, entry: Entry, sequences: int, *, limit_s: float) -> dict[str, Any]:
    """Run to a position, keep the state, go on from it in a new process: is it the same, how long until a batch?"""
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        kept = Path(folder) / "state"
        (saved,) = bench.run(entry, "save", sequences=sequences, file=kept, limit=limit_s, limit_s=limit_s + 60)
        if "error" in saved:
            return saved
        if not kept.exists():
            return {"error": f"at {saved['reached']} sequences after {limit_s:g} s"}
        (went_on,) = bench.run(entry, "resume", file=kept, limit_s=limit_s + 60)
        if "error" in went_on:
            return went_on
    states = 1 if saved["shares_state"] else 8
    size = saved["state_bytes"]
    return {
        "resume_s": went_on["resume_s"],
        "same": went_on["same"],
        "state_bytes_8_ranks": None if size is None else states * size,
    }


def share_error(bench: Bench, entry: Entry) -> dict[str, Any]:
    """By how many sequences the worst source is off its weight after the first 10,000."""
    (told,) = bench.run(entry, "rows", batches=NEAR // 8, limit_s=150)
    if "error" in told:
        return told
    counts = np.bincount(np.concatenate(told["sources"]), minlength=len(WEIGHTS))
    return {"error_sequences": float(np.abs(counts - counts.sum() * np.array(WEIGHTS)).max())}


def same_stream(bench: Bench, entry: Entry, worlds: Sequence[int]) -> dict[str, Any]:
    """Whether each step has the same sequences, whatever the number of ranks that share them."""
    steps = []
    for world_size in worlds:
        told = bench.run(entry, "rows", world_size=world_size, batch_size=GLOBAL_BATCH // world_size, batches=STEPS)
        failed = [one["error"] for one in told if "error" in one]
        if failed:
            return {"error": failed[0]}
        steps.append(_steps([one["rows"] for one in told]))
    return {"same": all(one == steps[0] for one in steps)}


def elastic(bench: Bench, entry: Entry) -> dict[str, Any]:
    """Whether a state of 2 ranks goes on at 4 with the steps that 2 would have had.

    Rank r of 4 gets the state of rank r modulo 2, which is what there is.
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
