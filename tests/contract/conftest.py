"""One real control plane for all contract tests."""

from collections.abc import Iterator

import pytest

from tests.contract.control_plane import ControlPlane


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("control-plane")) as running:
        yield running
