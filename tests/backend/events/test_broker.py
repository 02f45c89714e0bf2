"""The broker: who hears what, and what happens to those who don't keep up."""

import uuid

import pytest
from headrace_server.errors import StreamsFullError
from headrace_server.events.announcements import JobChanged, MixChanged, MixProgressed
from headrace_server.events.broker import Broker, Event

JOB, OTHER = uuid.uuid4(), uuid.uuid4()


def test_events_reach_those_who_may_and_want_to_hear() -> None:
    broker = Broker(2)
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
    broker = Broker(2)
    with broker.listening(None, None) as slow:
        for i in range(2000):
            broker.publish(1, JOB, Event("job", str(i)))
        names = [slow.queue.get_nowait().name for _ in range(slow.queue.qsize())]
        assert "resync" in names
        assert len(names) <= 500


def test_without_listeners_nothing_piles_up() -> None:
    broker = Broker(2)
    broker.changed([JobChanged(1)] * 1000)
    assert broker.take_changes() == []
    with broker.listening(None, None):
        broker.changed([JobChanged(1), JobChanged(2)])
        assert broker.take_changes() == [JobChanged(1), JobChanged(2)]
        assert broker.take_changes() == []


def test_closing_ends_streams_now_and_later() -> None:
    broker = Broker(2)
    with broker.listening(None, None) as early:
        broker.close()
        assert early.queue.get_nowait().name == "end"
    with broker.listening(None, None) as late:
        assert late.queue.get_nowait().name == "end"


def test_one_stream_too_many_is_refused_and_nobody_is_sent_away() -> None:
    broker = Broker(2)
    with broker.streaming(), broker.streaming():
        with pytest.raises(StreamsFullError) as refused, broker.streaming():
            pass
        assert int(refused.value.headers["Retry-After"]) > 0
        assert broker.num_streams == 2
    with broker.streaming():
        assert broker.num_streams == 1


def test_starting_over_leaves_one_request_for_a_snapshot() -> None:
    broker = Broker(2)
    with broker.listening(None, None) as listener:
        broker.publish(1, JOB, Event("job", "{}"))
        broker.start_over()
        assert [listener.queue.get_nowait().name for _ in range(listener.queue.qsize())] == ["resync"]


def test_a_follower_holds_the_newest_version_only() -> None:
    broker = Broker(2)
    with broker.followers.following(7) as leader, broker.followers.following(8) as other:
        broker.changed([MixChanged(7, version) for version in range(2, 1000)])
        broker.changed([MixChanged(7, 5), MixProgressed(8, 3), JobChanged(8)])
        assert (leader.version, leader.news.is_set()) == (999, True)
        assert (other.version, other.news.is_set()) == (0, False)
        broker.close()
        assert leader.ended and other.ended
    assert broker.followers.job_ids == []
    with broker.followers.following(7) as late:
        assert late.ended and late.news.is_set()
