"""`GET /inbox`: an agent's long poll for what people sent it, as one raw ASGI callable beside Django (design rule 9).

An open call is one coroutine and one channel. It leases what is first in line, or waits for a message that something
joined the line, with a slow re-check beside it. What was leased for a caller who hung up meanwhile goes back at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

from channels.db import database_sync_to_async

from controlui.chat import access
from controlui.chat.models import Agent
from controlui.chat.schema import SESSION_KEY_MAX
from controlui.errors import ControlUIError, Unavailable, is_database_trouble
from controlui.live.groups import inbox_group
from controlui.rest.shape import Check, Faults
from outbox.transitions import Claimed, release
from outbox.transports import inbox
from outbox.transports.inbox import MAX_ITEMS

from . import wait
from .wait import Application, News, Receive, Scope, Seen, Send, bearer, first_of, hung_up, query_of, reply, throttle

P = ParamSpec("P")
R = TypeVar("R")

PATHS = frozenset({"/api/v1/inbox", "/api/v1/inbox/"})
# Claims write; on the thread of the looks they would hold up every waiting agent behind a lock.
THREADS = 2
_threads = ThreadPoolExecutor(THREADS, thread_name_prefix="inbox")


@dataclass(frozen=True, slots=True)
class Wish:
    """What the caller wants: `wait` in seconds, at most `max` items, of one session if named."""

    wait: float = 0.0
    max: int = MAX_ITEMS
    session: str = ""


@dataclass(slots=True)
class Taken:
    """The result of one turn at the line: an HTTP answer, the agent, and what was leased for it."""

    seen: Seen
    agent: Agent | None = None
    claims: list[Claimed] = field(default_factory=list)

    @property
    def is_final(self) -> bool:
        """Whether there is no reason to wait: something was leased, or the call is refused."""
        return self.seen.status != 200 or bool(self.claims)


def read_wish(scope: Scope) -> Wish:
    """The query of a call. Raises Faults with every rule it breaks."""
    query = {name: values[-1] for name, values in query_of(scope).items()}
    check = Check()
    seconds = wait.read_seconds(scope, "wait") if query.get("wait") else 0.0
    if seconds is None:
        check.fault("wait", "range", f"wait is a number of seconds from 0 to {wait.MAX_SECONDS}.")
    text = query.get("max", str(MAX_ITEMS))
    size = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0
    if not 1 <= size <= MAX_ITEMS:
        check.fault("max", "range", f"max is a whole number from 1 to {MAX_ITEMS}.", limit=MAX_ITEMS)
    session = check.line(query, "", "sessionKey", limit=SESSION_KEY_MAX) or ""
    check.done()
    return Wish(seconds or 0.0, size, session)


class InboxDoor:
    """Answers the long poll and passes everything else on to Django."""

    def __init__(self, inner: Application) -> None:
        self.inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("path") in PATHS and scope.get("method") == "GET":
            await serve(scope, receive, send)
        else:
            await self.inner(scope, receive, send)


async def serve(scope: Scope, receive: Receive, send: Send) -> None:
    """One call."""
    try:
        wish = read_wish(scope)
    except Faults as faults:
        message = "The query breaks a rule; see details."
        await reply(send, Seen(422, {"code": "invalid_input", "message": message, "details": faults.details}))
        return
    caller = str((scope.get("client") or ["unknown"])[0])
    gone = asyncio.ensure_future(hung_up(receive))
    try:
        taken = await hold(bearer(scope), wish, gone, caller)
        if not gone.done():
            await reply(send, taken.seen)
        else:
            await on_inbox_thread(give_back)(taken.claims)
    finally:
        gone.cancel()


async def hold(token: str, wish: Wish, gone: asyncio.Future[None], caller: str) -> Taken:
    """Takes what there is, or waits for it, at most the seconds of the wish."""
    taken = await on_inbox_thread(take)(token, wish, caller)
    if taken.is_final or wish.wait <= 0 or taken.agent is None:
        return taken
    loop = asyncio.get_running_loop()
    end = loop.time() + wish.wait
    news = News(inbox_group(taken.agent.pk))
    await news.join()
    stop = loop.create_future()
    wait.held.add(stop)
    try:
        # Again after joining: something may have joined the line in between.
        taken = await on_inbox_thread(take)(token, wish)
        while not taken.is_final and (left := end - loop.time()) > 0 and not (gone.done() or stop.done()):
            await first_of(news, {gone, stop}, wait.nap(float("inf"), left, news.recheck_seconds))
            if not gone.done():
                taken = await on_inbox_thread(take)(token, wish)
        return taken
    finally:
        wait.held.discard(stop)
        await news.leave()


def on_inbox_thread(call: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """Runs on one of the inbox's own threads."""
    run: Callable[P, Awaitable[R]] = database_sync_to_async(call, thread_sensitive=False, executor=_threads)
    return run


def take(token: str, wish: Wish, caller: str = "") -> Taken:
    """One turn at the line, with the token as it stands now. A change of rights ends a waiting call."""
    try:
        actor = access.actor_of_token(token) if token else None
        if caller:
            throttle(actor, caller)
        if actor is None:
            return Taken(
                Seen(401, {"code": "not_authenticated", "message": "Send a valid bearer token.", "details": []})
            )
        if actor.agent is None:
            message = "Only an agent's token may do this; yours is a person's."
            return Taken(Seen(403, {"code": "agents_only", "message": message, "details": []}))
        inbox.note_reading(actor.agent)
        claims = inbox.take(actor.agent, limit=wish.max, session=wish.session)
        body = {"deliveries": [inbox.item(claimed) for claimed in claims], "next": None}
        return Taken(Seen(200, body), actor.agent, claims)
    except ControlUIError as error:
        return Taken(Seen(error.status, error.body(), error.retry_after))
    except Exception as error:
        if not is_database_trouble(error):
            raise
        trouble = Unavailable()
        return Taken(Seen(trouble.status, trouble.body(), trouble.retry_after))


def give_back(claims: list[Claimed]) -> None:
    """What nobody got to read goes back into the queue; it is certain that it was not sent."""
    for claimed in claims:
        release(delivery=claimed.delivery, lease=claimed.lease)
