"""What an engine does: work through units with any number of workers, and tell what happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from headrace.errors import ConfigError, DataError, HeadraceError, ShardError, SourceError
from headrace.tokenize.encoders import open_encoder
from headrace.tokenize.folder import open_folder
from headrace.tokenize.ledger import opened
from headrace.tokenize.options import OnBad
from headrace.tokenize.records import ShardRecord
from headrace.tokenize.units import Unit
from headrace.tokenize.work import Workplace, tokenize_unit

MAX_TRIES: Final = 3
"of a unit whose worker dies; what it finished is kept"


@dataclass(frozen=True, slots=True)
class Progress:
    """So many tokens, of so many bytes of text, more."""

    unit: str
    tokens: int
    text_bytes: int


@dataclass(frozen=True, slots=True)
class Made:
    """A shard of a unit is whole, and its record is written."""

    unit: str
    record: ShardRecord


@dataclass(frozen=True, slots=True)
class Ended:
    """All shards of a unit are made."""

    unit: str


Event = Progress | Made | Ended


@dataclass(frozen=True, slots=True)
class Job:
    """What is asked of an engine: the folder by its full name, which all workers see, and what to do with bad input."""

    output: str
    on_bad: OnBad


class Engine(Protocol):
    """Events are told as they happen; closing the iterator ends the workers.

    Raises SourceError or ConfigError, as a worker did, and SourceError where one died too often.
    """

    def run(self, job: Job, units: Sequence[Unit]) -> Iterator[Event]:
        """Work through `units`."""


def open_workplace(output: str, threads: int) -> Workplace:
    """What a worker needs, from the folder alone; raises SourceError or ConfigError where it isn't there."""
    folder = open_folder(output)
    options, found, dtype = opened(folder, output)
    encoder = open_encoder(found, special_tokens=options.special_tokens, threads=threads)
    return Workplace(folder, options, encoder, dtype, found.fingerprint, threads)


def work(place: Workplace, job: Job, unit: Unit, tell: Callable[[Event], None]) -> None:
    """One unit, in this process.

    Raises SourceError and ConfigError, also where the folder can't be written.
    """
    try:
        for record in tokenize_unit(place, unit, job.on_bad, lambda *sizes: tell(Progress(unit.name, *sizes))):
            tell(Made(unit.name, record))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise SourceError(
            f"{job.output} can't be written ({error.strerror or error}); what is finished is kept"
        ) from error
    tell(Ended(unit.name))


def as_error(kind: str, message: str) -> HeadraceError:
    """An error that a worker told of, by the name of its class."""
    kinds: dict[str, type[HeadraceError]] = {
        known.__name__: known for known in (ConfigError, SourceError, ShardError, DataError)
    }
    return kinds.get(kind, SourceError)(message)
