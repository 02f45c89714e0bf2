"""Which share of the data a rank reads, from the data-parallel dimensions of a `DeviceMesh`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.errors import ConfigError

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh

_PEERS: Final = frozenset({"tp", "cp", "pp", "sp"})
"names of dimensions along which ranks work on the same data: tensor, context, pipeline and sequence parallelism"


def data_rank(mesh: DeviceMesh, dp_rank: int | None, dp_size: int | None) -> tuple[int, int]:
    """(dp_rank, dp_size) of this rank: its place in `mesh`, counted along the dimensions in their order.

    Ranks outside of a dimension that `mesh` has, such as the tensor-parallel peers of `mesh["dp"]`, get the same place.

    Raises:
        ConfigError: no mesh, a mesh that this rank is not in, one with a dimension whose ranks share their data, or
            another `dp_rank` or `dp_size` given beside it.
    """
    if not all(hasattr(mesh, name) for name in ("get_coordinate", "mesh_dim_names", "size")):
        raise ConfigError(f"mesh is {mesh!r}; it must be a torch.distributed.device_mesh.DeviceMesh")
    names = mesh.mesh_dim_names or ()
    shared = [name for name in names if name in _PEERS]
    if shared:
        others = tuple(name for name in names if name not in _PEERS) or ("dp",)
        wanted = repr(others[0]) if len(others) == 1 else ", ".join(map(repr, others))
        raise ConfigError(
            f"mesh has the dimensions {names}, and ranks along {shared[0]!r} need the same data; pass its "
            f"data-parallel dimensions only: mesh[{wanted}]"
        )
    coordinate = mesh.get_coordinate()
    if coordinate is None:
        raise ConfigError(f"this rank is not in mesh {mesh}; pass a mesh that holds every rank of the job")
    rank, size = 0, 1
    for dimension, place in enumerate(coordinate):
        rank = rank * mesh.size(dimension) + place
        size *= mesh.size(dimension)
    for label, value, found in (("dp_rank", dp_rank, rank), ("dp_size", dp_size, size)):
        if value is not None and value != found:
            raise ConfigError(f"{label} is {value} but mesh gives {found}; leave {label} out, or correct one of them")
    return rank, size
