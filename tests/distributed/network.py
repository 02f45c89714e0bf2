"""Hosts on a network of their own: a namespace each, joined by a switch in this process that can delay and cut.

The switch is a thread that copies frames between TAP devices, so that it needs nothing of the kernel but namespaces
and TAPs; `tc netem`, the usual way to delay, is a module that many kernels lack.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import shutil
import struct
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

DEVICE = "hr0"
_NEW_NETWORK = 0x40000000
_SET_INTERFACE = 0x400454CA
_TAP_WITHOUT_HEADER = 0x1002
_LARGEST_FRAME = 2048


@dataclass(frozen=True)
class Host:
    """A namespace with one interface."""

    name: str
    address: str

    @property
    def prefix(self) -> list[str]:
        """What a command is run with to run there."""
        return ["ip", "netns", "exec", self.name]

    def call(self, function: Callable[[], T]) -> T:
        """Call a function there, on a thread of its own."""
        with ThreadPoolExecutor(1) as one:
            return one.submit(self._call, function).result()

    def _call(self, function: Callable[[], T]) -> T:
        namespace = os.open(f"/run/netns/{self.name}", os.O_RDONLY)
        try:
            if ctypes.CDLL(None, use_errno=True).setns(namespace, _NEW_NETWORK):
                raise OSError(ctypes.get_errno(), f"setns to {self.name}")
        finally:
            os.close(namespace)
        return function()


class Switch:
    """Copies every frame to every other port, `delay_s` later; not from or to hosts in `cut`."""

    def __init__(self, ports: dict[int, Host]) -> None:
        """`ports`: by descriptor of its TAP."""
        self.delay_s = 0.0
        self.cut: set[Host] = set()
        self.num_frames = 0
        self._ports = ports
        self._waiting: deque[tuple[float, int, bytes]] = deque()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="switch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            wait_s = max(0.0, self._waiting[0][0] - time.monotonic()) if self._waiting else 0.1
            readable, _, _ = select.select(list(self._ports), [], [], wait_s)
            for port in readable:
                with suppress(BlockingIOError):
                    self._waiting.append((time.monotonic() + self.delay_s, port, os.read(port, _LARGEST_FRAME)))
            while self._waiting and self._waiting[0][0] <= time.monotonic():
                _, source, frame = self._waiting.popleft()
                self._deliver(source, frame)

    def _deliver(self, source: int, frame: bytes) -> None:
        if self._ports[source] in self.cut:
            return
        self.num_frames += 1
        for port, host in self._ports.items():
            if port != source and host not in self.cut:
                with suppress(OSError):  # a full queue drops, as a real one does
                    os.write(port, frame)


@contextmanager
def network(number: int) -> Iterator[tuple[list[Host], Switch]]:
    """So many hosts, 10.99.0.1 on, that reach each other through one switch.

    Raises:
        OSError, subprocess.CalledProcessError: the kernel or its rights don't allow namespaces or TAPs.
    """
    hosts = [Host(f"headrace-{os.getpid()}-{n}", f"10.99.0.{n}") for n in range(1, number + 1)]
    ports: dict[int, Host] = {}
    try:
        for host in hosts:
            subprocess.run(["ip", "netns", "add", host.name], check=True, capture_output=True)
            _name(host, hosts)
            ports[host.call(_tap)] = host
            for command in (f"addr add {host.address}/24 dev {DEVICE}", f"link set {DEVICE} up", "link set lo up"):
                subprocess.run([*host.prefix, "ip", *command.split()], check=True, capture_output=True)
        switch = Switch(ports)
        try:
            yield hosts, switch
        finally:
            switch.close()
    finally:
        for port in ports:
            os.close(port)
        for host in hosts:
            if Path(f"/run/netns/{host.name}").exists():
                subprocess.run(["ip", "netns", "del", host.name], check=True, capture_output=True)
            shutil.rmtree(f"/etc/netns/{host.name}", ignore_errors=True)


def _name(host: Host, hosts: list[Host]) -> None:
    """Give every host a name there. Without one, torch would ask a name server out of reach for seconds, each time."""
    folder = Path("/etc/netns") / host.name
    folder.mkdir(parents=True)
    names = [f"{other.address} host-{number}" for number, other in enumerate(hosts)]
    (folder / "hosts").write_text("\n".join(["127.0.0.1 localhost", *names, ""]))
    (folder / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")


def _tap() -> int:
    """A new TAP device of this thread's namespace; its descriptor."""
    port = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(port, _SET_INTERFACE, struct.pack("16sH22x", DEVICE.encode(), _TAP_WITHOUT_HEADER))
    return port
