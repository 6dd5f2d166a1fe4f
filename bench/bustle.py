"""Other conversations that are active: an open page each (its socket, and a fetch when told), asks, waits and answers.

`bustle.py PORT EVERY`: run by latency.py, which writes the places to standard input and closes it at the end.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import sys
import time
from dataclasses import dataclass
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlencode

from common import ANSWERS, QUESTION, Place
from memory import PING, PONG, open_socket, ticket
from wire import Line


@dataclass
class Counts:
    """What went on."""

    cycles: int = 0
    fetches: int = 0
    frames: int = 0


async def frames(line: Line) -> str:
    """The next text frame of a socket; pings are answered on the way."""
    assert line.reader is not None
    assert line.writer is not None
    while True:
        kind, size = await line.reader.readexactly(2)
        if size == 126:
            size = int.from_bytes(await line.reader.readexactly(2), "big")
        elif size == 127:
            size = int.from_bytes(await line.reader.readexactly(8), "big")
        payload = await line.reader.readexactly(size)
        if kind == PING:
            line.writer.write(bytes([PONG, 0x80 | size]) + bytes(4) + payload)
        elif kind == 0x81:
            return payload.decode()


def versions(html: str) -> str:
    """What a page says that it knows, as its script takes it from #live."""
    told = {name: unescape(value) for name, value in re.findall(r'data-(streams|drafts|composer)="([^"]*)"', html)}
    pairs = [("s", pair) for pair in told["streams"].split()]
    return urlencode([*pairs, ("d", told["drafts"]), ("c", told["composer"])])


class Page:
    """A page: it fetches what changed when a frame says so, as the script does. A hint that the list may have changed
    waits for 0.3 to 1.5 s, and is done with when a fetch comes in between."""

    def __init__(self, port: int, place: Place, counts: Counts) -> None:
        self.port, self.place, self.counts = port, place, counts
        self.line, self.turn = Line(port), asyncio.Lock()
        self.known = ""
        self.soon: asyncio.TimerHandle | None = None
        self.tasks: set[asyncio.Task[None]] = set()

    async def fetch(self) -> None:
        """What changed since what it knows."""
        async with self.turn:
            if self.soon is not None:
                self.soon.cancel()
                self.soon = None
            headers = {"Cookie": self.place.cookie}
            reply = await self.line.call("GET", f"/c/{self.place.uid}/live?{self.known}", headers=headers)
            assert reply.status in {200, 304}, reply
            self.counts.fetches += 1
            if reply.status == 200:
                self.known = versions(reply.body.decode())

    def is_news(self, told: dict[str, Any]) -> bool:
        """Whether a frame tells of more than what is known: the worker loop announces each change once more."""
        known = dict(pair.rpartition(":")[::2] for name, pair in parse_qsl(self.known) if name == "s")
        return told["type"] != "changed" or int(told["version"]) > int(known.get(told["stream"], -1))

    def later(self) -> None:
        """The list may have changed."""
        if self.soon is None:
            loop = asyncio.get_running_loop()
            self.soon = loop.call_later(random.uniform(0.3, 1.5), self.now)

    def now(self) -> None:
        """Nothing came in between."""
        self.soon = None
        task = asyncio.ensure_future(self.fetch())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def live(self) -> None:
        """For as long as the benchmark lasts; a new stream asks for a new ticket."""
        await self.fetch()
        while True:
            line = await open_socket(self.port, self.place.cookie, await ticket(self.port, self.place))
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    told = json.loads(await frames(line))
                    self.counts.frames += 1
                    if told["type"] == "list":
                        self.later()
                    elif told["type"] != "rows" and self.is_news(told):
                        await self.fetch()
                    if told["type"] == "refresh":
                        break
            line.close()


async def talk(port: int, place: Place, every: float, counts: Counts) -> None:
    """An agent that asks, waits, and is answered by its person, about every so many seconds."""
    calls, waits = Line(port), Line(port)
    body = {"questions": [QUESTION], "sessionKey": place.session}
    while True:
        await asyncio.sleep(random.uniform(0, every))
        path = (
            "/api/v1/questions/" + (await calls.call("POST", "/api/v1/ask", token=place.agent, data=body)).json()["id"]
        )
        waiting = asyncio.create_task(waits.call("GET", f"{path}/wait?seconds=60", token=place.agent))
        await asyncio.sleep(random.uniform(0, every))
        await calls.call("POST", f"{path}/answer", token=place.person, data={"answers": ANSWERS})
        assert (await waiting).json()["status"] == "answered"
        counts.cycles += 1


async def main() -> None:
    """All of them, until standard input ends."""
    port, every = int(sys.argv[1]), float(sys.argv[2])
    counts = Counts()
    read = [line.rstrip("\n").split("\t") for line in iter(sys.stdin.readline, "\n")]
    places = [Place(agent, "main", uid, person, cookie) for agent, person, cookie, uid in read]
    tasks = [asyncio.create_task(Page(port, place, counts).live()) for place in places]
    tasks += [asyncio.create_task(talk(port, place, every, counts)) for place in places]
    begin = time.monotonic()
    print(f"{len(places)} other conversations, a question about every {every:g} s each", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    seconds = time.monotonic() - begin
    failed = [task for task in tasks if task.done()]
    rates = {name: round(getattr(counts, name) / seconds, 1) for name in ("cycles", "frames", "fetches")}
    print(f"meanwhile, per second: {rates}; {len(failed)} gave up", flush=True)
    for task in failed:
        task.result()


if __name__ == "__main__":
    asyncio.run(main())
