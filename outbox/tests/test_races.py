"""Races for real: threads on PostgreSQL. One winner, one row in one legal state, at most one message."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from controlui.chat.models import Agent, Conversation, Message, User
from controlui.chat.transitions import open_conversation
from controlui.errors import ControlUIError
from outbox import transitions as outbox
from outbox.models import Delivery
from outbox.transports import inbox
from questions.models import Prompt
from questions.transitions import answer_prompt, reopen_reminder, skip_prompt

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

Status = Delivery.Status
LATER = dt.timedelta(seconds=61)
STAGING = {"deploy_target": ["Production"]}


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Runs all at the same moment, each on a connection of its own; results, or the code of the error."""
    start = Barrier(len(calls))

    def one(call: Callable[[], Any]) -> Any:
        try:
            start.wait(30)
            return call()
        except ControlUIError as error:
            return error.code
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


def sent(conversation: Conversation, author: User, text: str = "hello") -> Delivery:
    return outbox.enqueue(conversation=conversation, author=author, text=text, key=f"k{Delivery.objects.count()}")[0]


def status_of(delivery: Delivery) -> str:
    return str(Delivery.objects.values_list("status", flat=True).get(pk=delivery.pk))


def taken(agent: Agent) -> outbox.Claimed:
    (claimed,) = inbox.take(agent)
    return claimed


def test_the_same_press_twenty_times_is_one_delivery(conversation: Conversation, ben: User) -> None:
    press = partial(outbox.enqueue, conversation=conversation, author=ben, text="hello", key="press")
    results = at_once(*[press] * 20)
    assert len({delivery.pk for delivery, _created in results}) == 1
    assert sum(created for _delivery, created in results) == 1


def test_ten_inbox_calls_share_what_there_is(conversation: Conversation, agent: Agent, ben: User) -> None:
    places = [conversation, *(open_conversation(agent=agent, key=f"s{number}") for number in range(4))]
    for place in places:
        for text in ("first", "second"):
            sent(place, ben, text)
    results = at_once(*[partial(inbox.take, agent)] * 10)
    claims = [claimed.delivery for found in results for claimed in found]
    assert sorted(claimed.conversation_id for claimed in claims) == sorted(place.pk for place in places)
    assert {claimed.text for claimed in claims} == {"first"}


@pytest.mark.parametrize("state", [Status.FAILED, Status.UNCONFIRMED])
def test_fifty_presses_of_retry_and_discard_at_once(
    conversation: Conversation, agent: Agent, ben: User, state: str
) -> None:
    delivery = sent(conversation, ben)
    claimed = taken(agent)
    if state == Status.FAILED:
        outbox.fail(delivery=delivery, lease=claimed.lease, code="refused", error="No.")
    else:
        outbox.recover_stuck(at=timezone.now() + LATER)
    results = at_once(*[partial(outbox.retry, delivery=delivery), partial(outbox.discard, delivery=delivery)] * 25)
    final = status_of(delivery)
    assert final == Status.DISCARDED
    # Each is told the truth: it took part in what stands, or that it came too late.
    told = Counter(result if isinstance(result, str) else result.status for result in results)
    assert set(told) <= {Status.QUEUED, Status.DISCARDED, "delivery_changed"}
    assert told[Status.DISCARDED] == 25
    assert Message.objects.count() == 0


def test_an_acceptance_against_discard_retry_and_the_sweep(conversation: Conversation, agent: Agent, ben: User) -> None:
    for _round in range(8):
        delivery = sent(conversation, ben)
        lease = taken(agent).lease
        accept = partial(outbox.confirm, delivery=delivery, lease=lease)
        at_once(
            *[accept] * 3,
            partial(outbox.discard, delivery=delivery),
            partial(outbox.retry, delivery=delivery),
            partial(outbox.recover_stuck, at=timezone.now() + LATER),
            partial(outbox.fail, delivery=delivery, lease=lease, code="refused", error="No."),
        )
        assert status_of(delivery) == Status.CONFIRMED
        assert Message.objects.filter(uid=delivery.uid).count() == 1


def test_claims_against_a_growing_line_keep_the_order(conversation: Conversation, agent: Agent, ben: User) -> None:
    def work() -> int:
        done = 0
        while Message.objects.filter(kind="person").count() < 30:
            for claimed in inbox.take(agent):
                outbox.confirm(delivery=claimed.delivery, lease=claimed.lease)
                done += 1
        return done

    def write() -> None:
        for number in range(30):
            sent(conversation, ben, f"{number:02}")

    at_once(write, *[work] * 4)
    texts = list(Message.objects.filter(kind="person").order_by("seq").values_list("text", flat=True))
    assert texts == [f"{number:02}" for number in range(30)]


def test_an_async_answer_from_two_tabs_skip_and_answer_again(ask: Callable[..., Prompt], ben: User, ana: User) -> None:
    for _round in range(5):
        prompt = ask(mode="async")

        def fresh(prompt: Prompt = prompt) -> Prompt:
            return Prompt.objects.select_related("conversation__agent", "message__stream").get(pk=prompt.pk)

        def press(user: User, fresh: Callable[[], Prompt] = fresh) -> Any:
            return answer_prompt(prompt=fresh(), user=user, answers=STAGING, surface="web")

        def skip(fresh: Callable[[], Prompt] = fresh) -> Any:
            return skip_prompt(prompt=fresh(), user=ana, surface="web")

        def again(fresh: Callable[[], Prompt] = fresh) -> Any:
            return reopen_reminder(prompt=fresh(), user=ana, surface="web")

        at_once(*[partial(press, ben), partial(press, ana)] * 4, skip, again)
        found = fresh()
        on_their_way = Delivery.objects.filter(about=prompt.uid).exclude(status=Status.DISCARDED).count()
        assert found.status in {"pending", "submitted", "skipped"}
        assert on_their_way == (1 if found.status == "submitted" else 0)


def test_discard_and_a_new_answer_against_a_late_acceptance(
    ask: Callable[..., Prompt], agent: Agent, ben: User
) -> None:
    for _round in range(8):
        prompt = ask(mode="async")

        def fresh(prompt: Prompt = prompt) -> Prompt:
            return Prompt.objects.select_related("conversation__agent", "message__stream").get(pk=prompt.pk)

        answer_prompt(prompt=fresh(), user=ben, answers=STAGING, surface="web")
        claimed = taken(agent)
        outbox.recover_stuck(at=timezone.now() + LATER)

        def replace(claimed: outbox.Claimed = claimed, fresh: Callable[[], Prompt] = fresh) -> Any:
            outbox.discard(delivery=claimed.delivery)
            return answer_prompt(prompt=fresh(), user=ben, answers=STAGING, surface="web")

        at_once(replace, partial(outbox.confirm, delivery=claimed.delivery, lease=claimed.lease))
        found = fresh()
        rows = Delivery.objects.filter(about=prompt.uid)
        assert found.status == "answered"
        assert rows.filter(status=Status.CONFIRMED).count() == 1
        assert not rows.filter(status__in=[Status.QUEUED, Status.SENDING]).exists()
