"""Limits of callers, over HTTP: shared by an agent's tokens, told in the one error shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conftest import ASK
from controlui.api.tests.conformance import conforms
from controlui.chat.models import Agent, User
from controlui.chat.transitions import create_token
from controlui.rest.tests.conftest import Time, rates, time

__all__ = ["rates", "time"]

Api = Callable[..., Any]


@pytest.mark.django_db
def test_all_tokens_of_an_agent_share_one_limit(
    api: Api, agent: Agent, agent_token: str, time: Time, rates: Callable[..., None]
) -> None:
    rates(agent="2/min")
    tokens = [agent_token, create_token(agent=agent), agent_token]
    statuses = [api("GET", "/api/v1/questions", token).status_code for token in tokens]
    assert statuses == [200, 200, 429]


@pytest.mark.django_db
def test_the_answer_says_when_to_go_on(api: Api, agent_token: str, time: Time, rates: Callable[..., None]) -> None:
    rates(ask="1/min")
    assert api("POST", "/api/v1/ask", agent_token, ASK).status_code == 201
    refused = api("POST", "/api/v1/ask", agent_token, {**ASK, "sessionKey": "other"})
    assert refused.status_code == 429
    assert 1 <= int(refused["Retry-After"]) <= 60
    assert conforms(refused) == {
        "code": "too_many_requests",
        "message": "Too many requests. Wait, then try again.",
        "details": [],
        "limit": 1,
        "windowSeconds": 60,
    }
    listed = api("GET", "/api/v1/questions", agent_token)
    assert len(listed.json()["questions"]) == 1, "reading goes on, and nothing was created"


@pytest.mark.django_db
def test_a_person_has_a_limit_of_their_own(
    api: Api, ana: User, agent_token: str, time: Time, rates: Callable[..., None]
) -> None:
    rates(person="1/min")
    token = create_token(user=ana)
    assert [api("GET", "/api/v1/questions", token).status_code for _n in range(2)] == [200, 429]
    assert api("GET", "/api/v1/questions", agent_token).status_code == 200


@pytest.mark.django_db
def test_guessing_tokens_is_limited_by_address(api: Api, time: Time, rates: Callable[..., None]) -> None:
    rates(anonymous="2/min")
    statuses = [api("GET", "/api/v1/questions", token).status_code for token in ("guess", "", "guess-again")]
    assert statuses == [401, 401, 429]


@pytest.mark.django_db
def test_a_lost_cache_locks_nobody_out(api: Api, agent_token: str, settings: Any) -> None:
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": "redis://127.0.0.1:1/0"}
    }
    assert api("GET", "/api/v1/questions", agent_token).status_code == 200
