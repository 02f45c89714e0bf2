"""Finding a loader's state in whatever a trainer saved it in, for the commands that look at one."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from headrace.errors import StateError

if TYPE_CHECKING:
    from torch.distributed.checkpoint.filesystem import FileSystemReader

_SHAPE: Final = frozenset({"format", "seed", "step", "counts", "accumulators", "log", "fingerprints"})
"keys by which a state is known"
_DEPTH: Final = 8


def read_checkpoint(path: Path | str) -> dict[str, Any]:
    """The loader's state in a checkpoint: JSON, `torch.save`, or a `torch.distributed.checkpoint` folder.

    The state is found by its shape, at the top or under any key. A folder of checkpoints stands for the one of the
    highest number at the end of its name that holds a state; others are passed over with a note. Nothing but plain
    values and tensors is ever unpickled.

    Raises:
        StateError: nothing there, not readable, or without a loader's state.
    """
    path = Path(path)
    if not path.exists():
        raise StateError(f"checkpoint {path} does not exist; give what the trainer saved Loader.state_dict() in")
    if path.is_dir() and not (path / ".metadata").is_file():
        return _newest(path)
    state = find_state(_content(path))
    if state is None:
        keys = ", ".join(sorted(_SHAPE))
        raise StateError(f"checkpoint {path} holds no loader state: nothing in it has the keys {keys}")
    return state


def find_state(saved: object, depth: int = _DEPTH) -> dict[str, Any] | None:
    """The first mapping in `saved`, or in mappings and lists within it, that has the shape of a loader's state."""
    if isinstance(saved, Mapping):
        if saved.keys() >= _SHAPE:
            return dict(saved)
        saved = list(saved.values())
    if depth and isinstance(saved, list | tuple):
        for value in saved:
            found = find_state(value, depth - 1)
            if found is not None:
                return found
    return None


def _content(path: Path) -> object:
    if path.is_dir():
        return _load_distributed(path)
    if path.suffix == ".json":
        return _or_state_error(path, lambda: json.loads(path.read_text(encoding="utf-8")))
    return _or_state_error(path, lambda: torch.load(path, map_location="cpu", weights_only=True, mmap=True))


def _or_state_error(path: Path, read: Callable[[], object]) -> object:
    try:
        return read()
    except Exception as error:  # torch names no errors of its own for what a file may hold
        what = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        raise StateError(
            f"checkpoint {path} can't be read ({what[:200]}); give a file of torch.save with plain values, a "
            "torch.distributed.checkpoint folder, or the state as JSON"
        ) from error


def _load_distributed(path: Path) -> object:
    """Only the entries of the state, whatever else the checkpoint holds."""
    from torch.distributed.checkpoint.filesystem import FileSystemReader  # noqa: PLC0415  # slow to import

    reader = FileSystemReader(path)
    metadata: Any = _or_state_error(path, reader.read_metadata)
    under: dict[str, set[str]] = {}
    for key in metadata.state_dict_metadata:
        under.setdefault(key.rpartition(".")[0], set()).add(key)
    for prefix, keys in under.items():
        names = {key.removeprefix(f"{prefix}.") for key in keys}
        if names >= _SHAPE:
            values: Any = _or_state_error(path, partial(_plain_values, reader, keys))
            return {key.removeprefix(f"{prefix}."): value for key, value in values.items()}
    return None


def _plain_values(reader: FileSystemReader, keys: set[str]) -> dict[str, object]:
    """The values of these entries, unpickling plain ones only."""
    from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner  # noqa: PLC0415
    from torch.distributed.checkpoint.state_dict_loader import load  # noqa: PLC0415

    values: dict[str, object] = {}

    class PlainValues(DefaultLoadPlanner):
        def load_bytes(self, read_item: Any, value: Any) -> None:
            values[read_item.dest_index.fqn] = torch.load(value, weights_only=True)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch.distributed is disabled")
        load(dict.fromkeys(keys), storage_reader=reader, planner=PlainValues(), no_dist=True)
    return values


def _newest(folder: Path) -> dict[str, Any]:
    numbered: list[tuple[int, Path]] = []
    for entry in folder.iterdir():
        number = re.search(r"(\d+)(?:\.\w+)?$", entry.name)
        if number:
            numbered.append((int(number[1]), entry))
        else:
            print(f"passed over {entry}: its name ends in no number", file=sys.stderr)
    for _, entry in sorted(numbered, reverse=True):
        try:
            state = find_state(_content(entry))
        except StateError as error:
            print(f"passed over {entry}: {error}", file=sys.stderr)
            continue
        if state is not None:
            return state
        print(f"passed over {entry}: it holds no loader state", file=sys.stderr)
    raise StateError(f"{folder} holds no checkpoint with a loader's state; give the one to read")
