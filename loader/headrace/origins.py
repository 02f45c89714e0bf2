"""Where the text of a document was before it was tokenised, as its shard says."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.formats.lineage import Lineage, Origin, read_lineage
from headrace.manifest import SourceManifest


class Origins:
    """The origins of documents by name, for one thread; each shard's footer is read once."""

    def __init__(self, manifests: Sequence[SourceManifest]) -> None:
        self._roots = {manifest.name: manifest.root for manifest in manifests}
        self._known: dict[tuple[str, str], Lineage | None] = {}

    def of(self, source: str, path: str, row: int) -> Origin | None:
        """The input and its row that row `row` of a shard was made of; None where the shard doesn't say.

        Raises:
            ShardError: the shard can't be read.
        """
        key = (source, path)
        if key not in self._known:
            self._known[key] = read_lineage(self._roots[source] / path)
        lineage = self._known[key]
        return None if lineage is None else lineage.origin(row)
