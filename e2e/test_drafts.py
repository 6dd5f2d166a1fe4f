"""Nothing typed is ever lost: drafts on the server, two tabs, lost lines, servers that fail."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

from e2e.conftest import Agent, dock, open_page, outbox, question, until

RETURN = "dispatchEvent(new Event('online'))"
STORES = "JSON.stringify([{...localStorage}, {...sessionStorage}])"


def other(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Other answer")


def message(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Message")


def is_draft(response: Any) -> bool:
    return bool(response.url.endswith("/draft"))


def draft_is_kept(page: Page) -> bool:
    """Whether everything typed on this page has been saved."""
    return not page.evaluate("controlui.isUnsaved()")


def test_what_is_ticked_and_typed_survives_a_reload_and_stays_out_of_the_browser(page: Page, agent: Agent) -> None:
    agent.ask(question("extras", "Which?", "Tests", "Docs", multiSelect=True), question("tone", "Which tone?"))
    page.get_by_role("checkbox", name="Docs").check()
    with page.expect_response(is_draft, timeout=2_000):
        other(page).press_sequentially("secret thoughts", delay=5)
    page.get_by_role("button", name="Next").click()
    with page.expect_response(is_draft, timeout=2_000):
        other(page).fill("friendly")
    page.reload()
    expect(dock(page).get_by_role("heading")).to_have_text("Which tone?")
    expect(other(page)).to_have_value("friendly")
    page.get_by_role("button", name="Back").click()
    expect(page.get_by_role("checkbox", name="Docs")).to_be_checked()
    expect(other(page)).to_have_value("secret thoughts")
    assert "secret" not in page.evaluate(STORES)
    assert "friendly" not in page.evaluate(STORES)


def test_leaving_at_once_still_saves(page: Page, ana: BrowserContext, agent: Agent) -> None:
    agent.ask()
    other(page).fill("typed and gone")
    page.goto("about:blank")
    page.close()
    again = open_page(ana, agent)
    expect(other(again)).to_have_value("typed and gone")


def test_hiding_the_page_saves_at_once(page: Page, agent: Agent) -> None:
    agent.ask()
    expect(other(page)).to_be_visible()
    page.evaluate("window.setTimeout = () => 0")  # no pause in typing ever ends
    other(page).fill("switching away")
    with page.expect_response(is_draft):
        page.evaluate("""() => { Object.defineProperty(document, 'hidden', {value: true, configurable: true});
                                 document.dispatchEvent(new Event('visibilitychange')) }""")


def test_another_device_shows_the_text_unless_it_is_edited_there(
    page: Page, agent: Agent, person: Callable[..., BrowserContext]
) -> None:
    agent.ask()
    phone = open_page(person("ana"), agent)
    other(page).fill("from the desk")
    expect(other(phone)).to_have_value("from the desk", timeout=2_000)
    page.get_by_role("radio", name="Staging").check()
    expect(phone.get_by_role("radio", name="Staging")).to_be_checked(timeout=2_000)
    other(phone).click()
    phone.keyboard.press("End")
    phone.keyboard.type(", then the phone")
    until(lambda: draft_is_kept(phone), "the phone's text is on the server")
    expect(other(page)).to_have_value("from the desk")  # she is still at the form there
    expect(page.locator("#notice")).to_contain_text("Newer text was saved elsewhere")
    page.get_by_role("button", name="Submit").focus()
    expect(other(page)).to_have_value("from the desk, then the phone")
    expect(page.locator("#notice")).to_be_hidden()
    expect(page.get_by_role("radio", name="Staging")).not_to_be_checked()


def test_two_tabs_edit_at_once_and_both_are_told(page: Page, ana: BrowserContext, agent: Agent) -> None:
    agent.ask()
    tab = open_page(ana, agent)
    expect(other(tab)).to_be_visible()
    tab.route("**/live?*", lambda route: route.abort())
    other(tab).press_sequentially("text of the second tab")
    other(page).press_sequentially("text of the first tab")
    tab.unroute("**/live?*")
    tab.evaluate(RETURN)
    for each, own in ((page, "text of the first tab"), (tab, "text of the second tab")):
        expect(each.get_by_text("Also edited elsewhere")).to_be_visible()
        expect(other(each)).to_have_value(own)
    tab.keyboard.type("!")
    expect(other(tab)).to_have_value("text of the second tab!")
    page.get_by_role("button", name="Use that text").click()
    expect(other(page)).to_have_value(re.compile("^text of the second tab"))
    page.get_by_role("button", name="Use that text").click()
    expect(other(page)).to_have_value("text of the first tab")
    page.get_by_role("button", name="Submit").click()
    assert agent.answers(agent.asked[0]) == {"target": ["text of the first tab"]}


def test_texts_of_three_questions_and_two_requests_never_mix(page: Page, agent: Agent) -> None:
    agent.ask(*(question(f"q{n}", f"Question {n}?") for n in (1, 2, 3)))
    agent.ask(question("apart", "Apart?"))
    expect(dock(page).get_by_text("Request 1 of 2")).to_be_visible()
    for n in (1, 2, 3):
        other(page).fill(f"text {n}")
        if n < 3:
            page.get_by_role("button", name="Next", exact=True).click()
            expect(dock(page).get_by_role("heading")).to_have_text(f"Question {n + 1}?")
    page.get_by_role("button", name="Next request").click()
    expect(dock(page).get_by_role("heading")).to_have_text("Apart?")
    expect(other(page)).to_have_value("")
    other(page).fill("text apart")
    page.get_by_role("button", name="Previous request").click()
    expect(dock(page).get_by_role("heading")).to_have_text(re.compile(r"Question \d"))
    page.reload()
    for step in (1, 3, 2, 1, 2, 3):
        shown = int(page.locator("#dock").get_attribute("data-step") or 0)
        for _press in range(abs(step - shown)):
            before = dock(page).get_by_role("heading").inner_text()
            page.get_by_role("button", name="Next" if step > shown else "Back", exact=True).click()
            expect(dock(page).get_by_role("heading")).not_to_have_text(before)
        expect(other(page)).to_have_value(f"text {step}")
    page.get_by_role("button", name="Submit").click()
    assert agent.answers(agent.asked[0]) == {"q1": ["text 1"], "q2": ["text 2"], "q3": ["text 3"]}
    expect(other(page)).to_have_value("text apart")


def test_saves_that_fail_are_tried_again_and_the_text_stays(page: Page, agent: Agent) -> None:
    agent.ask()
    page.route("**/draft", lambda route: route.fulfill(status=503, headers={"Retry-After": "1"}, body="busy"))
    other(page).fill("patience")
    expect(page.locator("#notice")).to_contain_text("not saved yet", timeout=10_000)
    expect(other(page)).to_have_value("patience")
    page.unroute("**/draft")
    page.evaluate(RETURN)
    expect(page.locator("#notice")).to_be_hidden()
    page.reload()
    expect(other(page)).to_have_value("patience")


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "500": ({"status": 500, "body": "<h1>oops</h1>", "content_type": "text/html"}, "(500)"),
    "502": ({"status": 502, "body": "<html>bad gateway</html>", "content_type": "text/html"}, "(502)"),
    "403": ({"status": 403, "body": "<html>forbidden</html>", "content_type": "text/html"}, "(403)"),
    "413": ({"status": 413, "body": "", "content_type": "text/html"}, "too long"),
    "429": ({"status": 429, "body": "", "headers": {"Retry-After": "7"}}, "Too many requests"),
    "200": ({"status": 200, "body": "<html>sign in to this Wi-Fi</html>", "content_type": "text/html"}, "(200)"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("where", ["dock", "messages"])
def test_a_press_that_fails_says_why_and_may_be_repeated(page: Page, agent: Agent, fault: str, where: str) -> None:
    answer, words = FAULTS[fault]
    if where == "dock":
        agent.ask()
        box, button = other(page), page.get_by_role("button", name="Submit")
    else:
        box, button = message(page), page.get_by_role("button", name="Send")
    box.fill("kept in any case")
    page.route(f"**/{where}", lambda route: route.fulfill(**answer))
    button.click()
    expect(page.locator("#notice")).to_contain_text(words)
    expect(box).to_have_value("kept in any case")
    expect(box).to_be_editable()
    expect(button).to_be_enabled()
    page.unroute(f"**/{where}")
    button.click()
    expect(page.locator("#notice")).to_be_hidden()
    expect(page.locator("#scroller")).to_contain_text("kept in any case")
    if where == "dock":
        assert agent.answers(agent.asked[0]) == {"target": ["kept in any case"]}


def test_a_press_that_hangs_ends_within_ten_seconds_and_a_second_press_is_ignored(page: Page, agent: Agent) -> None:
    agent.ask()
    page.get_by_role("radio", name="Production").check()
    held: list[Route] = []
    page.route("**/dock", lambda route: held.append(route))  # noqa: PLW0108  (no built-in can be a handler)
    button = page.locator("#dock-go")
    button.click()
    expect(button).to_have_text("Sending…")
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    button.click(force=True)
    assert len(held) == 1
    expect(page.locator("#notice")).to_contain_text("did not answer", timeout=10_000)
    expect(button).to_have_text("Submit")
    expect(button).not_to_have_attribute("aria-disabled", "true")
    page.unroute("**/dock")
    button.click()
    assert agent.answers(agent.asked[0]) == {"target": ["Production"]}


def lose(route: Route) -> None:
    """The server does it, and its reply never comes."""
    route.fetch()
    route.abort("connectionreset")


def test_a_reply_that_is_lost_is_not_an_answer_given_twice(page: Page, agent: Agent) -> None:
    agent.ask()
    page.get_by_role("radio", name="Production").check()
    page.route("**/dock", lose)
    page.get_by_role("button", name="Submit").click()
    assert agent.answers(agent.asked[0]) == {"target": ["Production"]}
    expect(page.locator("#timeline .summary")).to_contain_text("Production")
    expect(dock(page)).to_be_hidden()
    expect(page.locator("#timeline .summary")).to_have_count(1)
    expect(page.get_by_text("press again")).to_be_hidden()


def test_a_press_that_was_slow_takes_its_notice_back_once_it_is_known_to_be_done(page: Page, agent: Agent) -> None:
    agent.ask(timeoutSeconds=600, maxTimeoutSeconds=1200)
    other(page).fill("a slow answer")
    page.route("**/dock", lambda route: route.abort("connectionreset"))
    page.get_by_role("button", name="More time").click()
    expect(page.locator("#notice")).to_contain_text("press again")
    agent.say("meanwhile")  # what has nothing to do with it leaves it there
    expect(page.locator("#timeline")).to_contain_text("meanwhile")
    expect(page.locator("#notice")).to_contain_text("press again")
    # What the server made of it after all.
    form = page.evaluate("Object.fromEntries(new FormData(document.getElementById('dock-form')))")
    response = page.request.post(f"{agent.path}dock", form={**form, "action": "submit"})
    assert response.ok, response.text()
    assert agent.answers(agent.asked[0]) == {"target": ["a slow answer"]}
    expect(dock(page)).to_be_hidden()
    expect(page.locator("#notice")).to_be_hidden()


def test_what_is_said_of_the_line_ends_with_it(page: Page, ana: BrowserContext, agent: Agent) -> None:
    agent.ask(question("one", "The first?"), question("two", "The second?"))
    other(page).fill("typed on a train")
    ana.set_offline(True)
    page.get_by_role("button", name="Next").click()
    expect(page.locator("#notice")).to_contain_text("You are offline")
    ana.set_offline(False)
    expect(page.locator("#notice")).to_contain_text("You are online again", timeout=15_000)
    page.get_by_role("button", name="Close").click()
    expect(page.locator("#notice")).to_be_hidden()
    expect(page.locator("#dock-question")).to_be_focused()
    page.get_by_role("button", name="Next").click()
    expect(dock(page).get_by_role("heading")).to_have_text("The second?")


def test_the_last_words_before_the_end_stand_in_the_history(page: Page, agent: Agent) -> None:
    for words in ("typed and ended", "once more"):
        agent.ask()
        expect(dock(page)).to_be_visible()
        other(page).fill(words)
        agent.withdraw(agent.asked[-1])
        expect(dock(page)).to_be_hidden()
        expect(page.locator("#timeline .leftover").last).to_contain_text(words)


def test_the_loser_of_two_answers_is_told_and_keeps_the_text(
    page: Page, agent: Agent, person: Callable[..., BrowserContext]
) -> None:
    agent.ask()
    ben = open_page(person("ben"), agent)
    expect(dock(ben)).to_be_visible()
    page.route("**/live?*", lambda route: route.abort())  # she does not see it coming
    other(page).fill("my answer")
    ben.get_by_role("radio", name="Staging").check()
    ben.get_by_role("button", name="Submit").click()
    agent.answers(agent.asked[0])
    page.get_by_role("button", name="Submit").click()
    expect(page.locator("#notice")).to_contain_text("ben answered this")
    expect(page.locator("#status")).to_contain_text("ben answered this")
    page.unroute("**/live?*")
    page.evaluate(RETURN)
    agent.say("and on")
    expect(page.locator("#timeline")).to_contain_text("and on")
    expect(page.locator("#notice")).to_contain_text("ben answered this")  # an update does not take it away
    expect(page.locator("#timeline .leftover")).to_contain_text("my answer")
    expect(message(page)).to_be_focused()
    assert agent.answers(agent.asked[0]) == {"target": ["Staging"]}


def test_a_message_draft_survives_a_reload_and_sending_loses_nothing_typed_since(page: Page, agent: Agent) -> None:
    with page.expect_response(lambda response: response.url.endswith("/composer-draft"), timeout=2_000):
        message(page).fill("not sent yet")
    page.reload()
    expect(message(page)).to_have_value("not sent yet")
    held: list[Route] = []
    page.route("**/messages", lambda route: held.append(route))  # noqa: PLW0108  (no built-in can be a handler)
    message(page).press("End")
    page.keyboard.press("Enter")
    until(lambda: page.evaluate("1") and held, "it is on its way")
    page.keyboard.type(" and more")
    held[0].continue_()
    expect(outbox(page)).to_contain_text("not sent yet")
    expect(message(page)).to_have_value(" and more")


def test_check_for_new_questions_saves_first(page: Page, agent: Agent) -> None:
    agent.ask()
    other(page).fill("not yet saved")
    with page.expect_response(lambda response: "/live?" in response.url):
        page.get_by_role("button", name="Check for new questions").click()
    expect(other(page)).to_have_value("not yet saved")
    page.reload()
    expect(other(page)).to_have_value("not yet saved")
