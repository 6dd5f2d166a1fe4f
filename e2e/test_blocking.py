"""The main job, whole: an agent asks, a person sees it within a moment, answers, and the agent's call returns it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from e2e.conftest import NARROW, WIDE, Agent, Server, dock, open_page, question, until

RECOMMENDED = question("target", "Where should I deploy?", "Staging (Recommended)", "Production")
EXTRAS = question("extras", "Which checks should run?", "Unit tests", "Licence scan", "Load test", multiSelect=True)
TONE = question("tone", "Which tone should the note have?", "Calm", "Loud")


@pytest.fixture
def waiting(agent: Agent) -> Iterator[Callable[[str], Future[dict[str, Any]]]]:
    """Starts a call that waits for the prompt's end, as an agent's process would."""
    with ThreadPoolExecutor(4) as pool:

        def wait(prompt: str) -> dict[str, Any]:
            found: dict[str, Any] = agent.http.get(f"/questions/{prompt}/wait?seconds=60", timeout=90).json()
            return found

        yield lambda prompt: pool.submit(wait, prompt)


def summary(page: Page, text: str) -> Any:
    """The timeline's row of the prompt with this question."""
    return page.locator("#timeline li").filter(has_text=text).last


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["1280", "390"])
def test_ask_answer_and_the_waiting_call_returns(
    person: Callable[..., BrowserContext], agent: Agent, waiting: Callable[[str], Future[dict[str, Any]]], viewport: Any
) -> None:
    page = open_page(person("ana", viewport=viewport), agent)
    asked = agent.ask(RECOMMENDED, EXTRAS, TONE)
    call = waiting(asked["id"])
    expect(dock(page)).to_be_visible()
    expect(page.get_by_role("textbox", name="Message")).to_be_hidden()
    expect(dock(page)).to_contain_text("1/3")
    page.get_by_role("radio", name="Production").check()
    page.get_by_role("button", name="Next", exact=True).click()
    expect(dock(page)).to_contain_text("2/3")
    page.get_by_role("checkbox", name="Load test").check()
    page.get_by_role("checkbox", name="Unit tests").check()
    page.get_by_role("textbox", name="Other answer").fill("and fuzzing, briefly")
    page.get_by_role("button", name="Next", exact=True).click()
    page.get_by_role("radio", name="Calm").check()
    page.get_by_role("button", name="Back", exact=True).click()
    expect(page.get_by_role("checkbox", name="Load test")).to_be_checked()
    expect(page.get_by_role("textbox", name="Other answer")).to_have_value("and fuzzing, briefly")
    page.get_by_role("button", name="Next", exact=True).click()
    expect(page.get_by_role("radio", name="Calm")).to_be_checked()
    assert not call.done()
    page.get_by_role("button", name="Submit", exact=True).click()
    assert call.result(30)["result"] == {
        "status": "answered",
        "answers": {
            "answers": {
                "target": ["Production"],
                "extras": ["Unit tests", "Load test", "and fuzzing, briefly"],
                "tone": ["Calm"],
            }
        },
    }
    expect(dock(page)).to_be_hidden()
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    for _load in range(2):
        row = summary(page, "Which checks should run?")
        for words in ("Where should I deploy?", "Production", "and fuzzing, briefly", "Calm", "ana"):
            expect(row).to_contain_text(words)
        expect(row).to_contain_text(re.compile("answered", re.IGNORECASE))
        page.reload()


def test_badges_and_title_tell_of_what_waits_and_forget_it(
    page: Page, ana: BrowserContext, agent: Agent, server: Server
) -> None:
    expect(page).not_to_have_title(re.compile(r"^\("))
    asked = agent.ask()
    expect(page).to_have_title(re.compile(r"^\(1\)"))
    current = page.locator("#conversations [aria-current]")
    expect(current).to_contain_text("1 question waiting")
    page.get_by_role("radio", name="Staging").check()
    page.get_by_role("button", name="Submit", exact=True).click()
    assert agent.answers(asked["id"]) == {"target": ["Staging"]}
    expect(page).not_to_have_title(re.compile(r"^\("))
    expect(current).not_to_contain_text("waiting")


def test_skip_declines_the_whole_prompt(
    page: Page, agent: Agent, waiting: Callable[[str], Future[dict[str, Any]]]
) -> None:
    asked = agent.ask(RECOMMENDED, EXTRAS)
    call = waiting(asked["id"])
    page.get_by_role("radio", name="Production").check()
    page.get_by_role("button", name="Skip", exact=True).click()
    result = call.result(30)["result"]
    assert (result["status"], result["reason"]) == ("no_answer", "skipped")
    expect(summary(page, "Which checks should run?")).to_contain_text(re.compile("skipped", re.IGNORECASE))


def test_time_left_more_time_and_expiry(
    page: Page, agent: Agent, server: Server, waiting: Callable[[str], Future[dict[str, Any]]]
) -> None:
    asked = agent.ask(RECOMMENDED, timeoutSeconds=600, maxTimeoutSeconds=1200)
    call = waiting(asked["id"])
    expect(page.get_by_role("timer")).to_have_text(re.compile(r"^(10:00|9:5\d)$"))
    page.get_by_role("button", name="More time", exact=True).click()
    expect(page.get_by_role("timer")).to_have_text(re.compile(r"^(20:00|19:5\d)$"))
    expect(page.get_by_role("button", name="More time", exact=True)).to_be_hidden()
    expect(dock(page).get_by_text("No more time can be added")).to_be_visible()
    expect(page.locator("#status")).to_have_text("No more time can be added")
    page.get_by_role("textbox", name="Other answer").fill("half a thou")
    server.advance(1201)
    result = call.result(60)["result"]
    assert (result["status"], result["reason"], "answers" in result) == ("no_answer", "expired", False)
    expect(dock(page)).to_be_hidden(timeout=10_000)
    row = summary(page, "Where should I deploy?")
    expect(row).to_contain_text(re.compile("expired", re.IGNORECASE))
    expect(row).to_contain_text("half a thou")
    row.get_by_role("button", name="Send as message").click()
    agent.accept()
    assert agent.history() == ["half a thou"]


def test_the_agent_withdraws_while_somebody_types(page: Page, agent: Agent) -> None:
    asked = agent.ask(RECOMMENDED)
    page.get_by_role("textbox", name="Other answer").press_sequentially("I would rather")
    agent.withdraw(asked["id"])
    expect(dock(page)).to_be_hidden()
    row = summary(page, "Where should I deploy?")
    expect(row).to_contain_text(re.compile("cancelled", re.IGNORECASE))
    expect(row).to_contain_text("withdrew")
    expect(row).not_to_contain_text(re.compile("skipped", re.IGNORECASE))
    expect(row).to_contain_text("I would rather")


def test_answered_by_somebody_else_says_who_and_keeps_what_was_typed(
    page: Page, person: Callable[..., BrowserContext], agent: Agent
) -> None:
    other = open_page(person("ben"), agent)
    asked = agent.ask(RECOMMENDED)
    page.get_by_role("textbox", name="Other answer").press_sequentially("my view")
    other.get_by_role("radio", name="Production").check()
    other.get_by_role("button", name="Submit", exact=True).click()
    assert agent.answers(asked["id"]) == {"target": ["Production"]}
    row = summary(page, "Where should I deploy?")
    expect(row).to_contain_text("ben")
    expect(row).to_contain_text("my view")
    expect(summary(other, "Where should I deploy?")).not_to_contain_text("my view")


def test_the_end_of_the_run_is_told(page: Page, agent: Agent, server: Server) -> None:
    run = agent.post("/runs", {"sessionKey": agent.key})["id"]
    agent.ask(RECOMMENDED, runId=run)
    expect(dock(page)).to_be_visible()
    agent.post(f"/runs/{run}/finish", {"status": "aborted"})
    expect(dock(page)).to_be_hidden()
    expect(summary(page, "Where should I deploy?")).to_contain_text("The run was aborted")
    short = agent.post("/runs", {"sessionKey": agent.key, "deadlineSeconds": 60})["id"]
    asked = agent.ask(TONE, runId=short, timeoutSeconds=300)
    expect(dock(page)).to_be_visible()
    server.advance(61)
    assert until(lambda: agent.record(asked["id"]).get("result"), "the run is over")["reason"] == "run_deadline"
    expect(summary(page, "Which tone")).to_contain_text("time limit", timeout=15_000)


def test_arrows_go_over_requests_and_keep_every_draft(page: Page, agent: Agent) -> None:
    for key, text in (("one", "First question?"), ("two", "Second question?"), ("three", "Third question?")):
        agent.ask(question(key, text))
    expect(dock(page)).to_contain_text("Request 1 of 3")
    for number in (1, 2, 3):
        expect(dock(page)).to_contain_text(f"Request {number} of 3")
        page.get_by_role("textbox", name="Other answer").fill(f"draft {number}")
        page.get_by_role("button", name="Next request").click()
    expect(dock(page)).to_contain_text("Request 1 of 3")
    expect(page.get_by_role("textbox", name="Other answer")).to_have_value("draft 1")
    page.get_by_role("button", name="Previous request").click()
    expect(page.get_by_role("textbox", name="Other answer")).to_have_value("draft 3")
    page.reload()
    expect(dock(page)).to_contain_text("Third question?")
    expect(page.get_by_role("textbox", name="Other answer")).to_have_value("draft 3")


def test_fold_gives_the_composer_back_and_keeps_everything(page: Page, agent: Agent) -> None:
    agent.ask(EXTRAS, TONE)
    page.get_by_role("checkbox", name="Unit tests").check()
    page.get_by_role("button", name="Next", exact=True).click()
    page.get_by_role("textbox", name="Other answer").fill("neither")
    fold = page.get_by_role("button", name="Collapse question")
    expect(fold).to_have_attribute("aria-expanded", "true")
    fold.click()
    unfold = page.get_by_role("button", name="Expand question")
    expect(unfold).to_have_attribute("aria-expanded", "false")
    expect(dock(page)).to_contain_text("Which tone")
    page.get_by_role("textbox", name="Message").fill("one moment")
    page.reload()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("one moment")
    page.get_by_role("button", name="Expand question").click()
    expect(page.get_by_role("textbox", name="Other answer")).to_have_value("neither")
    expect(page.get_by_role("textbox", name="Message")).to_be_hidden()


def test_an_error_keeps_everything_and_says_where(page: Page, agent: Agent) -> None:
    agent.ask(EXTRAS, TONE)
    page.get_by_role("button", name="Next", exact=True).click()
    page.get_by_role("radio", name="Loud").check()
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(dock(page)).to_contain_text("1/2")
    expect(dock(page)).to_contain_text("Which checks should run?")
    expect(page.get_by_role("alert").or_(dock(page).locator("[aria-invalid], .error")).first).to_be_visible()
    page.get_by_role("checkbox", name="Unit tests").check()
    page.get_by_role("button", name="Next", exact=True).click()
    expect(page.get_by_role("radio", name="Loud")).to_be_checked()


@pytest.mark.parametrize("height", [844, 600])
def test_long_words_never_push_the_buttons_away(
    person: Callable[..., BrowserContext], agent: Agent, height: int
) -> None:
    page = open_page(person("ana", viewport={"width": 390, "height": height}), agent)
    labels = [f"{letter}" * 64 for letter in "ABCD"]
    long = question("long", ("Unbreakable" * 30 + " ") + "word " * 330, *labels)
    long["options"] = [{**option, "description": "d" * 500} for option in long["options"]]
    agent.ask(long)
    for name in ("Submit", "Skip", "Collapse question"):
        expect(page.get_by_role("button", name=name, exact=True)).to_be_in_viewport()
    expect(page.get_by_text("Do not enter passwords or keys")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    last = page.get_by_role("radio").nth(3)
    last.scroll_into_view_if_needed()
    last.check()
    expect(page.get_by_role("button", name="Submit", exact=True)).to_be_in_viewport()


def test_markup_is_shown_as_typed_everywhere(page: Page, agent: Agent) -> None:
    hostile = '<img src=x onerror=alert(1)>"><svg onload=alert(2)></script>{{7*7}}*b*'
    asked = agent.ask(question("h", hostile, hostile[:60], "[x](javascript:alert(1))"))
    expect(dock(page)).to_contain_text(hostile)
    page.get_by_role("textbox", name="Other answer").fill(hostile)
    page.get_by_role("button", name="Submit", exact=True).click()
    assert agent.answers(asked["id"]) == {"h": [hostile]}
    row = page.locator("#timeline li").last
    expect(row).to_contain_text(hostile)
    assert row.locator("img, svg[onload], script").count() == 0


def test_every_control_is_large_enough_to_touch(person: Callable[..., BrowserContext], agent: Agent) -> None:
    page = open_page(person("ana", viewport=NARROW, has_touch=True), agent)
    agent.ask(RECOMMENDED, EXTRAS, timeoutSeconds=600, maxTimeoutSeconds=1200)
    agent.ask(TONE)
    expect(dock(page)).to_contain_text("Request 1 of 2")
    page.get_by_role("button", name="Next", exact=True).click()
    expect(dock(page)).to_contain_text("2/2")
    small = dock(page).evaluate(
        """dock => [...dock.querySelectorAll('button, label, textarea, a')]
          .map(node => ({name: node.ariaLabel || node.innerText || node.name, box: node.getBoundingClientRect(), node}))
          .filter(({box, node}) => box.width > 1 && node.tabIndex !== -1 && (box.height < 44 || box.width < 44))
          .map(({name, box}) => `${name}: ${box.width}x${box.height}`)"""
    )
    assert small == []


def test_a_second_press_of_skip_is_not_meant_for_the_next_request(page: Page, agent: Agent) -> None:
    agent.ask(question("one", "First question?"))
    second = agent.ask(question("two", "Second question?"))
    expect(dock(page)).to_contain_text("Request 1 of 2")
    box = page.get_by_role("button", name="Skip", exact=True).bounding_box()
    assert box is not None
    # The page's clock stands still, so that the second press comes at once however slow the machine is.
    page.evaluate("() => { const now = performance.now(); performance.now = () => now; }")
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(dock(page)).to_contain_text("Second question?")
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator("#status")).to_contain_text("just")
    assert agent.record(second["id"])["status"] == "pending"
