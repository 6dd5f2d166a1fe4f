"""`ask` and `demo_agent` against a real server, as processes of their own."""

from __future__ import annotations

import json
import re
import signal
from typing import Any
from urllib.request import urlopen

import pytest

from .conftest import Place, until

pytestmark = pytest.mark.processes


def first_options(prompt: dict[str, Any]) -> dict[str, Any]:
    """An answer that takes the first option of every question."""
    return {"answers": {question["id"]: [question["options"][0]["label"]] for question in prompt["questions"]}}


def answer(place: Place, token: str, prompt: dict[str, Any]) -> None:
    status, body = place.api("POST", f"/questions/{prompt['id']}/answer", token, first_options(prompt))
    assert status == 200, body


def mine(place: Place, token: str, text: str) -> dict[str, Any]:
    """The pending prompt that asks this."""

    def found() -> Any:
        waiting = place.api("GET", "/questions?status=pending", token)[1]["questions"]
        return next((prompt for prompt in waiting if prompt["questions"][0]["question"] == text), None)

    prompt: dict[str, Any] = until(found, f"the question {text!r}")
    return prompt


def test_ask_prints_the_result_alone_and_exits_0_once_answered(served: Place, owner: str) -> None:
    asking = served.start("ask", "Deploy where?", "Staging (Recommended)", "生产", "--header", "Deploy")
    prompt = mine(served, owner, "Deploy where?")
    assert prompt["questions"][0]["header"] == "Deploy"
    answer(served, owner, prompt)
    assert asking.code() == 0
    assert [json.loads(line) for line in asking.lines] == [
        {"status": "answered", "answers": {"answers": {"answer": ["Staging (Recommended)"]}}}
    ]
    assert "Waiting for an answer" in asking.errors
    [page] = re.findall(r"at (http://[^/]+/c/[\w-]+/) ", asking.errors)
    assert page.startswith(served.server["url"])
    assert urlopen(page).status == 200


def test_ask_needs_two_to_four_options_and_shows_how(place: Place) -> None:
    for options, words in (([], "0 options were given"), (["A"], "1 option was given"), (list("ABCDE"), "5 options")):
        errors = place.run("ask", "Where?", *options, code=2).errors
        assert "2 to 4 options" in errors
        assert words in errors
        assert 'python manage.py ask "Deploy where?"' in errors


def test_ask_takes_several_values_a_timeout_and_a_session(served: Place, owner: str) -> None:
    asking = served.start("ask", "Which?", "A", "B", "--multi", "--timeout", "5", "--session", "shell:one")
    prompt = mine(served, owner, "Which?")
    assert (prompt["timeoutSeconds"], prompt["sessionKey"]) == (30, "shell:one")
    assert prompt["questions"][0]["multiSelect"] is True
    served.api("POST", f"/questions/{prompt['id']}/answer", owner, {"answers": {"answer": ["B", "A", "and C"]}})
    assert asking.code() == 0
    assert json.loads(asking.lines[0])["answers"]["answers"]["answer"] == ["A", "B", "and C"]


def test_ask_exits_3_when_the_person_skips(served: Place, owner: str) -> None:
    asking = served.start("ask", "Really?", "Yes", "No")
    served.api("POST", f"/questions/{mine(served, owner, 'Really?')['id']}/skip", owner)
    assert asking.code() == 3
    result = json.loads(asking.lines[0])
    assert (result["status"], result["reason"]) == ("no_answer", "skipped")


def test_ctrl_c_and_sigterm_withdraw_the_question(served: Place, owner: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        text = f"Stop by {number}?"
        asking = served.start("ask", text, "Yes", "No")
        prompt = mine(served, owner, text)
        until(lambda one=asking: "Waiting" in one.errors, "the command waits")  # type: ignore[misc]
        assert asking.stop(number) == 3
        assert json.loads(asking.lines[0])["reason"] == "withdrawn"
        assert served.api("GET", f"/questions/{prompt['id']}", owner)[1]["status"] == "cancelled"


def test_ask_exits_2_and_names_field_and_rule_when_refused(served: Place) -> None:
    refused = served.run("ask", "Where?", "A", "Other", "a", code=2)
    assert refused.lines == []
    assert "questions[0].options[1].label" in refused.errors
    assert "reserved_option_label" in refused.errors
    assert "duplicate_option_label" in refused.errors
    assert "Traceback" not in refused.errors


def test_ask_exits_2_without_a_server(place: Place) -> None:
    alone = place.run("ask", "Where?", "A", "B", code=2)
    assert "manage.py up" in alone.errors

    place.env |= {"CONTROLUI_URL": "http://127.0.0.1:1", "CONTROLUI_TOKEN": "agt_x"}
    assert "No answer from http://127.0.0.1:1" in place.run("ask", "Where?", "A", "B", code=2).errors
    del place.env["CONTROLUI_TOKEN"]
    assert "CONTROLUI_TOKEN" in place.run("ask", "Where?", "A", "B", code=2).errors
    place.env |= {"CONTROLUI_URL": "nowhere", "CONTROLUI_TOKEN": "agt_x"}
    assert "must be an http or https address" in place.run("ask", "Where?", "A", "B", code=2).errors


def test_ask_exits_2_with_a_token_that_is_not_known(served: Place) -> None:
    served.env |= {"CONTROLUI_URL": served.server["url"], "CONTROLUI_TOKEN": "agt_unknown"}
    try:
        assert "token" in served.run("ask", "Where?", "A", "B", code=2).errors
    finally:
        del served.env["CONTROLUI_URL"], served.env["CONTROLUI_TOKEN"]


def test_ask_waits_through_a_killed_server_that_comes_back_on_another_port(place: Place) -> None:
    server = place.up()
    token = place.run("create_token", "owner").lines[-1]
    asking = place.start("ask", "Still there?", "Yes", "No")
    [prompt] = place.pending(token)
    before = place.server
    server.stop(signal.SIGKILL)

    place.up()
    assert place.server["url"] != before["url"]
    assert place.server["token"] == before["token"], "the local token stays valid over a restart"
    [again] = place.pending(token)
    assert (again["id"], again["expiresAt"]) == (prompt["id"], prompt["expiresAt"])
    answer(place, token, prompt)
    assert asking.code() == 0
    assert json.loads(asking.lines[0])["answers"]["answers"]["answer"] == ["Yes"]


def test_demo_agent_asks_twice_and_shows_what_it_got(served: Place, owner: str) -> None:
    demo = served.start("demo_agent", "--once", "--pace", "0")
    first = mine(served, owner, "Where should release 2.4 go first?")
    answer(served, owner, first)
    second = mine(served, owner, "Which checks should follow the deploy?")
    assert [question["multiSelect"] for question in second["questions"]] == [True, False, False]
    answer(served, owner, second)
    assert demo.code() == 0, demo.errors
    told = "\n".join(demo.lines)
    assert '"deploy_target": ["Staging (Recommended)"]' in told
    assert '"checks": ["Smoke tests (Recommended)"]' in told


def test_demo_agent_goes_on_by_itself_when_skipped_and_leaves_nothing_open(served: Place, owner: str) -> None:
    demo = served.start("demo_agent", "--pace", "0")
    for text in ("Where should release 2.4 go first?", "Which checks should follow the deploy?"):
        served.api("POST", f"/questions/{mine(served, owner, text)['id']}/skip", owner)
    until(lambda: demo.out.read_text().count("no_answer") == 2, "both came back without an answer")
    assert demo.stop() == 0
    said = served.api("GET", "/sessions/demo/messages?limit=5", owner)[1]["messages"]
    assert any("best judgment" in message["text"] for message in said)


def test_demo_agent_withdraws_its_question_when_it_is_stopped(served: Place, owner: str) -> None:
    demo = served.start("demo_agent", "--pace", "0")
    prompt = mine(served, owner, "Where should release 2.4 go first?")
    demo.says("Asked:")
    assert demo.stop(signal.SIGINT) == 0
    assert served.api("GET", f"/questions/{prompt['id']}", owner)[1]["status"] == "cancelled"
