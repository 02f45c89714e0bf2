"""Bodies: JSON only, plain or gzipped, capped as sent and as decompressed, read before anything parses them."""

import asyncio
import zlib

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import BodyTooLargeError, MalformedBodyError, MediaTypeRefusedError, RequestTimedOutError

_GZIP_WINDOW = 31


def gunzip(data: bytes, cap_bytes: int) -> bytes:
    """Gunzip every member. Raises BodyTooLargeError past ``cap_bytes``, MalformedBodyError if cut or not gzip."""
    out = bytearray()
    while data:
        member = zlib.decompressobj(_GZIP_WINDOW)
        try:
            out += member.decompress(data, cap_bytes - len(out) + 1)
        except zlib.error as error:
            raise MalformedBodyError(f"Content-Encoding is gzip, but the body is not: {error}") from error
        if len(out) > cap_bytes:
            raise BodyTooLargeError(f"the body decompresses to more than {cap_bytes} bytes; send smaller batches")
        if not member.eof:
            raise MalformedBodyError("the gzipped body is cut short")
        data = member.unused_data
    return bytes(out)


def _refuse_wrong_type(headers: Headers) -> None:
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise MediaTypeRefusedError(f"Content-Type is {media_type[:100]!r}; send application/json")
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        raise MediaTypeRefusedError(f"Content-Encoding is {encoding[:100]!r}; send gzip or none")


class BodyLimits:
    """Reads the whole body under the caps and hands the app one plain JSON message."""

    def __init__(self, app: ASGIApp, cap_bytes: int, timeout_s: float) -> None:
        self.app = app
        self.cap_bytes = cap_bytes
        self.timeout_s = timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        body = await self._read(headers, receive)
        if body:
            _refuse_wrong_type(headers)
            if headers.get("content-encoding", "").strip().lower() == "gzip":
                body = gunzip(body, self.cap_bytes)
        await self.app(_plain(scope, len(body)), _replay(body, receive), send)

    async def _read(self, headers: Headers, receive: Receive) -> bytes:
        declared = headers.get("content-length", "0")
        if declared.isdecimal() and int(declared) > self.cap_bytes:
            raise BodyTooLargeError(f"the body is {declared[:20]} bytes; at most {self.cap_bytes} are taken")
        try:
            async with asyncio.timeout(self.timeout_s):
                return await self._collect(receive)
        except TimeoutError as error:
            raise RequestTimedOutError(f"the body did not arrive within {self.timeout_s:g} s") from error

    async def _collect(self, receive: Receive) -> bytes:
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise MalformedBodyError("the client went away before the body was complete")
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self.cap_bytes:
                raise BodyTooLargeError(f"the body is over {self.cap_bytes} bytes; send smaller batches")
        return bytes(body)


def _plain(scope: Scope, num_bytes: int) -> Scope:
    plain = dict(scope, headers=list(scope["headers"]))
    headers = MutableHeaders(scope=plain)
    for name in ("content-encoding", "transfer-encoding"):
        if name in headers:
            del headers[name]
    headers["content-length"] = str(num_bytes)
    return plain


def _replay(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return replay
