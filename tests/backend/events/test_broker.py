"""The broker: who hears what, and what happens to those who don't keep up."""

import uuid

from headrace_server.events.announcements import JobChanged
from headrace_server.events.broker import Broker, Event

JOB, OTHER = uuid.uuid4(), uuid.uuid4()


def test_events_reach_those_who_may_and_want_to_hear() -> None:
    broker = Broker()
    with (
        broker.listening(None, None) as everything,
        broker.listening(frozenset({1, 3}), None) as project,
        broker.listening(frozenset({2}), None) as stranger,
        broker.listening(None, frozenset({OTHER})) as elsewhere,
    ):
        broker.publish(1, JOB, Event("job", "{}"))
        assert [listener.queue.qsize() for listener in (everything, project, stranger, elsewhere)] == [1, 1, 0, 0]
    assert broker.num_listeners == 0


def test_one_who_falls_behind_is_asked_to_start_over() -> None:
    broker = Broker()
    with broker.listening(None, None) as slow:
        for i in range(2000):
            broker.publish(1, JOB, Event("job", str(i)))
        names = [slow.queue.get_nowait().name for _ in range(slow.queue.qsize())]
        assert "resync" in names
        assert len(names) <= 500


def test_without_listeners_nothing_piles_up() -> None:
    broker = Broker()
    broker.changed([JobChanged(1)] * 1000)
    assert broker.take_changes() == []
    with broker.listening(None, None):
        broker.changed([JobChanged(1), JobChanged(2)])
        assert broker.take_changes() == [JobChanged(1), JobChanged(2)]
        assert broker.take_changes() == []


def test_closing_ends_streams_now_and_later() -> None:
    broker = Broker()
    with broker.listening(None, None) as early:
        broker.close()
        assert early.queue.get_nowait().name == "end"
    with broker.listening(None, None) as late:
        assert late.queue.get_nowait().name == "end"
