"""Two small sources at the paths that the pages speak of, moved under a folder."""

from pathlib import Path

import numpy as np
from headrace.formats.writer import ShardWriter


def write(folder: Path) -> None:
    """Shards of `<folder>/web` and `<folder>/code`: uint16 ids from 1 to 9,999."""
    rng = np.random.default_rng(7)
    for name in ("web", "code"):
        for number in range(2):
            (folder / name).mkdir(parents=True, exist_ok=True)
            with ShardWriter(folder / name / f"{number:05}.arrow", dtype=np.uint16) as shard:
                shard.write(rng.integers(1, 10_000, int(size)) for size in rng.integers(50, 900, 150))


def moved(text: str, folder: Path) -> str:
    """A page's text with `/data/…` under `folder` instead."""
    return text.replace("/data/", f"{folder}/")
