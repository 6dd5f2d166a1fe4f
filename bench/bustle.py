"""Other conversations that are active: an open page each (its socket, and a fetch when told), asks, waits and answers.

`bustle.py PORT EVERY`: run by latency.py, which writes the places to standard input and closes it at the end.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import sys
import time
from dataclasses import dataclass

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


async def page(port: int, place: Place, counts: Counts) -> None:
    """A page: at each frame that says so it fetches what changed, as the script does."""
    fetching = Line(port)
    headers = {"Cookie": place.cookie}
    address = f"/c/{place.uid}/live"
    while True:
        line = await open_socket(port, place.cookie, await ticket(port, place))
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                told = json.loads(await frames(line))
                counts.frames += 1
                if told["type"] == "rows":
                    continue
                reply = await fetching.call("GET", address, headers=headers)
                assert reply.status in {200, 304}, reply
                counts.fetches += 1
                if told["type"] == "refresh":
                    break  # a new stream: a new ticket
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
    tasks = [asyncio.create_task(page(port, place, counts)) for place in places]
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
