"""The books of a folder of shards: with what it was begun, which units there are, which shards are made and shown.

    tokenize.json           options and tokenizer: a run with others is refused
    tokenizer.json          (.model, .tiktoken) a copy of the tokenizer
    manifest.json           whole shards with their counts, for people and programs
    000000-0000.arrow       a shard: unit and number; below a folder for a source with a name
    _tokenize/plan/         units, in the order they were planned
    _tokenize/records/      one for each whole shard
    _tokenize/staged/       whole shards that wait for one before them

Shards of a source are shown in their order, so that whoever starts to train on some of them finds those first in every
later listing, with the new ones behind.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np

from headrace.errors import ConfigError, SourceError
from headrace.names import wanted_extension
from headrace.tokenize.encoders import Found
from headrace.tokenize.encoders.found import FILES
from headrace.tokenize.folder import STATE, Folder
from headrace.tokenize.inputs import Input
from headrace.tokenize.options import Options, flag
from headrace.tokenize.records import RECORDS, STAGED, Counts, Report, ShardRecord, record_name, staged_name
from headrace.tokenize.units import Cutter, Unit, amend, plan_units, unit_bytes

log = logging.getLogger("headrace")

FORMAT: Final = 1
"raised where the same text would give other shards"
OPENING: Final = "tokenize.json"
MANIFEST: Final = "manifest.json"
PLANS: Final = f"{STATE}/plan"
MAX_LISTED: Final = 1000
"reports in a manifest"
_EVERY_S: Final = 2.0
_THREADS: Final = 32


def id_type(vocab_size: int) -> np.dtype[np.unsignedinteger]:
    """The smallest unsigned type that holds ids below `vocab_size`: 65,536 entries fit in 16 bits."""
    return np.dtype(np.min_scalar_type(vocab_size - 1))


def begin(folder: Folder, name: str, found: Found, options: Options, vocab_size: int, *, is_named: bool) -> None:
    """Opens the books, or holds them against what is asked for now.

    Raises ConfigError, naming the first that differs, where they were opened with another tokenizer, another option or
    in another layout, and where the folder holds shards of somebody else.
    """
    opening = {
        "format": FORMAT,
        "options": options.record(),
        "tokenizer": found.record(),
        "vocab_size": vocab_size,
        "dtype": str(id_type(vocab_size)),
        "layout": "named" if is_named else "flat",
    }
    content = folder.read(OPENING)
    if content is not None:
        _compare(name, json.loads(content), opening)
        return
    foreign = [path for path in folder.sizes() if wanted_extension(path) and not path.startswith(f"{STATE}/")]
    if foreign:
        raise ConfigError(
            f"{name} holds {len(foreign)} shards that are not of this command, such as {foreign[0]}; name another "
            "folder by -o"
        )
    folder.write(FILES[found.kind], found.content)
    folder.write(OPENING, json.dumps(opening, indent=1).encode())


def opened(folder: Folder, name: str) -> tuple[Options, Found, np.dtype[np.unsignedinteger]]:
    """What a folder was begun with; raises SourceError where it was not, as on a machine that doesn't share it."""
    content = folder.read(OPENING)
    if content is None:
        raise SourceError(
            f"{name} has no {OPENING}; every worker must see the same folder: use shared or object storage"
        )
    opening = json.loads(content)
    kept = folder.read(FILES[opening["tokenizer"]["kind"]])
    found = None if kept is None else Found.of(opening["tokenizer"], kept)
    if found is None or found.fingerprint != opening["tokenizer"]["sha256"]:
        raise SourceError(
            f"the copy of the tokenizer in {name} is gone or was changed; put it back, or begin a new folder"
        )
    return Options.of(opening["options"]), found, np.dtype(opening["dtype"])


def _compare(name: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    end = f"when {name} was begun; give the same, or name a new folder by -o"
    if was["format"] != now["format"]:
        raise ConfigError(f"the format is {now['format']} and was {was['format']} {end}")
    for key in ("kind", "pattern", "special", "sha256"):
        mine, theirs = now["tokenizer"].get(key), was["tokenizer"].get(key)
        if mine != theirs:
            what = f"sha256 {str(mine)[:12]}" if key == "sha256" else f"{key} {mine!r}"
            other = f"{str(theirs)[:12]}" if key == "sha256" else repr(theirs)
            raise ConfigError(
                f"--tokenizer {now['tokenizer']['name']} is another tokenizer: it has {what}, and it was {other} {end}"
            )
    for key, value in now["options"].items():
        if was["options"].get(key) != value:
            raise ConfigError(f"{flag(key)} is {value} and was {was['options'].get(key)} {end}")
    if was["layout"] != now["layout"]:
        names = {"named": "inputs have names", "flat": "inputs have no names"}
        raise ConfigError(f"{names[now['layout']]} now, and it was the other way {end}")


class Ledger:
    """The units and shards of a folder, for the process that owns it."""

    def __init__(self, folder: Folder, name: str) -> None:
        self._folder = folder
        self._name = name
        self.units: list[Unit] = []
        self._num_plans = 0
        self._records: dict[str, list[ShardRecord]] = {}
        self._shown: dict[str, int] = {}
        "shards of each unit that lie under their names, or had no document"
        self._cursor: dict[str, int] = {}
        "of each source: its first unit that isn't shown whole"
        self._by_source: dict[str, list[Unit]] = {}
        self._written_at = 0.0

    def load(self) -> list[str]:
        """Reads the books; returns the shards that are gone or were changed, which will be made again."""
        for plan in sorted(self._folder.sizes(PLANS)):
            records = json.loads(self._folder.read(plan) or b"{}")
            self._take_in(map(Unit.of, records["units"]))
            self._replace(list(map(Unit.of, records["amended"])))
            self._num_plans += 1
        names = self._folder.sizes(RECORDS)
        numbered = [record_name(unit.name, number) for unit in self.units for number in range(_count(names, unit))]
        with ThreadPoolExecutor(_THREADS) as pool:
            contents = dict(zip(numbered, pool.map(self._folder.read, numbered), strict=True))
        sizes = self._folder.sizes()
        gone: list[str] = []
        for unit in self.units:
            for number in range(_count(names, unit)):
                record = ShardRecord.decode(contents[record_name(unit.name, number)] or b"")
                if record.path is None or record.size_bytes in (
                    sizes.get(record.path), sizes.get(staged_name(unit.name, number)),
                ):  # fmt: skip
                    self.made(unit, record)
                    continue
                gone.append(record.path)
                for later in reversed(range(number, _count(names, unit))):
                    self._folder.remove(record_name(unit.name, later))
                break
        self._sizes = sizes
        waiting = {staged_name(unit.name, one.number) for unit in self.units for one in self._records[unit.name]}
        for name in sizes:
            if name.startswith(f"{STAGED}/") and name not in waiting:
                self._folder.remove(name)
        return gone

    def plan(self, inputs: Iterable[Input], options: Options, dtype: np.dtype[np.unsignedinteger], cut: Cutter) -> int:
        """Plans the inputs that are new, and writes that down; returns how many they are.

        One that was changed, as by mending a bad row, is taken as it is now where no shard of its units is made. Raises
        SourceError, naming it, where one is, and for an input that is of another source now.
        """
        known: dict[str, list[Unit]] = {}
        for unit in self.units:
            for part in unit.parts:
                known.setdefault(part.input("").name, []).append(unit)
        new: list[Input] = []
        amended: list[Unit] = []
        for item in inputs:
            if item.name not in known:
                new.append(item)
                continue
            units = [next(one for one in self.units if one.name == unit.name) for unit in known[item.name]]
            if not self._is_same(item, units):
                amended += amend(units, item)
                self._replace(amended)
        numbers = {source: len(units) for source, units in self._by_source.items()}
        units = plan_units(new, numbers, unit_bytes(options.shard_bytes, dtype.itemsize), cut)
        if units or amended:
            records = {"units": [one.record() for one in units], "amended": [one.record() for one in amended]}
            self._folder.write(f"{PLANS}/{self._num_plans:06}.json", json.dumps(records).encode())
            self._num_plans += 1
            self._take_in(units)
        return len(new)

    @property
    def pending(self) -> list[Unit]:
        """Units with shards still to be made, in the order to make them."""
        return [unit for unit in self.units if not self._is_made(unit)]

    def records(self, unit: Unit) -> list[ShardRecord]:
        """The whole shards of a unit."""
        return self._records[unit.name]

    def made(self, unit: Unit, record: ShardRecord) -> None:
        """Takes in a shard that is whole; one that is known already changes nothing."""
        records = self._records[unit.name]
        if record.number == len(records):
            records.append(record)

    def show(self, *, finally_: bool = False) -> None:
        """Gives shards their names as far as those before them have theirs, and lists them in the manifest.

        The manifest is written every few seconds at most, and `finally_` in any case.
        """
        moved = sum(self._show_source(source) for source in self._by_source)
        if finally_ or (moved and time.monotonic() - self._written_at >= _EVERY_S):
            self._folder.write(MANIFEST, json.dumps(self.manifest(), indent=1).encode())
            self._written_at = time.monotonic()

    def counts(self, *, shown: bool = False) -> dict[str, Counts]:
        """The counts of each source, of all whole shards or of those shown."""
        found = {source: Counts() for source in self._by_source}
        for unit in self.units:
            for record in self._records[unit.name][: self._shown[unit.name] if shown else None]:
                found[unit.source].add(record.counts)
        return found

    def num_shards(self) -> dict[str, int]:
        """Shown shards of each source."""
        found = dict.fromkeys(self._by_source, 0)
        for unit in self.units:
            found[unit.source] += sum(record.path is not None for record in self._shown_of(unit))
        return found

    def reports(self) -> list[Report]:
        """What was bad, in the order of the inputs."""
        return [report for unit in self.units for record in self._records[unit.name] for report in record.reports]

    def manifest(self) -> dict[str, Any]:
        """What `manifest.json` holds: the same for the same shards, however they came about."""
        opening = json.loads(self._folder.read(OPENING) or b"{}")
        shards = [
            {
                "path": record.path, "bytes": record.size_bytes, "sha256": record.sha256, "rows": record.counts.rows,
                "documents": record.counts.documents, "tokens": record.counts.tokens, "library": record.library,
            }
            for unit in self.units
            for record in self._shown_of(unit)
            if record.path is not None
        ]  # fmt: skip
        return {
            "format": FORMAT,
            "complete": not self.pending,
            "column": "tokens",
            "dtype": opening["dtype"],
            "vocab_size": opening["vocab_size"],
            "tokenizer": {key: opening["tokenizer"][key] for key in ("kind", "name", "sha256")},
            "sources": {source: counts.record() for source, counts in self.counts(shown=True).items()},
            "shards": shards,
            "bad": [
                {
                    "input": report.input,
                    "row": report.row,
                    "line": report.row + 1,
                    "why": report.why,
                    "file": report.is_file,
                }
                for report in self.reports()[:MAX_LISTED]
            ],
        }

    def _take_in(self, units: Iterable[Unit]) -> None:
        for unit in units:
            self.units.append(unit)
            self._records[unit.name] = []
            self._shown[unit.name] = 0
            self._by_source.setdefault(unit.source, []).append(unit)
            self._cursor.setdefault(unit.source, 0)

    def _replace(self, amended: Sequence[Unit]) -> None:
        if amended:
            by_name = {unit.name: unit for unit in amended}
            for units in (self.units, *self._by_source.values()):
                units[:] = [by_name.get(unit.name, unit) for unit in units]

    def _is_made(self, unit: Unit) -> bool:
        records = self._records[unit.name]
        return bool(records) and records[-1].next is None

    def _shown_of(self, unit: Unit) -> list[ShardRecord]:
        return self._records[unit.name][: self._shown[unit.name]]

    def _show_source(self, source: str) -> int:
        units, moved = self._by_source[source], 0
        while self._cursor[source] < len(units):
            unit = units[self._cursor[source]]
            records = self._records[unit.name]
            for record in records[self._shown[unit.name] :]:
                self._show_shard(unit, record)
                self._shown[unit.name] += 1
                moved += 1
            if not self._is_made(unit):
                break
            self._cursor[source] += 1
        return moved

    def _show_shard(self, unit: Unit, record: ShardRecord) -> None:
        if record.path is None or self._sizes.get(record.path) == record.size_bytes:
            return
        self._folder.move(staged_name(unit.name, record.number), record.path)
        self._sizes[record.path] = record.size_bytes

    def _is_same(self, item: Input, units: Sequence[Unit]) -> bool:
        """Whether an input is as its units have it; raises SourceError where it must be and isn't."""
        if units[0].source != item.source:
            raise SourceError(
                f"{item.name} was tokenised as of source {units[0].source!r} and is of {item.source!r} now"
            )
        was = next(part for part in units[0].parts if part.input("").name == item.name)
        if (item.size_bytes, item.mtime_ns) == (was.size_bytes, was.mtime_ns):
            return True
        if not any(self._records[unit.name] for unit in units):
            return False
        what = "has another time of change"
        if item.size_bytes != was.size_bytes:
            what = f"had {was.size_bytes} bytes and has {item.size_bytes}"
        raise SourceError(
            f"{item.name} was changed since {self._name} took it in, and shards were made of it: it {what}; put it "
            "back as it was, give it a new name, or name a new folder by -o"
        )


def _count(names: Mapping[str, int], unit: Unit) -> int:
    """How many records of a unit are there, from its first on."""
    number = 0
    while record_name(unit.name, number) in names:
        number += 1
    return number
