"""axe finds nothing in any state of the dock: light and dark, English and Chinese, wide and narrow."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect

from e2e.conftest import NARROW, WIDE, Agent, Server, dock, open_page, question

LOOKS = [("light", "en", WIDE), ("dark", "en", NARROW), ("light", "zh-hans", NARROW), ("dark", "zh-hans", WIDE)]
SINGLE = question("single", "Where should I deploy?", "Staging (Recommended)", "Production")
MULTI = question("multi", "Which checks should run?", "Unit tests", "Licence scan", multiSelect=True)


def faults(page: Page) -> list[str]:
    """What axe finds on the page, in one line each."""
    # Colours are judged at rest, not in the middle of a transition.
    page.evaluate(
        "() => Promise.allSettled(document.getAnimations().map(animation => animation.finished)).then(() => 0)"
    )
    found = Axe().run(
        page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
    )
    return [
        f"{violation['id']}: {violation['help']} {[node['target'] for node in violation['nodes']]}"
        for violation in found.response["violations"]
    ]


@pytest.fixture(params=LOOKS, ids=[f"{scheme}-{language}-{size['width']}" for scheme, language, size in LOOKS])
def looked(request: pytest.FixtureRequest, person: Callable[..., BrowserContext], agent: Agent) -> Page:
    """A page in one of the looks."""
    scheme, language, viewport = request.param
    context = person("ana", color_scheme=scheme, locale=language, viewport=viewport)
    return open_page(context, agent)


def test_every_state_of_the_dock(looked: Page, agent: Agent) -> None:
    page = looked
    states: dict[str, list[str]] = {"nothing waits": faults(page)}
    agent.ask(SINGLE, MULTI, timeoutSeconds=600, maxTimeoutSeconds=1200)
    expect(dock(page) if page.locator("html[lang=en]").count() else page.locator("#dock-form")).to_be_visible()
    states["single"] = faults(page)
    page.get_by_role("radio").nth(1).check()
    states["chosen"] = faults(page)
    page.locator("#dock [data-action=next]").click()
    expect(page.locator("#dock")).to_have_attribute("data-step", "2")
    page.locator("#dock textarea").fill("something else")
    states["multi, with Other"] = faults(page)
    page.locator("#dock textarea").fill("")
    page.locator("#dock [data-action=submit]").click()
    expect(page.locator("#dock .error, #dock [aria-invalid]").first).to_be_visible()
    states["error"] = faults(page)
    page.locator("#dock [data-action=fold]").click()
    expect(page.locator("#composer-text")).to_be_visible()
    states["folded"] = faults(page)
    page.locator("#dock [data-action=unfold]").click()
    agent.ask(SINGLE)
    expect(page.locator("#dock")).to_have_attribute("data-requests", "2")
    states["two requests"] = faults(page)
    page.locator("#dock textarea").fill("typed for nothing")
    for prompt in agent.asked:
        agent.withdraw(prompt)
    expect(page.locator("#dock-form")).to_be_hidden()
    states["ended"] = faults(page)
    assert {state: found for state, found in states.items() if found} == {}


def test_every_state_of_reminders_and_of_what_is_on_its_way(looked: Page, agent: Agent, server: Server) -> None:
    page = looked
    states: dict[str, list[str]] = {}

    def see(name: str) -> None:
        states[name] = faults(page) + small(page)

    agent.ask(SINGLE, mode="async")
    expect(page.locator("#dock-form")).to_be_visible()
    see("a reminder beside the composer")
    page.locator("#dock [data-action=fold]").click()
    expect(page.locator("#dock [data-action=unfold]")).to_be_visible()
    see("a folded reminder")
    page.locator("#dock [data-action=unfold]").click()
    page.locator("#dock [data-action=skip]").click()
    expect(page.locator("#undo")).to_be_visible()
    see("undo")
    page.locator("#undo button").click()
    page.get_by_role("radio").first.check()
    page.locator("#dock [data-action=submit]").click()
    page.locator("#composer-text").fill("A message of several words, to see where it breaks on a narrow screen.")
    page.locator("#composer-text").press("Enter")
    row, state = page.locator("#outbox .delivery"), page.locator("#timeline .delivery-state")
    expect(row).to_have_attribute("data-status", "queued")
    see("queued")
    for edit in (state.locator("summary"), row.locator("summary")):
        edit.click()
    see("being edited")
    for edit in (state.locator("summary"), row.locator("summary")):
        edit.click()
    item = agent.take()
    expect(state).to_have_class(re.compile("sending"))
    see("sending")
    agent.refuse("The tank is empty, and the next one comes on Monday.", item)
    expect(state).to_have_class(re.compile("failed"))
    see("not sent")
    agent.take()
    expect(row).to_have_attribute("data-status", "sending")
    server.advance(61)
    expect(row).to_have_attribute("data-status", "unconfirmed", timeout=20_000)
    see("delivery unconfirmed")
    page.context.set_offline(True)
    page.locator("#composer-text").fill("Typed on a train.")
    page.locator("#composer-text").press("Enter")
    expect(page.locator("#unsent li")).to_have_count(1)
    see("waiting to be sent")
    page.context.set_offline(False)
    expect(page.locator("#unsent li")).to_have_count(0)
    agent.ask(MULTI, mode="async")
    expect(page.locator("#dock-form")).to_be_visible()
    run = agent.post("/runs", {"sessionKey": agent.key})["id"]
    agent.post(f"/runs/{run}/finish", {"status": "succeeded"})
    expect(page.locator(".summary--retired")).to_be_visible()
    see("no longer pending")
    assert {state: found for state, found in states.items() if found} == {}


def small(page: Page) -> list[str]:
    """Controls too small to touch, and a page that scrolls sideways."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll('#outbox, #timeline, #dock')]
          .flatMap(part => [...part.querySelectorAll('button, summary, textarea')])
          .filter(node => node.checkVisibility() && node.tabIndex >= 0)
          .map(node => [node.innerText || node.name, node.getBoundingClientRect()])
          .filter(([, box]) => box.width > 1 && (box.height < 44 || box.width < 44 || box.right > innerWidth))
          .map(([name, box]) => `${name}: ${box.width}x${box.height}`)
          .concat(document.documentElement.scrollWidth > innerWidth ? ['sideways'] : [])"""
    )
    return found


def measure(page: Page) -> dict[str, Any]:
    """Whether the page scrolls sideways, and whether the dock's buttons are in sight."""
    found: dict[str, Any] = page.evaluate(
        """() => ({
          sideways: document.documentElement.scrollWidth > innerWidth,
          hidden: [...document.querySelectorAll('#dock [data-action=submit], #dock [data-action=skip]')]
            .map(node => node.getBoundingClientRect())
            .filter(box => box.bottom > innerHeight + 1 || box.top < 0 || box.right > innerWidth + 1).length,
        })"""
    )
    return found


@pytest.mark.parametrize(("width", "height"), [(320, 568), (844, 390), (320, 256), (390, 500)])
def test_small_screens_and_zoom(person: Callable[..., BrowserContext], agent: Agent, width: int, height: int) -> None:
    """320 x 256 is 1280 x 1024 at 400 % (WCAG 1.4.10); 390 x 500 a phone with its keyboard up (bugs case 103)."""
    page = open_page(person("ana", viewport={"width": width, "height": height}), agent)
    agent.ask(SINGLE)
    expect(dock(page)).to_be_visible()
    page.get_by_role("textbox", name="Other answer").fill("text")
    expect(page.get_by_role("textbox", name="Other answer")).to_be_in_viewport()
    assert measure(page) == {"sideways": False, "hidden": 0}


def test_right_to_left_and_no_motion(person: Callable[..., BrowserContext], agent: Agent) -> None:
    page = open_page(person("ana", reduced_motion="reduce", viewport=NARROW), agent)
    agent.ask(question("q", "אנה עלי לפרוס את הגרסה?", "לבדיקות", "לייצור"))
    expect(dock(page)).to_be_visible()
    page.evaluate("document.documentElement.dir = 'rtl'")
    assert measure(page) == {"sideways": False, "hidden": 0}
    assert page.evaluate("document.getAnimations().length") == 0


def test_print_shows_the_history_and_no_controls(page: Page, agent: Agent) -> None:
    agent.say("A message to keep.")
    expect(page.locator("#timeline")).to_contain_text("A message to keep.")
    page.emulate_media(media="print")
    expect(page.locator("#timeline")).to_be_visible()
    expect(page.locator("#composer")).to_be_hidden()
