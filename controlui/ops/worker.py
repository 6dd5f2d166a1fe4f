"""The loop that does what nobody waits for. Any number of copies may run: the row decides (design section 4).

What a due prompt or run becomes is not here: questions and chat own those transitions.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import structlog
from asgiref.sync import async_to_sync
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import F, Q

from controlui.api.wait import News
from controlui.chat import clock
from controlui.chat.live import announcements
from controlui.chat.models import SignInLink, Stream
from controlui.chat.transitions import end_due_runs
from controlui.errors import is_database_trouble
from controlui.live.groups import work_group
from outbox.transitions import recover_stuck
from outbox.worker import Sender
from questions.models import AskKey
from questions.transitions import expire_due_prompts

from .models import Heartbeat
from .processes import here

log = structlog.get_logger(__name__)

# Rows per turn of a job. SIGTERM is heeded between turns, and a full turn is followed by the next at once.
BATCH = 50
TICK = 1.0
# After a fault a job rests, so that a database that is gone is not asked every second.
REST = 5.0
REJOIN = 60.0
# Between two turns that a ring began: a burst of messages is looked at once.
APART = 0.05
HOUR, DAY = dt.timedelta(hours=1), dt.timedelta(days=1)


@dataclass(slots=True)
class Job:
    """Something to do every so many seconds; `run` does one batch and says how many rows it changed."""

    name: str
    every: float
    run: Callable[[], int]
    due: float = 0.0


def announce_streams() -> int:
    """Tells pages of streams that are ahead of what was announced: a process may die between commit and publish.

    Pages that have heard already drop it. A row is marked only for the version that was really sent.
    """
    layer = get_channel_layer()
    told = 0
    for stream in Stream.objects.filter(version__gt=F("announced")).order_by("pk")[:BATCH]:
        for group, message in announcements(stream):
            async_to_sync(layer.group_send)(group, message)
        told += Stream.objects.filter(pk=stream.pk, announced__lt=stream.version).update(announced=stream.version)
    return told


def delete_some(model: type[AskKey | SignInLink | Session | Heartbeat], condition: Q) -> int:
    """Deletes one batch of rows that nobody can use any more."""
    old: list[Any] = list(model._default_manager.filter(condition).order_by("pk").values_list("pk", flat=True)[:BATCH])
    return model._default_manager.filter(condition, pk__in=old).delete()[0] if old else 0


def purge_ask_keys() -> int:
    """`Idempotency-Key`s live 24 hours (design section 5)."""
    return delete_some(AskKey, Q(created_at__lt=clock.now() - DAY))


def purge_sign_in_links() -> int:
    """A link is kept for a week after its end, so that a late press is told why it does not work."""
    return delete_some(SignInLink, Q(expires_at__lt=clock.now() - 7 * DAY))


def purge_sessions() -> int:
    """Sign-ins of browsers that never came back."""
    return delete_some(Session, Q(expire_date__lt=clock.now()))


def purge_heartbeats() -> int:
    """Loops that were killed leave their row."""
    return delete_some(Heartbeat, Q(seen_at__lt=clock.now() - HOUR))


class Worker:
    """One copy of the loop. `turn` does all that is due; `last_error` is what the latest fault was."""

    def __init__(self, *, place: str, on_free: Callable[[], None] = lambda: None) -> None:
        self.place = place
        self.name = f"{here()}:{os.getpid()}"
        self.started_at: dt.datetime | None = None
        self.last_error = ""
        self.sender = Sender(on_free)
        self.jobs = [
            # Runs first: a prompt that ends with its run's deadline is to say so.
            Job("end_due_runs", 1, lambda: end_due_runs(limit=BATCH)),
            Job("expire_due_prompts", 1, lambda: expire_due_prompts(limit=BATCH)),
            Job("recover_stuck", 1, lambda: recover_stuck(limit=BATCH)),
            Job("send_due", 0, self.sender.send_due),
            Job("announce_streams", 1, announce_streams),
            Job("beat", 5, self.beat),
            Job("purge_ask_keys", 600, purge_ask_keys),
            Job("purge_sign_in_links", 3600, purge_sign_in_links),
            Job("purge_heartbeats", 3600, purge_heartbeats),
            Job("purge_sessions", 86400, purge_sessions),
        ]

    def turn(self, stopping: Callable[[], bool] = lambda: False) -> bool:
        """Runs each job that is due once; True when one had a full batch, so that more is waiting."""
        more = False
        for job in self.jobs:
            if stopping():
                return False
            if job.due <= time.monotonic():
                more |= self.attempt(job)
        return more

    def attempt(self, job: Job) -> bool:
        """One batch of one job. Whatever it raises is recorded, and stops neither the others nor the loop."""
        try:
            full = job.run() >= BATCH
        except Exception as error:
            self.last_error = f"{job.name}: {type(error).__name__}"
            job.due = time.monotonic() + max(job.every, REST)
            # A database that is gone says the same each time: no traceback for that.
            log.error("job_failed", job=job.name, error=repr(error), exc_info=not is_database_trouble(error))
            return False
        if not full:
            job.due = time.monotonic() + job.every
        return full

    def beat(self) -> int:
        """The sign of life that /healthz shows."""
        at = clock.now()
        self.started_at = self.started_at or at
        Heartbeat.objects.update_or_create(
            name=self.name,
            defaults={
                "host": here(),
                "pid": os.getpid(),
                "place": self.place,
                "shares_layer": bool(settings.REDIS_URL),
                "started_at": self.started_at,
                "seen_at": at,
                "error": self.last_error,
            },
        )
        return 0

    def leave(self) -> None:
        """Takes the sign of life back: this loop ended as it should."""
        Heartbeat.objects.filter(name=self.name).delete()


class Bell:
    """Wakes the loop between two ticks: a message for a webhook joined a line, or a thread that sends became free."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.rung = asyncio.Event()
        self.news = News(work_group())
        self.listening: asyncio.Task[None] | None = None
        self.join_at = self.woke_at = 0.0

    def ring(self) -> None:
        """From any thread."""
        self.loop.call_soon_threadsafe(self.rung.set)

    async def rest(self, stop: asyncio.Event) -> None:
        """Until it rings, the next tick, or at once when told to stop. However often it rings, turns keep apart."""
        if self.loop.time() >= self.join_at:
            await self.join()
            # Something may have come while nobody listened.
            return
        await first_of(stop, self.rung, seconds=TICK)
        await first_of(stop, seconds=self.woke_at + APART - self.loop.time())
        self.woke_at = self.loop.time()
        self.rung.clear()

    async def join(self) -> None:
        """Joins anew: a layer forgets its members after a day, and when it is started anew."""
        await self.leave()
        self.news = News(work_group())
        await self.news.join()
        self.listening = asyncio.create_task(self.listen(self.news))
        self.join_at = self.loop.time() + (REJOIN if self.news.channel else REST)

    async def listen(self, news: News) -> None:
        """Hears every message at once, so that a thousand of them are one turn."""
        while news.channel:
            await news.next()
            self.rung.set()

    async def leave(self) -> None:
        """Takes its place in the group back."""
        if self.listening is not None:
            self.listening.cancel()
            await asyncio.wait({self.listening})
        await self.news.leave()


async def first_of(*events: asyncio.Event, seconds: float) -> None:
    """Waits for one of the events, at most so long."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=max(0.0, seconds), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waits:
            each.cancel()


async def run(stop: asyncio.Event, *, place: str = Heartbeat.Place.SEPARATE) -> None:
    """Turns until `stop` is set, finishing the batch under way; then takes its heartbeat back.

    The synchronous part has a thread of its own: on the threads that requests share, a long sweep would
    hold up waiters. Sending goes through this loop, as the in-memory layer needs it to.
    """
    bell = Bell()
    worker = Worker(place=place, on_free=bell.ring)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="worker") as thread:
        turn = database_sync_to_async(worker.turn, thread_sensitive=False, executor=thread)
        while not stop.is_set():
            if not await turn(stop.is_set):
                await bell.rest(stop)
        await bell.leave()
        # What is being sent is finished; it takes seconds at most.
        await asyncio.to_thread(worker.sender.finish)
        leave = database_sync_to_async(worker.leave, thread_sensitive=False, executor=thread)
        try:
            await leave()
        except Exception as error:  # noqa: BLE001 -- the row is found dead later; stopping goes on
            log.warning("heartbeat_not_removed", error=repr(error))


async def run_embedded(stop: asyncio.Event) -> None:
    """The loop inside a server's own process, as a task of its event loop."""
    await run(stop, place=Heartbeat.Place.EMBEDDED)
