"""Faults for real: server and worker processes on PostgreSQL and Redis that are killed at the worst moment, agents that
vanish, refuse and repeat themselves, and a thousand messages through a storm of kills. 0 lost, 0 doubled."""

from __future__ import annotations

import random
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from django.db import connection

from controlui.chat.models import Agent, Conversation, Message, User
from controlui.chat.transitions import create_agent, create_token, open_conversation
from controlui.errors import ControlUIError
from controlui.ops.tests.conftest import Place, Process, until
from outbox import transitions as outbox
from outbox.models import Attempt, Delivery
from outbox.tests import servers
from outbox.tests.test_webhook import point
from questions.models import Prompt

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.redis,
    pytest.mark.processes,
    pytest.mark.django_db(transaction=True),
]

Status = Delivery.Status
LEASE_SECONDS = 61
KEY = "for-tests-only-0123456789-abcdefghij"


class Site(Place):
    """Processes on the very database of the test, whose clock the test may move."""

    def __init__(self, data: Path, redis: str) -> None:
        super().__init__(data)
        self.clock, self.offset = data / "clock", 0.0
        self.clock.write_text("0")
        self.env |= {
            "DATABASE_URL": database_url(),
            "REDIS_URL": redis,
            "SECRET_KEY": KEY,
            "CONTROLUI_CLOCK_OFFSET_FILE": str(self.clock),
            "WEBHOOK_PRIVATE": "true",
        }

    def advance(self, seconds: float) -> None:
        """Moves the clock of everybody forward."""
        self.offset += seconds
        # In one step: a process that reads an empty file would see time go back.
        fresh = self.clock.with_suffix(".new")
        fresh.write_text(str(self.offset))
        fresh.replace(self.clock)

    def worker(self) -> Process:
        """A worker that runs."""
        started = self.start("worker")
        started.says("runs")
        return started

    def kill(self, process: Process) -> None:
        """As the kernel would."""
        process.stop(signal.SIGKILL)


def database_url() -> str:
    """The test's own database, for other processes."""
    found = connection.settings_dict
    who = f"{found['USER']}:{found['PASSWORD']}" if found["PASSWORD"] else found["USER"]
    return f"postgres://{who}@{found['HOST']}:{found['PORT']}/{found['NAME']}"


@pytest.fixture
def site(transactional_db: None, tmp_path: Path, settings: Any) -> Iterator[Site]:
    """Where a test's processes live; none outlives it, and none holds the database when that is emptied."""
    made = Site(tmp_path, settings.REDIS_URL)
    settings.CLOCK_OFFSET_FILE = str(made.clock)
    yield made
    made.end()


@pytest.fixture
def hook(agent: Agent) -> Iterator[Callable[..., servers.Hook]]:
    """Starts a webhook that behaves so, and makes it the agent's."""
    made: list[servers.Hook] = []

    def start(behave: Any, whose: Agent = agent) -> servers.Hook:
        hook = servers.Hook(behave).start()
        made.append(hook)
        point(whose, hook.url)
        return hook

    yield start
    for each in made:
        each.stop()


def send(place: Conversation, author: User, text: str = "hello") -> Delivery:
    """A message joins the line."""
    number = Delivery.objects.filter(conversation=place).count()
    return outbox.enqueue(conversation=place, author=author, text=text, key=f"key-{number}")[0]


def stands(delivery: Delivery, status: str) -> Delivery:
    """The delivery, once it stands so."""

    def look() -> Delivery | None:
        found = Delivery.objects.select_related("conversation").get(pk=delivery.pk)
        return found if found.status == status else None

    found: Delivery = until(look, f"the delivery is {status}, not {Delivery.objects.get(pk=delivery.pk).status}")
    return found


def said() -> list[str]:
    """What people said, as it is in history."""
    return list(Message.objects.filter(kind="person").order_by("pk").values_list("text", flat=True))


def outcomes(delivery: Delivery) -> list[str]:
    """How each attempt ended."""
    return list(Attempt.objects.filter(delivery=delivery).order_by("number").values_list("outcome", flat=True))


@contextmanager
def held(statement: str) -> Iterator[psycopg.Connection[Any]]:
    """Runs a locking statement on a connection of its own, and keeps its locks until the end."""
    with psycopg.connect(database_url()) as line:
        line.execute(statement.encode())
        yield line
        line.rollback()


def somebody_waits_for_a_lock() -> bool:
    """Whether a process of the site stands before a lock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        row = cursor.fetchone()
    return bool(row and row[0])


# -- the worker is killed ---------------------------------------------------------------------------------------------


def recovers(site: Site, delivery: Delivery, hook: servers.Hook, place: Conversation, ben: User) -> None:
    """After a kill in mid-send: not sent again by itself, nobody is held up, and Retry sends the same message once."""
    before = len(hook.requests)
    # The next in line, which shows that the new worker has been at work.
    following = send(place, ben, "the next")
    site.worker()
    assert Delivery.objects.get(pk=delivery.pk).status == Status.SENDING
    site.advance(LEASE_SECONDS)
    stands(following, Status.CONFIRMED)
    assert stands(delivery, Status.UNCONFIRMED).error_code == "lease_expired"
    assert (len(hook.requests), said()) == (before + 1, ["the next"])
    outbox.retry(delivery=delivery)
    stands(delivery, Status.CONFIRMED)
    assert (len(hook.requests), said()) == (before + 2, ["the next", "hello"])
    assert hook.requests[-1].headers["webhook-id"] == delivery.uid
    assert outcomes(delivery) == ["unconfirmed", "accepted"]


def test_the_worker_is_killed_before_it_sends(
    site: Site, hook: Callable[..., servers.Hook], conversation: Conversation, agent: Agent, ben: User
) -> None:
    receiver = hook(servers.says("200 OK"))
    # It waits for a greeting in TLS that never comes: claimed, and not sent.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        point(agent, f"https://127.0.0.1:{silent.getsockname()[1]}/")
        delivery = send(conversation, ben)
        worker = site.worker()
        silent.settimeout(30)
        line, _address = silent.accept()
        site.kill(worker)
        line.close()
    point(agent, receiver.url)
    recovers(site, delivery, receiver, conversation, ben)


def test_the_worker_is_killed_after_it_sent(
    site: Site, hook: Callable[..., servers.Hook], conversation: Conversation, ben: User
) -> None:
    over = threading.Event()
    receiver = hook(servers.in_turn(servers.hangs(over), servers.says("200 OK")))
    delivery = send(conversation, ben)
    worker = site.worker()
    until(lambda: receiver.requests, "the request has arrived")
    site.kill(worker)
    over.set()
    recovers(site, delivery, receiver, conversation, ben)


def test_the_worker_is_killed_after_the_agent_accepted_and_before_that_is_saved(
    site: Site, hook: Callable[..., servers.Hook], conversation: Conversation, ben: User
) -> None:
    arrived, locked = threading.Event(), threading.Event()

    def accept(line: socket.socket) -> None:
        arrived.set()
        locked.wait(30)
        servers.says("200 OK")(line)

    receiver = hook(servers.in_turn(accept, servers.says("200 OK")))
    delivery = send(conversation, ben)
    worker = site.worker()
    assert arrived.wait(30)
    with held(f"SELECT 1 FROM chat_conversation WHERE id = {conversation.pk} FOR UPDATE"):
        locked.set()
        until(somebody_waits_for_a_lock, "the worker wants to save the acceptance")
        site.kill(worker)
    assert said() == []
    recovers(site, delivery, receiver, conversation, ben)


def test_the_worker_is_killed_after_the_commit(
    site: Site, hook: Callable[..., servers.Hook], conversation: Conversation, ben: User
) -> None:
    receiver = hook(servers.says("200 OK"))
    delivery = send(conversation, ben)
    worker = site.worker()
    stands(delivery, Status.CONFIRMED)
    site.kill(worker)
    following = send(conversation, ben, "the next")
    site.worker()
    site.advance(LEASE_SECONDS)
    stands(following, Status.CONFIRMED)
    assert (len(receiver.requests), said()) == (2, ["hello", "the next"])


def test_a_worker_that_is_told_to_stop_finishes_what_it_sends(
    site: Site, hook: Callable[..., servers.Hook], conversation: Conversation, ben: User
) -> None:
    over = threading.Event()

    def slow(line: socket.socket) -> None:
        over.wait(30)
        servers.says("200 OK")(line)

    receiver = hook(slow)
    delivery = send(conversation, ben)
    worker = site.worker()
    until(lambda: receiver.requests, "the request has arrived")
    worker.popen.send_signal(signal.SIGTERM)
    over.set()
    assert worker.code() == 0
    assert stands(delivery, Status.CONFIRMED).tries == 1


# -- the web process is killed ----------------------------------------------------------------------------------------


def test_the_server_is_killed_between_submit_and_the_queue(
    site: Site, ask: Callable[..., Prompt], ben: User, agent: Agent
) -> None:
    prompt, person = ask(mode="async"), create_token(user=ben)
    press = {"answers": {"deploy_target": ["Production"]}, "resolutionId": "this press"}
    path = f"/questions/{prompt.wire_id}/answer"
    server = site.up()
    with ThreadPoolExecutor(1) as pool, held("LOCK TABLE outbox_delivery IN EXCLUSIVE MODE"):
        pressed = pool.submit(site.api, "POST", path, person, press)
        until(somebody_waits_for_a_lock, "the answer wants to join the queue")
        site.kill(server)
        with pytest.raises(httpx.TransportError):
            pressed.result(30)
    prompt.refresh_from_db()
    assert (prompt.status, Delivery.objects.count()) == ("pending", 0), "nothing is half-done"
    server = site.up()
    # Killed again, the moment the answer is in the queue, whether its reply arrived or not: the press is repeated.
    with ThreadPoolExecutor(1) as pool:
        pressed = pool.submit(site.api, "POST", path, person, press)
        until(Delivery.objects.exists, "the answer is in the queue")
        site.kill(server)
        pressed.exception(30)
    site.up()
    status, body = site.api("POST", path, person, press)
    assert (status, body["status"], body["delivery"]["status"]) == (200, "submitted", "queued")
    assert Delivery.objects.count() == 1


# -- agents that behave badly -----------------------------------------------------------------------------------------


class Robot:
    """An agent that reads its inbox over HTTP."""

    def __init__(self, site: Site, agent: Agent) -> None:
        self.site, self.token = site, create_token(agent=agent)

    def take(self) -> dict[str, Any]:
        """The one delivery that waits."""
        status, body = self.site.api("GET", "/inbox", self.token)
        assert status == 200, body
        [found] = body["deliveries"]
        item: dict[str, Any] = found
        return item

    def ack(self, item: dict[str, Any], *, accepted: bool = True) -> tuple[int, str]:
        """The status of the reply, and how the delivery stands by its word."""
        body = {"lease": item["lease"], "accepted": accepted, **({} if accepted else {"error": "No."})}
        status, reply = self.site.api("POST", f"/inbox/{item['id']}/ack", self.token, body)
        return status, reply["status"]


@pytest.fixture
def robot(site: Site, agent: Agent) -> Robot:
    """The agent, and a server."""
    site.up()
    return Robot(site, agent)


def test_acknowledged_twice(robot: Robot, conversation: Conversation, ben: User) -> None:
    send(conversation, ben)
    item = robot.take()
    with ThreadPoolExecutor(10) as pool:
        replies = list(pool.map(lambda _number: robot.ack(item), range(10)))
    assert replies == [(200, "confirmed")] * 10
    assert said() == ["hello"]


def test_acknowledged_after_the_lease(robot: Robot, site: Site, conversation: Conversation, ben: User) -> None:
    delivery = send(conversation, ben)
    item = robot.take()
    site.advance(LEASE_SECONDS)
    stands(delivery, Status.UNCONFIRMED)
    assert robot.ack(item, accepted=False) == (409, "unconfirmed"), "a refusal counts with the current lease only"
    assert robot.ack(item) == (200, "confirmed")
    assert said() == ["hello"]


def test_acknowledged_after_retry_with_the_old_lease(
    robot: Robot, site: Site, conversation: Conversation, ben: User
) -> None:
    delivery = send(conversation, ben)
    old = robot.take()
    site.advance(LEASE_SECONDS)
    outbox.retry(delivery=stands(delivery, Status.UNCONFIRMED))
    new = robot.take()
    assert (new["id"], new["messageId"]) == (old["id"], old["messageId"])
    assert robot.ack(old, accepted=False) == (409, "sending")
    assert [robot.ack(old), robot.ack(new)] == [(200, "confirmed")] * 2
    assert said() == ["hello"]


def test_acknowledged_after_discard(robot: Robot, site: Site, conversation: Conversation, ben: User) -> None:
    delivery = send(conversation, ben)
    item = robot.take()
    site.advance(LEASE_SECONDS)
    outbox.discard(delivery=stands(delivery, Status.UNCONFIRMED))
    assert robot.ack(item, accepted=False) == (409, "discarded")
    assert robot.ack(item) == (200, "confirmed")
    assert said() == ["hello"]


def test_refused_then_accepted_and_the_reverse(robot: Robot, conversation: Conversation, ben: User) -> None:
    send(conversation, ben)
    item = robot.take()
    assert robot.ack(item, accepted=False) == (200, "failed")
    assert robot.ack(item, accepted=False) == (200, "failed")
    assert said() == []
    assert robot.ack(item) == (200, "confirmed"), "it has it after all"
    assert robot.ack(item, accepted=False) == (409, "confirmed")
    assert said() == ["hello"]


def test_an_agent_that_never_acknowledges_holds_nobody_up(
    robot: Robot, site: Site, conversation: Conversation, ben: User
) -> None:
    deliveries = [send(conversation, ben, f"number {number}") for number in range(3)]
    for delivery in deliveries:
        assert robot.take()["id"] == delivery.uid
        assert robot.site.api("GET", "/inbox", robot.token)[1]["deliveries"] == [], "one at a time"
        site.advance(LEASE_SECONDS)
        stands(delivery, Status.UNCONFIRMED)
    assert said() == []
    assert [outcomes(delivery) for delivery in deliveries] == [["unconfirmed"]] * 3


@pytest.mark.parametrize(
    "behave",
    [
        pytest.param(servers.hangs(threading.Event()), id="hangs"),
        pytest.param(servers.drips(threading.Event()), id="drips"),
        pytest.param(servers.says("302 Found", b"", "Location: http://127.0.0.1:1/"), id="redirects"),
        pytest.param(servers.endless([]), id="a gigabyte"),
        pytest.param(servers.breaks, id="breaks"),
        pytest.param(servers.says("500 Oops"), id="down"),
    ],
)
def test_a_webhook_that_behaves_badly_holds_no_other_up(
    site: Site, hook: Callable[..., servers.Hook], conversation: Conversation, ana: User, ben: User, behave: Any
) -> None:
    bad = hook(behave)
    others = create_agent(name="other", owner=ana)
    good = hook(servers.says("200 OK", b'{"error": "of another kind"}'), others)
    held_up = [send(conversation, ben, f"number {number}") for number in range(2)]
    place = open_conversation(agent=others, key="other")
    site.worker()
    until(lambda: bad.requests, "the bad one was asked")
    following = [send(place, ben, f"other {number}") for number in range(3)]
    for delivery in following:
        stands(delivery, Status.CONFIRMED)
    assert len(good.requests) == 3
    assert Attempt.objects.filter(delivery=held_up[0]).count() == 1


def test_a_poison_message_stops_neither_its_worker_nor_the_queue(
    site: Site, hook: Callable[..., servers.Hook], conversation: Conversation, agent: Agent, ben: User
) -> None:
    receiver = hook(servers.says("200 OK"))
    Agent.objects.filter(pk=agent.pk).update(webhook_secret="whsec_not base64!")
    poison = send(conversation, ben, "poison")
    worker = site.worker()
    assert stands(poison, Status.UNCONFIRMED).error_code == "internal"
    point(agent, receiver.url)
    stands(send(conversation, ben), Status.CONFIRMED)
    assert worker.popen.poll() is None
    assert said() == ["hello"]


# -- fifty presses ----------------------------------------------------------------------------------------------------


class Browser:
    """Somebody's browser without scripts, signed in."""

    def __init__(self, site: Site, name: str) -> None:
        self.http = httpx.Client(base_url=site.server["url"], timeout=120, limits=httpx.Limits(max_connections=50))
        link = site.run("sign_in_link", name, "--base-url", site.server["url"]).lines[-1]
        self.token = self.csrf(self.http.get(link).text)
        assert self.http.post(link, data={"csrfmiddlewaretoken": self.token}).status_code == 303

    @staticmethod
    def csrf(html: str) -> str:
        """The form's token."""
        found = re.search(r'name="csrfmiddlewaretoken" value="([^"]*)"', html)
        assert found, html
        return found[1]

    def press(self, delivery: Delivery, action: str) -> tuple[str, int, str]:
        """One press of a button; what was pressed, the reply's status and text."""
        path = f"/c/{delivery.conversation.uid}/deliveries/{delivery.uid}"
        reply = self.http.post(path, data={"action": action, "csrfmiddlewaretoken": self.token})
        return action, reply.status_code, reply.text


@pytest.mark.parametrize("accepts", [True, False])
def test_fifty_presses_of_retry_and_discard_while_the_agent_acknowledges(
    robot: Robot, site: Site, conversation: Conversation, ben: User, *, accepts: bool
) -> None:
    delivery = send(conversation, ben)
    item = robot.take()
    site.advance(LEASE_SECONDS)
    stands(delivery, Status.UNCONFIRMED)
    browser = Browser(site, "ben")
    browser.token = browser.csrf(browser.http.get(f"/c/{conversation.uid}/").text)
    with ThreadPoolExecutor(51) as pool:
        acknowledged = pool.submit(robot.ack, item) if accepts else None
        replies = list(pool.map(lambda action: browser.press(delivery, action), ["retry", "discard"] * 25))
    browser.http.close()
    final = Delivery.objects.get(pk=delivery.pk)
    if acknowledged is not None:
        assert acknowledged.result() == (200, "confirmed")
    assert final.status == (Status.CONFIRMED if accepts else Status.DISCARDED)
    assert said() == (["hello"] if accepts else [])
    for action, status, text in replies:
        # Done, or told in words that it came too late; nothing else.
        late = "was accepted meanwhile" in text or "was discarded meanwhile" in text
        assert status == 303 or (status == 409 and late), (action, status, text[:500])
    if not accepts:
        assert {status for action, status, _text in replies if action == "discard"} == {303}


# -- a storm ----------------------------------------------------------------------------------------------------------


class Storm:
    """A thousand messages on their way while processes are killed, agents drop and refuse, and somebody presses Retry.

    `seen`: what each agent got, by conversation, in the order of its first sight.
    """

    def __init__(self, site: Site, number: int) -> None:
        self.site, self.number = site, number
        self.random = random.Random(7)
        self.dice = threading.Lock()
        self.over = threading.Event()
        self.seen: list[str] = []
        self.kills = 0
        self.urls: dict[int, str] = {}
        self.ups: list[Process | None] = [None, None]
        self.workers: list[Process | None] = [None, None]

    def chance(self) -> float:
        """From 0 to 1."""
        with self.dice:
            return self.random.random()

    def hook(self, line: socket.socket) -> None:
        """A webhook of moods."""
        mood = self.chance()
        if mood < 0.08:
            servers.says("500 Oops")(line)
        elif mood < 0.14:
            servers.says("400 Bad Request")(line)
        elif mood < 0.2:
            servers.breaks(line)
        else:
            servers.says("200 OK")(line)

    def read_inbox(self, token: str) -> None:
        """An agent of moods, which goes to whichever server is there."""
        headers = {"Authorization": f"Bearer {token}"}
        while not self.over.is_set():
            urls = list(self.urls.values())
            url = urls[int(self.chance() * len(urls))]
            try:
                with httpx.Client(base_url=f"{url}/api/v1", headers=headers, timeout=20) as http:
                    for item in http.get("/inbox?wait=1").json().get("deliveries", []):
                        self.seen.append(item["id"])
                        self.acknowledge(http, item)
            except (httpx.HTTPError, ValueError):
                self.over.wait(0.05)

    def acknowledge(self, http: httpx.Client, item: dict[str, Any]) -> None:
        """Accepts most, once or twice; refuses some; forgets some."""
        mood = self.chance()
        if mood < 0.06:
            return
        ack = {"lease": item["lease"], "accepted": mood >= 0.12}
        for _time in range(2 if mood > 0.9 else 1):
            http.post(f"/inbox/{item['id']}/ack", json=ack)

    def write(self, places: list[Conversation], author: User) -> None:
        """People write: each message is enqueued by two presses of the same key."""
        try:
            for number in range(self.number // len(places)):
                for place in places:
                    for _press in range(2 if number % 10 == 0 else 1):
                        outbox.enqueue(conversation=place, author=author, text=f"{number:03}", key=f"press-{number}")
        finally:
            connection.close()

    def press_retry(self) -> None:
        """Somebody who presses Retry wherever there is such a button."""
        try:
            while not self.over.is_set():
                for delivery in Delivery.objects.select_related("conversation").filter(
                    status__in=[Status.FAILED, Status.UNCONFIRMED]
                )[:50]:
                    try:
                        outbox.retry(delivery=delivery)
                    except ControlUIError:
                        continue  # it was accepted meanwhile
                self.over.wait(0.1)
        finally:
            connection.close()

    def rage(self) -> None:
        """Every second a process is killed and started anew, and now and then a lease's time passes."""
        while not self.over.wait(1):
            which = int(self.chance() * 4)
            self.restart(which)
            self.kills += 1
            if self.kills % 2 == 0:
                self.site.advance(LEASE_SECONDS)

    def restart(self, which: int) -> None:
        """Kills one of the two servers or of the two workers, and starts it again; its start is not waited for."""
        group, place = (self.ups, which) if which < 2 else (self.workers, which - 2)
        old = group[place]
        if old is not None:
            self.site.kill(old)
        if group is self.workers:
            group[place] = self.site.start("worker")
        else:
            port = self.urls[place].rpartition(":")[2] if place in self.urls else "0"
            group[place] = self.site.start("up", "--port", port)


def all_confirmed(number: int) -> Callable[[], bool]:
    """Whether so many deliveries are in history."""
    return lambda: Delivery.objects.filter(status=Status.CONFIRMED).count() == number


# Processes that are killed every second are mostly starting.
@pytest.mark.timeout(450)
def test_a_thousand_deliveries_through_a_storm(
    site: Site, agent: Agent, ana: User, hook: Callable[..., servers.Hook]
) -> None:
    storm = Storm(site, 1000)
    inbox_agent = create_agent(name="reader", owner=ana)
    receiver = hook(storm.hook)
    places = [open_conversation(agent=agent, key=f"hook-{number}") for number in range(10)]
    places += [open_conversation(agent=inbox_agent, key=f"inbox-{number}") for number in range(10)]
    for which in range(2):
        storm.ups[which] = site.up()
        storm.urls[which] = site.server["url"]
        storm.workers[which] = site.worker()
    token = create_token(agent=inbox_agent)
    with ThreadPoolExecutor(8) as pool:
        actors = [pool.submit(storm.write, places, ana), pool.submit(storm.press_retry), pool.submit(storm.rage)]
        actors += [pool.submit(storm.read_inbox, token) for _reader in range(3)]
        try:
            until(all_confirmed(1000), "all are in history", 300)
        finally:
            storm.over.set()
        for actor in actors:
            actor.result(60)
    assert storm.kills >= 5, "it was a storm"
    # None lost, none doubled, in history and for the agents.
    saved = Message.objects.filter(kind="person")
    assert sorted(saved.values_list("uid", flat=True)) == sorted(Delivery.objects.values_list("uid", flat=True))
    assert saved.count() == 1000
    got = {request.headers["webhook-id"] for request in receiver.requests} | set(storm.seen)
    assert got == set(saved.values_list("uid", flat=True))
    for place in places:
        first = list(
            Attempt.objects.filter(delivery__conversation=place, number=1)
            .order_by("started_at", "pk")
            .values_list("delivery__text", flat=True)
        )
        assert first == [f"{number:03}" for number in range(50)], "first attempts go in order"
