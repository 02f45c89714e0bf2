"""Cache folders that are a test's own, but for the compiled kernels: those take each new process seconds."""

from pathlib import Path

from headrace.cache import cache_root


def warm(cache: Path) -> Path:
    """The folder, made where it is not there, with this machine's compiled kernels in it."""
    cache.mkdir(parents=True, exist_ok=True)
    kernels = cache_root() / "kernels"
    kernels.mkdir(parents=True, exist_ok=True)
    if not (cache / "kernels").exists():
        (cache / "kernels").symlink_to(kernels)
    return cache
