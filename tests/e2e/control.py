"""What a spec may do to the world it watches: named actions, each run by a POST to its name, on loopback."""

import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Actions = Mapping[str, Callable[[], None]]


def _handler(actions: Actions) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            action = actions.get(self.path.removeprefix("/"))
            if action is None:
                self._reply(404, f"no action {self.path!r}; there are {sorted(actions)}")
                return
            try:
                action()
            except Exception:
                self._reply(500, traceback.format_exc())
            else:
                self._reply(200, "done")

        def _reply(self, status: int, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing: the specs say what they did."""

    return Handler


@contextmanager
def control(actions: Actions) -> Iterator[str]:
    """Serve ``actions`` until the way out; yields the address. A reply comes when the action is done or has failed."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(actions))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
