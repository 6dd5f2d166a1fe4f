"""Calls that cross each other over HTTP: one is carried out, the others are told so, none is a 5xx."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from conftest import ASK
from controlui.api.tests.conformance import conforms
from controlui.chat.models import Message, Run, User
from controlui.chat.transitions import create_token
from questions.models import Prompt, PromptEvent
from questions.tests.test_races import at_once

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

Api = Callable[..., Any]
Asks = Callable[..., Prompt]
ROUNDS = 8


def statuses(responses: Sequence[Any]) -> Counter[int]:
    """How often each status was given; every answer is as described."""
    for response in responses:
        conforms(response)
    return Counter(response.status_code for response in responses)


@pytest.mark.parametrize("how", ["key", "id"])
def test_five_repeats_of_an_ask_at_once_open_one(api: Api, agent_token: str, how: str) -> None:
    for number in range(ROUNDS):
        body = {**ASK, "sessionKey": f"s{number}"} | ({"id": f"chosen-by-me-{number:04}"} if how == "id" else {})
        headers = {"Idempotency-Key": f"key {number}"} if how == "key" else {}
        responses = at_once([partial(api, "POST", "/api/v1/ask", agent_token, body, **headers)] * 5)
        assert statuses(responses) == {201: 1, 200: 4}
        assert len({response.json()["id"] for response in responses}) == 1
        assert sum("Idempotent-Replayed" in response for response in responses) == 4
    assert Prompt.objects.count() == ROUNDS


def test_two_bodies_under_one_key_at_once(api: Api, agent_token: str) -> None:
    for number in range(ROUNDS):
        headers = {"Idempotency-Key": f"key {number}"}
        bodies = [{**ASK, "sessionKey": f"{number}{side}"} for side in "ab"]
        responses = at_once([partial(api, "POST", "/api/v1/ask", agent_token, body, **headers) for body in bodies])
        assert statuses(responses) == {201: 1, 409: 1}
    assert Prompt.objects.count() == ROUNDS


def test_answers_skips_and_a_cancel_at_once_have_one_winner(
    api: Api, agent_token: str, ask: Asks, ana: User, ben: User
) -> None:
    tokens = [create_token(user=user) for user in (ana, ben)]
    for _round in range(ROUNDS):
        path = f"/api/v1/questions/{ask().uid}"
        calls = [
            partial(api, "POST", f"{path}/answer", token, {"answers": {"deploy_target": [value]}})
            for token in tokens
            for value in ("Production", "own words")
        ]
        calls += [partial(api, "POST", f"{path}/skip", token, {}) for token in tokens]
        calls.append(partial(api, "POST", f"{path}/cancel", agent_token, {}))
        responses = at_once(calls)
        assert statuses(responses) == {200: 1, 409: 6}
        shown = api("GET", path, tokens[0]).json()
        for response in responses[:-1]:
            told = response.json() if response.status_code == 200 else response.json()["question"]
            assert told == shown, "everybody is told of the one outcome"
    assert PromptEvent.objects.exclude(kind="opened").count() == ROUNDS


def test_one_run_one_message_one_end(api: Api, agent_token: str) -> None:
    for number in range(ROUNDS):
        run = {"sessionKey": "main", "id": f"run-{number}"}
        assert statuses(at_once([partial(api, "POST", "/api/v1/runs", agent_token, run)] * 4)) == {201: 1, 200: 3}
        say = partial(
            api,
            "POST",
            "/api/v1/sessions/main/messages",
            agent_token,
            {"text": "hi", "runId": f"run-{number}"},
            **{"Idempotency-Key": f"key {number}"},
        )
        assert statuses(at_once([say] * 4)) == {201: 1, 200: 3}
        ends = [
            partial(api, "POST", f"/api/v1/runs/run-{number}/finish", agent_token, {"status": status})
            for status in ("succeeded", "failed", "aborted")
        ]
        assert statuses(at_once(ends)) == {200: 1, 409: 2}
    assert (Run.objects.count(), Message.objects.count()) == (ROUNDS, ROUNDS)


def test_one_run_asks_one_thing_however_fast_it_asks(api: Api, agent_token: str) -> None:
    for number in range(ROUNDS):
        run = f"run-{number}"
        api("POST", "/api/v1/runs", agent_token, {"sessionKey": "main", "id": run})
        bodies = [{**ASK, "runId": run, "timeoutSeconds": 60 + place} for place in range(4)]
        responses = at_once([partial(api, "POST", "/api/v1/ask", agent_token, body) for body in bodies])
        assert statuses(responses) == {201: 1, 409: 3}
    assert Prompt.objects.filter(status="pending").count() == ROUNDS
