"""Every error that Headrace raises on purpose.

    HeadraceError
    ├── ConfigError(ValueError)       what the user wrote: an option, a weight, a batch size
    ├── DataError                     what is on disk: anything about a shard
    │   ├── SourceError               a source as a whole: no such path, no shards, no column
    │   └── ShardError                one shard: unreadable, changed, corrupt, ids out of range
    ├── StateError(ValueError)        a checkpoint that does not fit this loader
    ├── TransformError(ValueError)    what a transform returned
    └── AgreementError(RuntimeError)  ranks that differ, or that can no longer reach each other

Each message says what was wrong, the value, what is allowed and what to do, and names the source, file, row or rank.
"""


class HeadraceError(Exception):
    """The root of every error that Headrace raises on purpose."""


class ConfigError(HeadraceError, ValueError):
    """An option, weight or batch size that can't be used; raised before anything is read."""


class DataError(HeadraceError):
    """Data that can't be used as it stands."""


class SourceError(DataError, ValueError):
    """A source that can't be used as a whole: missing path, no shards, wrong column or type."""


class ShardError(DataError, ValueError):
    """A shard that can't be read, has changed, or holds ids that are not allowed; names the file."""


class StateError(HeadraceError, ValueError):
    """A checkpoint that does not fit this loader; names what differs."""


class TransformError(HeadraceError, ValueError):
    """What the user's transform returned can't be a sequence; names the source and the sequence."""


class AgreementError(HeadraceError, RuntimeError):
    """Ranks that disagree about the run, or that can no longer reach the job's store."""
