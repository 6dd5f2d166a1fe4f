"""The message box in two tabs: what one of them sends or saves takes nothing from the other (design rule 4)."""

from __future__ import annotations

from playwright.sync_api import BrowserContext, Locator, Page, expect

from e2e.conftest import Agent, open_page, outbox

RETURN = "dispatchEvent(new Event('online'))"


def message(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Message")


def kept(page: Page, text: str) -> None:
    """Types, and waits until it is on the server."""
    with page.expect_response(lambda response: response.url.endswith("/composer-draft") and response.ok):
        message(page).fill(text)


def test_two_tabs_write_at_once_and_can_have_either_text(page: Page, ana: BrowserContext, agent: Agent) -> None:
    tab = open_page(ana, agent)
    tab.route("**/live?*", lambda route: route.abort())  # it does not see the other coming
    kept(page, "text of the first tab")
    kept(tab, "text of the second tab")
    tab.unroute("**/live?*")
    tab.evaluate(RETURN)
    for each, own in ((page, "text of the first tab"), (tab, "text of the second tab")):
        expect(each.get_by_text("Also edited elsewhere")).to_be_visible()
        expect(message(each)).to_have_value(own)
    page.get_by_role("button", name="Use that text").click()
    expect(message(page)).to_have_value("text of the second tab")
    page.get_by_role("button", name="Use that text").click()
    expect(message(page)).to_have_value("text of the first tab")
    page.get_by_role("button", name="Keep this text").click()
    expect(page.get_by_text("Also edited elsewhere")).to_be_hidden()
    expect(message(page)).to_have_value("text of the first tab")
    page.reload()
    expect(message(page)).to_have_value("text of the first tab")
    expect(message(tab)).to_have_value("text of the second tab")


def test_sending_in_one_tab_keeps_what_another_typed(page: Page, ana: BrowserContext, agent: Agent) -> None:
    tab = open_page(ana, agent)
    tab.route("**/live?*", lambda route: route.abort())
    kept(page, "a long thought, not ended")
    message(tab).fill("quick one")
    tab.get_by_role("button", name="Send").click()
    expect(outbox(tab)).to_contain_text("quick one")
    expect(message(tab)).to_have_value("")
    expect(message(page)).to_have_value("a long thought, not ended")
    page.reload()
    expect(message(page)).to_have_value("a long thought, not ended")
    page.get_by_role("button", name="Send").click()
    expect(outbox(page).last).to_contain_text("a long thought, not ended")
    page.reload()
    expect(message(page)).to_have_value("")
