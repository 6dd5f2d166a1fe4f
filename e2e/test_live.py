"""The page keeps in step with the server: pushes, gaps, lost lines, returns, other people."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from typing import Any

from playwright.sync_api import BrowserContext, Page, Route, WebSocketRoute, expect

from e2e.conftest import Agent, Server, dock, open_page, question, until

RETURN = "dispatchEvent(new Event('online'))"


def test_what_the_agent_says_and_asks_is_there_at_once(page: Page, agent: Agent) -> None:
    agent.say("Building **now**.")
    expect(page.locator("#timeline")).to_contain_text("Building now.")
    agent.ask()
    expect(dock(page)).to_be_visible()
    expect(page.locator("#status")).to_have_text("New question: Where should I deploy?")
    expect(page).to_have_title(re.compile(r"^\(\d+\) "))
    expect(page.locator("#favicon")).to_have_attribute(
        "href", page.locator("#favicon").evaluate("e => e.dataset.badge")
    )


def test_second_prompts_and_answers_arrive_over_the_socket_too(page: Page, agent: Agent) -> None:
    first = agent.ask()
    expect(dock(page)).to_be_visible()
    agent.ask(question("size", "How large?"))
    expect(dock(page).get_by_text("Request 1 of 2")).to_be_visible()
    agent.withdraw(first["id"])
    expect(dock(page).get_by_role("heading")).to_have_text("How large?")
    expect(page.locator("#status")).to_contain_text("The question is closed")


def test_a_page_that_missed_a_push_fetches_what_it_missed(ana: BrowserContext, agent: Agent) -> None:
    page = ana.new_page()
    lost: list[str] = []

    def drop(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def pass_on(frame: Any) -> None:
            if "lost on the way" in frame:
                lost.append(frame)
            else:
                socket.send(frame)

        server.on_message(pass_on)

    page.route_web_socket("**/ws/**", drop)
    page.goto(agent.path)
    expect(page.locator("body[data-line=open]")).to_have_count(1)
    agent.say("lost on the way")
    until(lambda: page.evaluate("1") and lost, "the push was dropped")
    agent.say("after the gap")
    expect(page.locator("#timeline")).to_contain_text("lost on the way")
    expect(page.locator("#timeline > li").last).to_contain_text("after the gap")


def hold_first(page: Page, pattern: str) -> list[Route]:
    """Holds the first request to such an address, and lets the others pass."""
    held: list[Route] = []

    def handle(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route(pattern, handle)
    return held


def test_an_event_during_a_fetch_is_not_lost_and_an_older_fetch_does_not_roll_it_back(page: Page, agent: Agent) -> None:
    run = agent.post("/runs", {"sessionKey": agent.key})
    agent.say("ready")
    expect(page.locator("#timeline")).to_contain_text("ready")
    held = hold_first(page, "**/live?*")
    page.evaluate(RETURN)
    until(lambda: page.evaluate("1") and held, "a fetch is under way")
    agent.say("first note", kind="commentary", runId=run["id"])
    expect(page.locator("summary")).to_contain_text("1 note")
    answer = held[0].fetch()  # it has seen the first note, and nothing later
    agent.say("second note", kind="commentary", runId=run["id"])
    expect(page.locator("summary")).to_contain_text("2 notes")
    agent.ask()  # pushed as a change to fetch, which waits for the fetch under way
    held[0].fulfill(response=answer)
    expect(dock(page)).to_be_visible()
    expect(page.locator("summary")).to_contain_text("2 notes")
    expect(page.get_by_text("second note")).to_have_count(1)
    agent.say("third note", kind="commentary", runId=run["id"])
    expect(page.locator("summary")).to_contain_text("3 notes")


def test_a_fetch_that_began_before_a_press_brings_nothing_back(page: Page, agent: Agent) -> None:
    agent.ask()
    expect(dock(page)).to_be_visible()
    held = hold_first(page, "**/live?*")
    agent.ask(question("size", "How large?"))
    until(lambda: page.evaluate("1") and held, "a fetch is under way")
    answer = held[0].fetch()  # drawn for the open question
    page.get_by_role("button", name="Collapse question").click()
    expect(page.get_by_role("button", name="Expand question")).to_be_visible()
    page.evaluate("""() => {
        window.shown = [];
        const dock = document.getElementById('dock');
        document.addEventListener('controlui:dock', () => window.shown.push(dock.dataset.folded));
    }""")
    held[0].fulfill(response=answer)
    agent.withdraw(agent.asked[1])
    expect(page.locator("#dock")).to_have_attribute("data-requests", "1")
    assert set(page.evaluate("window.shown")) == {"1"}
    expect(page.get_by_role("button", name="Expand question")).to_be_visible()


def test_without_a_socket_polling_carries_everything(ana: BrowserContext, agent: Agent) -> None:
    page = ana.new_page()
    page.route_web_socket("**/ws/**", lambda socket: socket.close(code=1011))
    page.goto(agent.path)
    agent.ask()
    expect(dock(page)).to_be_visible()
    expect(page.locator("#connection")).to_be_hidden()
    agent.withdraw(agent.asked[0])
    expect(dock(page)).to_be_hidden()


def test_a_refused_ticket_is_renewed_by_a_fetch_and_makes_no_loop(ana: BrowserContext, agent: Agent) -> None:
    page = ana.new_page()
    tickets: list[str] = []
    fetches: list[str] = []

    def refuse_first(socket: WebSocketRoute) -> None:
        tickets.append(socket.url)
        if len(tickets) == 1:
            socket.close(code=4401)
        else:
            socket.connect_to_server()

    page.route_web_socket("**/ws/**", refuse_first)
    page.on("request", lambda request: fetches.append(request.url) if "/live" in request.url else None)
    page.goto(agent.path)
    until(lambda: page.evaluate("1") and len(tickets) > 1, "another try")
    # A ticket of the same second reads the same: that it was fetched is what counts.
    assert fetches
    agent.say("heard")
    expect(page.locator("#timeline")).to_contain_text("heard")
    assert len(tickets) == 2


def test_a_lost_line_is_named_after_five_seconds_and_offline_at_once(ana: BrowserContext, agent: Agent) -> None:
    page = ana.new_page()
    page.clock.install()
    page.goto(agent.path)
    page.clock.run_for(1500)
    said = page.locator("#connection")
    page.route("**/live?*", lambda route: route.abort())
    page.evaluate(RETURN)
    page.clock.run_for(4000)
    expect(said).to_be_hidden()
    page.clock.run_for(1500)
    expect(said).to_have_text("Reconnecting…")
    page.unroute("**/live?*")
    page.evaluate(RETURN)
    page.clock.run_for(100)
    expect(said).to_be_hidden()
    ana.set_offline(True)
    expect(said).to_have_text("You are offline")
    ana.set_offline(False)
    page.clock.run_for(1000)
    expect(said).to_be_hidden()


def test_a_page_from_the_back_forward_cache_shows_nothing_until_the_server_has_spoken(page: Page, agent: Agent) -> None:
    agent.ask()
    expect(dock(page)).to_be_visible()
    held = hold_first(page, "**/live?*")
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', {persisted: true}))")
    expect(page.locator("#main")).to_be_hidden()
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    until(lambda: page.evaluate("1") and held, "it asks the server")
    assert page.evaluate("document.body.inert")
    agent.withdraw(agent.asked[0])
    held[0].continue_()
    expect(page.locator("#main")).to_be_visible()
    assert not page.evaluate("document.body.inert")
    expect(dock(page)).to_be_hidden()


def sign_out(context: BrowserContext, agent: Agent) -> None:
    page = context.new_page()
    page.goto(agent.path)
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in/**")
    page.close()


def test_sign_out_elsewhere_takes_the_page_away_unless_something_is_typed(
    server: Server, browser: Any, sign_in: Callable[[BrowserContext, str], None], agent: Agent
) -> None:
    context = browser.new_context(base_url=server.url)
    sign_in(context, "ana")
    agent.ask()
    idle = open_page(context, agent)
    sign_out(context, agent)
    idle.wait_for_url("**/sign-in/**")

    sign_in(context, "ana")
    typing = open_page(context, agent)
    typing.get_by_role("textbox", name="Other answer").fill("half a thought")
    sign_out(context, agent)
    notice = typing.locator("#notice")
    expect(notice).to_contain_text("You are signed out.")
    expect(notice.get_by_role("link", name="Sign in")).to_have_attribute(
        "href", re.compile(r"^/sign-in/\?next=%2Fc%2F")
    )
    expect(typing.get_by_role("textbox", name="Other answer")).to_have_value("half a thought")
    typing.get_by_role("button", name="Submit").click()
    expect(notice).to_contain_text("You are signed out.")
    assert agent.record(agent.asked[0])["status"] == "pending"

    sign_in(context, "ana")
    typing.evaluate(RETURN)
    expect(notice).to_be_hidden()
    typing.get_by_role("button", name="Submit").click()
    assert agent.answers(agent.asked[0]) == {"target": ["half a thought"]}
    context.close()


def test_another_person_on_the_same_browser_sends_nothing_of_the_first(
    server: Server, browser: Any, sign_in: Callable[[BrowserContext, str], None], agent: Agent
) -> None:
    context = browser.new_context(base_url=server.url)
    sign_in(context, "ana")
    agent.ask()
    page = open_page(context, agent)
    page.get_by_role("textbox", name="Other answer").fill("from ana")
    context.clear_cookies(name="controlui_session")
    sign_in(context, "ben")
    page.get_by_role("button", name="Submit").click()
    expect(page.locator("#notice")).to_contain_text("Another person has signed in")
    expect(page.get_by_role("textbox", name="Other answer")).to_have_value("from ana")
    assert agent.record(agent.asked[0])["status"] == "pending"
    context.close()


def test_a_lost_csrf_cookie_costs_one_silent_retry(page: Page, ana: BrowserContext, agent: Agent) -> None:
    agent.ask()
    page.get_by_role("radio", name="Production").check()
    ana.clear_cookies(name="controlui_csrf")
    page.get_by_role("button", name="Submit").click()
    assert agent.answers(agent.asked[0]) == {"target": ["Production"]}
    expect(page.locator("#notice")).to_have_count(0)


def test_new_rows_leave_the_reading_place_alone_and_the_end_in_view(ana: BrowserContext, agent: Agent) -> None:
    for number in range(70):
        agent.say(f"Line {number}\n\nand more\n\nand more")
    page = open_page(ana, agent)
    gap = "(e => e.scrollHeight - e.scrollTop - e.clientHeight)(document.getElementById('scroller'))"
    until(lambda: page.evaluate(gap) < 2, "it opens at its newest line")
    agent.say("The newest line")
    expect(page.get_by_text("The newest line")).to_be_in_viewport()
    agent.ask()
    expect(dock(page)).to_be_visible()
    expect(page.get_by_text("The newest line")).to_be_in_viewport()

    page.locator("#scroller").evaluate("e => e.scrollTo(0, 900)")
    until(lambda: page.evaluate(gap) > 100, "it has scrolled")
    row = page.locator("#timeline > li", has_text="Line 30")
    row.evaluate("e => e.scrollIntoView({block: 'start'})")
    place = row.bounding_box()
    newer = page.get_by_role("button", name="New messages")
    expect(newer).to_be_hidden()
    page.get_by_role("button", name="Collapse question").focus()
    agent.say("Not read yet")
    expect(page.locator("#timeline")).to_contain_text("Not read yet")
    assert row.bounding_box() == place
    expect(newer).to_be_in_viewport()
    expect(page.locator("#status")).to_have_text("New messages")
    expect(page.get_by_role("button", name="Collapse question")).to_be_focused()
    newer.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Not read yet")).to_be_in_viewport()
    expect(newer).to_be_hidden()
    expect(page.locator("#scroller")).to_be_focused()
    page.locator("#scroller").evaluate("e => e.scrollTo(0, 900)")
    agent.say("Nor this")
    expect(newer).to_be_visible()
    page.locator("#scroller").evaluate("e => e.scrollTo(0, e.scrollHeight)")
    expect(newer).to_be_hidden()
    first = page.locator("#timeline > li.message").first.inner_text()
    page.locator("#scroller").evaluate("e => e.scrollTo(0, 60)")
    expect(page.locator("#timeline")).to_contain_text("Line 0")  # older rows on the way up, by themselves
    assert page.locator("#timeline > li.message").first.inner_text() != first
    numbers = [int(found) for found in re.findall(r"Line (\d+)", page.locator("#timeline").inner_text())]
    assert numbers == list(range(70))
    assert page.locator("#scroller").evaluate("e => e.scrollTop") > 60


def test_older_rows_that_do_not_come_leave_the_page_as_it_is(ana: BrowserContext, agent: Agent) -> None:
    for number in range(60):
        agent.say(f"Line {number}")
    page = open_page(ana, agent)
    page.route("**/older?*", lambda route: route.fulfill(status=500, body="<li>oops</li>", content_type="text/html"))
    with page.expect_response(lambda response: "/older?" in response.url):
        page.locator("#scroller").evaluate("e => e.scrollTo(0, 0)")
    expect(page.get_by_role("link", name="Earlier messages")).to_be_visible()
    expect(page.locator("#timeline")).not_to_contain_text("oops")
    page.unroute("**/older?*")
    page.get_by_role("link", name="Earlier messages").click()
    expect(page.locator("#timeline")).to_contain_text("Line 0")


def test_a_fold_that_was_opened_stays_open(ana: BrowserContext, agent: Agent) -> None:
    run = agent.post("/runs", {"sessionKey": agent.key})
    agent.say("first note", kind="commentary", runId=run["id"])
    page = open_page(ana, agent)
    fold = page.locator("details", has_text="first note")
    expect(fold).to_have_attribute("open", "")
    fold.locator("summary").click()
    expect(fold).not_to_have_attribute("open", "")
    agent.say("second note", kind="commentary", runId=run["id"])
    expect(page.locator("#timeline")).to_contain_text("2 notes")
    expect(fold).not_to_have_attribute("open", "")
    fold.locator("summary").click()
    agent.post(f"/runs/{run['id']}/finish", {"status": "succeeded"})
    expect(fold.locator("summary")).to_contain_text("Work")
    expect(fold).to_have_attribute("open", "")
    expect(page.get_by_text("second note")).to_be_visible()


def test_nothing_of_a_history_counts_down_or_asks(ana: BrowserContext, agent: Agent) -> None:
    agent.ask()
    agent.withdraw(agent.asked[0])
    page = open_page(ana, agent)
    expect(page.locator("#timeline")).to_contain_text("Where should I deploy?")
    expect(page.locator("#timeline").get_by_role("timer")).to_have_count(0)
    expect(dock(page)).to_be_hidden()


def test_a_killed_server_comes_back_to_the_same_page(page: Page, server: Server, agent: Agent) -> None:
    agent.ask()
    page.get_by_role("textbox", name="Other answer").fill("kept through it")
    until(lambda: page.locator("#dock").get_attribute("data-revision") == "1", "the draft is on the server")
    server.stop(signal.SIGKILL)
    server.start()
    agent.say("back again")
    expect(page.locator("#timeline")).to_contain_text("back again", timeout=20_000)
    expect(page.get_by_role("textbox", name="Other answer")).to_have_value("kept through it")
    page.get_by_role("button", name="Submit").click()
    assert agent.answers(agent.asked[0]) == {"target": ["kept through it"]}


def test_live_equals_reload(page: Page, agent: Agent) -> None:
    run = agent.post("/runs", {"sessionKey": agent.key})
    agent.say("noted", kind="commentary", runId=run["id"])
    agent.ask(runId=run["id"])
    agent.ask(question("size", "How large?"))
    page.get_by_role("radio", name="Staging").check()
    page.get_by_role("button", name="Submit").click()
    agent.answers(agent.asked[0])
    agent.post(f"/runs/{run['id']}/finish", {"status": "succeeded"})
    expect(page.locator("summary")).to_contain_text("Work")
    expect(dock(page).get_by_role("heading")).to_have_text("How large?")
    expect(page.locator("#conversations [aria-current]")).to_contain_text("1 question waiting")
    words = "['timeline', 'dock-fields', 'conversations'].map(i => document.getElementById(i).innerText)"
    live = page.evaluate(words)
    page.reload()
    assert live == page.evaluate(words)
