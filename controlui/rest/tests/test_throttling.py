"""Counters per caller and window: counted, told with Retry-After, over with the window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import caches

from controlui.errors import TooMany
from controlui.rest import throttling

from .conftest import Time


def test_a_window_ends(time: Time, rates: Callable[..., None]) -> None:
    rates(agent="2/min")
    for _time in range(2):
        throttling.count("agent", "a")
    with pytest.raises(TooMany) as caught:
        throttling.count("agent", "a")
    assert caught.value.retry_after == 60 - int(time.now % 60)
    throttling.count("agent", "b")
    time.now += caught.value.retry_after
    throttling.count("agent", "a")


@pytest.mark.parametrize(("rate", "seconds"), [("5/sec", 1), ("5/min", 60), ("5/hour", 3600), ("5/day", 86_400)])
def test_a_rate_has_a_period(rates: Callable[..., None], rate: str, seconds: int) -> None:
    rates(agent=rate)
    assert throttling.rate_of("agent") == (5, seconds)


def test_only_trouble_of_the_cache_is_forgiven(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise TypeError("ours")

    monkeypatch.setattr(throttling, "rate_of", lambda scope: (1, 60))
    monkeypatch.setattr(type(caches["default"]), "add", broken)
    with pytest.raises(TypeError, match="ours"):
        throttling.count("agent", "a")
