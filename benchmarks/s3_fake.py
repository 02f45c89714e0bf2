"""A read-only object store on loopback that answers late and costs little: for measuring latency, not correctness.

    python -m benchmarks.s3_fake FOLDER [--latency-ms 50] [--errors 0.05] [--copies 10000]

Speaks as much of S3 as `pyarrow.fs` needs to list, look at and read objects: every file below FOLDER under the bucket
`corpus`; with `--copies`, its only file as that many objects. Prints its port. (Moto answers a few hundred requests a
second, all of its time spent computing; the loader's tests use it, these figures can't.)
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
from bisect import bisect_left, bisect_right
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "corpus"
PAGE = 1000
_RANGE = re.compile(rb"[Rr]ange: bytes=(\d+)-(\d+)")
_DATES = b'ETag: "0"\r\nLast-Modified: Mon, 30 Nov 2026 12:00:00 GMT\r\n'


class Objects:
    """What is stored: sorted keys, and the content of each, read once."""

    def __init__(self, folder: Path, copies: int) -> None:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        contents = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
        if copies:
            (name, content), *_ = contents.items()
            contents = {f"web/{number:06}{Path(name).suffix}": content for number in range(copies)}
        self.contents = contents
        self.keys = sorted(contents)

    def page(self, query: dict[str, list[str]]) -> bytes:
        """A page of a listing."""
        prefix, after = query.get("prefix", [""])[0], query.get("continuation-token", [""])[0]
        first = bisect_right(self.keys, after) if after else bisect_left(self.keys, prefix)
        keys = [key for key in self.keys[first : first + PAGE] if key.startswith(prefix)]
        is_cut = len(keys) == PAGE and first + PAGE < len(self.keys)
        rows = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2026-11-30T12:00:00.000Z</LastModified><ETag>0</ETag>"
            f"<Size>{len(self.contents[key])}</Size></Contents>"
            for key in keys
        )
        more = f"<NextContinuationToken>{escape(keys[-1])}</NextContinuationToken>" if is_cut else ""
        return (
            "<?xml version='1.0'?><ListBucketResult><IsTruncated>"
            f"{str(is_cut).lower()}</IsTruncated><KeyCount>{len(keys)}</KeyCount>{more}{rows}</ListBucketResult>"
        ).encode()


class Server:
    """Answers requests after `latency_s`, a share `errors` of them with status 503."""

    def __init__(self, objects: Objects, latency_s: float, errors: float) -> None:
        self._objects = objects
        self._latency_s = latency_s
        self._errors = errors
        self._random = random.Random(1)

    async def client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await asyncio.sleep(self._latency_s)
                writer.write(self._answer(head))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _answer(self, head: bytes) -> bytes:
        if self._random.random() < self._errors:
            return b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\n\r\n"
        method, target, _ = head.split(b" ", 2)
        url = urlsplit(target.decode())
        _, _, key = unquote(url.path).lstrip("/").partition("/")
        query = parse_qs(url.query)
        if "list-type" in query:
            return _response(b"200 OK", self._objects.page(query))
        content = self._objects.contents.get(key)
        if content is None:
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        if method == b"HEAD":
            return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s\r\n" % (len(content), _DATES)
        asked = _RANGE.search(head)
        first, last = (int(asked[1]), int(asked[2])) if asked else (0, len(content) - 1)
        return _response(b"206 Partial Content", content[first : last + 1])


def _response(status: bytes, body: bytes) -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n" % (status, len(body), _DATES) + body


async def serve(folder: Path, latency_s: float, errors: float, copies: int) -> None:
    """Listen on a free port of loopback, and say which, until the process is ended."""
    server = Server(Objects(folder, copies), latency_s, errors)
    listening = await asyncio.start_server(server.client, "127.0.0.1", 0, limit=1 << 20)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await listening.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--latency-ms", type=float, default=50)
    parser.add_argument("--errors", type=float, default=0)
    parser.add_argument("--copies", type=int, default=0)
    given = parser.parse_args()
    asyncio.run(serve(given.folder, given.latency_ms / 1000, given.errors, given.copies))
