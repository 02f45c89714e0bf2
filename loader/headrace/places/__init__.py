"""Where shards lie: this machine's folders, or object storage through `pyarrow.fs`.

    place = parse_place("s3://corpus/web")           # or "/data/web"; no I/O
    file = (place / "00000.arrow").open()            # size and version, no content
    file.read(start, size)                           # bytes of one range

In the order to read them: `place` (names), `file` (what an opened file offers; local ones are mapped), `remote`
(objects: ranged reads, retried, verified, kept on disk when asked) over `filesystem`, `retry` and `disk_cache`.
"""

from headrace.places.file import ChangedError, File, Listed, LocalFile
from headrace.places.place import Place, parse_place

__all__ = ["ChangedError", "File", "Listed", "LocalFile", "Place", "parse_place"]
