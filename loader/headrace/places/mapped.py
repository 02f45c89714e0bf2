"""Read-only memory maps that hold no file descriptor.

`mmap.mmap` keeps a duplicate of the descriptor for as long as the map lives (until Python 3.13 there is no way around
it), and a rank with 512 lanes easily has a thousand shards mapped: more than the usual limit of 1,024 open files.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from pathlib import Path

import numpy as np
import numpy.typing as npt

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64]
_libc.munmap.restype = ctypes.c_int
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_MAP_FAILED = ctypes.c_void_p(-1).value


def map_file(path: Path) -> npt.NDArray[np.uint8]:
    """The bytes of `path` as a read-only uint8 (size,) array, page-aligned, unmapped with the last view of it.

    Reading past the end of a file that was cut after it was mapped ends the process (SIGBUS), as with every map:
    callers compare the file's size before they read on. Raises OSError when the file can't be opened or mapped.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(descriptor).st_size
        if size == 0:
            return np.empty(0, np.uint8)
        address = _libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
        failure = ctypes.get_errno()
    finally:
        os.close(descriptor)
    if address == _MAP_FAILED:
        raise OSError(failure, os.strerror(failure), str(path))
    region = (ctypes.c_uint8 * size).from_address(address or 0)
    # At exit the process's maps go by themselves; unmapping then could pull one from under a thread that still reads.
    weakref.finalize(region, _libc.munmap, address, size).atexit = False
    view = np.ctypeslib.as_array(region)
    view.flags.writeable = False
    return view
