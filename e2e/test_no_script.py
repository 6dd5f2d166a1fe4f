"""Every action with scripts off: real forms, real answers (design rule 6)."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from e2e.conftest import Agent, Server, dock, outbox, question, until

EXTRAS = question("extras", "Which checks should run?", "Unit tests", "Licence scan", multiSelect=True)
TONE = question("tone", "Which tone should the note have?", "Calm", "Loud")


@pytest.fixture
def plain(person: Callable[..., BrowserContext]) -> BrowserContext:
    """Ana's browser, with scripts off."""
    return person("ana", java_script_enabled=False)


def opened(context: BrowserContext, agent: Agent) -> Page:
    """A page of the conversation, as the server drew it."""
    page = context.new_page()
    page.goto(agent.path)
    return page


def press(page: Page, name: str) -> None:
    """A button of the page."""
    page.get_by_role("button", name=name, exact=True).click()


def test_a_new_question_is_found_by_the_button(plain: BrowserContext, agent: Agent) -> None:
    page = opened(plain, agent)
    expect(dock(page)).to_be_hidden()
    agent.ask()
    press(page, "Check for new questions")
    expect(dock(page)).to_contain_text("Where should I deploy?")


def test_two_questions_from_first_to_last(plain: BrowserContext, agent: Agent) -> None:
    asked = agent.ask(EXTRAS, TONE)
    page = opened(plain, agent)
    expect(page.get_by_role("textbox", name="Message")).to_be_hidden()
    page.get_by_role("checkbox", name="Licence scan").check()
    page.get_by_role("textbox", name="Other answer").fill("and fuzzing\nfor an hour")
    press(page, "Next")
    page.get_by_role("radio", name="Loud").check()
    press(page, "Back")
    expect(page.get_by_role("checkbox", name="Licence scan")).to_be_checked()
    expect(page.get_by_role("textbox", name="Other answer")).to_have_value("and fuzzing\nfor an hour")
    press(page, "Next")
    expect(page.get_by_role("radio", name="Loud")).to_be_checked()
    press(page, "Submit")
    assert agent.answers(asked["id"]) == {"extras": ["Licence scan", "and fuzzing\nfor an hour"], "tone": ["Loud"]}
    expect(page.locator("#timeline")).to_contain_text("Which checks should run?")
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()


def test_enter_on_an_option_saves_and_never_sends(plain: BrowserContext, agent: Agent) -> None:
    asked = agent.ask(TONE)
    page = opened(plain, agent)
    page.get_by_role("radio", name="Loud").check()
    page.get_by_role("radio", name="Loud").press("Enter")
    expect(page.get_by_role("radio", name="Loud")).to_be_checked()
    assert agent.record(asked["id"])["status"] == "pending"
    press(page, "Submit")
    assert agent.answers(asked["id"]) == {"tone": ["Loud"]}


def test_an_empty_submit_says_where_and_keeps_the_rest(plain: BrowserContext, agent: Agent) -> None:
    asked = agent.ask(EXTRAS, TONE)
    page = opened(plain, agent)
    press(page, "Next")
    page.get_by_role("radio", name="Calm").check()
    press(page, "Submit")
    expect(dock(page)).to_contain_text("1/2")
    expect(dock(page)).to_contain_text("Choose an option or type an answer.")
    page.get_by_role("checkbox", name="Unit tests").check()
    press(page, "Next")
    expect(page.get_by_role("radio", name="Calm")).to_be_checked()
    press(page, "Submit")
    assert agent.answers(asked["id"]) == {"extras": ["Unit tests"], "tone": ["Calm"]}


def test_fold_unfold_arrows_more_time_and_skip(plain: BrowserContext, agent: Agent) -> None:
    first = agent.ask(TONE, timeoutSeconds=600, maxTimeoutSeconds=1200)
    second = agent.ask(EXTRAS)
    page = opened(plain, agent)
    page.get_by_role("textbox", name="Other answer").fill("kept")
    press(page, "Collapse question")
    page.get_by_role("textbox", name="Message").fill("one moment")
    press(page, "Send")
    expect(outbox(page)).to_contain_text("one moment")
    press(page, "Expand question")
    expect(page.get_by_role("textbox", name="Other answer")).to_have_value("kept")
    press(page, "Next request")
    expect(dock(page)).to_contain_text("Request 2 of 2")
    press(page, "Skip")
    reason = until(lambda: agent.record(second["id"]).get("result"), "it was skipped")["reason"]
    assert reason == "skipped"
    expect(dock(page)).to_contain_text("Which tone")
    press(page, "More time")
    expect(page.get_by_role("timer")).to_have_text(re.compile(r"^(20:00|19:5\d)$"))
    press(page, "Submit")
    assert agent.answers(first["id"]) == {"tone": ["kept"]}


def test_a_form_of_an_ended_question_keeps_what_was_typed(plain: BrowserContext, agent: Agent, server: Server) -> None:
    asked = agent.ask(TONE)
    page = opened(plain, agent)
    page.get_by_role("textbox", name="Other answer").fill("too late")
    agent.withdraw(asked["id"])
    press(page, "Submit")
    expect(page.locator("body")).to_contain_text("withdrew")
    expect(page.locator("#timeline")).to_contain_text("too late")
    press(page, "Send as message")
    expect(outbox(page)).to_contain_text("too late")
    assert agent.accept()["text"] == "too late"
    press(page, "Check for new questions")
    expect(page.locator("#timeline li").last).to_contain_text("too late")


def test_a_page_of_somebody_signed_out_loses_nothing(plain: BrowserContext, agent: Agent, server: Server) -> None:
    asked = agent.ask(TONE)
    page = opened(plain, agent)
    page.get_by_role("textbox", name="Other answer").fill("a long thought")
    plain.clear_cookies()
    press(page, "Submit")
    expect(page.locator("body")).to_contain_text("a long thought")
    assert agent.record(asked["id"])["status"] == "pending"
    page.goto(server.manage("sign_in_link", "ana", "--base-url", server.url))
    press(page, "Sign in")
    expect(page).not_to_have_url(re.compile("sign-in"))


def test_a_sign_in_link_is_spent_by_its_button_only_and_once(
    person: Callable[..., BrowserContext], agent: Agent, server: Server
) -> None:
    context = person("ana", java_script_enabled=False)
    context.clear_cookies()
    link = server.manage("sign_in_link", "ben", "--base-url", server.url)
    page = context.new_page()
    for _look in range(2):
        page.goto(link)
    press(page, "Sign in")
    expect(page).not_to_have_url(re.compile("sign-in"))
    page.goto(link)
    expect(page.locator("body")).to_contain_text("used")
    expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_hidden()


def test_a_message_is_queued_edited_refused_retried_and_discarded(plain: BrowserContext, agent: Agent) -> None:
    page = opened(plain, agent)
    page.get_by_role("textbox", name="Message").fill("first words")
    press(page, "Send")
    expect(outbox(page)).to_contain_text("queued")
    expect(outbox(page)).to_contain_text("first words")
    outbox(page).get_by_text("Edit", exact=True).click()
    page.get_by_role("textbox", name="Text of this message").fill("better words")
    press(page, "Save")
    expect(outbox(page).locator(".as-typed")).to_have_text("better words")
    agent.refuse("Not now.")
    press(page, "Check for new questions")
    expect(outbox(page)).to_contain_text("not sent")
    expect(outbox(page)).to_contain_text("Not now.")
    press(page, "Retry")
    expect(outbox(page)).to_contain_text("queued")
    press(page, "Discard")
    expect(outbox(page)).to_have_count(0)
    expect(page.get_by_role("textbox", name="Message")).to_have_value("better words")
    press(page, "Send")
    assert agent.accept()["text"] == "better words"
    press(page, "Check for new questions")
    expect(page.locator("#timeline .message--person")).to_contain_text("better words")


def test_a_change_that_comes_too_late_is_kept(plain: BrowserContext, agent: Agent) -> None:
    page = opened(plain, agent)
    page.get_by_role("textbox", name="Message").fill("first words")
    press(page, "Send")
    outbox(page).get_by_text("Edit", exact=True).click()
    page.get_by_role("textbox", name="Text of this message").fill("better words")
    agent.accept()
    press(page, "Save")
    expect(page.locator("body")).to_contain_text("accepted meanwhile")
    expect(page.get_by_role("textbox", name="Message")).to_have_value("better words")


def test_a_reminder_is_answered_skipped_undone_taken_back_and_reopened(plain: BrowserContext, agent: Agent) -> None:
    asked = agent.ask(TONE, mode="async")
    page = opened(plain, agent)
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    page.get_by_role("textbox", name="Other answer").fill("in between")
    press(page, "Skip")
    expect(dock(page)).to_contain_text("Nothing was sent")
    press(page, "Undo")
    expect(page.get_by_role("textbox", name="Other answer")).to_have_value("in between")
    press(page, "Submit")
    expect(page.locator("#timeline .summary")).to_contain_text("queued")
    agent.refuse()
    press(page, "Check for new questions")
    press(page, "Retry answer")
    expect(page.locator("#timeline .summary")).to_contain_text("queued")
    press(page, "Discard")
    expect(page.get_by_role("textbox", name="Other answer")).to_have_value("in between")
    press(page, "Skip")
    expect(dock(page)).to_contain_text("Nothing was sent")
    press(page, "Check for new questions")
    press(page, "Answer")
    page.get_by_role("radio", name="Loud").check()
    press(page, "Submit")
    agent.accept()
    assert agent.answers(asked["id"]) == {"tone": ["Loud"]}
    press(page, "Check for new questions")
    expect(page.locator("#timeline .summary")).to_contain_text("answered")
    expect(page.locator("#timeline .summary [data-action]")).to_have_count(0)


def test_a_reminder_in_history_is_reopened(plain: BrowserContext, agent: Agent) -> None:
    agent.ask(TONE, mode="async")
    run = agent.post("/runs", {"sessionKey": agent.key})["id"]
    agent.post(f"/runs/{run}/finish", {"status": "succeeded"})
    page = opened(plain, agent)
    expect(dock(page)).to_be_hidden()
    expect(page.locator("#timeline .summary")).to_contain_text("no longer pending")
    press(page, "Answer")
    expect(dock(page)).to_contain_text("Which tone")
