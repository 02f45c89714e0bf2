"""What processes tell of each other: taken as told, forgotten in time, never without bound."""

import pytest
from headrace_server.peers import SILENT_S, Peers, Standing, here, read


def standing(started_at: float = 1.0) -> Standing:
    return here(started_at=started_at, num_streams=3, num_batches=2, num_exports=1)


def test_what_is_told_is_what_is_read() -> None:
    assert read(standing().told()) == standing()


@pytest.mark.parametrize("wrong", [{"pid": "x"}, {"num_streams": None}, {"started_at": []}])
def test_what_can_not_be_read_is_an_error(wrong: dict[str, object]) -> None:
    with pytest.raises((TypeError, ValueError)):
        read({**standing().told(), **wrong})
    with pytest.raises(KeyError):
        read({})


def test_who_was_silent_has_gone_and_the_longest_running_comes_first() -> None:
    peers = Peers()
    peers.heard("a", standing(20.0), 0.0)
    peers.heard("b", standing(10.0), 0.0)
    assert [peer.started_at for peer in peers.present(SILENT_S)] == [10.0, 20.0]
    peers.heard("a", standing(20.0), SILENT_S)
    assert [peer.started_at for peer in peers.present(SILENT_S + 1)] == [20.0]
    assert peers.present(3 * SILENT_S) == []


def test_a_crowd_of_names_takes_no_memory() -> None:
    peers = Peers()
    for number in range(2000):
        peers.heard(str(number), standing(), 0.0)
    assert len(peers.present(0.0)) == 500
