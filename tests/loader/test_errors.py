"""The error tree is the one that its module draws, and users can catch what they expect to."""

from __future__ import annotations

import headrace
import pytest
from headrace import errors
from headrace.errors import (
    AgreementError,
    ConfigError,
    DataError,
    HeadraceError,
    ShardError,
    SourceError,
    StateError,
    TransformError,
)


@pytest.mark.parametrize(
    ("kind", "parents"),
    [
        (ConfigError, (HeadraceError, ValueError)),
        (DataError, (HeadraceError,)),
        (SourceError, (DataError, ValueError)),
        (ShardError, (DataError, ValueError)),
        (StateError, (HeadraceError, ValueError)),
        (TransformError, (HeadraceError, ValueError)),
        (AgreementError, (HeadraceError, RuntimeError)),
    ],
)
def test_the_tree(kind: type[HeadraceError], parents: tuple[type[Exception], ...]) -> None:
    assert kind.__bases__ == parents
    assert kind.__name__ in (errors.__doc__ or "")


def test_every_error_is_public() -> None:
    kinds = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert {kind.__name__ for kind in kinds} <= set(headrace.__all__)
    assert all(getattr(headrace, kind.__name__) is kind for kind in kinds)
