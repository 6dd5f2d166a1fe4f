"""Memory of `up`: idle, per waiting agent, per open page; and that neither costs a thread or a database connection.

The clients are a process of their own. Resident memory is what /proc says of the server.

`memory.py [--number N]`
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import gc
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from common import Place, Server, cpu_seconds, many_files, note_load, scene, serving, table, until
from wire import Line

PLACES = 60  # that the waiting agents and open pages are spread over
AT_ONCE = 25  # connections that are being opened at a time
HOLD = 110  # seconds; waits end after 120
PING, PONG = 0x89, 0x8A


def status(pid: int, name: str) -> int:
    """One number of /proc/PID/status."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition(f"{name}:")[2].split()[0])


def database_files(pid: int) -> int:
    """The open SQLite database files of a process: one for each connection."""
    found = 0
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            found += link.readlink().suffix == ".sqlite3"
    return found


def sample(server: Server, what: str) -> list[object]:
    """One row: resident memory, threads, connections."""
    pid = server.pid
    return [what, status(pid, "VmRSS"), status(pid, "Threads"), database_files(pid)]


# -- the clients' own process ---------------------------------------------------------------------


async def held_wait(port: int, token: str, prompt: str) -> Line:
    """An agent that waits: the request is sent, its answer stays out."""
    line = Line(port)
    line.reader, line.writer = await asyncio.open_connection(line.host, port)
    path = f"/api/v1/questions/{prompt}/wait?seconds={HOLD}"
    head = [f"GET {path} HTTP/1.1", f"Host: {line.host}:{port}", f"Authorization: Bearer {token}"]
    line.writer.write("\r\n".join([*head, "", ""]).encode())
    await line.writer.drain()
    return line


async def open_socket(port: int, cookie: str, address: str) -> Line:
    """A page's socket, after its handshake."""
    line = Line(port)
    key = base64.b64encode(os.urandom(16)).decode()
    line.reader, line.writer = await asyncio.open_connection(line.host, port)
    host = f"{line.host}:{port}"
    head = [f"GET {address} HTTP/1.1", f"Host: {host}", f"Origin: http://{host}", "Upgrade: websocket"]
    head += ["Connection: Upgrade", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", f"Cookie: {cookie}"]
    line.writer.write("\r\n".join([*head, "", ""]).encode())
    answer = await line.reader.readuntil(b"\r\n\r\n")
    if b" 101 " not in answer.partition(b"\r\n")[0]:
        raise RuntimeError(answer.decode("latin-1"))
    return line


async def keep_open(line: Line) -> None:
    """Answers pings until the server hangs up; a closed socket fails the run."""
    assert line.reader is not None
    assert line.writer is not None
    while True:
        kind, size = await line.reader.readexactly(2)
        if size == 126:
            size = int.from_bytes(await line.reader.readexactly(2), "big")
        payload = await line.reader.readexactly(size)
        if kind == PING:
            # The mask may be all zeros: the payload is then sent as it is.
            line.writer.write(bytes([PONG, 0x80 | size]) + bytes(4) + payload)


async def ticket(port: int, place: Place) -> str:
    """The address of a page's socket, from the page."""
    page = Line(port)
    html = (await page.call("GET", place.page, headers={"Cookie": place.cookie})).body.decode()
    page.close()
    return html.partition('data-socket="')[2].partition('"')[0].replace("&amp;", "&")


async def in_batches(jobs: list[Callable[[], Awaitable[Line]]]) -> list[Line]:
    """Opens all, AT_ONCE at a time."""
    lines: list[Line] = []
    for first in range(0, len(jobs), AT_ONCE):
        lines += await asyncio.gather(*(job() for job in jobs[first : first + AT_ONCE]))
    return lines


async def clients(kind: str, port: int, number: int) -> None:
    """Reads places from standard input, connects, says so, and stays until standard input ends."""
    places = [line.rstrip("\n").split("\t") for line in iter(sys.stdin.readline, "\n")]
    lines: list[Line] = []
    if kind == "waits":
        lines = await in_batches([partial(held_wait, port, token, prompt) for token, prompt in places])
        tasks = [asyncio.create_task(stay(line.read())) for line in lines]
    else:
        for cookie, uid in places:
            # A ticket lives for a minute: each page gets its own just before its sockets open.
            address = await ticket(port, Place("", "", uid, "", cookie))
            lines += await in_batches([partial(open_socket, port, cookie, address)] * (number // len(places)))
        tasks = [asyncio.create_task(stay(keep_open(line))) for line in lines]
    print(len(lines), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    print(f"{kind}: {sum(task.done() for task in tasks)} of {len(tasks)} ended early", flush=True)


async def stay(reading: Coroutine[Any, Any, Any]) -> None:
    """Reads until the other side is done or gone."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        await reading


@contextmanager
def connected(kind: str, server: Server, number: int, places: list[tuple[str, str]]) -> Iterator[int]:
    """Runs the clients; gives how many are connected."""
    command = [
        sys.executable,
        str(Path(__file__)),
        "--clients",
        kind,
        "--port",
        str(server.port),
        "--number",
        str(number),
    ]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write("".join(f"{first}\t{second}\n" for first, second in places) + "\n")
        child.stdin.flush()
        yield int(child.stdout.readline() or 0)
    finally:
        child.stdin.close()
        print(child.stdout.read(), end="")
        child.wait(60)


def settled(server: Server) -> None:
    """Until the server has worked off what came: it uses next to no processor time for a second."""

    def is_quiet() -> bool:
        before = cpu_seconds(server.pid)
        time.sleep(1)
        return cpu_seconds(server.pid) - before < 0.05

    with contextlib.suppress(TimeoutError):
        until(is_quiet, "the server is quiet", 60)


def main() -> None:
    """Two fresh servers, one for agents and one for pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=3000)
    parser.add_argument("--clients", default="", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    many_files()
    if options.clients:
        asyncio.run(clients(options.clients, options.port, options.number))
        return
    note_load()
    share = options.number // PLACES
    rows, costs = [], []
    for kind, prompts in (("waits", share), ("pages", 0)):
        with serving() as server:
            places = scene(server, PLACES, prompts=prompts)
            settled(server)
            rows.append(sample(server, f"{kind}: idle"))
            # The first few of everything load code that stays: that is not theirs.
            targets = {
                "waits": [(place.agent, prompt) for place in places for prompt in place.prompts],
                "pages": [(place.cookie, place.uid) for place in places],
            }[kind]
            with connected(kind, server, PLACES, targets[:PLACES]):
                settled(server)
            settled(server)
            rows.append(sample(server, f"{kind}: after the first {PLACES}"))
            before = status(server.pid, "VmRSS")
            with connected(kind, server, options.number, targets) as number:
                settled(server)
                rows.append(sample(server, f"{kind}: {number} connected"))
                costs.append([kind, number, f"{(status(server.pid, 'VmRSS') - before) / max(number, 1):.1f}"])
            settled(server)
            rows.append(sample(server, f"{kind}: all gone"))
            gc.collect()
    table("Memory of the server (aim: 120 MB idle)", ["when", "RSS KB", "threads", "database connections"], rows)
    table("For each (aim: 40 KB)", ["what", "number", "KB"], costs)


if __name__ == "__main__":
    main()
