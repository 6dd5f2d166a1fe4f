"""Runs, sessions and messages over HTTP: who may do what, every rule of their bodies, repeats, lists."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from conftest import ASK
from controlui.api.tests.conformance import conforms
from controlui.chat.models import Agent, Conversation, Message, Run, User
from controlui.chat.transitions import create_agent, create_token, open_conversation, open_run, say
from outbox.transitions import enqueue
from questions.models import Prompt

pytestmark = pytest.mark.django_db

Api = Callable[..., Any]
WHO = ("ana", "ben", "vic", "sam", "agent", "stranger", "nobody", "forged")


@pytest.fixture
def tokens(ana: User, ben: User, vic: User, sam: User, agent_token: str) -> dict[str, str]:
    """A token of everybody, of another agent, and two that are none."""
    people = {user.username: create_token(user=user) for user in (ana, ben, vic, sam)}
    stranger = create_token(agent=create_agent(name="stranger"))
    return {**people, "agent": agent_token, "stranger": stranger, "nobody": "", "forged": agent_token + "x"}


def faults(response: Any) -> list[tuple[str, str]]:
    """The (path, rule) of every fault that an answer tells of."""
    assert response.status_code == 422, response.content
    return [(detail["path"], detail["rule"]) for detail in conforms(response)["details"]]


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("GET", "/api/v1/sessions/main", None, (200, 200, 200, 404, 200, 404, 401, 401)),
        ("GET", "/api/v1/sessions/main/messages", None, (200, 200, 200, 404, 200, 404, 401, 401)),
        ("POST", "/api/v1/sessions/main/messages", {"text": "hi"}, (403, 403, 403, 403, 201, 201, 401, 401)),
        ("POST", "/api/v1/sessions/main/reset", {}, (403, 403, 403, 403, 200, 404, 401, 401)),
        ("POST", "/api/v1/runs", {"sessionKey": "main"}, (403, 403, 403, 403, 201, 201, 401, 401)),
        ("GET", "/api/v1/runs/run-1", None, (403, 403, 403, 403, 200, 404, 401, 401)),
        ("POST", "/api/v1/runs/run-1/finish", {"status": "failed"}, (403, 403, 403, 403, 200, 404, 401, 401)),
    ],
)
def test_who_may_do_what(
    api: Api,
    agent: Agent,
    conversation: Conversation,
    tokens: dict[str, str],
    method: str,
    path: str,
    body: Any,
    expected: tuple[int, ...],
) -> None:
    open_run(agent=agent, session_key=conversation.key, client_id="run-1")
    if path.endswith("/messages") or "runs" in path:
        # What a stranger makes under the same name is its own, and everybody else's calls go on as before.
        order = [who for who in WHO if who != "stranger"] + ["stranger"]
    else:
        order = list(WHO)
    statuses = {}
    for who in order:
        response = api(method, path, tokens[who], body)
        conforms(response)
        statuses[who] = response.status_code
    assert tuple(statuses[who] for who in WHO) == expected


def test_a_person_is_told_that_runs_are_for_agents(api: Api, tokens: dict[str, str]) -> None:
    assert api("POST", "/api/v1/runs", tokens["ana"], {"sessionKey": "main"}).json()["code"] == "agents_only"


@pytest.mark.parametrize(
    "header", ["Basic abc", "Token abc", "Bearer", "Bearer ", "Bearer a b", "bearer \xff", "x" * 9000]
)
def test_a_token_that_is_none(api: Api, conversation: Conversation, header: str) -> None:
    response = api("GET", "/api/v1/sessions/main", Authorization=header)
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Bearer"
    assert conforms(response)["code"] == "not_authenticated"


def test_the_scheme_is_read_in_any_case(api: Api, agent_token: str, conversation: Conversation) -> None:
    assert api("GET", "/api/v1/sessions/main", Authorization=f"bEARER  {agent_token} ").status_code == 200


def test_a_signed_in_browser_is_no_token(signed_in: Callable[..., Any], ana: User, conversation: Conversation) -> None:
    assert signed_in(ana).get("/api/v1/sessions/main").status_code == 401


# -- runs -----------------------------------------------------------------------------------------


def test_a_run_from_start_to_end(api: Api, agent_token: str, ana: User) -> None:
    body = {"sessionKey": " main ", "kind": "main", "id": "run-1", "deadlineSeconds": 600}
    opened = api("POST", "/api/v1/runs", agent_token, body)
    assert opened.status_code == 201
    record = conforms(opened)
    times = [dt.datetime.fromisoformat(record.pop(key)) for key in ("startedAt", "deadlineAt")]
    assert times[1] - times[0] == dt.timedelta(seconds=600)
    assert record == {
        "id": "run-1",
        "kind": "main",
        "status": "running",
        "sessionKey": "main",
        "actsFor": "ana",
        "endedAt": None,
    }
    again = api("POST", "/api/v1/runs", agent_token, body)
    assert (again.status_code, again["Idempotent-Replayed"], again.content) == (200, "true", opened.content)
    other = api("POST", "/api/v1/runs", agent_token, {**body, "sessionKey": "other"})
    assert (other.status_code, conforms(other)["code"]) == (409, "run_id_in_use")
    for _repeat in range(2):
        ended = api("POST", "/api/v1/runs/run-1/finish", agent_token, {"status": "succeeded"})
        assert (ended.status_code, conforms(ended)["status"]) == (200, "succeeded")
    late = api("POST", "/api/v1/runs/run-1/finish", agent_token, {"status": "aborted"})
    assert (late.status_code, conforms(late)["code"], late.json()["status"]) == (409, "run_already_ended", "succeeded")
    assert api("GET", "/api/v1/runs/run-1", agent_token).content == ended.content


def test_a_run_without_an_id_gets_one(api: Api, agent_token: str) -> None:
    record = conforms(api("POST", "/api/v1/runs", agent_token, {"sessionKey": "main"}))
    assert conforms(api("GET", f"/api/v1/runs/{record['id']}", agent_token)) == record


def test_a_run_acts_for_the_author_of_its_trigger(
    api: Api, agent_token: str, agent: Agent, conversation: Conversation, ben: User, agent_accepts: Callable[[], int]
) -> None:
    delivery, _created = enqueue(conversation=conversation, author=ben, text="do it", key="k")
    body = {"sessionKey": "main", "triggerMessageId": delivery.uid}
    # It must be one that this agent has accepted.
    assert faults(api("POST", "/api/v1/runs", agent_token, body)) == [("triggerMessageId", "unknown_message")]
    assert agent_accepts() == 1
    assert conforms(api("POST", "/api/v1/runs", agent_token, body))["actsFor"] == "ben"
    elsewhere = api("POST", "/api/v1/runs", agent_token, {**body, "sessionKey": "other"})
    assert faults(elsewhere) == [("triggerMessageId", "unknown_message")]
    own, _created = say(agent=agent, session_key="main", text="mine")
    assert faults(api("POST", "/api/v1/runs", agent_token, {**body, "triggerMessageId": own.uid})) == [
        ("triggerMessageId", "unknown_message")
    ]


def test_a_recovery_run_takes_over(api: Api, agent_token: str) -> None:
    api("POST", "/api/v1/runs", agent_token, {"sessionKey": "main", "id": "old"})
    asked = api("POST", "/api/v1/ask", agent_token, {**ASK, "runId": "old"}).json()
    body = {"sessionKey": "main", "id": "new", "recoveryOf": "old"}
    assert api("POST", "/api/v1/runs", agent_token, body).status_code == 201
    assert api("GET", "/api/v1/runs/old", agent_token).json()["status"] == "aborted"
    moved = api("GET", f"/api/v1/questions/{asked['id']}", agent_token).json()
    assert (moved["status"], moved["runId"]) == ("pending", "new")


def test_the_end_of_a_run_cancels_what_it_asks(api: Api, agent_token: str) -> None:
    for status, reason in (("succeeded", "run_ended"), ("failed", "run_ended"), ("aborted", "run_aborted")):
        run = api("POST", "/api/v1/runs", agent_token, {"sessionKey": "main"}).json()["id"]
        asked = api("POST", "/api/v1/ask", agent_token, {**ASK, "runId": run}).json()["id"]
        api("POST", f"/api/v1/runs/{run}/finish", agent_token, {"status": status})
        result = conforms(api("GET", f"/api/v1/questions/{asked}", agent_token))["result"]
        assert (result["status"], result["reason"]) == ("no_answer", reason)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, [("sessionKey", "required")]),
        ([], [("", "type"), ("sessionKey", "required")]),
        ({"sessionKey": ""}, [("sessionKey", "blank")]),
        ({"sessionKey": 5}, [("sessionKey", "type")]),
        ({"sessionKey": "a\u0000"}, [("sessionKey", "character")]),
        ({"sessionKey": "a\tb"}, [("sessionKey", "control_character")]),
        ({"sessionKey": "k" * 201}, [("sessionKey", "length")]),
        ({"sessionKey": "k", "kind": "boss"}, [("kind", "choice")]),
        ({"sessionKey": "k", "kind": None}, [("kind", "choice")]),
        ({"sessionKey": "k", "id": "a b"}, [("id", "pattern")]),
        ({"sessionKey": "k", "id": "r" * 129}, [("id", "pattern")]),
        ({"sessionKey": "k", "id": 7}, [("id", "type")]),
        ({"sessionKey": "k", "deadlineSeconds": 0}, [("deadlineSeconds", "range")]),
        ({"sessionKey": "k", "deadlineSeconds": 10**12}, [("deadlineSeconds", "range")]),
        ({"sessionKey": "k", "deadlineSeconds": 1.5}, [("deadlineSeconds", "type")]),
        ({"sessionKey": "k", "deadlineSeconds": True}, [("deadlineSeconds", "type")]),
        ({"sessionKey": "k", "triggerMessageId": "a/b"}, [("triggerMessageId", "pattern")]),
        ({"sessionKey": "k", "triggerMessageId": "unknown"}, [("triggerMessageId", "unknown_message")]),
        ({"sessionKey": "k", "agentId": "x"}, [("agentId", "unknown_key")]),
        ({"kind": 1, "x": 1}, [("x", "unknown_key"), ("sessionKey", "required"), ("kind", "choice")]),
    ],
)
def test_a_refused_run(api: Api, agent_token: str, body: Any, expected: list[tuple[str, str]]) -> None:
    assert faults(api("POST", "/api/v1/runs", agent_token, body)) == expected
    assert not Run.objects.exists()
    assert not Conversation.objects.exists()


@pytest.mark.parametrize("key", ["unknown", "over"])
def test_a_recovery_of_nothing(api: Api, agent_token: str, agent: Agent, key: str) -> None:
    if key == "over":
        other = create_agent(name="stranger")
        open_run(agent=other, session_key="main", client_id="over")
    response = api("POST", "/api/v1/runs", agent_token, {"sessionKey": "main", "recoveryOf": key})
    assert (response.status_code, conforms(response)["code"]) == (404, "run_not_found")
    assert not Conversation.objects.filter(agent=agent).exists()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, [("status", "required")]),
        ({"status": "running"}, [("status", "choice")]),
        ({"status": None}, [("status", "choice")]),
        ({"status": ["failed"]}, [("status", "choice")]),
        ({"status": "failed", "reason": "x"}, [("reason", "unknown_key")]),
    ],
)
def test_a_refused_end(api: Api, agent_token: str, agent: Agent, body: Any, expected: list[tuple[str, str]]) -> None:
    open_run(agent=agent, session_key="main", client_id="run-1")
    assert faults(api("POST", "/api/v1/runs/run-1/finish", agent_token, body)) == expected
    assert Run.objects.get().status == "running"


# -- sessions -------------------------------------------------------------------------------------


def test_a_session_tells_of_its_page_and_people(api: Api, conversation: Conversation, tokens: dict[str, str]) -> None:
    record = conforms(api("GET", "/api/v1/sessions/main", tokens["agent"]))
    assert record["url"] == f"/c/{conversation.uid}/"
    assert record["members"] == [
        {"name": "ana", "role": "owner"},
        {"name": "ben", "role": "participant"},
        {"name": "vic", "role": "viewer"},
    ]
    assert (record["sessionKey"], record["agent"], record["state"], record["generation"]) == (
        "main",
        "builder",
        "open",
        1,
    )
    may_write = {who: api("GET", "/api/v1/sessions/main", tokens[who]).json()["mayWrite"] for who in WHO[:3]}
    assert may_write == {"ana": True, "ben": True, "vic": False}


@pytest.mark.parametrize(
    "key",
    [
        "main",
        "agent:main/direct:ana",
        "a/messages/b",
        "с пробелом и юникодом",
        "a%2Fb",
        "x" * 200,
        "?#&=+",
        "a//b",
        "/a/",
    ],
)
def test_a_key_is_any_line_of_text(api: Api, agent_token: str, key: str) -> None:
    path = f"/api/v1/sessions/{quote(key, safe='/')}"
    assert api("GET", path, agent_token).status_code == 404
    assert api("POST", f"{path}/messages", agent_token, {"text": "hi"}).status_code == 201
    assert conforms(api("GET", path, agent_token))["sessionKey"] == key
    assert [message["text"] for message in conforms(api("GET", f"{path}/messages", agent_token))["messages"]] == ["hi"]
    assert conforms(api("POST", f"{path}/reset", agent_token, ""))["generation"] == 2


@pytest.mark.parametrize("key", ["%00", "a%09b", "%20", "x" * 201, "%7F", "%C2%85"])
def test_a_key_that_cannot_be(api: Api, agent_token: str, key: str) -> None:
    path = f"/api/v1/sessions/{key}"
    assert conforms(api("GET", path, agent_token))["code"] == "not_found"
    assert api("GET", f"{path}/messages", agent_token).status_code == 404
    assert api("POST", f"{path}/reset", agent_token, {}).status_code == 404
    assert [path for path, _rule in faults(api("POST", f"{path}/messages", agent_token, {"text": "hi"}))] == [
        "sessionKey"
    ]
    assert not Conversation.objects.exists()


def test_a_key_of_two_lines_is_no_address(api: Api, agent_token: str) -> None:
    for method, path, body in (
        ("GET", "a%0Ab", None),
        ("POST", "a%0A/messages", {"text": "hi"}),
        ("GET", "a%0A", None),
    ):
        response = api(method, f"/api/v1/sessions/{path}", agent_token, body)
        assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_a_reset_ends_runs_and_their_prompts(api: Api, agent_token: str) -> None:
    api("POST", "/api/v1/runs", agent_token, {"sessionKey": "main", "id": "run-1"})
    asked = api("POST", "/api/v1/ask", agent_token, {**ASK, "runId": "run-1"}).json()["id"]
    assert faults(api("POST", "/api/v1/sessions/main/reset", agent_token, {"now": True})) == [("now", "unknown_key")]
    assert conforms(api("POST", "/api/v1/sessions/main/reset", agent_token, {}))["generation"] == 2
    assert api("GET", "/api/v1/runs/run-1", agent_token).json()["status"] == "aborted"
    assert api("GET", f"/api/v1/questions/{asked}", agent_token).json()["result"]["reason"] == "superseded"


# -- messages -------------------------------------------------------------------------------------


def test_what_an_agent_says_is_kept_exactly(api: Api, agent_token: str, agent: Agent) -> None:
    open_run(agent=agent, session_key="main", client_id="run-1")
    text = "  # Done <b>&amp;</b>\r\n\n* \u202eone\n"
    body = {"text": text, "kind": "commentary", "runId": "run-1"}
    said = api("POST", "/api/v1/sessions/main/messages", agent_token, body)
    assert said.status_code == 201
    record = conforms(said)
    assert (record["text"], record["kind"], record["runId"], record["author"]) == (text, "commentary", "run-1", None)
    listed = conforms(api("GET", "/api/v1/sessions/main/messages", agent_token))
    assert listed == {"messages": [record], "next": None}


def test_a_repeat_is_saved_once(api: Api, agent_token: str) -> None:
    headers = {"Idempotency-Key": "k" * 200}
    path = "/api/v1/sessions/main/messages"
    first = api("POST", path, agent_token, {"text": "hi"}, **headers)
    again = api("POST", path, agent_token, {"text": "hi"}, **headers)
    assert (first.status_code, again.status_code, again["Idempotent-Replayed"]) == (201, 200, "true")
    assert again.content == first.content
    other = api("POST", path, agent_token, {"text": "ho"}, **headers)
    assert (other.status_code, conforms(other)["code"]) == (409, "idempotency_key_reused")
    assert Message.objects.count() == 1
    assert faults(api("POST", path, agent_token, {"text": "hi"}, **{"Idempotency-Key": ""}))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, [("text", "required")]),
        ({"text": None}, [("text", "type")]),
        ({"text": ["a"]}, [("text", "type")]),
        ({"text": " \n\u200b"}, [("text", "blank")]),
        ({"text": "a\x00"}, [("text", "character")]),
        ({"text": "x" * 100_001}, [("text", "length")]),
        ({"text": "a", "kind": "person"}, [("kind", "choice")]),
        ({"text": "a", "runId": "a b"}, [("runId", "pattern")]),
        ({"text": "a", "replyTo": "x"}, [("replyTo", "unknown_key")]),
        ({"text": "", "kind": "x", "y": 1}, [("y", "unknown_key"), ("text", "blank"), ("kind", "choice")]),
    ],
)
def test_a_refused_message(api: Api, agent_token: str, body: Any, expected: list[tuple[str, str]]) -> None:
    assert faults(api("POST", "/api/v1/sessions/main/messages", agent_token, body)) == expected
    assert not Message.objects.exists()


def test_a_message_of_a_run_that_is_over_or_elsewhere(api: Api, agent_token: str, agent: Agent) -> None:
    open_run(agent=agent, session_key="main", client_id="over")
    api("POST", "/api/v1/runs/over/finish", agent_token, {"status": "failed"})
    open_run(agent=agent, session_key="other", client_id="elsewhere")
    path = "/api/v1/sessions/main/messages"
    over = api("POST", path, agent_token, {"text": "a", "runId": "over"})
    assert (over.status_code, conforms(over)["code"]) == (409, "run_ended")
    unknown = api("POST", "/api/v1/sessions/new/messages", agent_token, {"text": "a", "runId": "unknown"})
    assert (unknown.status_code, conforms(unknown)["code"]) == (404, "run_not_found")
    assert api("GET", "/api/v1/sessions/new", agent_token).status_code == 404, "nothing is half-created"
    assert faults(api("POST", path, agent_token, {"text": "a", "runId": "elsewhere"})) == [("runId", "other_session")]


def test_history_is_read_page_by_page_and_hides_what_is_not_the_readers(
    api: Api, tokens: dict[str, str], agent: Agent, conversation: Conversation
) -> None:
    for number in range(4):
        say(agent=agent, session_key="main", text=f"m{number}")
        api("POST", "/api/v1/ask", tokens["agent"], {**ASK, "sessionKey": "main"})
    assert Prompt.objects.count() == 4
    for who, expected in (("agent", 8), ("ben", 8), ("vic", 4)):
        seen: list[dict[str, Any]] = []
        address: str | None = "/api/v1/sessions/main/messages?limit=3"
        while address:
            page = conforms(api("GET", address, tokens[who]))
            seen += page["messages"]
            address = page["next"]
        assert len(seen) == expected
        assert [item["text"] for item in seen if item["kind"] == "reply"] == ["m3", "m2", "m1", "m0"]
    hidden = Message.objects.filter(kind="prompt").first()
    assert hidden is not None
    assert api("GET", f"/api/v1/sessions/main/messages?before={hidden.uid}", tokens["vic"]).status_code == 404


@pytest.mark.parametrize(
    ("query", "status"), [("limit=0", 422), ("limit=x", 422), ("before=x", 404), ("before=%00", 404)]
)
def test_history_asked_for_wrongly(
    api: Api, agent_token: str, conversation: Conversation, query: str, status: int
) -> None:
    response = api("GET", f"/api/v1/sessions/main/messages?{query}", agent_token)
    assert response.status_code == status
    conforms(response)


@pytest.mark.parametrize("number", [1, 3])
def test_history_costs_the_same_whatever_it_holds(
    api: Api, agent: Agent, agent_token: str, number: int, django_assert_num_queries: Any
) -> None:
    open_conversation(agent=agent, key="main")
    for _n in range(number):
        say(agent=agent, session_key="main", text="hi")
    api("GET", "/api/v1/sessions/main/messages", agent_token)
    # Token, conversation, its streams, messages.
    with django_assert_num_queries(4):
        api("GET", "/api/v1/sessions/main/messages", agent_token)
