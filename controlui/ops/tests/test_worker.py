"""What the loop does in one turn, and that a fault stops neither the other jobs nor the loop."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from django.contrib.sessions.models import Session
from django.db import OperationalError, connection, connections
from django.utils import timezone

from controlui.chat import clock
from controlui.chat.models import Agent, Conversation, Run, SignInLink, Stream, User
from controlui.chat.transitions import create_sign_in_link, open_run
from controlui.live.groups import stream_group
from controlui.ops import worker
from controlui.ops.models import Heartbeat
from controlui.ops.worker import Job, Worker, announce_streams
from outbox.models import Delivery
from outbox.transitions import enqueue
from questions.models import AskKey, Prompt

Ask = Callable[..., Prompt]


def long_ago(**much: float) -> dt.datetime:
    return clock.now() - dt.timedelta(**much)


@pytest.mark.django_db
def test_a_turn_expires_what_is_due_and_nothing_else(ask: Ask) -> None:
    due, later = ask(at=long_ago(hours=1)), ask()
    Worker(place="embedded").turn()
    due.refresh_from_db()
    later.refresh_from_db()
    assert (due.status, later.status) == ("expired", "pending")


@pytest.mark.django_db
def test_a_turn_ends_runs_at_their_deadline_and_says_so_in_their_prompts(agent: Agent, ask: Ask) -> None:
    start = long_ago(minutes=10)
    run, _created = open_run(agent=agent, session_key="main", deadline_seconds=60, at=start)
    prompt = ask(runId=run.client_id, at=start)
    Worker(place="embedded").turn()
    run.refresh_from_db()
    prompt.refresh_from_db()
    assert (run.status, run.end_reason) == (Run.Status.ABORTED, "deadline")
    assert (prompt.status, prompt.end_reason) == ("cancelled", "run_deadline")


@pytest.mark.django_db
def test_a_stream_ahead_is_announced_once(conversation: Conversation, ask: Ask) -> None:
    ask()
    Stream.objects.update(announced=0)
    ahead = Stream.objects.filter(version__gt=0).count()
    assert ahead
    assert announce_streams() == ahead
    assert announce_streams() == 0


def test_a_message_for_a_webhook_wakes_the_loop_and_so_does_a_free_thread(
    transactional_db: None, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "TICK", 60.0)
    agent: Agent = request.getfixturevalue("agent")
    ben: User = request.getfixturevalue("ben")
    conversation: Conversation = request.getfixturevalue("conversation")
    Agent.objects.filter(pk=agent.pk).update(webhook_url="http://127.0.0.1:1/", webhook_secret="whsec_AAAA")
    conversation = Conversation.objects.select_related("agent").get(pk=conversation.pk)

    async def enqueue_and_wait() -> str:
        stop = asyncio.Event()
        loop = asyncio.ensure_future(worker.run_embedded(stop))
        beats = sync_to_async(Heartbeat.objects.exists)
        async with asyncio.timeout(30):
            while not await beats():  # noqa: ASYNC110  (no event tells of a row)
                await asyncio.sleep(0)
            send = sync_to_async(enqueue)
            delivery, _created = await send(conversation=conversation, author=ben, text="hello", key="k")
            find = sync_to_async(Delivery.objects.get)
            while not (found := await find(pk=delivery.pk)).error_code:  # noqa: ASYNC110  (as above)
                await asyncio.sleep(0)
        stop.set()
        await loop
        await sync_to_async(connections.close_all)()
        return found.error_code

    assert asyncio.run(enqueue_and_wait()) == "address_not_allowed"


def test_an_announcement_reaches_a_page_of_this_process(transactional_db: None, request: pytest.FixtureRequest) -> None:
    ask: Ask = request.getfixturevalue("ask")
    prompt = ask()
    stream = prompt.message.stream
    Stream.objects.filter(pk=stream.pk).update(announced=0)

    async def listen() -> dict[str, Any]:
        layer = get_channel_layer()
        channel = await layer.new_channel()
        await layer.group_add(stream_group(stream.uid, "en"), channel)
        stop = asyncio.Event()
        loop = asyncio.ensure_future(worker.run_embedded(stop))
        message: dict[str, Any] = await asyncio.wait_for(layer.receive(channel), 10)
        stop.set()
        await loop
        return message

    message = asyncio.run(listen())
    assert message["payload"] == {"type": "changed", "stream": stream.uid, "version": stream.version}
    stream.refresh_from_db()
    assert stream.announced == stream.version
    assert not Heartbeat.objects.exists(), "a loop that ends as it should takes its heartbeat back"


@pytest.mark.django_db
def test_a_fault_of_one_job_is_recorded_and_the_others_go_on(ask: Ask) -> None:
    prompt = ask(at=long_ago(hours=1))

    def broken() -> int:
        raise ValueError("poison")

    loop = Worker(place="embedded")
    loop.jobs.insert(0, Job("broken", 1, broken))
    loop.turn()
    prompt.refresh_from_db()
    assert prompt.status == "expired"
    assert Heartbeat.objects.get().error == "broken: ValueError"


@pytest.mark.django_db
def test_a_job_rests_after_a_fault_and_a_full_batch_is_followed_by_the_next() -> None:
    calls: list[str] = []

    def gone() -> int:
        calls.append("gone")
        raise OperationalError("the database is gone")

    def full() -> int:
        calls.append("full")
        return worker.BATCH

    loop = Worker(place="embedded")
    loop.jobs = [Job("gone", 1, gone), Job("full", 1, full)]
    assert loop.turn() is True
    assert loop.turn() is True
    assert calls == ["gone", "full", "full"]


def test_told_to_stop_it_starts_no_further_job() -> None:
    calls: list[str] = []
    loop = Worker(place="embedded")

    def job(name: str) -> Job:
        def run() -> int:
            calls.append(name)
            return 0

        return Job(name, 1, run)

    loop.jobs = [job("first"), job("second")]
    assert loop.turn(lambda: bool(calls)) is False
    assert calls == ["first"]


@pytest.mark.django_db
def test_what_nobody_can_use_any_more_is_deleted(ana: User, ask: Ask) -> None:
    ask(key="new")
    ask(key="old", sessionKey="other")
    AskKey.objects.filter(key="old").update(created_at=long_ago(hours=25))
    create_sign_in_link(user=ana)
    create_sign_in_link(user=ana, at=long_ago(days=30))
    Session.objects.create(session_key="new", session_data="", expire_date=timezone.now() + dt.timedelta(days=1))
    Session.objects.create(session_key="old", session_data="", expire_date=timezone.now() - dt.timedelta(days=1))
    at = long_ago(hours=2)
    Heartbeat.objects.create(
        name="dead", host="x", pid=1, place="separate", shares_layer=True, started_at=at, seen_at=at
    )
    Worker(place="embedded").turn()
    assert list(AskKey.objects.values_list("key", flat=True)) == ["new"]
    assert SignInLink.objects.count() == 1
    assert list(Session.objects.values_list("session_key", flat=True)) == ["new"]
    assert list(Heartbeat.objects.values_list("place", flat=True)) == ["embedded"]


@pytest.mark.django_db
def test_an_idle_turn_asks_few_questions(django_assert_max_num_queries: Any) -> None:
    loop = Worker(place="embedded")
    loop.turn()
    for job in loop.jobs:
        job.due = 0 if job.every == 1 else job.due
    # PostgreSQL is asked for the time, too: all hosts share its clock.
    with django_assert_max_num_queries(9 if connection.vendor == "postgresql" else 5):
        loop.turn()
