"""Prompts over HTTP: who may do what, every rule of asks and answers, lists, ends. Nothing is ever a 5xx."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from conftest import ASK, ASK_THREE
from controlui.api.tests.conformance import conforms
from controlui.chat.models import Agent, Message, User
from controlui.chat.transitions import create_agent, create_token, finish_run, open_run
from questions.models import Prompt, PromptEvent
from questions.tests.test_schema import ask as ask_body
from questions.tests.test_schema import labelled
from questions.tests.test_schema import question as question_body
from questions.transitions import skip_prompt

pytestmark = pytest.mark.django_db

Api = Callable[..., Any]
Asks = Callable[..., Prompt]
# PostgreSQL is asked for the time; SQLite's host knows it.
CLOCK = int(connection.vendor == "postgresql")
ANSWER = {"answers": {"deploy_target": ["Production"]}}


@pytest.fixture
def tokens(ana: User, ben: User, vic: User, sam: User, agent_token: str) -> dict[str, str]:
    """A token of everybody, of another agent, and two that are none."""
    people = {user.username: create_token(user=user) for user in (ana, ben, vic, sam)}
    stranger = create_token(agent=create_agent(name="stranger"))
    return {**people, "agent": agent_token, "stranger": stranger, "nobody": "", "forged": agent_token + "x"}


@pytest.fixture
def pending(ask: Asks) -> Prompt:
    """A prompt that waits in the conversation."""
    return ask()


def faults(response: Any) -> list[tuple[str, str]]:
    """The (path, rule) of every fault that an answer tells of."""
    assert response.status_code == 422, response.content
    body = conforms(response)
    assert body["code"] == "invalid_input"
    return [(detail["path"], detail["rule"]) for detail in body["details"]]


WHO = ("ana", "ben", "vic", "sam", "agent", "stranger", "nobody", "forged")


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("GET", "/api/v1/questions/{id}", None, (200, 200, 404, 404, 200, 404, 401, 401)),
        ("POST", "/api/v1/questions/{id}/answer", ANSWER, (200, 200, 404, 404, 403, 404, 401, 401)),
        ("POST", "/api/v1/questions/{id}/skip", {}, (200, 200, 404, 404, 403, 404, 401, 401)),
        ("POST", "/api/v1/questions/{id}/cancel", {}, (403, 403, 404, 404, 200, 404, 401, 401)),
        ("POST", "/api/v1/ask", {**ASK, "sessionKey": "main"}, (403, 403, 403, 403, 201, 201, 401, 401)),
        ("GET", "/api/v1/questions", None, (200, 200, 200, 200, 200, 200, 401, 401)),
    ],
)
def test_who_may_do_what(
    api: Api, ask: Asks, tokens: dict[str, str], method: str, path: str, body: Any, expected: tuple[int, ...]
) -> None:
    statuses = []
    for who in WHO:
        prompt = ask()
        response = api(method, path.format(id=prompt.uid), tokens[who], body)
        conforms(response)
        statuses.append(response.status_code)
        if response.status_code >= 400:
            prompt.refresh_from_db()
            assert prompt.status == "pending"
    assert tuple(statuses) == expected


def test_a_list_holds_what_the_caller_may_see(api: Api, pending: Prompt, tokens: dict[str, str]) -> None:
    listed = {who: [item["id"] for item in conforms(api("GET", "/api/v1/questions", tokens[who]))["questions"]]
              for who in WHO[:6]}  # fmt: skip
    assert {who for who, ids in listed.items() if ids == [pending.uid]} == {"ana", "ben", "agent"}
    assert {who for who, ids in listed.items() if ids == []} == {"vic", "sam", "stranger"}


def test_unknown_and_forbidden_look_alike(api: Api, pending: Prompt, tokens: dict[str, str]) -> None:
    for call in ("", "/answer", "/skip", "/cancel"):
        method, body = ("POST", ANSWER if call == "/answer" else {}) if call else ("GET", None)
        unknown = api(method, f"/api/v1/questions/{'x' * 22}{call}", tokens["sam"], body)
        forbidden = api(method, f"/api/v1/questions/{pending.uid}{call}", tokens["sam"], body)
        assert (
            (unknown.status_code, unknown.content)
            == (forbidden.status_code, forbidden.content)
            == (404, unknown.content)
        )


def test_the_wrong_kind_of_token_is_told_so(api: Api, pending: Prompt, tokens: dict[str, str]) -> None:
    path = f"/api/v1/questions/{pending.uid}"
    assert api("POST", f"{path}/answer", tokens["agent"], ANSWER).json()["code"] == "agent_cannot_answer"
    assert api("POST", f"{path}/skip", tokens["agent"], {}).json()["code"] == "agent_cannot_answer"
    assert api("POST", f"{path}/cancel", tokens["ana"], {}).json()["code"] == "person_cannot_withdraw"
    assert api("POST", "/api/v1/ask", tokens["ana"], ASK).json()["code"] == "agents_only"


# -- asking ---------------------------------------------------------------------------------------


def test_an_ask_becomes_a_record(api: Api, agent_token: str, agent: Agent) -> None:
    open_run(agent=agent, session_key="main", client_id="run-1")
    body = {**ASK, "runId": "run-1", "sessionKey": " main ", "timeoutSeconds": 5, "maxTimeoutSeconds": 60}
    before = timezone.now()
    response = api("POST", "/api/v1/ask", agent_token, {**body, "id": "my-own-id-0123456789"})
    assert response.status_code == 201
    record = conforms(response)
    expires = dt.datetime.fromisoformat(record.pop("expiresAt"))
    created = dt.datetime.fromisoformat(record.pop("createdAt"))
    assert abs(created - before) < dt.timedelta(seconds=20)
    assert expires - created == dt.timedelta(seconds=30)
    assert record == {
        "id": "my-own-id-0123456789",
        "mode": "blocking",
        "status": "pending",
        "timeoutSeconds": 30,
        "maxTimeoutSeconds": 60,
        "sessionKey": "main",
        "runId": "run-1",
        "questions": [
            {
                "id": "deploy_target",
                "header": "Deploy",
                "question": "Where should I deploy?",
                "options": [{"label": "Staging (Recommended)", "description": "Safe"}, {"label": "Production"}],
                "multiSelect": False,
            }
        ],
    }
    again = api("GET", "/api/v1/questions/my-own-id-0123456789", agent_token)
    assert again.content == response.content
    conforms(again)


@pytest.mark.parametrize(
    ("body", "path", "rule"),
    [
        (ask_body(questions=[]), "questions", "count"),
        (ask_body(questions=[question_body(id=f"q{n}") for n in range(4)]), "questions", "count"),
        (ask_body(questions=[question_body(), question_body()]), "questions[1].id", "duplicate_question_id"),
        (labelled("One"), "questions[0].options", "count"),
        (labelled("1", "2", "3", "4", "5"), "questions[0].options", "count"),
        (labelled(" Deploy ", "deploy"), "questions[0].options[1].label", "duplicate_option_label"),
        (labelled("A", "B", "Other…"), "questions[0].options[2].label", "reserved_option_label"),
        (labelled("A", "其他"), "questions[0].options[1].label", "reserved_option_label"),
        (ask_body(questions=[question_body(isSecret=True)]), "questions[0].isSecret", "unknown_key"),
        *[
            (ask_body(questions=[question_body(id=bad)]), "questions[0].id", "pattern")
            for bad in ("Deploy Target", "a-b", "1a", "_a")
        ],
        (ask_body(questions=[question_body(url="ftp://x")]), "questions[0].url", "unknown_key"),
        (ask_body(agentId="x"), "agentId", "unknown_key"),
        (ask_body(questions=[question_body(header="   ")]), "questions[0].header", "blank"),
        (ask_body(timeoutSeconds=30.5), "timeoutSeconds", "type"),
        (ask_body(timeoutSeconds="60"), "timeoutSeconds", "type"),
        (ask_body(timeoutSeconds=True), "timeoutSeconds", "type"),
        (ask_body(timeoutSeconds=None), "timeoutSeconds", "type"),
        (ask_body(mode="async", timeoutSeconds=60), "timeoutSeconds", "not_with_async"),
        (labelled("x" * 65, "B"), "questions[0].options[0].label", "length"),
        (labelled("x\x00", "B"), "questions[0].options[0].label", "character"),
        ([], "", "type"),
        ('"ask"', "", "type"),
    ],
)
def test_a_refused_ask_leaves_nothing(api: Api, agent_token: str, body: Any, path: str, rule: str) -> None:
    assert faults(api("POST", "/api/v1/ask", agent_token, body)) == [(path, rule)]
    assert not Prompt.objects.exists()
    assert not Message.objects.exists()
    assert not PromptEvent.objects.exists()


def test_every_fault_comes_at_once(api: Api, agent_token: str) -> None:
    body = ask_body(questions=[question_body(id="A", header=" ", options=[{"label": "x"}])], timeoutSeconds="1", x=1)
    assert set(faults(api("POST", "/api/v1/ask", agent_token, body))) == {
        ("questions[0].id", "pattern"),
        ("questions[0].header", "blank"),
        ("questions[0].options", "count"),
        ("timeoutSeconds", "type"),
        ("x", "unknown_key"),
    }


@pytest.mark.parametrize(("timeout", "expected"), [(5, 30), (9999, 3600), (None, 900)], ids=["short", "long", "none"])
def test_a_timeout_is_clamped(api: Api, agent_token: str, timeout: int | None, expected: int) -> None:
    body = ASK if timeout is None else {**ASK, "timeoutSeconds": timeout}
    assert conforms(api("POST", "/api/v1/ask", agent_token, body))["timeoutSeconds"] == expected


def test_a_header_is_cut_for_display(api: Api, agent_token: str) -> None:
    long = ask_body(questions=[question_body(header="Deployment target")])
    record = conforms(api("POST", "/api/v1/ask", agent_token, long))
    assert record["questions"][0]["header"] == "Deployment t"
    flags = ask_body(questions=[question_body(header="👨‍👩‍👧‍👦" * 13)])
    record = conforms(api("POST", "/api/v1/ask", agent_token, flags))
    assert record["questions"][0]["header"] == "👨‍👩‍👧‍👦" * 12


@pytest.mark.parametrize(
    "labels", [("<img src=x onerror=alert(1)>", "</script>"), ("{{7*7}}", "\u202eevil"), ("é" * 64, "👍")]
)
def test_hostile_labels_come_back_as_they_are(api: Api, agent_token: str, labels: tuple[str, ...]) -> None:
    record = conforms(api("POST", "/api/v1/ask", agent_token, labelled(*labels)))
    assert [option["label"] for option in record["questions"][0]["options"]] == list(labels)


def test_a_run_that_is_over_or_unknown_or_a_subagent_asks_nothing(api: Api, agent_token: str, agent: Agent) -> None:
    open_run(agent=agent, session_key="main", client_id="over")
    finish_run(actor_agent=agent, client_id="over", status="succeeded")
    open_run(agent=agent, session_key="main", client_id="sub", kind="subagent")
    codes = {}
    for run in ("over", "sub", "unknown"):
        response = api("POST", "/api/v1/ask", agent_token, {**ASK, "runId": run})
        codes[run] = (response.status_code, conforms(response)["code"])
    assert codes == {"over": (409, "run_ended"), "sub": (403, "not_main_session"), "unknown": (404, "run_not_found")}
    assert api("POST", "/api/v1/ask", agent_token, ASK).json()["code"] == "not_main_session"
    assert not Prompt.objects.exists()


def test_a_run_asks_one_thing_at_a_time(api: Api, agent_token: str, agent: Agent) -> None:
    open_run(agent=agent, session_key="main", client_id="run-1")
    first = conforms(api("POST", "/api/v1/ask", agent_token, {**ASK, "runId": "run-1"}))
    second = api("POST", "/api/v1/ask", agent_token, {**ASK_THREE, "runId": "run-1"})
    assert (second.status_code, conforms(second)["code"]) == (409, "prompt_already_pending")
    assert second.json()["id"] == first["id"]


# -- repeats --------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["key", "id"])
def test_a_repeat_finds_the_same_prompt(api: Api, agent_token: str, how: str) -> None:
    headers = {"Idempotency-Key": "a key of mine"} if how == "key" else {}
    body = ASK if how == "key" else {**ASK, "id": "0123456789abcdef"}
    first = api("POST", "/api/v1/ask", agent_token, body, **headers)
    assert (first.status_code, "Idempotent-Replayed" in first) == (201, False)
    # The same JSON, spelled in another order.
    again = api("POST", "/api/v1/ask", agent_token, dict(reversed(body.items())), **headers)
    assert (again.status_code, again["Idempotent-Replayed"]) == (200, "true")
    assert conforms(again) == conforms(first)
    other = api("POST", "/api/v1/ask", agent_token, {**body, "timeoutSeconds": 901}, **headers)
    assert other.status_code == 409
    assert conforms(other)["code"] == ("idempotency_key_reused" if how == "key" else "id_in_use")
    assert Prompt.objects.count() == 1


def test_a_key_is_an_agents_own_and_lives_a_day(api: Api, tokens: dict[str, str]) -> None:
    first = api("POST", "/api/v1/ask", tokens["agent"], ASK, **{"Idempotency-Key": "k"})
    others = api("POST", "/api/v1/ask", tokens["stranger"], ASK, **{"Idempotency-Key": "k"})
    assert others.status_code == 201
    Prompt.objects.get(uid=first.json()["id"]).ask_keys.update(created_at=timezone.now() - dt.timedelta(hours=24))
    later = api("POST", "/api/v1/ask", tokens["agent"], ASK, **{"Idempotency-Key": "k"})
    assert later.status_code == 201
    assert later.json()["id"] != first.json()["id"]


def test_a_repeat_after_the_end_gets_the_result(api: Api, agent_token: str, ana: User) -> None:
    headers = {"Idempotency-Key": "k"}
    first = conforms(api("POST", "/api/v1/ask", agent_token, ASK, **headers))
    skip_prompt(prompt=Prompt.objects.get(uid=first["id"]), user=ana, surface="web")
    again = api("POST", "/api/v1/ask", agent_token, ASK, **headers)
    assert again.status_code == 200
    assert conforms(again)["result"]["reason"] == "skipped"


@pytest.mark.parametrize(
    ("key", "rule"),
    [("", "length"), ("k" * 201, "length"), ("ключ", "character"), ("a\tb", "character"), ("caf\xe9", "character")],
)
def test_a_key_that_is_none(api: Api, agent_token: str, key: str, rule: str) -> None:
    response = api("POST", "/api/v1/ask", agent_token, ASK, **{"Idempotency-Key": key})
    assert faults(response) == [("Idempotency-Key", rule)]
    assert not Prompt.objects.exists()


def test_the_longest_key(api: Api, agent_token: str) -> None:
    headers = {"Idempotency-Key": "~ " * 100}
    assert [api("POST", "/api/v1/ask", agent_token, ASK, **headers).status_code for _n in range(2)] == [201, 200]


# -- answering ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({}, [("answers.deploy_target", "required")]),
        ({"deploy_target": []}, [("answers.deploy_target", "required")]),
        ({"deploy_target": [""]}, [("answers.deploy_target[0]", "blank")]),
        ({"deploy_target": ["   "]}, [("answers.deploy_target[0]", "blank")]),
        ({"deploy_target": ["\u200b"]}, [("answers.deploy_target[0]", "blank")]),
        ({"deploy_target": ["Production"], "unknown": ["x"]}, [("answers.unknown", "unknown_question")]),
        ({"deploy_target": ["Production", "Staging"]}, [("answers.deploy_target", "count")]),
        ({"deploy_target": "Production"}, [("answers.deploy_target", "type")]),
        ({"deploy_target": {"answers": ["Production"]}}, [("answers.deploy_target", "type")]),
        ({"deploy_target": ["x\x00"]}, [("answers.deploy_target[0]", "character")]),
        ({"deploy_target": ["x" * 10_001]}, [("answers.deploy_target[0]", "length")]),
        (None, [("answers", "type")]),
        ([], [("answers", "type")]),
    ],
)
def test_a_refused_answer_leaves_the_prompt_pending(
    api: Api, pending: Prompt, ben: User, answers: Any, expected: list[tuple[str, str]]
) -> None:
    path = f"/api/v1/questions/{pending.uid}"
    assert faults(api("POST", f"{path}/answer", create_token(user=ben), {"answers": answers})) == expected
    record = conforms(api("GET", path, create_token(user=ben)))
    assert (record["status"], "result" in record) == ("pending", False)
    assert PromptEvent.objects.filter(kind="answered").count() == 0


def test_an_answer_and_a_cancel_at_once_is_refused(api: Api, pending: Prompt, ben: User) -> None:
    response = api(
        "POST", f"/api/v1/questions/{pending.uid}/answer", create_token(user=ben), {**ANSWER, "cancel": True}
    )
    assert faults(response) == [("cancel", "unknown_key")]


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("Production", "Production"),
        ("  Production  ", "Production"),
        ("production", "production"),
        ("Staging (Recommended)", "Staging (Recommended)"),
        ("custom", "custom"),
        ("2", "2"),
        ("<b>{{7*7}}</b>", "<b>{{7*7}}</b>"),
        ("é" * 10_000, "é" * 10_000),
    ],
)
def test_a_single_choice(api: Api, pending: Prompt, tokens: dict[str, str], value: str, stored: str) -> None:
    path = f"/api/v1/questions/{pending.uid}"
    answered = conforms(api("POST", f"{path}/answer", tokens["ben"], {"answers": {"deploy_target": [value]}}))
    result = {"status": "answered", "answers": {"answers": {"deploy_target": [stored]}}}
    assert (answered["status"], answered["result"]) == ("answered", result)
    assert conforms(api("GET", path, tokens["agent"]))["result"] == result


def test_three_questions_of_which_one_takes_several(api: Api, ask: Asks, ben: User) -> None:
    prompt = ask(**ASK_THREE)
    answers = {"where": ["A"], "extras": ["and D", "Logs", "Tests", "Logs"], "note": ["quiet, please"]}
    path = f"/api/v1/questions/{prompt.uid}/answer"
    missing = api("POST", path, create_token(user=ben), {"answers": {"where": ["A"], "note": ["x"]}})
    assert faults(missing) == [("answers.extras", "required")]
    answered = conforms(api("POST", path, create_token(user=ben), {"answers": answers}))
    assert answered["result"]["answers"]["answers"] == {
        "where": ["A"],
        "extras": ["Tests", "Logs", "and D"],
        "note": ["quiet, please"],
    }


# -- ends -----------------------------------------------------------------------------------------


def test_the_first_answer_stands_and_a_receipt_says_whose_it_is(
    api: Api, pending: Prompt, tokens: dict[str, str]
) -> None:
    path = f"/api/v1/questions/{pending.uid}"
    mine = {**ANSWER, "resolutionId": "receipt-of-ben"}
    first = api("POST", f"{path}/answer", tokens["ben"], mine)
    assert (first.status_code, "Idempotent-Replayed" in first) == (200, False)
    again = api("POST", f"{path}/answer", tokens["ben"], mine)
    assert (again.status_code, again["Idempotent-Replayed"]) == (200, "true")
    for who, body in (("ana", mine), ("ben", {**ANSWER, "resolutionId": "another"}), ("ben", ANSWER)):
        late = api("POST", f"{path}/answer", tokens[who], body)
        assert late.status_code == 409
        assert conforms(late)["code"] == "already_resolved"
        assert late.json()["question"] == first.json()
    assert api("POST", f"{path}/skip", tokens["ana"], {}).status_code == 409
    assert PromptEvent.objects.filter(kind="answered").count() == 1
    every = [first, again, api("GET", path, tokens["agent"]), api("GET", path, tokens["ana"])]
    assert not any("receipt-of-ben" in response.content.decode() for response in every)


def test_a_skip_is_no_answer_for_the_agent(api: Api, pending: Prompt, tokens: dict[str, str]) -> None:
    path = f"/api/v1/questions/{pending.uid}"
    skipped = conforms(api("POST", f"{path}/skip", tokens["ben"], {"resolutionId": "r"}))
    assert skipped["status"] == "skipped"
    assert api("POST", f"{path}/skip", tokens["ben"], {"resolutionId": "r"})["Idempotent-Replayed"] == "true"
    seen = conforms(api("GET", path, tokens["agent"]))
    assert seen["status"] == "no_answer"
    assert (seen["result"]["status"], seen["result"]["reason"]) == ("no_answer", "skipped")
    assert "answers" not in seen["result"]


def test_a_skip_without_a_body(api: Api, pending: Prompt, ben: User) -> None:
    assert api("POST", f"/api/v1/questions/{pending.uid}/skip", create_token(user=ben), "").status_code == 200


def test_an_agent_withdraws_its_question(api: Api, pending: Prompt, tokens: dict[str, str]) -> None:
    path = f"/api/v1/questions/{pending.uid}"
    assert faults(api("POST", f"{path}/cancel", tokens["agent"], {"reason": "x"})) == [("reason", "unknown_key")]
    for _repeat in range(2):
        withdrawn = conforms(api("POST", f"{path}/cancel", tokens["agent"], ""))
        assert (withdrawn["status"], withdrawn["result"]["reason"]) == ("no_answer", "withdrawn")
    assert conforms(api("GET", path, tokens["ben"]))["status"] == "cancelled"
    late = api("POST", f"{path}/answer", tokens["ben"], ANSWER)
    assert (late.status_code, late.json()["question"]["result"]["reason"]) == (409, "withdrawn")


def test_an_agent_that_withdraws_too_late_learns_the_outcome_as_agents_see_it(
    api: Api, pending: Prompt, tokens: dict[str, str]
) -> None:
    path = f"/api/v1/questions/{pending.uid}"
    api("POST", f"{path}/skip", tokens["ben"], {})
    late = api("POST", f"{path}/cancel", tokens["agent"], {})
    assert (late.status_code, conforms(late)["code"]) == (409, "already_resolved")
    assert late.json()["question"]["status"] == "no_answer"


def test_an_answer_after_the_deadline_is_refused_and_the_expiry_kept(
    api: Api, ask: Asks, tokens: dict[str, str]
) -> None:
    prompt = ask(at=timezone.now() - dt.timedelta(seconds=901))
    path = f"/api/v1/questions/{prompt.uid}"
    assert conforms(api("GET", path, tokens["ben"]))["status"] == "expired", "a read shows it"
    assert Prompt.objects.get().status == "pending", "and does not write it"
    late = api("POST", f"{path}/answer", tokens["ben"], ANSWER)
    assert (late.status_code, late.json()["code"]) == (409, "already_resolved")
    assert late.json()["question"]["result"]["reason"] == "expired"
    assert Prompt.objects.get().status == "expired", "the next write makes it so"


# -- lists ----------------------------------------------------------------------------------------


def test_a_list_is_read_page_by_page(api: Api, ask: Asks, tokens: dict[str, str]) -> None:
    made = [ask().uid for _n in range(5)]
    for who in ("agent", "ben", "ana"):
        seen: list[str] = []
        address: str | None = "/api/v1/questions?limit=2&status=pending"
        while address:
            page = conforms(api("GET", address, tokens[who]))
            assert len(page["questions"]) <= 2
            seen += [item["id"] for item in page["questions"]]
            address = page["next"]
        assert seen == made[::-1]
    assert conforms(api("GET", "/api/v1/questions?limit=5", tokens["ben"]))["next"] is None


def test_a_list_by_status(api: Api, ask: Asks, tokens: dict[str, str], agent: Agent) -> None:
    long_ago = timezone.now() - dt.timedelta(hours=1)
    made = {name: ask().wire_id for name in ("pending", "answered", "skipped", "cancelled")}
    made["expired"] = ask(at=long_ago).uid
    open_run(agent=agent, session_key="main", client_id="short", deadline_seconds=60, at=long_ago)
    cut = ask(at=long_ago, runId="short").uid
    api("POST", f"/api/v1/questions/{made['answered']}/answer", tokens["ben"], ANSWER)
    api("POST", f"/api/v1/questions/{made['skipped']}/skip", tokens["ben"], {})
    api("POST", f"/api/v1/questions/{made['cancelled']}/cancel", tokens["agent"], {})
    expected = {
        "pending": {made["pending"]},
        "answered": {made["answered"]},
        "skipped": {made["skipped"]},
        "expired": {made["expired"]},
        "cancelled": {made["cancelled"], cut},
        "no_answer": {made["skipped"], made["expired"], made["cancelled"], cut},
        "submitted": set(),
    }
    for status, ids in expected.items():
        for who in ("ben", "agent"):
            page = conforms(api("GET", f"/api/v1/questions?status={status}", tokens[who]))
            assert {item["id"] for item in page["questions"]} == ids, status
    shown = {item["id"]: item["status"] for item in api("GET", "/api/v1/questions", tokens["ben"]).json()["questions"]}
    assert shown == {**{uid: status for status, uid in made.items()}, cut: "cancelled"}


@pytest.mark.parametrize("number", [1, 3])
def test_a_list_costs_the_same_whatever_it_holds(
    api: Api, ask: Asks, agent_token: str, number: int, django_assert_num_queries: Any
) -> None:
    for _n in range(number):
        ask(at=timezone.now() - dt.timedelta(hours=1))
    api("GET", "/api/v1/questions", agent_token)
    # Token, prompts (with what came before each), their questions.
    with django_assert_num_queries(3 + CLOCK):
        api("GET", "/api/v1/questions", agent_token)


@pytest.mark.parametrize(
    ("query", "status", "path"),
    [
        ("status=open", 422, "status"),
        ("status=", 422, "status"),
        ("limit=0", 422, "limit"),
        ("limit=101", 422, "limit"),
        ("limit=-1", 422, "limit"),
        ("limit=x", 422, "limit"),
        ("limit=%D9%A1", 422, "limit"),
        ("limit=99999999999999999999", 422, "limit"),
        ("before=unknown", 404, ""),
        ("before=%00", 404, ""),
        ("before=", 404, ""),
    ],
)
def test_a_list_asked_for_wrongly(api: Api, agent_token: str, query: str, status: int, path: str) -> None:
    response = api("GET", f"/api/v1/questions?{query}", agent_token)
    assert response.status_code == status
    assert [detail["path"] for detail in conforms(response)["details"]] == ([path] if path else [])


def test_a_hidden_prompt_is_no_place_to_go_on_from(api: Api, pending: Prompt, tokens: dict[str, str]) -> None:
    assert api("GET", f"/api/v1/questions?before={pending.uid}", tokens["sam"]).status_code == 404
