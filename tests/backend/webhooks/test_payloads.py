"""Bodies, signatures, waits and seals: pure, and checked against what receivers are told to do."""

import hashlib
import hmac
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from headrace_server.webhooks.backoff import GIVE_UP_AFTER_S, LONGEST_S, next_try_at
from headrace_server.webhooks.payloads import request_of
from headrace_server.webhooks.sealing import SealedError, seal, unseal
from hypothesis import given
from hypothesis import strategies as st

PAYLOAD = {"id": "1", "event": "alert.firing", "text": "<!channel> & <https://evil.example|job>", "job": {"name": "ü"}}


def test_json_is_signed_over_the_timestamp_and_the_body() -> None:
    headers, body = request_of("json", PAYLOAD, "alert.firing", "d-1", "hrw_secret", 1000.9)
    assert json.loads(body) == PAYLOAD
    assert (headers["X-Headrace-Event"], headers["X-Headrace-Delivery"]) == ("alert.firing", "d-1")
    assert headers["X-Headrace-Timestamp"] == "1000"
    expected = hmac.new(b"hrw_secret", b"1000." + body, hashlib.sha256).hexdigest()
    assert headers["X-Headrace-Signature"] == f"v1={expected}"
    later, again = request_of("json", PAYLOAD, "alert.firing", "d-1", "hrw_secret", 2000)
    assert again == body
    assert later["X-Headrace-Signature"] != headers["X-Headrace-Signature"]


def test_slack_gets_text_that_rings_nobody_and_links_nowhere() -> None:
    headers, body = request_of("slack", PAYLOAD, "alert.firing", "d-1", None, 1000)
    assert json.loads(body)["text"] == "&lt;!channel&gt; &amp; &lt;https://evil.example|job&gt;"
    assert not any(name.startswith("X-Headrace") for name in headers)


def test_the_guide_shows_how_to_check_a_signature() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "alerts.md").read_text()
    [block] = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    told: dict[str, Any] = {}
    exec(block, told)
    headers, body = request_of("json", PAYLOAD, "test", "d-1", "hrw_secret", time.time())
    assert told["is_genuine"]("hrw_secret", headers, body)
    assert not told["is_genuine"]("hrw_other", headers, body)
    assert not told["is_genuine"]("hrw_secret", headers, body + b" ")
    old, body = request_of("json", PAYLOAD, "test", "d-1", "hrw_secret", time.time() - 301)
    assert not told["is_genuine"]("hrw_secret", old, body)


@given(st.integers(1, 500), st.floats(0, 2 * GIVE_UP_AFTER_S), st.floats(0, 0.999), st.none() | st.floats(0, 1e6))
def test_waits_grow_to_an_hour_and_end_after_a_day(
    tries: int, age_s: float, jitter: float, retry_after_s: float | None
) -> None:
    again = next_try_at(tries, 1000.0, 1000.0 + age_s, jitter, retry_after_s)
    if age_s >= GIVE_UP_AFTER_S:
        assert again is None
    else:
        assert again is not None
        wait_s = again - (1000.0 + age_s)
        assert 0 <= wait_s <= LONGEST_S + 1e-6
        assert again <= 1000.0 + GIVE_UP_AFTER_S
        if age_s < GIVE_UP_AFTER_S - LONGEST_S:
            assert wait_s >= 4.9


def test_secrets_are_sealed_with_the_key_and_opened_with_no_other() -> None:
    key, other = "k" * 32, "o" * 32
    sealed = seal("https://hooks.example/secret", key)
    assert "secret" not in sealed
    assert sealed != seal("https://hooks.example/secret", key)
    assert unseal(sealed, key) == "https://hooks.example/secret"
    for wrong, says in ((other, "another HEADRACE_SERVER_SEALING_KEY"), (None, "which is not set")):
        with pytest.raises(SealedError, match=says):
            unseal(sealed, wrong)
    plain = seal("x", None)
    assert unseal(plain, None) == unseal(plain, key) == "x", "a key that comes later leaves what is there readable"
