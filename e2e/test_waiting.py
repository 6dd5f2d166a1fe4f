"""The browser's own leg: what was pressed without a connection waits, and goes out by itself, once and in order."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Dialog, Locator, Page, Route, expect

from e2e.conftest import Agent, dock, open_page, outbox, question, until

STORES = "JSON.stringify([{...localStorage}, {...sessionStorage}])"


def message(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Message")


def other(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Other answer")


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def unsent(page: Page) -> Locator:
    """The rows of messages that this tab could not send yet."""
    return page.locator("#unsent li")


def write(page: Page, text: str) -> None:
    message(page).fill(text)
    message(page).press("Enter")


def everything(agent: Agent, number: int) -> list[str]:
    """Accepts so many messages, and one more if there is one: their texts in order."""
    texts = [agent.accept()["text"] for _ in range(number)]
    assert agent.http.get("/inbox", params={"sessionKey": agent.key}).json()["deliveries"] == []
    assert agent.history() == texts
    return texts


def lose(route: Route) -> None:
    """The server does it, and its reply never comes."""
    route.fetch()
    route.abort("connectionreset")


def test_offline_for_a_minute_then_back_they_go_out_by_themselves_once_and_in_order(
    ana: BrowserContext, agent: Agent
) -> None:
    page = ana.new_page()
    page.clock.install()
    page.goto(agent.path)
    page.clock.run_for(2000)
    ana.set_offline(True)
    for text in ("one", "two", "three"):
        write(page, text)
        expect(unsent(page).last).to_contain_text(text)
    expect(unsent(page)).to_have_count(3)
    expect(unsent(page).first).to_contain_text("waiting to be sent")
    expect(message(page)).to_have_value("")
    expect(message(page)).to_be_focused()
    expect(page.locator("#status")).to_contain_text("You are offline. Your message waits")
    assert "two" not in page.evaluate(STORES)
    page.clock.run_for(60_000)
    expect(unsent(page)).to_have_count(3)
    ana.set_offline(False)
    page.clock.run_for(1000)
    expect(unsent(page)).to_have_count(0)
    expect(outbox(page)).to_have_count(3)
    assert everything(agent, 3) == ["one", "two", "three"]
    expect(page.locator("#timeline .message--person")).to_have_count(3)


def test_an_answer_without_a_connection_waits_in_its_panel_and_goes_out_once(
    page: Page, ana: BrowserContext, agent: Agent
) -> None:
    agent.ask()
    other(page).fill("typed on a train")
    ana.set_offline(True)
    button(page, "Submit").click()
    notice = page.locator("#notice")
    expect(notice).to_contain_text("You are offline. Your answer waits to be sent")
    expect(other(page)).to_have_value("typed on a train")
    ana.set_offline(False)
    assert agent.answers(agent.asked[0]) == {"target": ["typed on a train"]}
    expect(dock(page)).to_be_hidden()
    expect(notice).to_be_hidden()
    expect(page.locator("#timeline .summary")).to_have_count(1)


def test_messages_and_a_reminders_answer_keep_their_order(page: Page, ana: BrowserContext, agent: Agent) -> None:
    agent.ask(question("tone", "Which tone?", "Calm", "Loud"), mode="async")
    expect(dock(page)).to_be_visible()
    page.get_by_role("radio", name="Calm").check()
    until(lambda: not page.evaluate("controlui.isUnsaved()"), "the draft is kept")
    ana.set_offline(True)
    write(page, "before")
    expect(unsent(page)).to_have_count(1)
    button(page, "Submit").click()
    expect(page.locator("#notice")).to_contain_text("Your answer waits")
    write(page, "after")
    expect(unsent(page)).to_have_count(2)
    ana.set_offline(False)
    assert everything(agent, 3) == ["before", "> Which tone?\n\nCalm", "after"]


@pytest.mark.parametrize("what", ["message", "answer"])
def test_a_press_whose_reply_is_lost_makes_one_delivery(page: Page, agent: Agent, what: str) -> None:
    if what == "answer":
        agent.ask(question("tone", "Which tone?", "Calm", "Loud"), mode="async")
        page.get_by_role("radio", name="Calm").check()
        page.route("**/dock", lose)
        button(page, "Submit").click()
    else:
        write(page, "once")
        expect(outbox(page)).to_have_count(1)
        page.route("**/messages", lose)
        write(page, "once")  # the same words again are another message
    until(lambda: page.evaluate("controlui.waits()"), "it waits")
    page.unroute_all()
    until(lambda: not page.evaluate("controlui.waits()"), "it went out")
    expect(page.locator("#notice")).to_be_hidden()
    assert len(everything(agent, 1 if what == "answer" else 2))
    expect(unsent(page)).to_have_count(0)


def test_it_can_be_taken_back_before_it_goes_out(page: Page, ana: BrowserContext, agent: Agent) -> None:
    ana.set_offline(True)
    write(page, "not so fast")
    expect(unsent(page)).to_have_count(1)
    message(page).fill("typed since")
    unsent(page).get_by_role("button", name="Discard").click()
    expect(unsent(page)).to_have_count(0)
    expect(message(page)).to_have_value("not so fast\n\ntyped since")
    expect(message(page)).to_be_focused()
    ana.set_offline(False)
    write(page, "better words")
    assert everything(agent, 1) == ["better words"]


def test_taken_back_though_it_had_arrived_it_is_no_second_message(page: Page, agent: Agent) -> None:
    page.route("**/messages", lose)
    write(page, "arrived")
    expect(unsent(page)).to_have_count(1)
    page.route("**/messages", lambda route: route.abort())
    unsent(page).get_by_role("button", name="Discard").click()
    expect(message(page)).to_have_value("arrived")
    page.unroute_all()
    message(page).press("Enter")
    expect(message(page)).to_have_value("")
    assert everything(agent, 1) == ["arrived"]


def test_an_answer_that_is_changed_or_taken_back_waits_for_submit(
    page: Page, ana: BrowserContext, agent: Agent
) -> None:
    agent.ask()
    page.get_by_role("radio", name="Staging").check()
    ana.set_offline(True)
    button(page, "Submit").click()
    notice = page.locator("#notice")
    button(page, "Discard").click()
    expect(notice).to_be_hidden()
    expect(page.get_by_role("radio", name="Staging")).to_be_checked()
    button(page, "Submit").click()
    expect(notice).to_contain_text("Your answer waits")
    page.get_by_role("radio", name="Production").check()
    expect(notice).to_be_hidden()
    expect(page.locator("#status")).to_contain_text("no longer sent by itself")
    with page.expect_response(lambda response: response.url.endswith("/draft")):
        ana.set_offline(False)
    assert agent.record(agent.asked[0])["status"] == "pending"
    button(page, "Submit").click()
    assert agent.answers(agent.asked[0]) == {"target": ["Production"]}


def test_leaving_the_page_warns_while_something_waits(page: Page, ana: BrowserContext, agent: Agent) -> None:
    warnings: list[str] = []

    def stay(dialog: Dialog) -> None:
        warnings.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    ana.set_offline(True)
    write(page, "not gone yet")
    expect(unsent(page)).to_have_count(1)
    page.close(run_before_unload=True)
    until(lambda: page.evaluate("1") and warnings, "it warns")
    assert warnings == ["beforeunload"]
    expect(unsent(page)).to_have_count(1)
    ana.set_offline(False)
    assert everything(agent, 1) == ["not gone yet"]
    expect(unsent(page)).to_have_count(0)
    with page.expect_event("close"):
        page.close(run_before_unload=True)
    assert len(warnings) == 1


def test_what_the_server_refuses_later_is_unsent_text_again(page: Page, ana: BrowserContext, agent: Agent) -> None:
    ana.set_offline(True)
    write(page, "x" * 100_001)
    write(page, "the next")
    expect(unsent(page)).to_have_count(2)
    ana.set_offline(False)
    expect(unsent(page)).to_have_count(0)
    expect(page.locator("#notice")).to_contain_text("100,000 characters")
    assert message(page).input_value() == "x" * 100_001
    assert everything(agent, 1) == ["the next"]


def test_signed_out_meanwhile_it_waits_for_the_same_person(
    server: object, browser: object, ana: BrowserContext, agent: Agent, person: Callable[..., BrowserContext]
) -> None:
    page = open_page(ana, agent)
    ana.set_offline(True)
    write(page, "from ana")
    cookies = ana.cookies()
    ana.clear_cookies()
    ana.set_offline(False)
    expect(page.locator("#notice")).to_contain_text("You are signed out.")
    expect(unsent(page)).to_contain_text("from ana")
    ana.add_cookies(cookies)  # type: ignore[arg-type]
    page.evaluate("dispatchEvent(new Event('online'))")
    assert everything(agent, 1) == ["from ana"]
    expect(unsent(page)).to_have_count(0)
