"""The outbox: Submit -> message in history with a connected agent, alone and beside 1,000 messages of an absent one;
deliveries a second with 1 and 4 workers, and their order; what 50 reminders and 5,000 messages cost a page.

The agent polls `GET /inbox?wait=60` and accepts at once; a time ends when its acceptance is acknowledged, since the
message is saved in that transaction. The workers call a webhook of this process that answers 200. On PostgreSQL where
BENCH_DATABASE_URL names a database that may be filled and BENCH_REDIS_URL a Redis; the workers are measured only there.

`outbox.py [--times N] [--absent N] [--deliveries N]`
"""

from __future__ import annotations

import argparse
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any
from urllib.parse import urlencode

from common import ANSWERS, QUESTION, ROOT, Place, Server, environment, note_load, percentile, scene, serving, table
from common import data_directory as fresh
from history import TEXT
from latency import Agent

MESSAGES, REMINDERS = 5000, 50


class Reader(threading.Thread):
    """An agent that waits for messages and accepts each at once; `saved` says when, by prompt."""

    def __init__(self, server: Server, place: Place) -> None:
        super().__init__(daemon=True)
        self.agent = Agent(server, place)
        self.saved: dict[str, float] = {}
        self.news = threading.Condition()

    def run(self) -> None:
        """Takes and accepts, until the server is gone."""
        agent = self.agent
        try:
            while True:
                for item in agent.call(agent.waiting, "GET", "/inbox?wait=60")["deliveries"]:
                    ack = {"lease": item["lease"], "accepted": True}
                    reply = agent.call(agent.waiting, "POST", f"/inbox/{item['id']}/ack", ack)
                    assert reply["status"] == "confirmed", reply
                    with self.news:
                        self.saved[item["promptId"]] = time.perf_counter()
                        self.news.notify()
        except OSError:
            return

    def until_saved(self, prompt: str) -> float:
        """When the answer was in history."""
        with self.news:
            assert self.news.wait_for(lambda: prompt in self.saved, 60), "the answer did not arrive"
            return self.saved.pop(prompt)


def delays(server: Server, place: Place, reader: Reader, times: int) -> list[float]:
    """Milliseconds from Submit to the message in history, answer by answer."""
    person = Agent(server, Place(**{**vars_of(place), "agent": place.person}))
    found = []
    for _number in range(times + 5):
        ask = {"questions": [QUESTION], "sessionKey": place.session, "mode": "async"}
        prompt = reader.agent.call(reader.agent.asking, "POST", "/ask", ask)["id"]
        start = time.perf_counter()
        person.call(person.asking, "POST", f"/questions/{prompt}/answer", {"answers": ANSWERS})
        found.append((reader.until_saved(prompt) - start) * 1000)
    return found[5:]


def vars_of(place: Place) -> dict[str, Any]:
    """The fields of a place."""
    return {name: getattr(place, name) for name in Place.__dataclass_fields__}


def filled(env: dict[str, str], *words: object) -> Any:
    """Runs this file's other half beside the server's database, so that the measuring half stays free of Django."""
    command = [sys.executable, "bench/outbox.py", "fill", *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, env=env, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def measure_delays(title: str, times: int, absent: int, **more: str) -> list[list[object]]:
    """Two rows: alone, and beside an absent agent's queue. Rounds alternate, so that noise meets both alike."""
    with serving(**more) as server:
        place = scene(server, 1, group="admins")[0]
        reader = Reader(server, place)
        reader.start()
        alone = delays(server, place, reader, times)
        filled(server.env, "absent", absent)
        beside = delays(server, place, reader, times)
    rows: list[list[object]] = []
    for name, values in ((title, alone), (f"{title}, {absent} of an absent agent queued", beside)):
        ratio = f"{median(values) / median(alone):.2f}"
        rows.append([name, f"{median(values):.1f}", f"{percentile(values, 0.95):.1f}", ratio])
    return rows


# -- workers and a webhook ------------------------------------------------------------------------


class Hook(http.server.BaseHTTPRequestHandler):
    """Takes a message and says yes; `arrived` is what came, in order."""

    protocol_version = "HTTP/1.1"
    arrived: list[tuple[float, dict[str, Any]]] = []

    def do_POST(self) -> None:
        """One delivery."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Hook.arrived.append((time.perf_counter(), body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_words: object) -> None:
        """Nothing."""


@contextmanager
def hook() -> Iterator[str]:
    """Its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()


@contextmanager
def workers(env: dict[str, str], number: int) -> Iterator[None]:
    """So many `manage.py worker`, running."""
    command = [sys.executable, "manage.py", "worker"]
    running = [
        subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True) for _one in range(number)
    ]
    try:
        for each in running:
            assert each.stdout is not None
            assert "runs" in each.stdout.readline()
        yield
    finally:
        for each in running:
            each.terminate()
        for each in running:
            each.wait(30)


def measure_workers(number: int, deliveries: int, env: dict[str, str], url: str) -> tuple[float, list[object]]:
    """Deliveries a second from the moment that all workers run, and a row of the table."""
    Hook.arrived.clear()
    filled(env, "hooked", deliveries, url)
    with workers(env, number):
        start = time.perf_counter()
        end = time.monotonic() + 300
        while len({body["id"] for _at, body in Hook.arrived}) < deliveries and time.monotonic() < end:
            time.sleep(0.02)
    arrived = list(Hook.arrived)
    rate = sum(at > start for at, _body in arrived) / (arrived[-1][0] - start)
    by_place: dict[str, list[int]] = {}
    for _at, body in arrived:
        by_place.setdefault(body["author"] + body["sessionKey"], []).append(int(body["text"]))
    in_order = sum(texts == sorted(texts) for texts in by_place.values())
    twice = len(arrived) - len({body["id"] for _at, body in arrived})
    lost = deliveries - len({body["id"] for _at, body in arrived})
    return rate, [number, f"{rate:.0f}", f"{in_order} of {len(by_place)}", twice, lost]


# -- pages ------------------------------------------------------------------------------------------


def measure_pages(times: int) -> list[list[object]]:
    """The page and `/live` of a large conversation beside a small one, in this process behind the whole middleware."""
    with fresh() as data:
        os.environ.update(environment(data), DJANGO_SETTINGS_MODULE="controlui.settings")
        set_up()
        from django.core.management import call_command

        call_command("migrate", interactive=False, verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        from django.conf import settings

        settings.ALLOWED_HOSTS.append("testserver")
        small, large = (converse(*size) for size in ((50, 1), (MESSAGES, REMINDERS)))
        rows: list[list[object]] = []
        for what, change in (("page", None), ("/live, something new", True), ("/live, nothing new", False)):
            found = [look(*each, times, change) for each in (small, large)]
            ratio = f"{found[1][1] / found[0][1]:.2f}"
            rows += [
                [f"{what}, {name}", *shown(cost), ratio] for name, cost in zip(("small", "large"), found, strict=True)
            ]
        return rows


def shown(cost: tuple[int, float, float]) -> list[str]:
    """Queries, processor time, size."""
    return [str(cost[0]), f"{cost[1]:.1f}", f"{cost[2]:.0f}"]


def converse(messages: int, reminders: int) -> tuple[Any, Any, str]:
    """A conversation; its agent, its owner's browser, its page."""
    from django.test import Client

    from controlui.chat import transitions as chat
    from questions import schema
    from questions.transitions import open_prompt

    key = f"of-{messages}"
    person = chat.create_user(username=key)
    agent = chat.create_agent(name=key, owner=person)
    place = chat.open_conversation(agent=agent, key=key)
    for number in range(messages):
        chat.say(agent=agent, session_key=key, text=TEXT.format(number=number))
    for number in range(reminders):
        body = {"questions": [{**QUESTION, "id": f"q{number}"}], "sessionKey": key, "mode": "async"}
        open_prompt(agent=agent, ask=schema.parse_ask(body), body_digest=schema.body_digest(body))
    browser = Client()
    browser.force_login(person)
    return agent, browser, f"/c/{place.uid}/"


def look(agent: Any, browser: Any, path: str, times: int, change: bool | None) -> tuple[int, float, float]:
    """Queries, median processor milliseconds and KB of a page (`change` None), or of what is live after a change."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from controlui.chat import transitions as chat

    used, asked, size = [], 0, 0
    key = agent.conversations.get().key
    for number in range(times + 1):
        address = path
        if change is not None:
            html = browser.get(path).content.decode()
            streams, drafts = (
                re.search(rf'{name}="([^"]*)"', html)[1]  # type: ignore[index]
                for name in ("data-streams", "data-drafts")
            )
            address = f"{path}live?" + urlencode({"s": streams.split(), "d": drafts}, doseq=True)
            if change:
                chat.say(agent=agent, session_key=key, text="One more.")
        if number == 0:
            with CaptureQueriesContext(connection) as queries:
                browser.get(address)
            asked = len(queries)
            continue
        cpu = time.process_time()
        response = browser.get(address)
        used.append((time.process_time() - cpu) * 1000)
        assert response.status_code in {200, 304}, response
        size = len(response.content)
    return asked, median(used), size / 1024


# -- the other half ---------------------------------------------------------------------------------


def set_up() -> None:
    """Django, in this process."""
    sys.path.insert(0, str(ROOT))
    import django

    django.setup()


def fill(what: str, number: int, url: str = "") -> None:
    """Queues messages: of an absent agent over 100 conversations, or of 25 agents with a webhook over 100."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlui.settings")
    set_up()
    from controlui.chat import transitions as chat
    from controlui.chat.ids import new_uid
    from outbox.transitions import enqueue

    name = new_uid()
    person = chat.create_user(username=f"writer-{name}")
    agents = [
        chat.create_agent(name=f"{what}-{name}-{each}", owner=person, webhook_url=url)
        for each in range(25 if url else 1)
    ]
    places = [chat.open_conversation(agent=agents[each % len(agents)], key=f"{what}-{each}") for each in range(100)]
    for each in range(number):
        enqueue(conversation=places[each % 100], author=person, text=str(each), key=str(each))
    print(json.dumps({"queued": number}))


def main() -> None:
    """Prints three tables."""
    if sys.argv[1:2] == ["fill"]:
        fill(sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--absent", type=int, default=1000)
    parser.add_argument("--deliveries", type=int, default=1000)
    options = parser.parse_args()
    note_load()
    database, redis = os.environ.get("BENCH_DATABASE_URL", ""), os.environ.get("BENCH_REDIS_URL", "")
    rows = measure_delays("SQLite, one process", options.times, options.absent)
    if database and redis:
        both = {"DATABASE_URL": database, "REDIS_URL": redis}
        rows += measure_delays("PostgreSQL and Redis", options.times, options.absent, **both)
    head = ["ms", "median", "p95", "of alone"]
    table("Submit -> message in history, agent connected", head, rows)
    if database and redis:
        with fresh() as data, hook() as url:
            env = environment(data, WEBHOOK_PRIVATE="1", **both)
            subprocess.run([sys.executable, "manage.py", "migrate", "-v", "0"], cwd=ROOT, env=env, check=True)
            found = [measure_workers(number, options.deliveries, env, url) for number in (1, 4)]
        head = ["workers", "deliveries/s", "conversations in order", "twice", "lost"]
        table(f"Webhooks; 4 workers : 1 worker = {found[1][0] / found[0][0]:.2f}", head, [row for _rate, row in found])
    head = ["what", "queries", "median CPU ms", "KB", "large : small"]
    title = f"{REMINDERS} reminders and {MESSAGES:,} messages, beside 1 and 50"
    table(title, head, measure_pages(max(10, options.times // 5)))


if __name__ == "__main__":
    main()
