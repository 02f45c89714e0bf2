"""A virtual environment for each loader, made once from the registry under HEADRACE_CACHE/benchmarks."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

from benchmarks.environments import environment, python_in, run

TORCH = "torch==2.13.0"
REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "streaming": ("mosaicml-streaming==0.13.0",),
    "litdata": ("litdata==0.2.76",),
    "grain": ("grain==0.2.18", "array-record==0.8.6"),
    "datasets": ("datasets==5.2.0", "torchdata==0.11.0"),
    "torchdata": ("torchdata==0.11.0",),
    "megatron": ("megatron-core==0.16.1", "pybind11", "setuptools"),
    "webdataset": ("webdataset==1.0.2",),
    "fms_fsdp": ("pyarrow==26.0.1", "transformers==5.23.0"),
}
"""What is installed beside torch, numpy and psutil; the drivers of one environment share it."""

UNUSABLE: dict[str, str] = {"streaming": "torchvision"}
"""What comes along built for another torch, and is needed by no more than an import: replaced by empty names."""

STUB = """
import sys, types
for name, member in (("datasets", "VisionDataset"), ("transforms", None), ("transforms.functional", "to_tensor")):
    module = sys.modules[f"{__name__}.{name}"] = types.ModuleType(f"{__name__}.{name}")
    if member:
        setattr(module, member, type(member, (), {}))
"""


def python_of(name: str) -> Path:
    """The Python that runs the drivers of an environment, installed if it isn't yet; "headrace" is this one.

    Raises InstallError.
    """
    if name == "headrace":
        return Path(sys.executable)
    wanted = (TORCH, "numpy", "psutil", *REQUIREMENTS[name])
    return python_in(environment(f"loader-{name}", wanted, partial(_without, UNUSABLE.get(name))))


def _without(package: str | None, folder: Path) -> None:
    """Replaces what is unusable by empty names."""
    if package is not None:
        run([str(python_in(folder)), "-m", "pip", "uninstall", "--quiet", "--yes", package])
        next(folder.glob("lib/python*/site-packages")).joinpath(f"{package}.py").write_text(STUB)


def versions_of(name: str) -> dict[str, str]:
    """The installed version of each package that an environment is for."""
    names = [requirement.partition("==")[0] for requirement in (TORCH, "numpy", *REQUIREMENTS.get(name, ("headrace",)))]
    code = f"import importlib.metadata as m, json; print(json.dumps({{n: m.version(n) for n in {names!r}}}))"
    done = subprocess.run([python_of(name), "-c", code], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found
