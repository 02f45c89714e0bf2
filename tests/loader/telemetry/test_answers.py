"""Answers of the contract's shape are read; every other one is a ServiceError and nothing worse."""

from contextlib import suppress

import pytest
from headrace.telemetry.answers import read_activation, read_activations, read_mix, read_receipt
from headrace.telemetry.failures import ServiceError
from headrace.telemetry.port import Activated
from hypothesis import given
from hypothesis import strategies as st

from tests.loader.telemetry.services import new_uuid

RECEIPT = {"accepted": 3, "duplicate": 1, "rejected": [], "mix_version": 4, "report_every_s": 2.0}
MIX = {
    "version": 4,
    "origin": "service",
    "weights_ppm": {"web": 600_000, "code": 400_000},
    "from_step": None,
    "ramp_steps": 10,
}
ACTIVATION = {**MIX, "lineage": new_uuid(), "revision": "service:4", "step": 7}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def test_reads_the_contract() -> None:
    receipt = read_receipt(RECEIPT)
    assert (receipt.rejected, receipt.mix_version, receipt.pace_s) == ((), 4, 2.0)
    assert read_mix(MIX).weights_ppm == {"web": 600_000, "code": 400_000}
    activated = Activated("service:4", 7, MIX["weights_ppm"], 10, lineage=ACTIVATION["lineage"])  # type: ignore[arg-type]
    assert read_activation(ACTIVATION) == (activated, 4)
    assert read_activations({"items": [ACTIVATION]}) == [(activated, 4)]


@pytest.mark.parametrize(
    ("pace", "kept"),
    [(0, 0.5), (-1, 0.5), (1e12, 60.0), ("fast", None), (None, None), (True, None), (float("nan"), None)],
)
def test_a_strange_pace_is_kept_within_bounds(pace: object, kept: float | None) -> None:
    assert read_receipt({**RECEIPT, "report_every_s": pace}).pace_s == kept


@pytest.mark.parametrize(
    "change",
    [
        {"weights_ppm": {"web": 600_000, "code": 400_001}},
        {"weights_ppm": {"web": 1_000_001, "code": -1}},
        {"weights_ppm": {"web": 1.0, "code": 999_999}},
        {"weights_ppm": {"web": True, "code": 999_999}},
        {"weights_ppm": {}},
        {"weights_ppm": None},
        {"version": "4"},
        {"version": -1},
        {"ramp_steps": 2**60},
        {"from_step": -1},
    ],
)
def test_weights_that_are_no_mix_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ServiceError):
        read_mix({**MIX, **change})


@given(st.sampled_from(sorted(RECEIPT.keys() | ACTIVATION.keys() | {"items"})), JSON)
def test_garbage_anywhere_is_a_service_error_or_is_read(key: str, value: object) -> None:
    for read, body in ((read_receipt, RECEIPT), (read_mix, MIX), (read_activation, ACTIVATION), (read_activations, {})):
        with suppress(ServiceError):
            read({**body, key: value})
