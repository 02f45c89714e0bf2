"""Addresses at which nothing good answers: a black hole, and a certificate that nobody knows."""

from __future__ import annotations

import socket
import ssl
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path


@contextmanager
def black_hole() -> Iterator[str]:
    """A listener that never accepts and whose queue is full, so that SYNs go unanswered."""
    with ExitStack() as stack:
        hole = stack.enter_context(socket.socket())
        hole.bind(("127.0.0.1", 0))
        hole.listen(0)
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(hole.getsockname())
        yield f"http://127.0.0.1:{hole.getsockname()[1]}"


@contextmanager
def certificate_error() -> Iterator[str]:
    """A TLS server with a certificate of its own making. Needs the `openssl` command."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        key, certificate = Path(folder) / "key.pem", Path(folder) / "certificate.pem"
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        command += ["-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
        subprocess.run([*command, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        listener.settimeout(0.1)
        stop = threading.Event()

        def serve() -> None:
            while not stop.is_set():
                with suppress(OSError):  # time-outs, and clients that refuse the certificate
                    peer, _ = listener.accept()
                    peer.settimeout(1.0)
                    with peer, suppress(OSError):
                        context.wrap_socket(peer, server_side=True).close()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"https://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            stop.set()
            thread.join()
