"""SIGKILL while twenty agents wait and twenty people type: 0 lost, 0 doubled (bugs cases 50 and 117)."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect

from e2e.conftest import Agent, Server, open_page, question, until

NUMBER = 20


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """A server that a test may kill."""
    server = Server(tmp_path)
    server.manage("create_user", "ana", "--group", "admins")
    yield server
    server.stop()


def patient_wait(server: Server, token: str, prompt: str) -> dict[str, Any]:
    """Waits as an agent's client should: re-attaches by id whenever the connection breaks."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            response = httpx.get(
                f"{server.url}/api/v1/questions/{prompt}/wait?seconds=30",
                headers={"Authorization": f"Bearer {token}"},
                timeout=60,
            )
        except httpx.TransportError:
            time.sleep(0.05)
            continue
        if response.status_code == 200 and "result" in response.json():
            found: dict[str, Any] = response.json()
            return found
    raise AssertionError("no answer reached the agent")


def test_killed_while_twenty_wait_and_twenty_type(own_server: Server, browser: Browser) -> None:
    server = own_server
    token = server.manage("create_agent", "robot", "--owner", "ana")
    agents = [Agent(server.url, token, f"talk-{number}") for number in range(NUMBER)]
    prompts = [agent.ask(question("q", f"Question {number}?")) for number, agent in enumerate(agents)]
    context = browser.new_context(base_url=server.url)
    page = context.new_page()
    page.goto(server.manage("sign_in_link", "ana", "--base-url", server.url))
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda address: "/sign-in/" not in address)
    pages = [open_page(context, agent) for agent in agents]
    with ThreadPoolExecutor(NUMBER) as pool:
        waits = [pool.submit(patient_wait, server, token, prompt["id"]) for prompt in prompts]
        for number, typing in enumerate(pages):
            with typing.expect_response(lambda response: response.url.endswith("/draft")):
                typing.get_by_role("textbox", name="Other answer").fill(f"thought {number}")
        server.stop(signal.SIGKILL)
        pages[0].get_by_role("textbox", name="Other answer").press_sequentially(", typed while it was down")
        server.start()
        stands = [agent.record(prompt["id"]) for agent, prompt in zip(agents, prompts, strict=True)]
        assert [(one["id"], one["status"], one["expiresAt"]) for one in stands] == [
            (prompt["id"], "pending", prompt["expiresAt"]) for prompt in prompts
        ]
        fresh = context.new_page()
        for number in (7, 19):
            fresh.goto(agents[number].path)
            expect(fresh.get_by_role("textbox", name="Other answer")).to_have_value(f"thought {number}")
        for number, typing in enumerate(pages):
            expected = f"thought {number}" + (", typed while it was down" if number == 0 else "")
            expect(typing.get_by_role("textbox", name="Other answer")).to_have_value(expected)
            typing.get_by_role("button", name="Submit", exact=True).click()
        results = [wait.result(120)["result"]["answers"]["answers"]["q"] for wait in waits]
    assert results == [["thought 0, typed while it was down"], *([f"thought {number}"] for number in range(1, NUMBER))]
    events = [agent.http.get(f"/sessions/{agent.key}/messages").json()["messages"] for agent in agents]
    assert [len(messages) for messages in events] == [1] * NUMBER
    context.close()
    for agent in agents:
        agent.http.close()


def test_a_deadline_that_passes_while_the_server_is_down_is_kept(own_server: Server) -> None:
    token = own_server.manage("create_agent", "robot", "--owner", "ana")
    agent = Agent(own_server.url, token, "talk")
    asked = agent.ask(timeoutSeconds=30)
    own_server.stop(signal.SIGKILL)
    own_server.advance(31)
    own_server.start()
    result = patient_wait(own_server, token, asked["id"])["result"]
    assert (result["status"], result["reason"]) == ("no_answer", "expired")
    agent.http.close()


def test_a_polite_stop_lets_waits_go_with_the_record_and_finishes_answers(own_server: Server) -> None:
    token = own_server.manage("create_agent", "robot", "--owner", "ana")
    person = own_server.manage("create_token", "ana")
    agent = Agent(own_server.url, token, "talk")
    prompts = [agent.ask(question("q", f"Question {number}?"))["id"] for number in range(10)]
    agent.http.close()
    with ThreadPoolExecutor(20) as pool:
        waits = [pool.submit(patient_wait, own_server, token, prompt) for prompt in prompts]

        def answer(prompt: str) -> int:
            """Answers until it is told that an answer stands."""

            def press() -> int | None:
                try:
                    return httpx.post(
                        f"{own_server.url}/api/v1/questions/{prompt}/answer",
                        headers={"Authorization": f"Bearer {person}"},
                        json={"answers": {"q": [prompt]}, "resolutionId": prompt},
                        timeout=20,
                    ).status_code
                except httpx.TransportError:
                    return None

            status: int = until(press, "the answer is taken", 60)
            return status

        first = [pool.submit(answer, prompt) for prompt in prompts[:5]]
        own_server.stop(signal.SIGTERM)
        own_server.start()
        rest = [pool.submit(answer, prompt) for prompt in prompts[5:]]
        assert {done.result(60) for done in (*first, *rest)} == {200}
        assert [wait.result(60)["result"]["answers"]["answers"]["q"] for wait in waits] == [
            [prompt] for prompt in prompts
        ]
