"""Whatever stands in the composer's slot, the dock and the outbox are whole: another template, archived, read-only."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from e2e.conftest import Agent, Server, dock, open_page, outbox, question, until

TONE = question("tone", "Which tone?", "Calm", "Loud")
CHANGES = {
    "archived": ("archived_at = created_at", "This conversation is archived."),
    "read-only": ("read_only = 1", "You can read this conversation, but not write in it."),
}


def walk(page: Page, agent: Agent) -> None:
    """A reminder and a blocking request, from arrival to answer, beside what is on its way."""
    asked = agent.ask(TONE, mode="async")
    expect(dock(page)).to_contain_text("Which tone?")
    slot = page.locator("#composer")
    expect(slot).to_be_visible()
    blocking = agent.ask()
    expect(dock(page)).to_contain_text("Where should I deploy?")
    expect(slot).to_be_hidden()
    page.get_by_role("button", name="Collapse question").click()
    expect(slot).to_be_visible()
    page.get_by_role("button", name="Expand question").click()
    page.get_by_role("textbox", name="Other answer").fill("wherever")
    page.get_by_role("button", name="Submit").click()
    assert agent.answers(blocking["id"]) == {"target": ["wherever"]}
    expect(dock(page)).to_contain_text("Which tone?")
    page.get_by_role("button", name="Skip").click()
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("radio", name="Calm").check()
    page.get_by_role("button", name="Submit").click()
    expect(dock(page)).to_be_hidden()
    expect(page.locator("#timeline .delivery-state .outcome")).to_have_text("queued")
    page.locator("#timeline").get_by_role("button", name="Discard").click()
    expect(page.get_by_role("radio", name="Calm")).to_be_checked()
    page.get_by_role("button", name="Submit").click()
    while "promptId" not in agent.accept():
        pass
    assert agent.answers(asked["id"]) == {"tone": ["Calm"]}
    expect(page.locator("#timeline")).to_contain_text("answered", ignore_case=True)


@pytest.mark.parametrize("change", CHANGES)
def test_of_a_conversation_that_is_archived_or_read_only(
    ana: BrowserContext, agent: Agent, server: Server, change: str
) -> None:
    column, words = CHANGES[change]
    page = open_page(ana, agent)
    page.get_by_role("textbox", name="Message").fill("still on its way")
    page.keyboard.press("Enter")
    expect(outbox(page)).to_contain_text("still on its way")
    with sqlite3.connect(next(server.data.glob("*.sqlite3")), timeout=20) as database:
        database.execute(f"UPDATE chat_conversation SET {column} WHERE key = ?", [agent.key])
    page.reload()
    expect(page.locator("#composer")).to_contain_text(words)
    expect(outbox(page)).to_contain_text("still on its way")
    walk(page, agent)


def test_of_another_template_that_a_setting_names(tmp_path: Path, browser: Browser) -> None:
    server = Server(tmp_path, COMPOSER_TEMPLATE="pages/_closed.html")
    try:
        server.manage("create_user", "ana", "--group", "admins")
        agent = Agent(server.url, server.manage("create_agent", "robot", "--owner", "ana"), "talk")
        agent.say("Hello.")
        context = browser.new_context(base_url=server.url)
        faults: list[str] = []
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(server.manage("sign_in_link", "ana", "--base-url", server.url))
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(lambda address: "/sign-in/" not in address)
        page.goto(agent.path)
        expect(page.locator("body[data-line=open]")).to_have_count(1, timeout=20_000)
        expect(page.get_by_role("textbox", name="Message")).to_have_count(0)
        walk(page, agent)
        until(lambda: page.evaluate("controlui.sync().then(() => true)"), "the page is in step")
        assert faults == []
        context.close()
        agent.http.close()
    finally:
        server.stop()
