"""The demo agent shows every state of a message (README): it takes, refuses, is away, and crashes in mid-delivery."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from .conftest import Place, Process, until
from .test_ask import answer, mine

pytestmark = pytest.mark.processes

FIRST, LATER, DETAILS = (
    "Where should release 2.4 go first?",
    "What should the release notes lead with?",
    "Which checks should follow the deploy?",
)


# Closed with the test's server.
opened: list[httpx.Client] = []


class Person:
    """Somebody in front of the demo's page, without scripts."""

    def __init__(self, place: Place) -> None:
        self.http = httpx.Client(base_url=place.server["url"], follow_redirects=True, timeout=60)
        opened.append(self.http)
        link = place.run("sign_in_link", "owner", "--base-url", place.server["url"]).lines[-1]
        self.http.post(link, data={"csrfmiddlewaretoken": self.field(self.http.get(link).text, "csrfmiddlewaretoken")})
        token = place.run("create_token", "owner").lines[-1]
        self.path = place.api("GET", "/sessions/demo", token)[1]["url"]

    @staticmethod
    def field(html: str, name: str) -> str:
        """The value of a hidden field."""
        found = re.search(rf'name="{name}" value="([^"]*)"', html)
        assert found, html
        return found[1]

    @property
    def page(self) -> str:
        """The page as it is now."""
        return self.http.get(self.path).text

    def write(self, text: str) -> None:
        """Sends a message."""
        html = self.page.partition('id="composer"')[2]
        form = {"text": text, **{name: self.field(html, name) for name in ("csrfmiddlewaretoken", "key")}}
        assert self.http.post(f"{self.path}messages", data=form).status_code == 200

    def press(self, action: str) -> None:
        """Presses a button of the only message on its way."""
        html = self.page
        found = re.search(r'action="(/c/[^"]+/deliveries/[^"]+)"', html)
        assert found, html
        form = {"action": action, "csrfmiddlewaretoken": self.field(html, "csrfmiddlewaretoken")}
        assert self.http.post(found[1], data=form).status_code == 200

    def sees(self, status: str) -> None:
        """Waits until a message on its way stands so."""
        until(lambda: f'data-status="{status}"' in self.page.partition('id="outbox"')[2], f"a message is {status}")

    def reads(self, text: str) -> None:
        """Waits until the page says this."""
        until(lambda: text in self.page, f"the page says {text!r}")


@pytest.fixture
def clocked(tmp_path: Path) -> Iterator[Place]:
    """A server whose clock a test may move."""
    made = Place(tmp_path)
    made.env["CONTROLUI_CLOCK_OFFSET_FILE"] = str(tmp_path / "clock")
    made.up()
    yield made
    while opened:
        opened.pop().close()
    made.end()


def told(place: Place) -> tuple[Process, Person, str]:
    """A demo agent that has told its story, a person, and a token of theirs."""
    demo = place.start("demo_agent", "--pace", "0")
    token = place.run("create_token", "owner").lines[-1]
    for text in (FIRST, DETAILS):
        answer(place, token, mine(place, token, text))
    person = Person(place)
    person.reads("make me misbehave")
    return demo, person, token


def test_it_goes_on_working_and_takes_the_answer_when_it_comes(clocked: Place) -> None:
    demo, person, token = told(clocked)
    reminder = mine(clocked, token, LATER)
    assert (reminder["mode"], reminder["expiresAt"]) == ("async", None)
    answer(clocked, token, reminder)
    person.reads("Noted, while I work on")

    def record() -> Any:
        found = clocked.api("GET", f"/questions/{reminder['id']}", token)[1]
        return found if found["status"] == "answered" else None

    assert until(record, "the answer is in history")["delivery"]["status"] == "confirmed"
    assert demo.stop(signal.SIGINT) == 0


def test_refused_then_retried(clocked: Place) -> None:
    _demo, person, _token = told(clocked)
    person.write("refuse")
    person.reads("your next message I refuse")
    person.write("please")
    person.sees("failed")
    assert "The demo agent was told to refuse this." in person.page
    person.press("retry")
    person.reads("Thank you for your message")


def test_away_then_discarded(clocked: Place) -> None:
    demo, person, _token = told(clocked)
    person.write("away")
    person.reads("I am away for a minute")
    person.write("never mind")
    person.sees("queued")
    person.press("discard")
    assert 'id="delivery-' not in person.page
    assert "never mind" in person.page, "it is unsent text again"
    assert demo.stop(signal.SIGINT) == 0


def test_crashed_in_mid_delivery_then_retried(clocked: Place) -> None:
    demo, person, _token = told(clocked)
    person.write("crash")
    person.reads("your next message I lose")
    person.write("are you there?")
    assert demo.code() == 70
    person.sees("sending")
    Path(clocked.env["CONTROLUI_CLOCK_OFFSET_FILE"]).write_text("61")
    person.sees("unconfirmed")
    clocked.start("demo_agent", "--pace", "0")
    person.press("retry")
    until(lambda: 'id="delivery-' not in person.page, "it is taken")
    assert person.page.count("are you there?") == 1
