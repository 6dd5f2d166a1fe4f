"""Limits per caller: counters in the cache, one per window, so that a busy caller costs no more than a quiet one."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.cache import cache
from rest_framework.request import Request

from controlui.errors import TooMany

log = logging.getLogger(__name__)

PERIODS = {"sec": 1, "min": 60, "hour": 3600, "day": 86400}

# Replaced by tests that move time.
clock: Callable[[], float] = time.time


def rate_of(scope: str) -> tuple[int, int]:
    """The limit and the seconds of a scope's window, from a setting like `3000/min`."""
    framework: dict[str, Any] = settings.REST_FRAMEWORK
    number, _slash, period = framework["DEFAULT_THROTTLE_RATES"][scope].partition("/")
    return int(number), PERIODS[period]


def count(scope: str, who: str) -> None:
    """Counts one request. Raises TooMany with Retry-After once the window is full."""
    limit, seconds = rate_of(scope)
    now = clock()
    window = int(now // seconds)
    key = f"throttle:{scope}:{who}:{window}"
    try:
        cache.add(key, 0, timeout=seconds * 2)
        used = cache.incr(key)
    except Exception as error:
        if not is_cache_trouble(error):
            raise
        # A limit is a courtesy among callers; without its counter nobody is locked out.
        log.warning("throttle_unavailable", extra={"error": type(error).__name__})
        return
    if used > limit:
        left = max(1, math.ceil((window + 1) * seconds - now))
        raise TooMany(retry_after=left, extra={"limit": limit, "windowSeconds": seconds})


def is_cache_trouble(error: Exception) -> bool:
    """Whether the cache is gone, or evicted the counter between two calls (ValueError of `incr`)."""
    return isinstance(error, ValueError) or type(error).__module__.partition(".")[0] == "redis"


def address_of(request: Request) -> str:
    """Where a caller without a token comes from, as the server saw it."""
    return str(request.META.get("REMOTE_ADDR") or "unknown")
