"""What a caller may do where, decided in one place."""

import itertools

import pytest
from headrace_server.errors import ForbiddenError, NotFoundError
from headrace_server.principal import EVERYTHING, ROLE_SCOPES, ROLES, Principal

KEY = Principal(label="key:ci", by_project={1: frozenset({"ingest"})}, job="llama-7b")
VIEWER = Principal(label="ada", username="ada", by_project={1: ROLE_SCOPES["viewer"]})
ADMINISTRATOR = Principal(label="root", username="root", everywhere=EVERYTHING)


def test_each_role_may_do_what_the_one_before_may_and_more() -> None:
    for less, more in itertools.pairwise(ROLES):
        assert ROLE_SCOPES[less] < ROLE_SCOPES[more]
    assert "server" not in ROLE_SCOPES["admin"]


def test_what_is_not_seen_does_not_exist_and_what_is_seen_may_be_refused() -> None:
    VIEWER.admit(("read", "ingest"), 1, "job 'x'")
    with pytest.raises(NotFoundError, match="no job 'x'"):
        VIEWER.admit(("read",), 2, "job 'x'")
    with pytest.raises(ForbiddenError, match=r"ada has the scopes \['read'\]; this needs 'operate'"):
        VIEWER.admit(("operate",), 1, "job 'x'")
    ADMINISTRATOR.admit(("administer",), 2, "project 'x'")


def test_a_key_for_one_job_sees_no_other() -> None:
    KEY.admit(("ingest",), 1, "job 'x'", job="llama-7b")
    with pytest.raises(NotFoundError):
        KEY.admit(("ingest",), 1, "job 'x'", job="llama-70b")


def test_a_key_is_refused_early_and_a_person_where_it_matters() -> None:
    with pytest.raises(ForbiddenError, match=r"key:ci has the scopes \['ingest'\]"):
        KEY.admit_anywhere(("read", "operate"))
    with pytest.raises(ForbiddenError, match="signed-in person"):
        KEY.admit_anywhere(("person",))
    VIEWER.admit_anywhere(("operate",))
    VIEWER.admit_anywhere(("person",))
    with pytest.raises(ForbiddenError, match="this needs 'server'"):
        VIEWER.admit_anywhere(("server",))
    ADMINISTRATOR.admit_anywhere(("server",))


def test_lists_are_narrowed_to_projects_with_the_scope() -> None:
    assert VIEWER.projects("read") == {1}
    assert VIEWER.projects("operate") == frozenset()
    assert ADMINISTRATOR.projects("read") is None
    assert KEY.projects("ingest") == {1}
