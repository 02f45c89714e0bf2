"""Headrace: the data loader that large language-model training runs on.

    from headrace import Loader, Source

    loader = Loader([Source("web", "/data/web", weight=0.7), Source("code", "/data/code", weight=0.3)],
                    seq_len=4096, global_batch_size=512, micro_batch_size=8, seed=1234, eos_id=0, vocab_size=50304)
    for batch in loader:
        ...

Names are imported when they are first used, so that commands which need no torch start at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from headrace.collecting import without_collecting

if TYPE_CHECKING:
    from headrace.batch import Batch
    from headrace.config import Source
    from headrace.errors import (
        AgreementError,
        ConfigError,
        DataError,
        HeadraceError,
        ShardError,
        SourceError,
        StateError,
        TransformError,
    )
    from headrace.handed import Remainder
    from headrace.loader import Loader
    from headrace.trace import Traced

__all__ = [
    "AgreementError",
    "Batch",
    "ConfigError",
    "DataError",
    "HeadraceError",
    "Loader",
    "Remainder",
    "ShardError",
    "Source",
    "SourceError",
    "StateError",
    "Traced",
    "TransformError",
]

_MODULES = {"Batch": "batch", "Source": "config", "Loader": "loader", "Remainder": "handed", "Traced": "trace"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'headrace' has no attribute {name!r}")
    with without_collecting():
        module = import_module(f"headrace.{_MODULES.get(name, 'errors')}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
