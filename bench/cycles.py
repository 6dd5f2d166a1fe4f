"""Full cycles a second: a question is opened, an agent waits for it, a person answers, the agent is let go.

Each of the three is in the database. Inside one process, through the transitions and the waiter that the doors use
(`controlui.api.wait.hold`); then over HTTP through one Daphne, with an empty view and one tiny write as marks.
On SQLite with synchronous NORMAL and FULL, and on PostgreSQL where BENCH_DATABASE_URL names one that may be filled.

`cycles.py [--inside] [--http] [--seconds N]`
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from common import (
    ANSWERS,
    QUESTION,
    ROOT,
    Place,
    cpu_seconds,
    data_directory,
    environment,
    note_load,
    percentile,
    scene,
    serving,
    table,
)
from wire import Line

IN_FLIGHT = (1, 16, 128)
Cycle = Callable[[], Awaitable[None]]


def databases() -> dict[str, dict[str, str]]:
    """What to measure on, as environment variables."""
    found = {"SQLite NORMAL": {"SQLITE_SYNCHRONOUS": "NORMAL"}, "SQLite FULL": {"SQLITE_SYNCHRONOUS": "FULL"}}
    if url := os.environ.get("BENCH_DATABASE_URL"):
        found["PostgreSQL"] = {"DATABASE_URL": url}
    return found


async def measure(lanes: list[Cycle], seconds: float, pid: int) -> dict[str, float]:
    """Runs the lanes side by side, each one cycle after the other.

    Gives the rate, p50 and p99 (ms), and the processor time (ms) that the process `pid` used for each cycle.
    """
    took: list[float] = []
    # The first cycles of a lane connect, and fill caches.
    await asyncio.gather(*(lane() for lane in lanes))
    begin, used = time.perf_counter(), cpu_seconds(pid)
    end = begin + seconds

    async def run(lane: Cycle) -> None:
        while (start := time.perf_counter()) < end:
            await lane()
            took.append((time.perf_counter() - start) * 1000)

    await asyncio.gather(*(run(lane) for lane in lanes))
    rate = len(took) / (time.perf_counter() - begin)
    cpu = (cpu_seconds(pid) - used) * 1000 / len(took)
    return {"rate": rate, "p50": median(took), "p99": percentile(took, 0.99), "cpu": cpu}


# -- inside one process ---------------------------------------------------------------------------


def inside(in_flight: int, seconds: float) -> dict[str, float]:
    """Measures in this process; the environment has chosen the database."""
    sys.path.insert(0, str(ROOT))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlui.settings")
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", interactive=False, verbosity=0)
    return asyncio.run(run_inside(in_flight, seconds))


async def run_inside(in_flight: int, seconds: float) -> dict[str, float]:
    """Lanes with an agent, a person and a conversation each."""
    from asgiref.sync import sync_to_async

    from controlui import asgi
    from controlui.live import publish

    # As in the server: one idle connection keeps SQLite's log open, and sends go by the serving loop.
    publish.serve_on(asyncio.get_running_loop())
    kept = await sync_to_async(asgi.keeper)()
    try:
        lanes = [await sync_to_async(lane_inside)() for _number in range(in_flight)]
        return await measure(lanes, seconds, os.getpid())
    finally:
        if kept is not None:
            kept.close()


def lane_inside() -> Cycle:
    """One cycle: open, hold, answer once the call is held, wait for its release."""
    from channels.db import database_sync_to_async

    from controlui.api.wait import hold
    from controlui.chat.access import Actor
    from controlui.chat.ids import new_uid
    from controlui.chat.transitions import create_agent, create_token, create_user
    from questions import schema
    from questions.access import get_prompt_for
    from questions.transitions import answer_prompt, open_prompt

    name = new_uid()
    person = create_user(username=f"person-{name}")
    agent = create_agent(name=f"agent-{name}", owner=person)
    token = create_token(agent=agent)
    body = {"questions": [QUESTION], "sessionKey": "main"}

    def opened() -> str:
        ask = schema.parse_ask(body)
        return open_prompt(agent=agent, ask=ask, body_digest=schema.body_digest(body))[0].uid

    def answered(uid: str) -> None:
        prompt = get_prompt_for(Actor(user=person), uid, need="answer")
        answer_prompt(prompt=prompt, user=person, answers=ANSWERS, surface="api")

    async def cycle() -> None:
        uid = await database_sync_to_async(opened)()
        held, never = asyncio.Event(), asyncio.get_running_loop().create_future()

        async def receive() -> dict[str, Any]:
            held.set()  # asked for once the waiter has joined the prompt's group
            return {"type": await never}

        waiting = asyncio.create_task(hold(token, uid, 60, receive))
        await held.wait()
        await database_sync_to_async(answered)(uid)
        seen = await waiting
        assert seen is not None, "the waiter took its caller for gone"
        assert seen.body["status"] == "answered", seen.body

    return cycle


def inside_apart(env: dict[str, str], in_flight: int, seconds: float) -> dict[str, float]:
    """Runs `inside` in a fresh process."""
    with data_directory() as data:
        command = [sys.executable, str(Path(__file__)), "--child", str(in_flight), "--seconds", str(seconds)]
        done = subprocess.run(command, env=environment(data, **env), check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


# -- over HTTP ------------------------------------------------------------------------------------


def lane_http(port: int, place: Place) -> Cycle:
    """One cycle over two connections: the agent's held call, and everything else."""
    calls, waits = Line(port), Line(port)
    body = {"questions": [QUESTION], "sessionKey": place.session}

    async def cycle() -> None:
        asked = await calls.call("POST", "/api/v1/ask", token=place.agent, data=body)
        assert asked.status == 201, asked
        path = f"/api/v1/questions/{asked.json()['id']}"
        waiting = asyncio.create_task(waits.call("GET", f"{path}/wait?seconds=60", token=place.agent))
        await asyncio.sleep(0)  # the request for the wait leaves first
        answered = await calls.call("POST", f"{path}/answer", token=place.person, data={"answers": ANSWERS})
        assert answered.status == 200, answered
        released = await waiting
        assert released.json()["status"] == "answered", released

    return cycle


def lane_call(port: int, method: str, path: str) -> Cycle:
    """One plain request after the other."""
    line = Line(port)

    async def call() -> None:
        reply = await line.call(method, path)
        assert reply.status == 200, reply

    return call


@contextmanager
def profiled(pid: int) -> Any:
    """Records the server with py-spy into the file that BENCH_PROFILE names, where it is set."""
    target = os.environ.get("BENCH_PROFILE")
    if not target:
        yield
        return
    command = ["py-spy", "record", "--nonblocking", "-f", "raw", "-r", "200", "-o", target, "-p", str(pid), "-d", "600"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as spy:
        yield
        spy.send_signal(2)


def over_http(env: dict[str, str], seconds: float) -> list[list[object]]:
    """All rows of one database, from one server process."""
    rows: list[list[object]] = []
    with serving(DJANGO_SETTINGS_MODULE="bench.settings", **env) as server:
        places = scene(server, max(IN_FLIGHT))
        for in_flight in IN_FLIGHT:

            def rate_of(lanes: list[Cycle]) -> dict[str, float]:
                return asyncio.run(measure(lanes, seconds, server.pid))

            def mark(method: str, path: str, count: int = in_flight) -> float:
                return rate_of([lane_call(server.port, method, path) for _number in range(count)])["rate"]

            livez, empty, write = mark("GET", "/livez"), mark("GET", "/bench/empty"), mark("POST", "/bench/write")
            with profiled(server.pid):
                cycles = rate_of([lane_http(server.port, place) for place in places[:in_flight]])
            rows.append([
                in_flight, f"{cycles['rate']:.0f}", f"{cycles['p50']:.1f}", f"{cycles['p99']:.1f}",
                f"{cycles['cpu']:.1f}", f"{livez:.0f}", f"{empty:.0f}", f"{write:.0f}",
                f"{livez / cycles['rate']:.1f}", f"{write / cycles['rate']:.1f}",
            ])  # fmt: skip
    return rows


def main() -> None:
    """The tables that were asked for; both by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inside", action="store_true", help="only through transitions and waiter")
    parser.add_argument("--http", action="store_true", help="only over HTTP")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each measurement")
    parser.add_argument("--only", default="", help="a database's name begins with this")
    parser.add_argument("--child", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(inside(options.child, options.seconds)))
        return
    note_load()
    wanted = {name: env for name, env in databases().items() if name.startswith(options.only)}
    if options.inside or not options.http:
        rows = []
        for name, env in wanted.items():
            for in_flight in IN_FLIGHT:
                found = inside_apart(env, in_flight, options.seconds)
                rows.append(
                    [
                        name,
                        in_flight,
                        f"{found['rate']:.0f}",
                        f"{found['p50']:.1f}",
                        f"{found['p99']:.1f}",
                        f"{found['cpu']:.1f}",
                    ]
                )
        head = ["database", "in flight", "cycles/s", "p50 ms", "p99 ms", "CPU ms/cycle"]
        table("Full cycles through transitions and waiter, one process (aim: 300/s)", head, rows)
    if options.http or not options.inside:
        head = [
            "in flight", "cycles/s", "p50 ms", "p99 ms", "server CPU ms/cycle",
            "/livez per s", "empty view per s", "tiny write per s", "livez : cycle", "write : cycle",
        ]  # fmt: skip
        for name, env in wanted.items():
            table(f"Full cycles over HTTP, one Daphne, {name} (3 requests each)", head, over_http(env, options.seconds))


if __name__ == "__main__":
    main()
