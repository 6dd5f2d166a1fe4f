"""In whatever order pushes reach a page, or if some never do, it equals a fresh load and a second device."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, WebSocketRoute, expect

from e2e.conftest import Agent, Server, open_page, question
from e2e.test_async import settle, shown


class Shuffled:
    """A page's socket whose messages wait, and are let through in another order, or not at all."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.waiting = chance, list[tuple[WebSocketRoute, Any]]()

    def route(self, socket: WebSocketRoute) -> None:
        """Stands between the page and the server."""
        server = socket.connect_to_server()
        server.on_message(lambda frame: self.waiting.append((socket, frame)))

    def let_through(self) -> None:
        """Most of what waits, shuffled; some of it stays for later, some is lost."""
        waiting, self.waiting = self.waiting, []
        self.chance.shuffle(waiting)
        for socket, frame in waiting:
            fate = self.chance.random()
            if fate < 0.15:
                self.waiting.append((socket, frame))
            elif fate < 0.9:
                socket.send(frame)


class Life:
    """What an agent and a person do in one conversation, at random."""

    def __init__(self, agent: Agent, person: httpx.Client, chance: random.Random) -> None:
        self.agent, self.person, self.chance = agent, person, chance
        self.number = 0
        self.runs: list[str] = []
        self.taken: list[dict[str, Any]] = []

    def step(self) -> None:
        """One thing happens."""
        moves = [self.ask, self.ask, self.begin, self.end, self.end, self.say, self.answer, self.skip, self.withdraw]
        self.number += 1
        self.chance.choice([*moves, self.take, self.settle, self.settle])()

    def pending(self, **more: str) -> list[dict[str, Any]]:
        """What waits for an answer."""
        found = self.agent.http.get("/questions", params={"status": "pending", "sessionKey": self.agent.key}).json()
        rows: list[dict[str, Any]] = [row for row in found["questions"] if row["sessionKey"] == self.agent.key]
        return [row for row in rows if all(row[name] == value for name, value in more.items())]

    def ask(self) -> None:
        mode = self.chance.choice(["async", "async", "blocking"])
        asked = question(f"q{self.number}", f"Question {self.number}?")
        self.agent.ask(asked, mode=mode, **({"runId": self.chance.choice(self.runs)} if self.runs else {}))

    def begin(self) -> None:
        self.runs.append(self.agent.post("/runs", {"sessionKey": self.agent.key})["id"])

    def end(self) -> None:
        if self.runs:
            status = self.chance.choice(["succeeded", "succeeded", "failed"])
            run = self.runs.pop(self.chance.randrange(len(self.runs)))
            self.agent.post(f"/runs/{run}/finish", {"status": status})

    def say(self) -> None:
        self.agent.say(f"Saying {self.number}.")

    def answer(self) -> None:
        for row in self.pending()[:1]:
            press = {"answers": {row["questions"][0]["id"]: ["Staging"]}}
            self.person.post(f"/questions/{row['id']}/answer", json=press).raise_for_status()

    def skip(self) -> None:
        for row in self.pending(mode="async")[-1:]:
            self.person.post(f"/questions/{row['id']}/skip", json={}).raise_for_status()

    def withdraw(self) -> None:
        for row in self.pending()[-1:]:
            self.agent.withdraw(row["id"])

    def take(self) -> None:
        found = self.agent.http.get("/inbox", params={"sessionKey": self.agent.key}).json()["deliveries"]
        self.taken.extend(found)

    def settle(self) -> None:
        if self.taken:
            self.chance.choice([self.agent.accept, lambda item: self.agent.refuse("Not now.", item)])(self.taken.pop())


@pytest.fixture
def owner(server: Server) -> Iterator[httpx.Client]:
    """Ana, over the API."""
    token = server.manage("create_token", "ana")
    with httpx.Client(
        base_url=f"{server.url}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=30
    ) as client:
        yield client


def requests(page: Page) -> str | None:
    """How many requests stand in the dock."""
    return page.locator("#dock").get_attribute("data-requests")


def timeless(lines: list[str]) -> list[str]:
    """Without the seconds that pass between two looks."""
    return [line for line in lines if 'role="timer"' not in line]


def parts(lines: list[str]) -> list[str]:
    """What two devices must agree on: not which of its requests each has in view."""
    start = next(number for number, line in enumerate(lines) if 'id="dock"' in line)
    return lines[:start]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_any_order_of_pushes_equals_a_fresh_load_and_a_second_device(
    person: Callable[..., BrowserContext], agent: Agent, owner: httpx.Client, seed: int
) -> None:
    chance = random.Random(seed)
    context = person("ana")
    shuffled = Shuffled(chance)
    page = context.new_page()
    page.route_web_socket("**/ws/**", shuffled.route)
    page.goto(agent.path)
    second = open_page(person("ana"), agent)
    life = Life(agent, owner, chance)
    for _round in range(6):
        for _step in range(6):
            life.step()
            if chance.random() < 0.5:
                shuffled.let_through()
                page.evaluate("1")
        agent.say("The end of a round.")
        expect(second.locator("#timeline > li").last).to_contain_text("The end of a round.")
        shuffled.let_through()
        settle(page)
        settle(second)
        live, other = timeless(shown(page)), timeless(shown(second))
        page.reload()
        assert live == timeless(shown(page))
        assert parts(live) == parts(other)
        assert requests(page) == requests(second)
