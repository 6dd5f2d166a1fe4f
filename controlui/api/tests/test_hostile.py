"""Whatever is sent: one error shape, an honest status, nothing half-done, never a 5xx of ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import hypothesis
import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from django.core.asgi import get_asgi_application
from django.db import InterfaceError, OperationalError, connection
from django.test import Client
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from conftest import ASK
from controlui.api.tests.conformance import component, conforms
from controlui.chat.models import Agent, Conversation, Message, Run, User
from controlui.chat.transitions import create_token
from controlui.errors import ControlUIError
from controlui.rest.parsers import loads
from questions.models import Prompt, PromptEvent
from questions.tests.test_schema import JSON

pytestmark = pytest.mark.django_db

Api = Callable[..., Any]
Asks = Callable[..., Prompt]

RAW = [
    (b"{", 400),
    (b"nonsense", 400),
    (b'{"questions": NaN}', 400),
    (b'{"questions": [], "questions": []}', 400),
    (b'{"questions": "\xff"}', 400),
    (b'{"questions": "\\ud800"}', 400),
    (b"[" * 100_000, 400),
    (b'{"a":' * 50 + b"1" + b"}" * 50, 400),
    (b'{"timeoutSeconds": ' + b"1" * 5000 + b"}", 400),
    (b"null", 422),
    (b"[]", 422),
    (b"7", 422),
    (b"", 422),
    (b'{"\\u0000": 1}', 422),
    (b'{"questions": [' + b"0," * 100_000 + b"0]}", 422),
    (b'{"questions": [], "x": "' + b"x" * (256 * 1024) + b'"}', 413),
    (b" " * (600 * 1024), 413),
]


def send(path: str, token: str, data: bytes, content_type: str = "application/json", **headers: str) -> Any:
    """A POST of raw bytes."""
    headers |= {"Authorization": f"Bearer {token}"}
    return Client().post(path, data, content_type=content_type, headers=headers)


@pytest.mark.parametrize(("raw", "status"), RAW, ids=[f"{raw[:24]!r}" for raw, _status in RAW])
def test_a_body_that_is_no_ask(agent_token: str, raw: bytes, status: int) -> None:
    response = send("/api/v1/ask", agent_token, raw)
    assert response.status_code == status
    assert len(response.content) < 64 * 1024, "no megabytes of faults"
    conforms(response)
    assert not Prompt.objects.exists()


def test_the_limits_are_those_of_each_kind(agent_token: str, ask: Asks, ben: User) -> None:
    def padded(body: dict[str, Any], size: int) -> bytes:
        text = json.dumps(body).encode()
        return text + b" " * (size - len(text))

    kib = 1024
    assert send("/api/v1/ask", agent_token, padded(ASK, 256 * kib)).status_code == 201
    over = send("/api/v1/ask", agent_token, padded(ASK, 256 * kib + 1))
    assert (over.status_code, conforms(over)["code"], over.json()["limit"]) == (413, "body_too_large", 256 * kib)
    path = f"/api/v1/questions/{ask().uid}/answer"
    answer = {"answers": {"deploy_target": ["Production"]}}
    assert send(path, create_token(user=ben), padded(answer, 512 * kib + 1)).status_code == 413
    assert send(path, create_token(user=ben), padded(answer, 512 * kib)).status_code == 200


async def in_chunks(token: str, raw: bytes) -> int:
    """The status of a POST whose length is not told before, as a server passes it to Django."""
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/v1/ask",
        "query_string": b"",
        "headers": [
            (b"host", b"localhost"),
            (b"authorization", f"Bearer {token}".encode()),
            (b"content-type", b"application/json"),
            (b"transfer-encoding", b"chunked"),
        ],
    }
    caller: Any = ApplicationCommunicator(get_asgi_application(), scope)  # type: ignore[no-untyped-call]
    half = len(raw) // 2
    await caller.send_input({"type": "http.request", "body": raw[:half], "more_body": True})
    await caller.send_input({"type": "http.request", "body": raw[half:], "more_body": False})
    answer = await caller.receive_output(timeout=20)
    while (await caller.receive_output(timeout=20)).get("more_body"):
        pass
    await caller.wait()
    return int(answer["status"])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("padding", "status"), [(0, 201), (256 * 1024, 413)])
def test_a_body_sent_in_chunks_is_read_all_the_same(agent_token: str, padding: int, status: int) -> None:
    assert async_to_sync(in_chunks)(agent_token, json.dumps(ASK).encode() + b" " * padding) == status


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml", "", "x"],
)
def test_a_body_of_another_kind(agent_token: str, content_type: str) -> None:
    response = send("/api/v1/ask", agent_token, json.dumps(ASK).encode(), content_type)
    assert (response.status_code, conforms(response)["code"]) == (415, "unsupported_media_type")
    assert not Prompt.objects.exists()


def test_a_charset_beside_the_kind_is_no_matter(agent_token: str) -> None:
    assert (
        send("/api/v1/ask", agent_token, json.dumps(ASK).encode(), "application/json; charset=utf-8").status_code == 201
    )


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_a_method_that_is_not_there(api: Api, agent_token: str, method: str) -> None:
    response = api(method, "/api/v1/ask", agent_token, None if method == "GET" else ASK)
    assert response.status_code == 405
    assert response["Allow"] == "POST"
    assert response.json()["code"] == "method_not_allowed"
    component("Error").validate(response.json())


@pytest.mark.parametrize(
    "path",
    [
        "/api/",
        "/api/v1",
        "/api/v2/ask",
        "/api/v1/nothing",
        "/api/v1/ask/more",
        "/api/v1/questions/a b",
        "/api/v1/questions/%00",
        "/api/v1/questions/" + "x" * 129,
        "/api/v1/questions/../../etc/passwd",
        "/api/v1/questions/%F0%9F%91%8D",
        "/api/v1/questions/%FF%FE",
        "/api/v1/runs/a%2Fb",
        "/api/v1/runs/%00",
        "/api/v1/sessions/",
        "/api/%0A",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_address_that_is_not_there(api: Api, agent_token: str, path: str, method: str) -> None:
    response = api(method, path, agent_token, None if method == "GET" else {})
    assert response.status_code == 404
    assert response["Content-Type"] == "application/json"
    component("Error").validate(response.json())


def test_what_a_caller_gets_is_kept_by_no_cache(api: Api, agent_token: str) -> None:
    for token, path in ((agent_token, "questions"), ("", "questions"), (agent_token, "nothing")):
        assert api("GET", f"/api/v1/{path}", token)["Cache-Control"] == "no-store"


def test_a_caller_that_takes_no_json(api: Api, agent_token: str) -> None:
    response = api("GET", "/api/v1/questions", agent_token, Accept="text/html")
    assert (response.status_code, conforms(response)["code"]) == (406, "not_acceptable")


# -- any JSON at all, to every door ---------------------------------------------------------------

WORDS = st.sampled_from([
    "questions", "id", "header", "question", "options", "label", "description", "multiSelect", "timeoutSeconds",
    "maxTimeoutSeconds", "runId", "sessionKey", "mode", "kind", "status", "answers", "deploy_target", "resolutionId",
    "text", "triggerMessageId", "deadlineSeconds", "recoveryOf",
])  # fmt: skip
BODIES = JSON | st.dictionaries(WORDS, JSON | st.dictionaries(WORDS, JSON, max_size=4) | st.lists(JSON), max_size=6)
DOORS = [
    "/api/v1/runs",
    "/api/v1/runs/run-1/finish",
    "/api/v1/ask",
    "/api/v1/questions/{id}/answer",
    "/api/v1/questions/{id}/skip",
    "/api/v1/questions/{id}/cancel",
    "/api/v1/sessions/main/messages",
    "/api/v1/sessions/main/reset",
]


@pytest.mark.parametrize("door", DOORS)
def test_any_json_to_any_door(door: str, ask: Asks, agent: Agent, agent_token: str, ben: User) -> None:
    path = door.format(id=ask().uid)
    tokens = (agent_token, create_token(user=ben))

    @hypothesis.settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
    @given(BODIES, st.sampled_from(tokens))
    def sent(body: Any, token: str) -> None:
        # Escapes carry lone surrogates over the wire, as a hostile client would.
        response = send(path, token, json.dumps(body, ensure_ascii=True).encode())
        assert response.status_code < 500
        assert response["Content-Type"] == "application/json"
        conforms(response)

    sent()


@hypothesis.settings(deadline=None, max_examples=150)
@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_any_bytes(raw: bytes) -> None:
    try:
        value = loads(raw)
    except ControlUIError as error:
        value, status = None, error.status
        component("Error").validate(error.body())
        json.dumps(error.body(), ensure_ascii=False).encode()
        if status != 400:
            raise
    json.dumps(value, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    "header", ["Idempotency-Key", "Authorization", "Accept", "Content-Type", "Accept-Language", "Cookie"]
)
@pytest.mark.parametrize("value", ["", "\xff", "a" * 5000, "%00", "\t", "{}", ";;;=,,,", "en;q=x, \xe4"])
def test_strange_headers(api: Api, agent_token: str, header: str, value: str) -> None:
    response = api("POST", "/api/v1/ask", agent_token if header != "Authorization" else "", ASK, **{header: value})
    assert response.status_code < 500
    assert response["Content-Type"] == "application/json"


# -- the database in trouble ----------------------------------------------------------------------


@contextmanager
def statements_fail(error: Exception, of: str = "") -> Iterator[None]:
    """Makes statements (those that hold `of`) fail as a busy or lost database makes them fail."""

    def wrapper(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if of in sql:
            raise error
        return execute(sql, params, many, context)

    with connection.execute_wrapper(wrapper):
        yield


def rows() -> dict[str, int]:
    """How many there are of everything that a call may make."""
    return {model.__name__: model.objects.count() for model in (Conversation, Run, Message, Prompt, PromptEvent)}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("error", [OperationalError("database is locked"), InterfaceError("connection already closed")])
@pytest.mark.parametrize(
    ("method", "path", "body", "of"),
    [
        ("POST", "/api/v1/ask", ASK, ""),
        ("POST", "/api/v1/ask", {**ASK, "sessionKey": "main"}, "questions_promptevent"),
        ("POST", "/api/v1/runs", {"sessionKey": "new"}, ""),
        ("POST", "/api/v1/runs", {"sessionKey": "main"}, "UPDATE"),
        ("POST", "/api/v1/sessions/new/messages", {"text": "hi"}, ""),
        ("POST", "/api/v1/sessions/main/messages", {"text": "hi"}, "chat_message"),
        ("GET", "/api/v1/questions", None, ""),
    ],
)
def test_a_database_in_trouble_is_an_honest_503(
    api: Api,
    agent_token: str,
    conversation: Conversation,
    error: Exception,
    method: str,
    path: str,
    body: Any,
    of: str,
) -> None:
    before = rows()
    with statements_fail(error, of):
        response = api(method, path, agent_token, body)
    assert response.status_code == 503
    assert int(response["Retry-After"]) >= 1
    assert conforms(response)["code"] == "unavailable"
    assert rows() == before, "nothing is half-done"
    assert api(method, path, agent_token, body).status_code in {200, 201}, "the same call may be sent again"


def test_a_fault_of_ours_has_the_one_shape_too_and_tells_nothing(
    api: Api, agent_token: str, caplog: pytest.LogCaptureFixture
) -> None:
    with statements_fail(RuntimeError("secret detail")):
        response = api("GET", "/api/v1/questions", agent_token)
    assert response.status_code == 500
    assert response.json() == {
        "code": "server_error",
        "message": "Something went wrong on the server. It has been noted.",
        "details": [],
    }
    assert "api_failed" in caplog.text
