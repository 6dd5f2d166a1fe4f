"""Where agents wait (design rule 9), through the server's own callable."""

from __future__ import annotations

import asyncio
import datetime as dt
import gzip
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from channels.db import database_sync_to_async
from django.core.cache import cache
from django.utils import timezone

from conftest import ASK
from controlui.api import wait
from controlui.asgi import application
from controlui.chat.models import Agent, Token, User
from controlui.chat.transitions import create_token
from questions.models import Prompt
from questions.transitions import answer_prompt, extend_prompt, skip_prompt

pytestmark = pytest.mark.django_db(transaction=True)

Asks = Callable[..., Prompt]
STAGING = {"deploy_target": ["Staging (Recommended)"]}


class Call:
    """One HTTP call to the application, left open until it is read."""

    def __init__(self, path: str, token: str = "", method: str = "GET", body: Any = None) -> None:
        path, _mark, query = path.partition("?")
        # As every ordinary HTTP library sends it.
        headers = [(b"host", b"testserver"), (b"content-type", b"application/json"), (b"accept-encoding", b"gzip")]
        if token:
            headers.append((b"authorization", f"Bearer {token}".encode()))
        self.content = b"" if body is None else json.dumps(body).encode()
        headers.append((b"content-length", str(len(self.content)).encode()))
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": headers,
            "server": ("testserver", 80),
            "client": ("127.0.0.1", 5),
        }
        self.inner: Any = ApplicationCommunicator(application, scope)  # type: ignore[no-untyped-call]

    async def start(self) -> Call:
        """Sends the request."""
        await self.inner.send_input({"type": "http.request", "body": self.content})
        return self

    async def is_held(self) -> bool:
        """Whether there is no answer yet."""
        return bool(await self.inner.receive_nothing(timeout=0.1))

    async def answer(self, seconds: float = 10) -> tuple[int, dict[str, Any], dict[str, str]]:
        """The whole answer: status, body, headers."""
        start = await self.inner.receive_output(seconds)
        content = b""
        while True:
            part = await self.inner.receive_output(seconds)
            content += part.get("body", b"")
            if not part.get("more_body"):
                break
        # Django still closes the body's file after the last byte; a test that ends first would leak it.
        await self.inner.wait(timeout=seconds)
        headers = {name.decode().lower(): value.decode() for name, value in start["headers"]}
        if headers.get("content-encoding") == "gzip":
            content = gzip.decompress(content)
        return start["status"], json.loads(content), headers

    async def hang_up(self) -> None:
        """Disconnects and lets the call end."""
        await self.inner.send_input({"type": "http.disconnect"})
        await self.inner.wait(timeout=10)


async def waiting(prompt: Prompt, token: str, seconds: float = 60) -> Call:
    """A call that waits for the prompt, and is known to be held."""
    before = len(wait.held)
    call = await Call(f"/api/v1/questions/{prompt.wire_id}/wait?seconds={seconds}", token).start()
    async with asyncio.timeout(60):
        while len(wait.held) == before:  # noqa: ASYNC110  (no event tells that a call is held)
            await asyncio.sleep(0)
    return call


in_database = database_sync_to_async


async def test_every_waiter_is_released_by_the_answer(ask: Asks, agent_token: str, ana: User) -> None:
    prompt = await in_database(ask)()
    person = await in_database(create_token)(user=ana)
    calls = [await waiting(prompt, agent_token), await waiting(prompt, agent_token), await waiting(prompt, person)]
    await in_database(answer_prompt)(prompt=prompt, user=ana, answers=STAGING, surface="web")
    for call in calls:
        status, body, headers = await call.answer()
        assert (status, body["status"]) == (200, "answered")
        assert body["result"] == {"status": "answered", "answers": {"answers": STAGING}}
        assert headers["cache-control"] == "no-store"
    late = await Call(f"/api/v1/questions/{prompt.uid}/wait?seconds=60", agent_token).start()
    assert (await late.answer())[1]["result"] == body["result"]


async def test_the_end_of_the_wait_is_not_the_end_of_the_question(ask: Asks, agent_token: str) -> None:
    prompt = await in_database(ask)()
    for seconds in ("0", "0.05"):
        call = await Call(f"/api/v1/questions/{prompt.uid}/wait?seconds={seconds}", agent_token).start()
        status, body, _headers = await call.answer()
        assert (status, body["status"], "result" in body) == (200, "pending", False)
    assert (await in_database(Prompt.objects.get)(pk=prompt.pk)).status == "pending"


async def test_a_waiter_at_the_deadline_makes_the_expiry_so(ask: Asks, agent_token: str) -> None:
    prompt = await in_database(ask)(timeoutSeconds=30)
    soon = timezone.now() + dt.timedelta(milliseconds=400)
    await in_database(Prompt.objects.filter(pk=prompt.pk).update)(expires_at=soon, closes_at=soon)
    call = await Call(f"/api/v1/questions/{prompt.uid}/wait?seconds=60", agent_token).start()
    _status, body, _headers = await call.answer()
    assert body["result"]["reason"] == "expired"
    assert (await in_database(Prompt.objects.get)(pk=prompt.pk)).status == "expired"


async def test_more_time_reaches_the_waiter(ask: Asks, agent_token: str, ana: User) -> None:
    prompt = await in_database(ask)(timeoutSeconds=30, maxTimeoutSeconds=600)
    soon = timezone.now() + dt.timedelta(milliseconds=600)
    await in_database(Prompt.objects.filter(pk=prompt.pk).update)(expires_at=soon, closes_at=soon)
    call = await waiting(prompt, agent_token, seconds=2)
    await in_database(extend_prompt)(prompt=prompt, user=ana, surface="web")
    _status, body, _headers = await call.answer()
    assert body["status"] == "pending"
    assert body["expiresAt"] > soon.isoformat()


async def test_access_is_checked_again_before_the_answer_is_handed_out(
    ask: Asks, agent_token: str, ana: User, ben: User
) -> None:
    prompt = await in_database(ask)()
    person = await in_database(create_token)(user=ben)
    call = await waiting(prompt, person)
    await in_database(prompt.conversation.memberships.filter(user=ben).delete)()
    revoked = await waiting(prompt, agent_token)
    await in_database(Token.objects.filter(agent=prompt.agent).update)(revoked_at=timezone.now())
    await in_database(skip_prompt)(prompt=prompt, user=ana, surface="web")
    assert (await call.answer())[0] == 404
    assert (await revoked.answer())[0] == 401


async def test_unknown_and_forbidden_look_alike(ask: Asks, sam: User, agent: Agent) -> None:
    prompt = await in_database(ask)()
    stranger = await in_database(create_token)(user=sam)
    answers = [
        await (await Call(f"/api/v1/questions/{uid}/wait?seconds=5", stranger).start()).answer()
        for uid in (prompt.uid, "no-such-question-at-all")
    ]
    assert answers[0] == answers[1]
    assert answers[0][0] == 404
    status, body, headers = await (await Call(f"/api/v1/questions/{prompt.uid}/wait").start()).answer()
    assert (status, body["code"], headers["www-authenticate"]) == (401, "not_authenticated", "Bearer")


@pytest.mark.parametrize("seconds", ["x", "-1", "nan", "inf", "1e999"])
async def test_seconds_that_are_none_are_refused(ask: Asks, agent_token: str, seconds: str) -> None:
    prompt = await in_database(ask)()
    call = await Call(f"/api/v1/questions/{prompt.uid}/wait?seconds={seconds}", agent_token).start()
    status, body, _headers = await call.answer()
    assert (status, body["details"][0]["path"]) == (422, "seconds")
    refused = await Call(f"/api/v1/ask?wait={seconds}", agent_token, "POST", ASK).start()
    assert (await refused.answer())[0] == 422
    assert await in_database(Prompt.objects.count)() == 1


async def test_an_ask_that_waits_returns_the_answer(agent: Agent, agent_token: str, ana: User) -> None:
    call = await Call("/api/v1/ask?wait=60", agent_token, "POST", {**ASK, "id": "a-chosen-id-000001"}).start()
    async with asyncio.timeout(60):
        while not wait.held:  # noqa: ASYNC110  (no event tells that a call is held)
            await asyncio.sleep(0)
    prompt = await in_database(Prompt.objects.select_related("conversation__agent", "message__stream").get)()
    await in_database(answer_prompt)(prompt=prompt, user=ana, answers=STAGING, surface="web")
    status, body, headers = await call.answer()
    assert (status, body["id"], body["result"]["answers"]["answers"]) == (201, "a-chosen-id-000001", STAGING)
    assert "idempotent-replayed" not in headers
    again = await Call("/api/v1/ask?wait=60", agent_token, "POST", {**ASK, "id": "a-chosen-id-000001"}).start()
    status, body, headers = await again.answer()
    assert (status, headers["idempotent-replayed"], body["status"]) == (200, "true", "answered")


@pytest.mark.parametrize("prompt_id", ["\x00", "a b", "x" * 129, "\ufffd"])
async def test_an_id_that_cannot_be_is_not_found(agent_token: str, prompt_id: str) -> None:
    call = await Call(f"/api/v1/questions/{prompt_id}/wait", agent_token).start()
    status, body, _headers = await call.answer()
    assert (status, body["code"]) == (404, "not_found")


@pytest.mark.parametrize("query", ["await=0", "x=wait=5", "mywait=60"])
async def test_only_the_parameter_wait_holds_an_ask(agent: Agent, agent_token: str, query: str) -> None:
    call = await Call(f"/api/v1/ask?{query}", agent_token, "POST", ASK).start()
    status, body, _headers = await call.answer()
    assert (status, body["status"]) == (201, "pending")


async def test_a_channel_layer_that_is_away_costs_time_and_no_question(
    agent: Agent, agent_token: str, ana: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody = {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": ["redis://127.0.0.1:9"]}}
    settings.CHANNEL_LAYERS = {"default": nobody}
    monkeypatch.setattr(wait, "DEAF_RECHECK_SECONDS", 0.05)
    call = await Call("/api/v1/ask?wait=60", agent_token, "POST", ASK).start()
    async with asyncio.timeout(60):
        while not wait.held:  # noqa: ASYNC110  (no event tells that a call is held)
            await asyncio.sleep(0)
    prompt = await in_database(Prompt.objects.select_related("conversation__agent", "message__stream").get)()
    again = await waiting(prompt, agent_token)
    await in_database(answer_prompt)(prompt=prompt, user=ana, answers=STAGING, surface="web")
    assert [(status, body["status"]) for status, body, _headers in (await call.answer(), await again.answer())] == [
        (201, "answered"),
        (200, "answered"),
    ]


async def test_a_refused_ask_is_passed_on_at_once(agent: Agent, agent_token: str) -> None:
    call = await Call("/api/v1/ask?wait=60", agent_token, "POST", {"questions": []}).start()
    status, body, _headers = await call.answer()
    assert (status, body["code"], body["details"][0]["path"]) == (422, "invalid_input", "questions")


async def test_a_caller_that_hangs_up_withdraws_nothing_and_leaves_nothing(ask: Asks, agent_token: str) -> None:
    prompt = await in_database(ask)()
    call = await waiting(prompt, agent_token)
    await call.hang_up()
    assert not wait.held
    assert (await in_database(Prompt.objects.get)(pk=prompt.pk)).status == "pending"


async def test_a_stopping_server_lets_waiters_go_with_the_record(ask: Asks, agent_token: str) -> None:
    prompt = await in_database(ask)()
    call = await waiting(prompt, agent_token)
    wait.end_waits()
    status, body, _headers = await call.answer()
    assert (status, body["status"]) == (200, "pending")


async def test_three_hundred_waiters_hold_no_thread_and_no_connection(ask: Asks, agent_token: str, ana: User) -> None:
    prompt = await in_database(ask)()
    await (await waiting(prompt, agent_token, seconds=0.2)).answer()
    before = threading.active_count()
    path = f"/api/v1/questions/{prompt.uid}/wait?seconds=100"
    calls = [await Call(path, agent_token).start() for _waiter in range(300)]
    async with asyncio.timeout(60):
        while len(wait.held) < 300:  # noqa: ASYNC110  (yields to the calls; no event tells that all are held)
            await asyncio.sleep(0)
    assert threading.active_count() <= before + 1
    await in_database(skip_prompt)(prompt=prompt, user=ana, surface="web")
    answers = await asyncio.gather(*(call.answer(60) for call in calls))
    assert {(status, body["result"]["reason"]) for status, body, _headers in answers} == {(200, "skipped")}
    assert threading.active_count() <= before + 1


async def test_polling_without_waiting_is_counted_like_any_call(
    ask: Asks, agent_token: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt = await in_database(ask)()
    rates = {**settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"], "agent": "3/min"}
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "DEFAULT_THROTTLE_RATES": rates}
    monkeypatch.setattr("controlui.rest.throttling.clock", lambda: 1_000_000.0)
    await in_database(cache.clear)()
    answers = []
    for _call in range(4):
        call = await Call(f"/api/v1/questions/{prompt.uid}/wait?seconds=0", agent_token).start()
        answers.append(await call.answer())
    assert [status for status, _body, _headers in answers] == [200, 200, 200, 429]
    assert int(answers[-1][2]["retry-after"]) > 0
    await in_database(cache.clear)()
