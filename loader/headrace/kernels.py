"""How Headrace compiles its few hot loops: numba, without the GIL, cached on disk.

The compiled code is kept under `HEADRACE_CACHE` (default `~/.cache/headrace`), so that only the first process on a
machine pays for the compiler. Where that folder can't be written the loops are compiled anew in each process, which
is said once in a warning.
"""

from __future__ import annotations

import hashlib
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import config as numba_config
from numba.core import runtime as numba_runtime

from headrace.cache import cache_root

F = TypeVar("F", bound=Callable[..., Any])

MODULES = (
    *("best_fit", "ends", "holes", "kernels", "mix", "order", "packing", "permute", "replay", "search"),
    *("formats/ipc/documents", "formats/ipc/headers"),
)
"all that hold a kernel: what they say decides whether kept kernels are of this version"


def _kernel_cache() -> Path | None:
    # numba looks at a kernel's own file only, yet kernels of one module are compiled into those of another.
    sources = hashlib.blake2b(digest_size=8)
    for name in MODULES:
        sources.update((Path(__file__).parent / f"{name}.py").read_bytes())
    folder = cache_root() / "kernels" / sources.hexdigest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        warnings.warn(
            f"compiled kernels can't be kept in {folder} ({error}); every process compiles them again, "
            "some seconds; set HEADRACE_CACHE to a folder that can be written",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


_CACHE = _kernel_cache()


def _spare_the_compiler(cache: Any) -> None:
    """Let numba read a kept kernel without readying itself to compile, which is half of what it costs at start.

    This reaches into numba: in a version that has other insides it stays as it is.
    """
    runtime: Any = numba_runtime
    if not hasattr(cache, "_load_overload") or not hasattr(runtime, "rtsys"):
        return

    def load(signature: object, target: object) -> object:
        """The kernel for these types, or None where it is not kept; compiling it then readies numba."""
        runtime.rtsys.initialize(target)
        with cache._guard_against_spurious_io_errors():
            return cache._load_overload(signature, target)

    cache.load_overload = load


class _KeptWhenUsed:
    """The cache of one kernel, made when it is first asked for: a process uses few of them, and each looks at the disk.

    It reaches into numba as `_spare_the_compiler` does: a dispatcher asks what stands in its `_cache`.
    """

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def __getattr__(self, name: str) -> object:
        settings: Any = numba_config
        before = settings.CACHE_DIR
        settings.CACHE_DIR = str(_CACHE)
        try:
            self._kernel.enable_caching()
        finally:
            settings.CACHE_DIR = before
        _spare_the_compiler(self._kernel._cache)
        return getattr(self._kernel._cache, name)


def compiled(function: F) -> F:
    """Compile `function` on first use for the types it is called with; it runs without the GIL."""
    wrapped: Any = numba.njit(nogil=True)(function)
    if _CACHE is not None:
        wrapped._cache = _KeptWhenUsed(wrapped)
    result: F = wrapped
    return result
