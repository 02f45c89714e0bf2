"""A rank's share follows from its place in the data-parallel dimensions, whatever other dimensions there are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch.distributed as dist
from headrace.errors import ConfigError
from headrace.mesh import data_rank
from torch.distributed.device_mesh import init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore


@contextmanager
def rank_of(rank: int, world_size: int) -> Iterator[None]:
    """This process as one rank of many, the others of which are not there."""
    dist.init_process_group("fake", rank=rank, world_size=world_size, store=FakeStore())
    try:
        yield
    finally:
        dist.destroy_process_group()


def test_two_data_groups_of_two_peers() -> None:
    """D01: peers share a place."""
    found = []
    for rank in range(4):
        with rank_of(rank, 4):
            mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
            found.append(data_rank(mesh["dp"], None, None))
    assert found == [(0, 2), (0, 2), (1, 2), (1, 2)]


def test_several_data_dimensions_are_counted_row_by_row() -> None:
    """D01: replicas of shards, with peers between; a flattened mesh gives the same."""
    for rank in range(12):
        with rank_of(rank, 12):
            mesh = init_device_mesh("cpu", (2, 3, 2), mesh_dim_names=("replicate", "shard", "tp"))
            both = mesh["replicate", "shard"]
            assert data_rank(both, None, None) == (rank // 2, 6)
            assert data_rank(both._flatten("dp"), None, None) == (rank // 2, 6)
            unnamed = init_device_mesh("cpu", (12,))
            assert data_rank(unnamed, rank, 12) == (rank, 12)


def test_a_mesh_that_shares_its_data_or_lacks_this_rank_is_refused() -> None:
    with rank_of(1, 4):
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        with pytest.raises(ConfigError, match=r"ranks along 'tp' need the same data; .* only: mesh\['dp'\]"):
            data_rank(mesh, None, None)
        with pytest.raises(ConfigError, match="dp_rank is 1 but mesh gives 0; leave dp_rank out"):
            data_rank(mesh["dp"], 1, 2)
        with pytest.raises(ConfigError, match="dp_size is 4 but mesh gives 2"):
            data_rank(mesh["dp"], None, 4)
        with pytest.raises(ConfigError, match="this rank is not in mesh"):
            data_rank(dist.device_mesh.DeviceMesh("cpu", [0, 2]), None, None)


@pytest.mark.parametrize("mesh", [2, "dp", (0, 2)])
def test_what_is_no_mesh_is_refused(mesh: Any) -> None:
    with pytest.raises(ConfigError, match=r"it must be a torch\.distributed\.device_mesh\.DeviceMesh"):
        data_rank(mesh, None, None)
