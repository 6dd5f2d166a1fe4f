"""Async questions, sentence by sentence: a person, an agent that works on, and a second browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

from e2e.conftest import Agent, Server, dock, open_page, outbox, question, until

TONE = question("tone", "Which tone should the note have?", "Calm", "Loud")
SIZE = question("size", "How large?", "Small", "Large")
WHERE = question("target", "Where should I deploy?")
SAID = """() => {
    window.said = [];
    const status = document.getElementById('status');
    new MutationObserver(() => window.said.push(status.textContent)).observe(status, {childList: true});
}"""


def other(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Other answer")


def message(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Message")


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def summary(page: Page, text: str = "Which tone") -> Locator:
    """The timeline's row of a prompt."""
    return page.locator("#timeline .summary").filter(has_text=text).last


def remind(agent: Agent, *questions: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Asks without waiting."""
    return agent.ask(*(questions or [TONE]), mode="async", **more)


def run(agent: Agent, status: str = "succeeded", **more: Any) -> str:
    """A run from start to end; its id."""
    started: str = agent.post("/runs", {"sessionKey": agent.key, **more})["id"]
    agent.post(f"/runs/{started}/finish", {"status": status})
    return started


def answer(page: Page, label: str = "Calm") -> None:
    page.get_by_role("radio", name=label).check()
    button(page, "Submit").click()


def shown(page: Page) -> list[str]:
    """What the page shows of the timeline, the outbox and the dock, without what each drawing makes anew."""
    found: list[str] = page.evaluate(
        """() => ['timeline', 'outbox', 'dock'].flatMap(name => {
            const root = document.getElementById(name).cloneNode(true);
            for (const field of root.querySelectorAll('input[type=hidden], noscript')) field.remove();
            const made = name => name.startsWith('data-htmx') || name === 'tabindex';
            const mine = ({name, value}) => value && !made(name);
            return [root, ...root.querySelectorAll('*')].map(node => {
              const given = [...node.attributes].filter(mine).map(({name, value}) => `${name}="${value}"`).sort();
              const text = [...node.childNodes].filter(child => child.nodeType === 3).map(child => child.data.trim());
              return `${node.localName} ${given.join(' ')} ${text.join('')}`;
            });
        })"""
    )
    return found


def settle(page: Page) -> None:
    """Has every fetch under way come back."""
    page.evaluate("() => controlui.sync()")


def equals_a_fresh_load(page: Page) -> None:
    """Live equals reload (style rule 44)."""
    settle(page)
    live = shown(page)
    page.reload()
    assert live == shown(page)


# -- They open without keyboard focus, and the message box stays usable while the agent goes on ----------


def test_it_stands_in_the_same_panel_above_the_message_box(page: Page, agent: Agent) -> None:
    asked = remind(agent)
    assert asked["expiresAt"] is None
    expect(dock(page)).to_contain_text("Which tone should the note have?")
    expect(message(page)).to_be_visible()
    expect(page.get_by_role("timer")).to_have_count(0)
    expect(page.get_by_role("radio", checked=True)).to_have_count(0)
    above, below = dock(page).bounding_box(), message(page).bounding_box()
    assert above is not None
    assert below is not None
    assert above["y"] + above["height"] <= below["y"]
    equals_a_fresh_load(page)


def test_it_opens_without_the_keyboard_and_the_message_box_stays_usable(page: Page, agent: Agent) -> None:
    page.evaluate(SAID)
    remind(agent)
    expect(button(page, "Collapse question")).to_be_visible()
    assert page.evaluate("document.activeElement === document.body")
    expect(page.locator("#status")).to_have_text("New question: Which tone should the note have?")
    message(page).fill("while you work")
    page.keyboard.press("Enter")
    assert agent.accept()["text"] == "while you work"
    agent.say("working on", kind="commentary", runId=agent.post("/runs", {"sessionKey": agent.key})["id"])
    expect(page.locator("#timeline")).to_contain_text("working on")
    expect(button(page, "Collapse question")).to_be_visible()


@pytest.mark.parametrize("state", ["focus", "text"])
def test_it_comes_folded_where_somebody_writes(page: Page, agent: Agent, state: str) -> None:
    if state == "text":
        message(page).fill("half a")
        page.locator("#scroller").focus()
    else:
        message(page).focus()
    remind(agent)
    expect(button(page, "Expand question")).to_be_visible()
    if state == "focus":
        expect(message(page)).to_be_focused()
    page.reload()
    expect(button(page, "Expand question")).to_be_visible()


def test_folded_it_keeps_the_number_and_the_question_in_sight(page: Page, agent: Agent) -> None:
    remind(agent, TONE, SIZE)
    remind(agent, WHERE)
    expect(dock(page)).to_contain_text("Request 1 of 2")
    button(page, "Collapse question").click()
    expect(dock(page)).to_contain_text("3 unanswered questions")
    expect(dock(page)).to_contain_text("Which tone should the note have?")
    expect(message(page)).to_be_visible()


# -- New messages, the question's own finished turn and folded work neither close nor reopen it -----------


@pytest.mark.parametrize("folded", [False, True], ids=["open", "folded"])
def test_messages_its_own_end_and_folded_work_leave_it_as_it_is(page: Page, agent: Agent, *, folded: bool) -> None:
    own = agent.post("/runs", {"sessionKey": agent.key})["id"]
    agent.say("a note", kind="commentary", runId=own)
    remind(agent, runId=own)
    expect(button(page, "Collapse question")).to_be_visible()
    if folded:
        button(page, "Collapse question").click()
        page.locator("#scroller").focus()
    stands = button(page, "Expand question" if folded else "Collapse question")
    expect(stands).to_be_visible()
    agent.say("news")
    expect(page.locator("#timeline")).to_contain_text("news")
    expect(stands).to_be_visible()
    agent.post(f"/runs/{own}/finish", {"status": "succeeded"})
    expect(page.locator("#timeline summary")).to_contain_text("Work")
    expect(stands).to_be_visible()
    page.locator("#timeline summary").click()
    expect(page.get_by_text("a note")).to_be_visible()
    expect(stands).to_be_visible()
    equals_a_fresh_load(page)


# -- When a later run succeeds, older reminders leave the dock --------------------------------------------


def test_a_later_run_that_succeeds_moves_it_to_history(page: Page, agent: Agent) -> None:
    remind(agent)
    expect(dock(page)).to_be_visible()
    run(agent)
    expect(dock(page)).to_be_hidden()
    expect(summary(page)).to_contain_text("no longer pending", ignore_case=True)
    expect(summary(page).get_by_role("button", name="Answer", exact=True)).to_be_visible()
    equals_a_fresh_load(page)


def test_overlapping_runs_commentary_aborted_and_failed_runs_do_not(page: Page, agent: Agent) -> None:
    own = agent.post("/runs", {"sessionKey": agent.key})["id"]
    overlapping = agent.post("/runs", {"sessionKey": agent.key})["id"]
    asked = remind(agent, runId=own)
    agent.post(f"/runs/{own}/finish", {"status": "succeeded"})
    agent.say("a thought", kind="commentary", runId=overlapping)
    agent.post(f"/runs/{overlapping}/finish", {"status": "succeeded"})
    run(agent, "aborted")
    run(agent, "failed")
    agent.say("the last of it")
    expect(page.locator("#timeline")).to_contain_text("the last of it")
    expect(dock(page)).to_contain_text("Which tone")
    assert agent.record(asked["id"])["status"] == "pending"
    equals_a_fresh_load(page)


def test_a_recovery_that_succeeds_moves_it_and_a_restart_alone_does_not(
    page: Page, agent: Agent, server: Server
) -> None:
    own = agent.post("/runs", {"sessionKey": agent.key})["id"]
    remind(agent, runId=own)
    expect(dock(page)).to_contain_text("Which tone")
    recovery = agent.post("/runs", {"sessionKey": agent.key, "recoveryOf": own})["id"]
    agent.say("I was restarted")
    expect(page.locator("#timeline")).to_contain_text("I was restarted")
    expect(dock(page)).to_contain_text("Which tone")
    agent.post(f"/runs/{recovery}/finish", {"status": "succeeded"})
    expect(dock(page)).to_be_hidden()
    expect(summary(page)).to_contain_text("no longer pending", ignore_case=True)


def test_what_somebody_types_in_it_stays_under_their_hands(
    page: Page, agent: Agent, person: Callable[..., BrowserContext]
) -> None:
    ben = open_page(person("ben"), agent)
    remind(agent)
    expect(dock(ben)).to_be_visible()
    other(page).press_sequentially("I would")
    place = other(page).bounding_box()
    run(agent)
    expect(dock(ben)).to_be_hidden()
    page.keyboard.type(" rather wait")
    settle(page)
    expect(other(page)).to_have_value("I would rather wait")
    expect(other(page)).to_be_focused()
    assert other(page).bounding_box() == place
    run(agent)
    page.reload()
    expect(other(page)).to_have_value("I would rather wait")


# -- The transcript marks it no longer pending, with a button Answer that reopens it ----------------------


def test_answer_reopens_it_with_its_draft_until_one_submits(page: Page, agent: Agent) -> None:
    asked = remind(agent)
    with page.expect_response(lambda response: response.url.endswith("/draft")):
        other(page).fill("half a draft")
    button(page, "Skip").click()
    expect(dock(page)).to_contain_text("Skipped")
    button(page, "Answer").click()
    expect(other(page)).to_have_value("half a draft")
    expect(page.locator("#dock-question")).to_be_focused()
    page.locator("#scroller").focus()
    run(agent)
    expect(dock(page)).to_be_hidden()
    button(page, "Answer").click()
    expect(other(page)).to_have_value("half a draft")
    button(page, "Submit").click()
    assert agent.accept()["answers"] == {"tone": ["half a draft"]}
    assert agent.answers(asked["id"]) == {"tone": ["half a draft"]}


def test_moving_it_to_history_answers_grants_and_completes_nothing(page: Page, agent: Agent) -> None:
    asked = remind(agent)
    page.get_by_role("radio", name="Calm").focus()
    page.locator("#scroller").focus()
    run(agent)
    expect(dock(page)).to_be_hidden()
    assert agent.record(asked["id"])["status"] == "pending"
    assert "result" not in agent.record(asked["id"])
    assert agent.history() == []
    assert agent.http.get("/inbox", params={"sessionKey": agent.key}).json()["deliveries"] == []


# -- Request arrows ---------------------------------------------------------------------------------------


def test_arrows_lead_over_all_requests_and_keep_every_draft(page: Page, agent: Agent) -> None:
    remind(agent)
    expect(dock(page)).to_be_visible()
    other(page).fill("a reminder's draft")
    agent.ask(WHERE)
    expect(dock(page)).to_contain_text("Request 2 of 2")
    expect(page.locator("#status")).to_contain_text("Another question came")
    expect(other(page)).to_have_value("a reminder's draft")
    expect(other(page)).to_be_focused()
    other(page).evaluate("box => box.setSelectionRange(3, 5)")
    button(page, "Previous request").click()
    expect(dock(page)).to_contain_text("Where should I deploy?")
    expect(message(page)).to_be_hidden()
    other(page).fill("the blocking one's")
    button(page, "Next request").click()
    expect(other(page)).to_have_value("a reminder's draft")
    expect(message(page)).to_be_visible()
    assert other(page).evaluate("box => [box.selectionStart, box.selectionEnd]") == [3, 5]
    button(page, "Previous request").click()
    expect(other(page)).to_have_value("the blocking one's")


@pytest.mark.parametrize("folded", [False, True], ids=["open", "folded"])
def test_a_new_blocking_one_comes_first_and_leaves_the_reminder_as_it_was(
    page: Page, agent: Agent, *, folded: bool
) -> None:
    remind(agent)
    button(page, "Collapse question").click()
    if not folded:
        button(page, "Expand question").click()
        expect(page.locator("#dock-question")).to_be_visible()
        page.locator("#scroller").focus()
    blocking = agent.ask(WHERE)
    expect(dock(page)).to_contain_text("Request 1 of 2")
    expect(dock(page)).to_contain_text("Where should I deploy?")
    expect(message(page)).to_be_hidden()
    answer(page, "Staging")
    assert agent.answers(blocking["id"]) == {"target": ["Staging"]}
    expect(dock(page)).to_contain_text("Which tone should the note have?")
    expect(button(page, "Expand question" if folded else "Collapse question")).to_be_visible()
    expect(message(page)).to_be_focused()
    page.reload()
    expect(button(page, "Expand question" if folded else "Collapse question")).to_be_visible()


def test_a_blocking_one_that_ends_elsewhere_gives_a_folded_reminder_back_folded(page: Page, agent: Agent) -> None:
    remind(agent)
    button(page, "Collapse question").click()
    agent.ask(WHERE)
    expect(dock(page)).to_contain_text("Where should I deploy?")
    agent.withdraw(agent.asked[-1])
    expect(dock(page)).to_contain_text("Which tone")
    expect(button(page, "Expand question")).to_be_visible()


def test_the_composer_is_untouched_by_an_answer(page: Page, agent: Agent) -> None:
    remind(agent)
    expect(dock(page)).to_be_visible()
    message(page).fill("my own\nthoughts")
    answer(page)
    expect(summary(page)).to_contain_text("queued", ignore_case=True)
    expect(message(page)).to_have_value("my own\nthoughts")
    expect(message(page)).to_be_focused()


# -- Submitting sends an ordinary message through the outbox ----------------------------------------------


def test_submit_sends_an_ordinary_message_that_quotes_the_questions(page: Page, agent: Agent) -> None:
    remind(agent, TONE, SIZE)
    page.get_by_role("radio", name="Calm").check()
    button(page, "Next").click()
    other(page).fill("as large\nas it gets")
    button(page, "Submit").click()
    expect(dock(page)).to_be_hidden()
    item = agent.accept()
    assert item["text"] == ("> Which tone should the note have?\n\nCalm\n\n> How large?\n\nas large\nas it gets")
    assert (item["kind"], item["promptId"]) == ("answer", agent.asked[0])
    assert agent.history() == [item["text"]]
    expect(page.locator("#timeline .message--person")).to_contain_text("as large\nas it gets")


# -- Skip removes it from the dock without sending ---------------------------------------------------------


def test_skip_takes_it_from_the_dock_and_sends_nothing(page: Page, agent: Agent) -> None:
    asked = remind(agent)
    button(page, "Skip").click()
    expect(summary(page)).to_contain_text("skipped", ignore_case=True)
    expect(message(page)).to_be_focused()
    assert agent.record(asked["id"])["result"]["reason"] == "skipped"
    assert agent.history() == []
    expect(outbox(page)).to_have_count(0)


def test_undo_stands_for_ten_seconds_whatever_comes(ana: BrowserContext, agent: Agent, server: Server) -> None:
    page = ana.new_page()
    page.clock.install()
    page.goto(agent.path)
    page.clock.run_for(2000)
    remind(agent)
    other(page).fill("kept")
    page.clock.run_for(2000)
    button(page, "Skip").click()
    undo = button(page, "Undo")
    expect(undo).to_be_visible()
    agent.say("meanwhile")
    page.clock.run_for(5000)
    expect(page.locator("#timeline")).to_contain_text("meanwhile")
    expect(undo).to_be_visible()
    undo.click()
    expect(other(page)).to_have_value("kept")
    expect(undo).to_be_hidden()
    button(page, "Skip").click()
    expect(undo).to_be_visible()
    page.clock.run_for(9000)
    expect(undo).to_be_visible()
    page.clock.run_for(2000)
    expect(undo).to_be_hidden()
    expect(dock(page)).to_be_hidden()
    expect(message(page)).to_be_focused()
    expect(button(page, "Answer")).to_be_visible()


def test_minimising_neither_answers_nor_skips(page: Page, agent: Agent) -> None:
    asked = remind(agent)
    page.get_by_role("radio", name="Calm").check()
    button(page, "Collapse question").click()
    expect(button(page, "Expand question")).to_be_visible()
    assert agent.record(asked["id"])["status"] == "pending"
    assert agent.history() == []
    expect(summary(page)).to_contain_text("waiting for your answer", ignore_case=True)


# -- The summary says where the answer is ------------------------------------------------------------------


def test_the_summary_says_queued_sending_not_sent_and_sent_live_and_reloaded(
    page: Page, agent: Agent, person: Callable[..., BrowserContext]
) -> None:
    tab = open_page(person("ana"), agent)
    asked = remind(agent)
    answer(page)
    for each in (page, tab):
        expect(summary(each)).to_contain_text("queued", ignore_case=True)
        expect(summary(each)).to_contain_text("Waiting for robot")
    equals_a_fresh_load(page)
    item = agent.take()
    for each in (page, tab):
        expect(summary(each).locator(".delivery-state .outcome")).to_have_text("sending")
    equals_a_fresh_load(tab)
    agent.refuse("The tank is empty.", item)
    for each in (page, tab):
        expect(summary(each).locator(".delivery-state .outcome")).to_have_text("not sent")
        expect(summary(each)).to_contain_text("The tank is empty.")
    equals_a_fresh_load(page)
    button(page, "Retry answer").click()
    expect(summary(page).locator(".delivery-state .outcome")).to_have_text("queued")
    expect(page.locator(".delivery-state > p")).to_be_focused()
    assert agent.record(asked["id"])["status"] == "submitted"
    agent.accept()
    for each in (page, tab):
        expect(summary(each)).to_contain_text("answered", ignore_case=True)
        expect(summary(each).get_by_role("button")).to_have_count(0)
    assert agent.answers(asked["id"]) == {"tone": ["Calm"]}
    equals_a_fresh_load(page)
    equals_a_fresh_load(tab)


def test_an_uncertain_delivery_is_called_so_and_retry_sends_the_same_message(
    page: Page, agent: Agent, server: Server
) -> None:
    asked = remind(agent)
    answer(page)
    first = agent.take()
    server.advance(61)
    state = summary(page).locator(".delivery-state .outcome")
    expect(state).to_have_text("delivery unconfirmed", timeout=20_000)
    equals_a_fresh_load(page)
    button(page, "Retry answer").click()
    expect(state).to_have_text("queued")
    second = agent.take()
    assert (first["id"], first["text"]) == (second["id"], second["text"])
    agent.accept(first)
    agent.accept(second)
    expect(summary(page)).to_contain_text("answered", ignore_case=True)
    assert agent.history() == [first["text"]]
    assert agent.answers(asked["id"]) == {"tone": ["Calm"]}


def test_discard_reopens_the_draft_in_every_open_page(
    page: Page, agent: Agent, person: Callable[..., BrowserContext]
) -> None:
    tab = open_page(person("ana"), agent)
    asked = remind(agent)
    other(page).fill("to be taken back")
    button(page, "Submit").click()
    expect(dock(tab)).to_be_hidden()
    expect(button(tab, "Discard")).to_be_visible()
    button(page, "Discard").click()
    expect(page.locator("#dock-question")).to_be_focused()
    for each in (page, tab):
        expect(other(each)).to_have_value("to be taken back")
        expect(button(each, "Discard")).to_be_hidden()
    assert agent.record(asked["id"])["status"] == "pending"
    assert agent.http.get("/inbox", params={"sessionKey": agent.key}).json()["deliveries"] == []
    equals_a_fresh_load(tab)


def test_an_agent_that_had_accepted_it_after_all_wins_over_discard(page: Page, agent: Agent, server: Server) -> None:
    asked = remind(agent)
    answer(page)
    item = agent.take()
    server.advance(61)
    expect(summary(page).locator(".delivery-state .outcome")).to_have_text("delivery unconfirmed", timeout=20_000)
    button(page, "Discard").click()
    expect(dock(page)).to_contain_text("Which tone")
    agent.accept(item)
    expect(dock(page)).to_be_hidden()
    expect(summary(page)).to_contain_text("answered", ignore_case=True)
    assert agent.answers(asked["id"]) == {"tone": ["Calm"]}


def test_presses_in_two_browsers_are_told_the_truth(
    page: Page, agent: Agent, person: Callable[..., BrowserContext]
) -> None:
    tab = open_page(person("ana"), agent)
    remind(agent)
    answer(page)
    expect(button(tab, "Discard")).to_be_visible()
    settle(tab)
    tab.route("**/live?*", lambda route: route.abort())  # it does not see it coming
    agent.accept()
    button(tab, "Discard").click()
    expect(tab.locator("#notice")).to_contain_text("accepted meanwhile")
    expect(summary(tab)).to_contain_text("answered", ignore_case=True)
    assert len(agent.history()) == 1


# -- Saved replies stay confirmed ---------------------------------------------------------------------------


def test_an_answer_edited_in_the_outbox_stays_confirmed_and_stands_as_text(page: Page, agent: Agent) -> None:
    asked = remind(agent, TONE, SIZE)
    page.get_by_role("radio", name="Calm").check()
    button(page, "Next").click()
    answer(page, "Large")
    summary(page).get_by_text("Edit", exact=True).click()
    box = page.get_by_role("textbox", name="Text of this message")
    box.fill("Neither, since the note is not written yet.")
    button(page, "Save").click()
    expect(page.locator(".delivery-state > p")).to_be_focused()
    expect(box).to_be_hidden()
    expect(summary(page)).to_contain_text("Neither, since")
    equals_a_fresh_load(page)
    item = agent.accept()
    assert (item["text"], "answers" in item) == ("Neither, since the note is not written yet.", False)
    for _load in range(2):
        expect(summary(page)).to_contain_text("answered", ignore_case=True)
        expect(summary(page).locator(".answer-text")).to_have_text("Neither, since the note is not written yet.")
        page.reload()
    assert agent.record(asked["id"])["result"]["text"] == item["text"]


def test_an_answer_that_quotes_the_headings_stays_confirmed_and_is_not_split(page: Page, agent: Agent) -> None:
    remind(agent, TONE, SIZE)
    other(page).fill("> How large?\n\nnot that one")
    button(page, "Next").click()
    answer(page, "Large")
    summary(page).get_by_text("Edit", exact=True).click()
    box = page.get_by_role("textbox", name="Text of this message")
    box.press("End")
    box.press("!")
    button(page, "Save").click()
    expect(box).to_be_hidden()
    text = agent.accept()["text"]
    for _load in range(2):
        expect(summary(page)).to_contain_text("answered", ignore_case=True)
        expect(summary(page).locator(".answer-text")).to_have_text(text)
        page.reload()


# -- The composer's own messages -----------------------------------------------------------------------------


def test_a_message_of_the_composer_has_the_same_states_and_controls(page: Page, agent: Agent, server: Server) -> None:
    message(page).fill("first words")
    page.keyboard.press("Enter")
    state = outbox(page).locator(".outcome")
    expect(state).to_have_text("queued")
    equals_a_fresh_load(page)
    outbox(page).get_by_text("Edit", exact=True).click()
    expect(page.get_by_role("textbox", name="Text of this message")).to_be_focused()
    page.get_by_role("textbox", name="Text of this message").fill("better words")
    button(page, "Save").click()
    expect(outbox(page).locator(".as-typed")).to_have_text("better words")
    agent.refuse("Not now.")
    expect(state).to_have_text("not sent")
    expect(page.locator("#status")).to_contain_text("Not now.")
    button(page, "Retry").click()
    expect(state).to_have_text("queued")
    agent.take()
    expect(state).to_have_text("sending")
    server.advance(61)
    expect(state).to_have_text("delivery unconfirmed", timeout=20_000)
    button(page, "Discard").click()
    expect(outbox(page)).to_have_count(0)
    expect(message(page)).to_have_value("better words")
    expect(message(page)).to_be_focused()
    message(page).press("Enter")
    agent.accept()
    expect(page.locator("#timeline .message--person")).to_contain_text("better words")
    expect(outbox(page)).to_have_count(0)
    equals_a_fresh_load(page)


def test_a_change_under_way_when_the_agent_takes_the_message_is_kept(page: Page, agent: Agent) -> None:
    message(page).fill("first words")
    page.keyboard.press("Enter")
    outbox(page).get_by_text("Edit", exact=True).click()
    page.get_by_role("textbox", name="Text of this message").fill("better words")
    agent.take()
    expect(outbox(page).locator(".outcome")).to_have_text("sending")
    expect(message(page)).to_have_value("better words")
    expect(page.locator("#notice")).to_contain_text("could no longer be changed")


def test_a_press_on_its_buttons_that_fails_says_why_and_may_be_repeated(page: Page, agent: Agent) -> None:
    message(page).fill("hello")
    page.keyboard.press("Enter")
    held: list[Route] = []
    page.route("**/deliveries/*", lambda route: held.append(route))  # noqa: PLW0108  (no built-in can be a handler)
    discard = outbox(page).locator("[data-action=discard]")
    discard.click()
    expect(discard).to_have_attribute("aria-disabled", "true")
    expect(discard).to_have_text("Sending…")
    discard.click(force=True)
    held[0].abort("connectionreset")
    expect(page.locator("#notice")).to_contain_text("did not answer")
    assert len(held) == 1
    expect(discard).to_have_text("Discard")
    page.unroute("**/deliveries/*")
    discard.click()
    expect(message(page)).to_have_value("hello")
    expect(page.locator("#notice")).to_be_hidden()


def test_a_second_person_sees_where_it_is_and_whose_it_is(
    page: Page, agent: Agent, person: Callable[..., BrowserContext]
) -> None:
    ben = open_page(person("ben"), agent)
    message(page).fill("from ana")
    page.keyboard.press("Enter")
    expect(outbox(ben)).to_contain_text("from ana")
    expect(outbox(ben)).to_contain_text(re.compile("queued"))
    expect(outbox(ben).get_by_text("Edit", exact=True)).to_have_count(0)
    until(lambda: agent.accept(), "it is taken")  # noqa: PLW0108
    expect(outbox(ben)).to_have_count(0)
    expect(ben.locator("#timeline .message--person")).to_contain_text("from ana")
