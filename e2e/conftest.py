"""A real server process, an agent that speaks to its API, and people in real browsers. Nothing here sleeps."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DEADLINE = 30
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}

expect.set_options(timeout=8_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here drives a browser."""
    for item in items:
        if Path(str(item.path)).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.e2e)


def until(found: Callable[[], Any], what: str, seconds: float = DEADLINE) -> Any:
    """The first true value of `found`; fails with `what` when the deadline passes."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds:g} s: {what}")


class Server:
    """`manage.py up` in a process of its own, with its own data, port and clock."""

    def __init__(self, data: Path, **settings: str) -> None:
        self.data = data
        self.offset = 0.0
        self.clock = data / "clock"
        self.clock.write_text("0")
        self.env = {
            **os.environ, "CONTROLUI_DATA": str(data), "CONTROLUI_CLOCK_OFFSET_FILE": str(self.clock),
            "DATABASE_URL": "", "REDIS_URL": "", "PYTHONUNBUFFERED": "1", **settings,
        }  # fmt: skip
        self.port = 0
        self.start()

    def start(self) -> None:
        """Starts it and waits until it takes requests. After the first time on the same port."""
        log = (self.data / "server.log").open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "up", "--port", str(self.port)],
            cwd=ROOT, env=self.env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        log.close()
        until(self.is_ready, f"the server is up\n{(self.data / 'server.log').read_text()}", 60)

    def is_ready(self) -> bool:
        """Whether this very process answers."""
        assert self.process.poll() is None, (self.data / "server.log").read_text()
        words = (self.data / "server.log").read_text().rpartition("running at ")
        if not words[1]:
            return False
        self.url = words[2].split()[0]
        self.port = int(self.url.rpartition(":")[2])
        try:
            return httpx.get(f"{self.url}/readyz", timeout=2).status_code == 200
        except httpx.TransportError:
            return False

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ends the process, politely or not."""
        self.process.send_signal(how)
        self.process.wait(DEADLINE)

    def manage(self, *words: str) -> str:
        """The last line that a management command prints."""
        done = subprocess.run(
            [sys.executable, "manage.py", *words], cwd=ROOT, env=self.env, check=True, capture_output=True, text=True
        )
        return done.stdout.strip().splitlines()[-1]

    def advance(self, seconds: float) -> None:
        """Moves the server's clock forward; it never goes back, as times do not."""
        self.offset += seconds
        self.clock.write_text(str(self.offset))


class Agent:
    """An agent in one conversation, through the public API only."""

    def __init__(self, url: str, token: str, key: str) -> None:
        self.key = key
        self.http = httpx.Client(
            base_url=f"{url}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=DEADLINE
        )
        self.asked: list[str] = []

    def post(self, path: str, data: dict[str, Any]) -> dict[str, Any]:
        """One call that must succeed."""
        response = self.http.post(path, json=data)
        assert response.is_success, response.text
        found: dict[str, Any] = response.json()
        return found

    def ask(self, *questions: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Opens a prompt; one question with two options where none is given."""
        record = self.post("/ask", {"sessionKey": self.key, "questions": questions or [question()], **more})
        self.asked.append(record["id"])
        return record

    def say(self, text: str, **more: Any) -> None:
        """A message of the agent."""
        self.post(f"/sessions/{self.key}/messages", {"text": text, **more})

    def record(self, prompt: str) -> dict[str, Any]:
        """The prompt as the agent sees it."""
        found: dict[str, Any] = self.http.get(f"/questions/{prompt}").json()
        return found

    def answers(self, prompt: str) -> dict[str, list[str]]:
        """The answers, once they are there."""
        result = until(lambda: self.record(prompt).get("result"), "the prompt has ended")
        assert result["status"] == "answered", result
        answers: dict[str, list[str]] = result["answers"]["answers"]
        return answers

    def withdraw(self, prompt: str) -> None:
        """The agent no longer wants to know."""
        self.post(f"/questions/{prompt}/cancel", {})

    def take(self) -> dict[str, Any]:
        """The next message in the inbox, once there is one; leased, and not accepted yet."""

        def look() -> list[dict[str, Any]]:
            response = self.http.get("/inbox", params={"sessionKey": self.key})
            assert response.is_success, response.text
            found: list[dict[str, Any]] = response.json()["deliveries"]
            return found

        found: dict[str, Any] = until(look, "a message is in the inbox")[0]
        return found

    def accept(self, item: dict[str, Any] | None = None) -> dict[str, Any]:
        """Accepts a message that was taken, or the next one: it is in history now."""
        item = item or self.take()
        self.post(f"/inbox/{item['id']}/ack", {"lease": item["lease"], "accepted": True})
        return item

    def refuse(self, error: str = "", item: dict[str, Any] | None = None) -> dict[str, Any]:
        """Refuses a message that was taken, or the next one."""
        item = item or self.take()
        self.post(f"/inbox/{item['id']}/ack", {"lease": item["lease"], "accepted": False, "error": error})
        return item

    def history(self) -> list[str]:
        """What people have sent, as saved, the oldest first."""
        rows = self.http.get(f"/sessions/{self.key}/messages").json()["messages"]
        return [row["text"] for row in reversed(rows) if row["kind"] == "person"]

    @property
    def path(self) -> str:
        """The conversation's page."""
        found: str = self.http.get(f"/sessions/{self.key}").json()["url"]
        return found


def question(key: str = "target", text: str = "Where should I deploy?", *labels: str, **more: Any) -> dict[str, Any]:
    """One question of an ask."""
    options = [{"label": label} for label in labels or ("Staging", "Production")]
    return {"id": key, "header": key.title()[:12], "question": text, "options": options, **more}


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server"))
    server.manage("create_user", "ana", "--group", "admins")
    server.manage("create_user", "ben", "--group", "admins")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def token(server: Server) -> str:
    return server.manage("create_agent", "robot", "--owner", "ana")


NUMBERS = itertools.count(1)


@pytest.fixture
def agent(server: Server, token: str) -> Iterator[Agent]:
    """An agent in a new conversation; what it still asks at the end is withdrawn."""
    agent = Agent(server.url, token, f"talk-{next(NUMBERS)}")
    agent.say("Hello.")
    yield agent
    for prompt in agent.asked:
        agent.http.post(f"/questions/{prompt}/cancel", json={})
    agent.http.close()


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def sign_in(server: Server, browser: Browser) -> Callable[[BrowserContext, str], None]:
    """Signs a browser in as a person, by a fresh link."""

    def sign_in(context: BrowserContext, name: str) -> None:
        page = context.new_page()
        page.goto(server.manage("sign_in_link", name, "--base-url", server.url))
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(lambda address: "/sign-in/" not in address)
        page.close()

    return sign_in


@pytest.fixture(scope="session")
def cookies(browser: Browser, sign_in: Callable[[BrowserContext, str], None]) -> Callable[[str], Any]:
    """A person's signed-in state, made once."""
    kept: dict[str, Any] = {}

    def cookies(name: str) -> Any:
        if name not in kept:
            context = browser.new_context()
            sign_in(context, name)
            kept[name] = context.storage_state()
            context.close()
        return kept[name]

    return cookies


@pytest.fixture
def person(server: Server, browser: Browser, cookies: Callable[[str], Any]) -> Iterator[Callable[..., BrowserContext]]:
    """A browser of a person, signed in: `person("ana")`. A script error or a breach of the CSP fails the test."""
    contexts: list[BrowserContext] = []
    faults: list[str] = []

    def listen(page: Page) -> None:
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda line: faults.append(line.text) if "Content Security Policy" in line.text else None)

    def person(name: str = "ana", **more: Any) -> BrowserContext:
        context = browser.new_context(
            base_url=server.url, storage_state=cookies(name), viewport=more.pop("viewport", WIDE), **more
        )
        context.on("page", listen)
        contexts.append(context)
        return context

    yield person
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture
def ana(person: Callable[..., BrowserContext]) -> BrowserContext:
    return person("ana")


@pytest.fixture
def page(ana: BrowserContext, agent: Agent) -> Page:
    """Ana's page of the agent's conversation, with its socket up."""
    return open_page(ana, agent)


def open_page(context: BrowserContext, agent: Agent) -> Page:
    """A page of the agent's conversation that has caught up over its socket."""
    page = context.new_page()
    page.goto(agent.path)
    expect(page.locator("body[data-line=open]")).to_have_count(1, timeout=20_000)
    return page


def dock(page: Page) -> Any:
    """The panel."""
    return page.get_by_role("region", name="Question", exact=True)


def outbox(page: Page) -> Any:
    """The messages on their way."""
    return page.locator("#outbox .delivery")
