"""Checkpoints of older formats, brought to the one that this version writes, one number at a time.

Format 2 added to `run` the job's name and the newest version that a rewind undid.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

State = Mapping[str, Any]


def _extend_run(state: State) -> State:
    run = {**json.loads(state["run"]), "job": None, "undone_version": 0}
    return {**state, "format": 2, "run": json.dumps(run)}


_UPGRADES: tuple[Callable[[State], State], ...] = (_extend_run,)
"from format 1 on, each to the next"

FORMAT = 1 + len(_UPGRADES)
"the number of the format that this version writes"


def upgraded(state: State) -> State:
    """The same checkpoint in the newest format; `state` itself is left as it is.

    Args:
        state: a checkpoint whose `format` is from 1 to FORMAT.

    Raises:
        ValueError, TypeError, KeyError: it is damaged.
    """
    for upgrade in _UPGRADES[state["format"] - 1 :]:
        state = upgrade(state)
    return state
