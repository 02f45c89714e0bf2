"""What idle event streams cost the server: ``python -m benchmarks.streams``.

Opens ``--streams`` of them, half for browsers and half for leaders, lets them idle for a while, and prints the memory
that the server's process took on, its CPU time meanwhile, and the connections its pool has out.
"""

import argparse
import resource
import socket
import time
from contextlib import ExitStack

import httpx
import psutil
import psycopg

from benchmarks.ingest import DATABASES, service
from tests.backend.builders import attempt_body, job_body

_IN_USE = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle'"


def opened(url: str, path: str, key: str) -> socket.socket:
    """A stream that has said its first word."""
    host, _, port = url.removeprefix("http://").partition(":")
    connection = socket.create_connection((host, int(port)), timeout=60)
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
    heard = b""
    while b"data: " not in heard:
        piece = connection.recv(65536)
        assert piece, heard
        heard += piece
    return connection


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=DATABASES, action="append", help="default: both, one after the other")
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--idle-s", type=float, default=30.0)
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for database in options.database or DATABASES:
        with service(database) as (server, key, settings, _), ExitStack() as stack:
            client = stack.enter_context(
                httpx.Client(base_url=f"{server.url}/api/v1", headers={"Authorization": f"Bearer {key}"}, timeout=60)
            )
            job = client.post("/projects/default/jobs", json=job_body()).raise_for_status().json()["id"]
            client.post(f"/jobs/{job}/attempts", json=attempt_body(8)).raise_for_status()
            process = psutil.Process(server.process.pid)
            before = process.memory_info().rss
            for number in range(options.streams):
                path = f"/api/v1/jobs/{job}/mix/stream" if number % 2 else "/api/v1/events"
                stack.enter_context(opened(server.url, path, key))
            cpu = sum(process.cpu_times()[:2])
            time.sleep(options.idle_s)
            busy = (sum(process.cpu_times()[:2]) - cpu) / options.idle_s
            took = (process.memory_info().rss - before) / 1e6
            in_use = ""
            if "database_url" in settings:
                with psycopg.connect(settings["database_url"]) as connection:
                    [[num]] = connection.execute(_IN_USE).fetchall()
                in_use = f", {num - 1} connections in use"
            print(
                f"{database}: {options.streams} idle streams take {took:.0f} MB, {100 * busy:.1f}% of a core{in_use}",
                flush=True,
            )


if __name__ == "__main__":
    main()
