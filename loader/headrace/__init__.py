"""Headrace: the data loader that large language-model training runs on.

from headrace import Loader, Source

loader = Loader([Source("web", "/data/web", weight=0.7), Source("code", "/data/code", weight=0.3)],
                seq_len=4096, global_batch_size=512, micro_batch_size=8, seed=1234, eos_id=0, vocab_size=50304)
for batch in loader:
    ...
"""

from headrace.batch import Batch
from headrace.config import Source
from headrace.errors import AgreementError, ConfigError, DataError, HeadraceError, ShardError, SourceError, StateError
from headrace.loader import Loader

__all__ = [
    "AgreementError",
    "Batch",
    "ConfigError",
    "DataError",
    "HeadraceError",
    "Loader",
    "ShardError",
    "Source",
    "SourceError",
    "StateError",
]
