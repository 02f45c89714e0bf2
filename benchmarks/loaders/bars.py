"""What Headrace is held to beside the others, each with the figures that decide it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.loaders.table import Loaders, Told, at

YES_NO = ("near.same", "worlds.same", "elastic.same", "changed.can")
FMS_FSDP = "fms-fsdp"


@dataclass(frozen=True)
class Bar:
    """`held` is None where this run can't tell."""

    promise: str
    held: bool | None
    figures: str

    def __str__(self) -> str:
        verdict = {True: "held", False: "not held", None: "not measured"}[self.held]
        return f"{verdict}: {self.promise}" + (f" ({self.figures})" if self.figures else "")


def bars(loaders: Loaders) -> list[Bar]:
    """All bars; none without Headrace in the run."""
    if "headrace" not in loaders:
        return []
    ours = {name: told for name, told in loaders.items() if name.startswith("headrace")}
    others = {name: told for name, told in loaders.items() if name not in ours and "near" in told}
    rows, documents = loaders.get("headrace, rows", {}), loaders["headrace"]
    return [
        *_fastest(rows, documents, others),
        _twice(documents, others),
        *_fms_fsdp(documents, others.get(FMS_FSDP, {})),
        *_start(documents),
        _resume(documents),
        _state(documents, others),
        _only_yes(ours, others),
    ]


def _best(others: Loaders, path: str) -> tuple[str, float]:
    """Who is fastest."""
    rated = {name: value for name, told in others.items() if (value := at(told, path)) is not None}
    return max(rated.items(), key=lambda one: one[1], default=("nobody", 0.0))


_RATE = "workers_0.tokens_per_s"


def _against(promise: str, mine: float | None, best: tuple[str, float], times: float = 1.0) -> Bar:
    name, rate = best
    if mine is None or not rate:
        return Bar(promise, None, "")
    return Bar(promise, mine >= times * rate, f"{mine / 1e6:.0f} M, {name} {rate / 1e6:.0f} M, {mine / rate:.2f}×")


def _fastest(rows: Told, documents: Told, others: Loaders) -> list[Bar]:
    """Each work beside those that do it."""
    mixing = {name: told for name, told in others.items() if told["mixes"]}
    packing = {name: told for name, told in mixing.items() if told["packs"]}
    cut = {name: told for name, told in mixing.items() if not told["packs"]}
    return [
        _against("documents: most tokens/s of all that mix and pack", at(documents, _RATE), _best(packing, _RATE)),
        _against("rows: most tokens/s of all that mix rows cut beforehand", at(rows, _RATE), _best(cut, _RATE)),
        _against(
            "rows, 2 workers: most tokens/s of the same",
            at(rows, "workers_2.tokens_per_s"),
            _best(cut, "workers_2.tokens_per_s"),
        ),
        _against("documents: most tokens/s of all that mix, rows or not", at(documents, _RATE), _best(mixing, _RATE)),
    ]


def _twice(documents: Told, others: Loaders) -> Bar:
    elastic = {
        name: told
        for name, told in others.items()
        if (told["mixes"] or told["packs"]) and at(told, "near.same") and at(told, "elastic.same")
    }
    promise = "twice the fastest that mixes or packs and resumes exactly at another world size"
    return _against(promise, at(documents, _RATE), _best(elastic, _RATE), 2.0)


def _fms_fsdp(documents: Told, theirs: Told) -> list[Bar]:
    mine, other = (at(told, "workers_0.cpu_ns_per_token") for told in (documents, theirs))
    small, large = (at(told, "memory.own_bytes") for told in (documents, theirs))
    per_core, memory = "40 times fms-fsdp per core", "20 times less memory than fms-fsdp"
    return [
        Bar(per_core, other >= 40 * mine, f"{mine:.1f} ns a token, {other:.0f} ns, {other / mine:.0f}×")
        if mine and other
        else Bar(per_core, None, ""),
        Bar(memory, large >= 20 * small, f"{small / 1e6:.0f} MB, {large / 1e6:,.0f} MB, {large / small:.0f}×")
        if small and large
        else Bar(memory, None, ""),
    ]


def _start(documents: Told) -> list[Bar]:
    beyond, made = at(documents, "workers_0.beyond_torch_s"), at(documents, "prepare.bytes")
    return [
        Bar(
            "first batch of a cold process within 0.5 s of importing torch",
            None if beyond is None else beyond <= 0.5,
            "" if beyond is None else f"{beyond:.2f} s",
        ),
        Bar("nothing to make before the first batch", None if made is None else made == 0, ""),
    ]


def _resume(documents: Told) -> Bar:
    near, far = at(documents, "near.resume_s"), at(documents, "far.resume_s")
    promise = "resume takes no longer further on"
    if near is None or far is None:
        return Bar(promise, None, "")
    return Bar(promise, far <= 1.5 * near + 0.1, f"{near:.2f} s at 10 k, {far:.2f} s at 1 M")


def _state(documents: Told, others: Loaders) -> Bar:
    path, promise = "near.state_bytes_8_ranks", "smallest state of 8 ranks, of those that are more than a count of rows"
    sizes = {name: size for name, told in others.items() if (size := at(told, path)) is not None}
    counts = {name: size for name, size in sizes.items() if at(others[name], "near.counts")}
    more = {name: size for name, size in sizes.items() if name not in counts}
    mine = at(documents, path)
    if mine is None or not more:
        return Bar(promise, None, "")
    name = min(more, key=more.__getitem__)
    found = f"{mine:,} bytes; next {name} {more[name]:,}"
    return Bar(promise, mine <= more[name], found + (f"; counts: {_named(counts)}" if counts else ""))


def _named(sizes: Mapping[str, float]) -> str:
    """From the smallest."""
    return ", ".join(f"{name} {size:,}" for name, size in sorted(sizes.items(), key=lambda one: one[1]))


def _only_yes(ours: Loaders, others: Loaders) -> Bar:
    promise = "yes in every row, and nobody else"
    if any("worlds" not in told for told in ours.values()):
        return Bar(promise, None, "")
    no = [f"{name}: {row}" for name, told in ours.items() for row in YES_NO if not at(told, row)]
    all_yes = [name for name, told in others.items() if all(at(told, row) for row in YES_NO)]
    return Bar(promise, not no and not all_yes, ", ".join(no + all_yes))
