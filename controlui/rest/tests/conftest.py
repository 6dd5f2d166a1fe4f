"""Standing time, and limits to set."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.cache import cache

from controlui.rest import throttling


class Time:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000_000_020.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Iterator[Time]:
    """Standing time, and counters that begin at zero."""
    cache.clear()
    clock = Time()
    monkeypatch.setattr(throttling, "clock", clock)
    yield clock
    cache.clear()


@pytest.fixture
def rates(settings: Any) -> Callable[..., None]:
    """Sets the limits: `rates(agent="2/min")`."""

    def set_to(**limits: str) -> None:
        framework = copy.deepcopy(settings.REST_FRAMEWORK)
        framework["DEFAULT_THROTTLE_RATES"] |= limits
        settings.REST_FRAMEWORK = framework

    return set_to
