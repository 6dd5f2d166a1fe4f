"""The dock under keys, pointer and arrivals: nothing is answered, moved or stolen by accident."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import BrowserContext, Locator, Page, expect

from e2e.conftest import NARROW, WIDE, Agent, Server, dock, open_page, outbox, question, until

RETURN = "dispatchEvent(new Event('online'))"
FOCUS = "document.activeElement.id || document.activeElement.tagName"


def message(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Message")


def other(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Other answer")


def pending(agent: Agent) -> bool:
    return all(agent.record(prompt)["status"] == "pending" for prompt in agent.asked)


# -- arrivals -----------------------------------------------------------------------------------------


def test_a_question_never_takes_keys_from_somebody_who_types(page: Page, agent: Agent) -> None:
    message(page).click()
    text = "use version 2 1 2 1 2 please"
    for place, letter in enumerate(text):
        if place in {5, 12, 18}:
            agent.ask(question(f"q{place}", f"Question {place}?"))
        page.keyboard.type(letter)
    expect(page.locator("#status")).to_contain_text("question", ignore_case=True)
    expect(page.get_by_role("button", name="Expand question")).to_be_visible()
    page.keyboard.type(" 2")
    expect(message(page)).to_have_value(text + " 2")
    expect(message(page)).to_be_focused()
    assert pending(agent)
    page.get_by_role("button", name="Expand question").click()
    expect(dock(page).get_by_role("heading")).to_have_text("Question 5?")
    page.get_by_role("button", name="Collapse question").click()
    expect(message(page)).to_have_value(text + " 2")


def test_an_idle_composer_gives_way_to_the_heading_and_stray_keys_do_nothing(page: Page, agent: Agent) -> None:
    message(page).focus()
    agent.ask()
    expect(page.locator("#dock-question")).to_be_focused()
    expect(message(page)).to_be_hidden()
    for key in ("2", "Enter", "Space", "ArrowDown", "1"):
        page.keyboard.press(key)
    assert page.get_by_role("radio", checked=True).count() == 0
    assert pending(agent)


def test_focus_elsewhere_stays_where_it_is(page: Page, agent: Agent) -> None:
    page.locator("#scroller").focus()
    agent.ask()
    expect(dock(page)).to_be_visible()
    expect(page.locator("#scroller")).to_be_focused()


def test_an_arrival_keeps_the_question_that_somebody_is_at(page: Page, agent: Agent) -> None:
    agent.ask(question("first", "The first?"), question("second", "The second?"))
    page.get_by_role("radio", name="Staging").check()
    page.get_by_role("button", name="Next").click()
    expect(dock(page).get_by_role("heading")).to_have_text("The second?")
    other(page).press_sequentially("half a tho")
    agent.ask(question("third", "The third?"))
    expect(dock(page).get_by_text("Request 1 of 2")).to_be_visible()
    page.keyboard.type("ught")
    expect(other(page)).to_have_value("half a thought")
    expect(other(page)).to_be_focused()
    assert other(page).evaluate("e => e.selectionStart") == len("half a thought")
    expect(page.locator("#status")).to_contain_text("Another question came")
    page.get_by_role("button", name="Next request").click()
    expect(dock(page).get_by_role("heading")).to_have_text("The third?")
    agent.withdraw(agent.asked[0])
    expect(dock(page).get_by_text("Request 1 of 2")).to_be_hidden()
    expect(dock(page).get_by_role("heading")).to_have_text("The third?")


def test_the_prompt_ends_elsewhere_while_somebody_types(
    page: Page, agent: Agent, person: Callable[..., BrowserContext]
) -> None:
    agent.ask()
    other(page).press_sequentially("what I had in mi")
    ben = open_page(person("ben"), agent)
    ben.get_by_role("radio", name="Production").check()
    ben.get_by_role("button", name="Submit").click()
    expect(dock(page)).to_be_hidden()
    row = page.locator("li.summary")
    expect(row).to_contain_text("what I had in mi")
    expect(row).to_contain_text("ben")
    expect(row).to_be_focused()  # not the composer: the next Enter would send half a sentence
    page.keyboard.type("nd\n")
    expect(message(page)).to_have_value("")
    expect(page.locator("#status")).to_contain_text("The question is closed")
    expect(page.locator("#status")).to_contain_text("ben")
    seen = page.locator("#notice")
    expect(seen).to_contain_text("The question is closed: answered by ben via the web page")
    expect(seen).to_contain_text("What you typed is kept in the conversation.")
    assert agent.answers(agent.asked[0]) == {"target": ["Production"]}
    seen.get_by_role("button", name="Close").click()
    expect(seen).to_be_hidden()
    expect(message(page)).to_be_focused()


def test_the_end_of_a_question_that_somebody_is_at_is_in_sight_beside_the_next_one(page: Page, agent: Agent) -> None:
    agent.ask()
    agent.ask(question("size", "How large?"))
    expect(dock(page).get_by_text("Request 1 of 2")).to_be_visible()
    page.get_by_role("radio", name="Staging").focus()
    agent.withdraw(agent.asked[0])
    expect(dock(page).get_by_role("heading")).to_have_text("How large?")
    seen = page.locator("#notice")
    expect(seen).to_contain_text("The question is closed: cancelled by robot")
    place, panel = seen.bounding_box(), dock(page).bounding_box()
    assert place is not None
    assert panel is not None
    assert place["y"] + place["height"] <= panel["y"]  # before what comes next, not below its buttons
    page.get_by_role("radio", name="Production").check()
    page.get_by_role("button", name="Submit").click()
    expect(seen).to_be_hidden()


def test_an_end_that_nobody_was_at_needs_no_notice(page: Page, agent: Agent) -> None:
    page.locator("#scroller").focus()
    agent.ask()
    expect(dock(page)).to_be_visible()
    agent.withdraw(agent.asked[0])
    expect(page.locator("#status")).to_contain_text("The question is closed")
    expect(page.locator("#notice")).to_have_count(0)


def test_a_press_just_after_an_arrival_under_the_pointer_is_ignored(page: Page, agent: Agent) -> None:
    agent.ask()
    agent.ask(question("size", "How large?"))
    place = page.get_by_role("button", name="Skip").bounding_box()
    assert place is not None
    expect(dock(page).get_by_text("Request 1 of 2")).to_be_visible()
    page.mouse.move(place["x"] + 10, place["y"] + 10)
    page.evaluate("(now => { performance.now = () => now })(performance.now())")  # time stands still
    agent.withdraw(agent.asked[0])
    until(lambda: page.locator("#dock-question").inner_text() == "How large?", "the other one is in front")
    page.mouse.down()
    page.mouse.up()
    expect(page.locator("#status")).to_contain_text("has just changed")
    assert agent.record(agent.asked[1])["status"] == "pending"
    page.evaluate("(now => { performance.now = () => now })(performance.now() + 500)")
    page.mouse.down()
    page.mouse.up()
    until(lambda: agent.record(agent.asked[1])["status"] != "pending", "a press of one's own counts")


# -- keys ---------------------------------------------------------------------------------------------


def test_digits_choose_only_inside_the_option_list(page: Page, agent: Agent) -> None:
    agent.ask(question("target", "Where?", "A", "B", "C"))
    page.get_by_role("radio", name="A").focus()
    page.keyboard.press("2")
    expect(page.get_by_role("radio", name="B")).to_be_checked()
    expect(page.get_by_role("radio", name="B")).to_be_focused()
    page.keyboard.press("Control+3")
    page.keyboard.press("Alt+3")
    expect(page.get_by_role("radio", name="B")).to_be_checked()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="C")).to_be_checked()
    page.keyboard.press("9")
    expect(page.get_by_role("radio", name="C")).to_be_checked()
    page.keyboard.press("4")  # the one after the options: one's own words
    expect(other(page)).to_be_focused()
    page.keyboard.type("16")
    expect(other(page)).to_have_value("16")
    page.get_by_role("button", name="Submit").focus()
    page.keyboard.press("1")
    expect(page.get_by_role("radio", name="A")).not_to_be_checked()
    assert pending(agent)


def test_enter_on_an_option_sends_nothing_and_keeps_everything(page: Page, agent: Agent) -> None:
    agent.ask()
    page.get_by_role("radio", name="Production").focus()
    page.keyboard.press("Space")
    with page.expect_response(lambda response: response.url.endswith(("/dock", "/draft"))):
        page.keyboard.press("Enter")
    expect(page.get_by_role("radio", name="Production")).to_be_checked()
    expect(page.get_by_role("radio", name="Production")).to_be_focused()
    assert pending(agent)


def test_several_digits_tick_several_boxes_and_own_words_add_to_them(page: Page, agent: Agent) -> None:
    agent.ask(question("extras", "Which?", "Tests", "Docs", "Logs", multiSelect=True))
    page.get_by_role("checkbox", name="Tests").focus()
    page.keyboard.press("3")
    page.keyboard.press("1")
    other(page).fill("and D")
    expect(page.get_by_role("checkbox", checked=True)).to_have_count(2)
    page.keyboard.press("Control+Enter")
    assert agent.answers(agent.asked[0]) == {"extras": ["Tests", "Logs", "and D"]}
    expect(message(page)).to_be_focused()


def test_ctrl_enter_goes_on_and_enter_makes_a_line(page: Page, agent: Agent) -> None:
    agent.ask(question("first", "The first?"), question("second", "The second?"))
    other(page).click()
    page.keyboard.type("one\ntwo")
    page.keyboard.press("Control+Enter")
    expect(dock(page).get_by_role("heading")).to_have_text("The second?")
    expect(page.locator("#dock-question")).to_be_focused()
    page.get_by_role("button", name="Back").click()
    expect(other(page)).to_have_value("one\ntwo")
    page.get_by_role("button", name="Next").click()
    expect(dock(page).get_by_role("heading")).to_have_text("The second?")
    other(page).fill("done")
    page.keyboard.press("Meta+Enter")
    assert agent.answers(agent.asked[0]) == {"first": ["one\ntwo"], "second": ["done"]}


def test_ctrl_enter_goes_on_wherever_one_is_in_the_panel(page: Page, agent: Agent) -> None:
    agent.ask(question("first", "The first?"), question("second", "The second?"))
    page.get_by_role("radio", name="Staging").check()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#dock-question")).to_be_focused()
    expect(page.locator("#dock-question")).to_have_text("The second?")
    page.get_by_role("radio", name="Production").check()
    page.locator("#dock-question").focus()
    page.keyboard.press("Meta+Enter")
    assert agent.answers(agent.asked[0]) == {"first": ["Staging"], "second": ["Production"]}


def test_ctrl_enter_meant_for_the_message_is_no_answer(page: Page, agent: Agent) -> None:
    agent.ask()
    other(page).fill("a draft that would do")
    page.get_by_role("button", name="Next request").wait_for(state="hidden")
    page.get_by_role("button", name="Collapse question").click()
    message(page).focus()
    page.evaluate("(now => { performance.now = () => now })(performance.now() + 60000)")  # idle; time stands still
    agent.withdraw(agent.asked[0])
    expect(page.locator("#dock-form")).to_have_count(0)
    later = agent.ask(question("later", "And later?"))
    expect(page.locator("#dock-question")).to_be_focused()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#status")).to_contain_text("has just changed")
    expect(dock(page).locator(".error")).to_have_count(0)
    assert agent.record(later["id"])["status"] == "pending"


def middle(button: Locator) -> tuple[float, float]:
    box = button.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_next_stays_where_it_is(agent: Agent, person: Callable[..., BrowserContext]) -> None:
    for viewport in (WIDE, NARROW, {"width": 320, "height": 568}):
        asked = agent.ask(*(question(key, f"The {key}?") for key in ("first", "second", "third")))
        page = open_page(person("ana", viewport=viewport), agent)
        go = page.locator("#dock-go")
        place = middle(go)
        for step, text in enumerate(("The second?", "The third?"), 2):
            page.mouse.click(*place)
            expect(page.locator("#dock-question")).to_have_text(text)
            expect(page.locator("#dock")).to_have_attribute("data-step", str(step))
            assert middle(go) == place
        expect(page.get_by_role("button", name="Back")).to_be_visible()
        agent.withdraw(asked["id"])
        page.close()


def test_the_second_half_of_a_double_click_on_next_sends_nothing(page: Page, agent: Agent) -> None:
    agent.ask(question("first", "The first?"), question("second", "The second?"))
    asked = page.locator("#dock-question")
    page.get_by_role("button", name="Next").click()
    expect(asked).to_have_text("The second?")
    page.get_by_role("radio", name="Staging").check()
    page.get_by_role("button", name="Back").click()
    expect(asked).to_have_text("The first?")
    page.get_by_role("radio", name="Production").check()
    x, y = middle(page.locator("#dock-go"))
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.up()
    expect(asked).to_have_text("The second?")
    page.mouse.down(click_count=2)
    page.mouse.up(click_count=2)
    expect(page.locator("#status")).to_contain_text("has just changed")
    assert pending(agent)
    page.mouse.click(x, y)  # another click counts
    assert agent.answers(agent.asked[0]) == {"first": ["Production"], "second": ["Staging"]}


def test_the_skip_link_leads_to_the_question_or_else_to_the_message_box(page: Page, agent: Agent) -> None:
    skip = page.get_by_role("link", name="Skip to the question or message box")
    skip.focus()
    page.keyboard.press("Enter")
    expect(message(page)).to_be_focused()
    page.locator("#scroller").focus()
    agent.ask()
    expect(dock(page)).to_be_visible()
    skip.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#dock-question")).to_be_focused()
    page.get_by_role("button", name="Collapse question").click()
    expect(message(page)).to_be_visible()
    skip.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Expand question")).to_be_focused()


def test_escape_folds_from_inside_only_and_the_one_button_keeps_the_focus(page: Page, agent: Agent) -> None:
    agent.ask()
    page.locator("#scroller").focus()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Collapse question")).to_be_visible()
    other(page).fill("kept")
    page.keyboard.press("Escape")
    expand = page.get_by_role("button", name="Expand question")
    expect(expand).to_be_focused()
    expect(expand).to_have_attribute("aria-expanded", "false")
    expect(page).to_have_url(re.compile("folded=1"))
    expect(message(page)).to_be_visible()
    page.keyboard.press("Enter")
    collapse = page.get_by_role("button", name="Collapse question")
    expect(collapse).to_be_focused()
    expect(other(page)).to_have_value("kept")
    page.keyboard.press("Enter")
    expect(expand).to_be_focused()
    page.reload()
    expect(expand).to_be_visible()


def test_keys_of_an_input_method_are_its_own(page: Page, agent: Agent) -> None:
    agent.ask()
    other(page).fill("にほん")
    press = """(e, keys) => { for (const [type, key, code] of keys) e.dispatchEvent(type.startsWith('comp')
        ? new CompositionEvent(type, {bubbles: true})
        : new KeyboardEvent(type, {key, keyCode: code, ctrlKey: key === 'Enter', isComposing: false, bubbles: true,
                                   cancelable: true})) }"""
    other(page).evaluate(press, [["compositionstart", "", 0], ["compositionend", "", 0], ["keydown", "Enter", 229]])
    other(page).evaluate(press, [["keydown", "Escape", 229]])
    expect(other(page)).to_be_visible()
    assert pending(agent)
    # Safari: the key arrives just after the end of the composition, and says nothing of it.
    other(page).evaluate(press, [["compositionend", "", 0], ["keydown", "Enter", 13]])
    expect(other(page)).to_be_visible()
    assert pending(agent)
    page.keyboard.press("Control+Enter")
    assert agent.answers(agent.asked[0]) == {"target": ["にほん"]}


def test_a_push_leaves_a_composition_alone(page: Page, agent: Agent) -> None:
    agent.ask()
    other(page).click()
    keyboard = page.context.new_cdp_session(page)
    keyboard.send("Input.imeSetComposition", {"text": "ni", "selectionStart": 2, "selectionEnd": 2})
    agent.say("meanwhile")
    agent.ask(question("size", "How large?"))
    expect(dock(page).get_by_text("Request 1 of 2")).to_be_visible()
    keyboard.send("Input.imeSetComposition", {"text": "nihon", "selectionStart": 5, "selectionEnd": 5})
    keyboard.send("Input.insertText", {"text": "日本"})
    expect(other(page)).to_have_value("日本")


def test_message_keys(page: Page, agent: Agent) -> None:
    box = message(page)
    box.click()
    page.keyboard.press("Enter")
    page.keyboard.type("one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    page.keyboard.press("Enter")
    expect(outbox(page)).to_contain_text("one\ntwo")
    expect(box).to_have_value("")
    expect(box).to_be_focused()
    expect(outbox(page)).to_have_count(1)


def test_on_a_touch_keyboard_enter_is_a_line(agent: Agent, person: Callable[..., BrowserContext]) -> None:
    page = open_page(person("ana", viewport=NARROW, has_touch=True, is_mobile=True), agent)
    message(page).tap()
    page.keyboard.type("one\ntwo")
    expect(message(page)).to_have_value("one\ntwo")
    page.get_by_role("button", name="Send").tap()
    expect(outbox(page)).to_contain_text("two")


# -- one choice ---------------------------------------------------------------------------------------


def test_of_text_and_option_the_last_one_is_sent_and_neither_is_erased(page: Page, agent: Agent) -> None:
    agent.ask()
    other(page).fill("my own words")
    page.get_by_role("radio", name="Staging").check()
    expect(page.locator("#status")).to_contain_text("Staging will be sent")
    expect(other(page)).to_have_value("my own words")
    expect(page.get_by_text("This text is kept, but not sent.")).to_be_visible()
    other(page).press_sequentially("!")
    expect(page.get_by_role("radio", name="Staging")).not_to_be_checked()
    expect(page.locator("#status")).to_contain_text("Your own words will be sent")
    page.get_by_role("radio", name="Production").check()
    page.get_by_role("button", name="Submit").click()
    assert agent.answers(agent.asked[0]) == {"target": ["Production"]}


def test_own_words_alone_are_enough_even_if_they_equal_a_label(page: Page, agent: Agent) -> None:
    agent.ask()
    other(page).fill("  Blue-green  ")
    page.get_by_role("button", name="Submit").click()
    assert agent.answers(agent.asked[0]) == {"target": ["Blue-green"]}


def test_submit_without_an_answer_says_so_and_leads_there(page: Page, agent: Agent) -> None:
    agent.ask(question("first", "The first?"), question("second", "The second?"))
    page.get_by_role("button", name="Next").click()
    page.get_by_role("radio", name="Staging").check()
    page.get_by_role("button", name="Submit").click()
    expect(dock(page).get_by_role("heading")).to_have_text("The first?")
    expect(dock(page).locator(".error").first).to_be_focused()
    expect(page.locator("#status")).to_contain_text("Choose an option or type an answer")
    assert pending(agent)


# -- time left ----------------------------------------------------------------------------------------


def test_time_left_follows_the_server_and_is_spoken_twice(
    server: Server, agent: Agent, person: Callable[..., BrowserContext]
) -> None:
    page = person("ana").new_page()
    page.clock.install(time=0)  # the browser's own clock is decades off
    page.goto(agent.path)
    page.evaluate("""() => {
        const status = document.getElementById('status');
        window.said = [];
        new MutationObserver(() => window.said.push(status.textContent)).observe(status, {childList: true});
    }""")
    agent.ask(timeoutSeconds=130)
    timer = page.get_by_role("timer")
    expect(timer).to_have_text(re.compile("^2:(10|09|08)$"))
    expect(timer).not_to_have_class(re.compile("low"))
    for seconds, left in ((73, r"^0:5\d$"), (43, r"^0:1\d$")):
        server.advance(seconds)
        page.evaluate(RETURN)
        expect(timer).to_have_text(re.compile(left))
        expect(timer).to_have_class(re.compile("low"))
    page.route("**/live?*", lambda route: route.abort())
    expect(timer).to_have_text("0:00", timeout=20_000)  # by its own count; the server has not said so yet
    expect(page.get_by_role("button", name="Submit")).to_be_enabled()
    page.unroute("**/live?*")
    server.advance(20)
    expect(dock(page)).to_be_hidden(timeout=20_000)
    expect(page.locator("#timeline")).to_contain_text("expired", ignore_case=True)
    expect(page.locator("#status")).to_contain_text("The question is closed")
    said = page.evaluate("window.said")
    assert [words for words in said if "left to answer" in words] == [
        "One minute left to answer",
        "Ten seconds left to answer",
    ]
    assert len(said) == 4, said
