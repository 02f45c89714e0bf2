"""A small load balancer on loopback: spreads connections over servers, and leaves out those that refuse."""

import itertools
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress


class Balancer:
    """Forwards each connection to the next server that takes it; ``url`` is where clients come to."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._turns = itertools.cycle([_address(url) for url in urls])
        self._num = len(urls)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def close(self) -> None:
        """Stop, cutting every connection."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)

    def _start(self, work: object, *args: object) -> None:
        thread = threading.Thread(target=work, args=args)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._start(self._forward, client)

    def _forward(self, client: socket.socket) -> None:
        server = self._next()
        if server is None:
            client.close()
            return
        self._open |= {client, server}
        back = threading.Thread(target=_copy, args=(server, client))
        back.start()
        _copy(client, server)
        back.join()
        self._open -= {client, server}
        client.close()
        server.close()

    def _next(self) -> socket.socket | None:
        for address in itertools.islice(self._turns, self._num):
            with suppress(OSError):
                return socket.create_connection(address, timeout=None)
        return None


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65536):
            sink.sendall(piece)
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def _address(url: str) -> tuple[str, int]:
    host, _, port = url.removeprefix("http://").partition(":")
    return host, int(port)


@contextmanager
def balancer(urls: Sequence[str]) -> Iterator[Balancer]:
    """A load balancer for as long as the block lasts."""
    running = Balancer(urls)
    try:
        yield running
    finally:
        running.close()
