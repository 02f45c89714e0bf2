"""How well an epoch is shuffled, against a full shuffle of the same sequences: the gate of `benchmarks.shuffle`."""

from __future__ import annotations

import pytest
from headrace.order import SourceOrder

from benchmarks.shuffle import CASES, HEADER, MAX_LAG, judge, main, order_of


def check(order: SourceOrder, num_blocks: int, batch_size: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Print the figures and hold them to the gate."""
    verdict = judge(order, num_blocks, batch_size)
    with capsys.disabled():
        print(f"\n{HEADER}\n{verdict}", end="")
    assert verdict.passes


@pytest.mark.parametrize("batch_size", [64, 512])
@pytest.mark.parametrize(("num_blocks", "block_sequences", "lanes"), CASES[:4])
def test_a_batch_is_as_good_as_one_of_a_full_shuffle(
    num_blocks: int, block_sequences: float, lanes: int, batch_size: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """With all 512 lanes in use, whatever the size of blocks, for G = 64 and G = lanes."""
    order = order_of(num_blocks, block_sequences, lanes)
    assert order.num_lanes == 512
    check(order, num_blocks, batch_size, capsys)


@pytest.mark.parametrize(("num_blocks", "block_sequences", "lanes"), CASES[4:])
def test_sources_of_fewer_lanes_are_shuffled_as_well(
    num_blocks: int, block_sequences: float, lanes: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """A source too small for all lanes, for G = 64 and G = the lanes it uses."""
    order = order_of(num_blocks, block_sequences, lanes)
    assert 32 <= order.num_lanes < 512
    for batch_size in {64, order.num_lanes}:
        check(order, num_blocks, batch_size, capsys)


def test_the_gate_tells_windows_of_one_block_apart(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The measure is fine enough to fail the design that was tried and dropped, and the command says so."""
    monkeypatch.setattr("headrace.order.WINDOW_BLOCKS", 1)
    order = order_of(5_000, 8.0, 512, spread=0)
    assert order.num_lanes == 512
    verdict = judge(order, 5_000, 512)
    assert verdict.ours.worst_lag > MAX_LAG
    assert not verdict.passes
    monkeypatch.setattr("benchmarks.shuffle.CASES", ((5_000, 8.0, 512),))
    monkeypatch.setattr("benchmarks.shuffle.MAX_LAG", 0.01)
    monkeypatch.setattr("sys.argv", ["shuffle"])
    assert main() == 1
    assert "MISSED" in capsys.readouterr().out
