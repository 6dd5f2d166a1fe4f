"""Where agents wait: a raw ASGI callable beside Django (design rule 9).

A waiting agent is one coroutine and one channel: no thread, no connection, no view. It reads the row, then
waits for whichever comes first: a message that the prompt changed, the prompt's own deadline, the end of the
wait, a slow re-check (a message may be lost), or the caller hanging up. `POST /ask?wait=` creates through
Django and then holds its reply the same way. Access is checked again before anything is handed out.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import random
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar
from urllib.parse import parse_qs

from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from django.db import connection

from controlui.chat import access, clock
from controlui.chat.transitions import statements
from controlui.errors import ControlUIError, Unavailable, is_database_trouble
from controlui.live import publish
from controlui.live.groups import prompt_group
from controlui.rest import throttling
from questions import queries
from questions.access import get_prompt_for
from questions.models import Prompt
from questions.transitions import expire_due_prompts

log = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]

WAIT_PATH = re.compile(r"/api/v1/questions/(?P<id>[A-Za-z0-9_-]{1,128})/wait/?")
ASK_PATH = re.compile(r"/api/v1/ask/?")
MAX_SECONDS = 120
DEFAULT_SECONDS = 60
# A message may be lost (a process died between commit and publish), so a waiter looks again now and then.
RECHECK_SECONDS = 20.0
# While no message can come, because the channel layer is away; joining it is given up after a while.
DEAF_RECHECK_SECONDS, JOIN_SECONDS = 2.0, 5.0


@dataclass(frozen=True, slots=True)
class Seen:
    """What one whole look at the row showed: an HTTP answer, and whether there is something to wait for."""

    status: int
    body: dict[str, Any]
    retry_after: int | None = None
    uid: str = ""
    pending: bool = False


class WaitDoor:
    """Answers the two waiting calls and passes everything else on to Django."""

    def __init__(self, inner: Application) -> None:
        self.inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        publish.serve_on(asyncio.get_running_loop())
        path = scope.get("path", "")
        waiting = WAIT_PATH.fullmatch(path) if scope.get("method") == "GET" else None
        if waiting is not None:
            await self.wait(scope, receive, send, waiting["id"])
        elif scope.get("method") == "POST" and ASK_PATH.fullmatch(path) and "wait" in query_of(scope):
            await self.ask(scope, receive, send)
        else:
            await self.inner(scope, receive, send)

    async def wait(self, scope: Scope, receive: Receive, send: Send, prompt_id: str) -> None:
        """`GET /questions/{id}/wait?seconds=N`: the record, at the end or after N seconds."""
        seconds = read_seconds(scope, "seconds")
        if seconds is None:
            await reply(send, Seen(422, bad_seconds("seconds")))
            return
        caller = str((scope.get("client") or ["unknown"])[0])
        seen = await hold(bearer(scope), prompt_id, seconds, receive, caller)
        if seen is not None:
            await reply(send, seen)

    async def ask(self, scope: Scope, receive: Receive, send: Send) -> None:
        """`POST /ask?wait=N`: creates through Django, then holds the reply until the end or N seconds."""
        seconds = read_seconds(scope, "wait")
        if seconds is None:
            await reply(send, Seen(422, bad_seconds("wait")))
            return
        created = Captured()
        # The record is read here, so it must not come compressed, whatever the caller takes.
        plain = [(name, value) for name, value in scope["headers"] if name.lower() != b"accept-encoding"]
        await self.inner({**scope, "headers": plain}, receive, created)
        if created.status not in {200, 201}:
            # No status at all: the caller hung up before Django had answered.
            if created.status:
                await created.pass_on(send)
            return
        seen = await hold(bearer(scope), json.loads(created.body)["id"], seconds, receive)
        if seen is not None:
            await reply(send, Seen(created.status, seen.body) if seen.status == 200 else seen, created.headers)


class Captured:
    """A `send` that keeps a small response instead of sending it."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b""

    async def __call__(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message.get("headers", []))
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")

    async def pass_on(self, send: Send) -> None:
        """Sends what was kept."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body})


# One future per held call, so that a stopping server can let all of them go with the record as it is.
held: set[asyncio.Future[None]] = set()


def end_waits() -> None:
    """Ends every held call at once with the present record: the agent waits again by id (bugs case 117)."""
    for stop in held:
        if not stop.done():
            stop.set_result(None)


async def hold(token: str, prompt_id: str, seconds: float, receive: Receive, caller: str = "") -> Seen | None:
    """Waits for the prompt's end, at most `seconds`; None when the caller hung up meanwhile.

    `caller`: the address of a call that was not counted by a throttle yet.
    """
    seen = await look(token, prompt_id, caller)
    if not seen.pending or seconds <= 0:
        return seen
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    news = News(prompt_group(seen.uid))
    await news.join()
    gone, stop = asyncio.ensure_future(hung_up(receive)), loop.create_future()
    held.add(stop)
    try:
        # Again after joining: the end may have come between the first look and the subscription.
        closes_in = await still_pending(seen.uid)
        while closes_in is not None and (left := end - loop.time()) > 0 and not (gone.done() or stop.done()):
            told = await first_of(news, {gone, stop}, nap(closes_in, left, news.recheck_seconds))
            # A message most likely is the end: the whole look at once, which is the last one then.
            if told and not (seen := await look(token, prompt_id)).pending:
                return seen
            closes_in = await still_pending(seen.uid)
        # The whole record, rights included, is read once more before anything is handed out.
        return None if gone.done() else await look(token, prompt_id)
    finally:
        held.discard(stop)
        gone.cancel()
        await news.leave()


class News:
    """The messages to a prompt's group, as far as the channel layer brings them: a wait without them (Redis is
    away) only looks again more often, since the row is the truth and the message a hint."""

    def __init__(self, group: str) -> None:
        self.group, self.channel, self.layer = group, "", get_channel_layer()

    @property
    def recheck_seconds(self) -> float:
        """How long to trust that a message would have come."""
        return RECHECK_SECONDS if self.channel else DEAF_RECHECK_SECONDS

    async def join(self) -> None:
        """Subscribes; without a layer to subscribe at, that is logged and the wait goes on deaf."""
        try:
            async with asyncio.timeout(JOIN_SECONDS):
                channel = await self.layer.new_channel("specific.wait")
                await self.layer.group_add(self.group, channel)
        except Exception as error:  # noqa: BLE001  (whatever the layer raises: the row is the truth)
            log.warning("wait_is_deaf", extra={"error": type(error).__name__})
        else:
            self.channel = channel

    async def next(self) -> None:
        """Returns when a message comes; never, when none can."""
        if self.channel:
            try:
                await self.layer.receive(self.channel)
            except Exception as error:  # noqa: BLE001  (as above)
                log.warning("wait_is_deaf", extra={"error": type(error).__name__})
                self.channel = ""
            return
        await asyncio.get_running_loop().create_future()

    async def leave(self) -> None:
        """Unsubscribes; trouble with that harms nobody."""
        if self.channel:
            with contextlib.suppress(Exception):
                await self.layer.group_discard(self.group, self.channel)


def nap(closes_in: float, left: float, recheck: float) -> float:
    """Seconds until the next look when no message comes: the prompt's deadline, the wait's end, or a re-check."""
    recheck *= random.uniform(0.75, 1.25)  # noqa: S311  (spreads load, guards nothing)
    return max(0.0, min(left, closes_in + 0.01, recheck))


async def first_of(news: News, others: set[asyncio.Future[None]], seconds: float) -> bool:
    """Waits for a message, one of the others (hung up, stopping), or the end of the time: whether a message came."""
    message = asyncio.ensure_future(news.next())
    try:
        await asyncio.wait({message, *others}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return message.done()
    finally:
        message.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await message


async def hung_up(receive: Receive) -> None:
    """Returns when the caller disconnects; the rest of a request's body is read past."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def look(token: str, prompt_id: str, caller: str = "") -> Seen:
    """One look at the row, on the process's one database thread."""
    return await on_database_thread(read)(token, prompt_id, caller)


async def still_pending(uid: str) -> float | None:
    """Seconds until the prompt closes; None when it has ended or is due. The narrow look between two whole ones."""
    return await on_database_thread(closes_in)(uid)


def closes_in(uid: str) -> float | None:
    """See `still_pending`. Trouble with the database counts as an end: the whole look will say so."""
    try:
        rows = statements.fetch("SELECT status, closes_at FROM questions_prompt WHERE uid = %s", [uid])
    except Exception as error:
        if not is_database_trouble(error):
            raise
        connection.close()
        return None
    if not rows or rows[0][0] not in {Prompt.Status.PENDING, Prompt.Status.SUBMITTED}:
        return None
    if rows[0][1] is None:
        return float("inf")
    left = (statements.as_moment(rows[0][1]) - clock.now()).total_seconds()
    return left if left > 0 else None


def on_database_thread(read: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """Runs on the process's one database thread. Its connection stays open between looks (opening one costs more
    than a look); the worker loop, which shares the thread, renews it every second."""
    return sync_to_async(read, thread_sensitive=True)


def read(token: str, prompt_id: str, caller: str = "") -> Seen:
    """The row as this token may see it now. A waiter at the prompt's deadline makes the expiry so."""
    try:
        actor = access.actor_of_token(token) if token else None
        if caller:
            throttle(actor, caller)
        if actor is None:
            unknown = {"code": "not_authenticated", "message": "Send a valid bearer token.", "details": []}
            return Seen(401, unknown)
        prompt = get_prompt_for(actor, prompt_id)
        at = clock.now()
        if prompt.status == Prompt.Status.PENDING and not prompt.is_open(at):
            expire_due_prompts(limit=100)
            prompt = get_prompt_for(actor, prompt_id)
        record = queries.record(prompt, for_agent=actor.is_agent, at=at)
        return Seen(200, record, uid=prompt.uid, pending=record["status"] in {"pending", "submitted"})
    except ControlUIError as error:
        return Seen(error.status, error.body(), error.retry_after)
    except Exception as error:
        if not is_database_trouble(error):
            raise
        connection.close()
        trouble = Unavailable()
        return Seen(trouble.status, trouble.body(), trouble.retry_after)


def throttle(actor: access.Actor | None, caller: str) -> None:
    """Counts a call like any other of the API's. Raises TooMany."""
    if actor is None:
        throttling.count("anonymous", caller)
    else:
        throttling.count("agent" if actor.is_agent else "person", actor.throttle_key)


def bearer(scope: Scope) -> str:
    """The bearer token of a request; empty when there is none."""
    for name, value in scope["headers"]:
        if name.lower() == b"authorization":
            scheme, _space, token = value.decode("latin-1").partition(" ")
            return token.strip() if scheme.lower() == "bearer" else ""
    return ""


def query_of(scope: Scope) -> dict[str, list[str]]:
    """The parameters of a request's query."""
    return parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)


def read_seconds(scope: Scope, name: str) -> float | None:
    """The seconds asked for in the query, at most MAX_SECONDS; None when they are no number."""
    text = query_of(scope).get(name, [""])[-1]
    if not text:
        return DEFAULT_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        return None
    return min(seconds, MAX_SECONDS) if 0 <= seconds < float("inf") else None


def bad_seconds(name: str) -> dict[str, Any]:
    """The error for a wait that is no number of seconds."""
    message = f"{name} is a number of seconds from 0 to {MAX_SECONDS}."
    detail = {"path": name, "rule": "range", "message": message, "limit": MAX_SECONDS}
    return {"code": "invalid_input", "message": message, "details": [detail]}


async def reply(send: Send, seen: Seen, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    """Sends a JSON answer; `headers` of the creating call are kept (Idempotent-Replayed), but for its length."""
    body = json.dumps(seen.body, ensure_ascii=False).encode()
    ours = {b"content-type": b"application/json", b"content-length": str(len(body)).encode()}
    ours[b"cache-control"] = b"no-store"
    if seen.status == 401:
        ours[b"www-authenticate"] = b"Bearer"
    if seen.retry_after is not None:
        ours[b"retry-after"] = str(seen.retry_after).encode()
    dropped = {*ours, b"content-encoding", b"vary"}
    kept = [(name, value) for name, value in headers or [] if name.lower() not in dropped]
    await send({"type": "http.response.start", "status": seen.status, "headers": [*ours.items(), *kept]})
    await send({"type": "http.response.body", "body": body})
