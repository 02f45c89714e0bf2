"""Who is who in a job, how a start is agreed, and the store that it is agreed in."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
import torch.distributed as dist
from headrace.agreement import Start, World, broadcast_start, counts_tokens, find_world, open_store
from headrace.errors import AgreementError, ConfigError
from torch.distributed import HashStore, TCPStore  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)


def test_alone_without_anything() -> None:
    assert find_world(None, None, None, None) == World(0, 1, 0, 1)
    assert find_world(0, 1, 0, 1) == World(0, 1, 0, 1)


@pytest.mark.parametrize(
    ("given_world", "message"),
    [
        ((1, None, None, None), "rank is 1, world_size None"),
        ((None, None, 0, None), "give both of a pair or neither"),
        ((1, 1, None, None), "rank is 1; with a size of 1 it must be from 0 to 0"),
        ((-1, 1, None, None), "rank is -1"),
        ((0, 1, 1, 1), "dp_rank is 1; with a size of 1 it must be from 0 to 0"),
        ((0, 1, 0, 2), "dp_size is 2; it must divide the world size, 1"),
        ((0, 4, 0, 3), "dp_size is 3; it must divide the world size, 4"),
        ((0, 2, None, None), "world size is 2 but torch.distributed has no process group"),
    ],
)
def test_worlds_that_are_not_allowed(given_world: tuple[int | None, ...], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        find_world(*given_world)
    assert message in str(refused.value)


def test_the_torchrun_environment_without_a_process_group_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match=r"call torch\.distributed\.init_process_group\(\) before the first batch"):
        find_world(None, None, None, None)
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert find_world(None, None, None, None) == World(0, 1, 0, 1)


def test_ranks_other_than_those_of_the_process_group_are_refused() -> None:
    dist.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    try:
        assert find_world(None, None, None, None) == World(0, 1, 0, 1)
        with pytest.raises(ConfigError, match=r"rank is 1 and world_size 2, but torch\.distributed has rank 0 of 1; "):
            find_world(1, 2, None, None)
    finally:
        dist.destroy_process_group()


def test_alone_the_start_is_decided_without_a_collective() -> None:
    start = Start(str(uuid.uuid4()), "lineage", (), 1)
    assert broadcast_start(World(0, 1, 0, 1), lambda: start, {"seed": 1}) is start


def test_the_store_needs_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AgreementError, match="MASTER_ADDR is None and MASTER_PORT is None; set both"):
        open_store("nonce")
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", "many")
    with pytest.raises(AgreementError, match=r"the job's store at 127\.0\.0\.1:many can't be reached"):
        open_store("nonce")


def test_starts_do_not_see_each_others_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent's store outlives a restart."""
    master = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=timedelta(seconds=5))
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", str(master.port))
    first, second = open_store("first"), open_store("second")
    first.set("seal", "x")
    assert first.check(["seal"])
    assert not second.check(["seal"])


def test_exactly_one_of_the_ranks_that_share_a_part_counts_its_tokens() -> None:
    store = HashStore()
    shared = [World(rank, 4, rank // 2, 2) for rank in range(4)]
    counts = [counts_tokens(world, store) for world in shared]
    assert [sum(counts[:2]), sum(counts[2:])] == [1, 1]
    assert all(counts_tokens(World(rank, 4, rank, 4), store) for rank in range(4))
    assert counts_tokens(World(0, 1, 0, 1), None)
