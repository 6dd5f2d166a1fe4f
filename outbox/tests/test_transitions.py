"""The states of a delivery: each change, from each state, and what it leaves behind."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from controlui.chat.errors import KeyReused
from controlui.chat.models import Agent, ComposerDraft, Conversation, Message, User
from controlui.chat.transitions import open_conversation
from controlui.errors import InvalidInput
from outbox import transitions as outbox
from outbox.errors import LeaseLost, NotNow, SentBefore
from outbox.models import Attempt, Delivery
from outbox.transports import inbox

pytestmark = pytest.mark.django_db

Status = Delivery.Status
Sends = Callable[..., Delivery]
LATER = dt.timedelta(seconds=61)


@pytest.fixture
def send(conversation: Conversation, ben: User) -> Sends:
    """Puts a message of ben's into the outbox."""
    count = iter(range(1000))

    def sent(text: str = "hello", **more: Any) -> Delivery:
        number = next(count)
        return outbox.enqueue(
            **{"conversation": conversation, "author": ben, "text": text, "key": f"k{number}", **more}
        )[0]

    return sent


def take(agent: Agent) -> outbox.Claimed:
    (claimed,) = inbox.take(agent)
    return claimed


def fresh(delivery: Delivery) -> Delivery:
    return Delivery.objects.select_related("message").get(pk=delivery.pk)


def make(status: str, delivery: Delivery, agent: Agent) -> str:
    """Brings a queued delivery into a state by the ways that lead there; the lease of its last attempt."""
    if status == Status.QUEUED:
        return ""
    if status == Status.DISCARDED:
        outbox.discard(delivery=delivery)
        return ""
    claimed = take(agent)
    if status == Status.CONFIRMED:
        outbox.confirm(delivery=delivery, lease=claimed.lease)
    elif status == Status.FAILED:
        outbox.fail(delivery=delivery, lease=claimed.lease, code="refused", error="No.")
    elif status == Status.UNCONFIRMED:
        outbox.recover_stuck(at=timezone.now() + LATER)
    assert fresh(delivery).status == status
    return claimed.lease


def test_a_message_waits_until_its_agent_takes_it(send: Sends, agent: Agent) -> None:
    delivery = send()
    assert (delivery.status, Message.objects.count()) == (Status.QUEUED, 0)
    claimed = take(agent)
    assert fresh(delivery).status == Status.SENDING
    assert inbox.take(agent) == []
    confirmed, first = outbox.confirm(delivery=delivery, lease=claimed.lease)
    assert (confirmed.status, first) == (Status.CONFIRMED, True)
    message = Message.objects.get()
    assert (message.text, message.author, message.uid) == ("hello", delivery.author, delivery.uid)


def test_the_same_key_is_the_same_delivery_and_another_text_is_refused(send: Sends, agent: Agent, ana: User) -> None:
    first = send(key="press")
    assert send(key="press").pk == first.pk
    with pytest.raises(KeyReused):
        send("other", key="press")
    with pytest.raises(KeyReused):
        send(key="press", author=ana)
    outbox.edit(delivery=first, text="hello, edited")
    assert send(key="press").pk == first.pk


@pytest.mark.parametrize("text", ["", " \n", "x" * 100_001, "a\x00b", "\ud800"])
def test_what_cannot_be_sent_is_refused(send: Sends, text: str) -> None:
    with pytest.raises(InvalidInput):
        send(text)
    assert not Delivery.objects.exists()


def test_first_in_first_out_and_one_at_a_time(send: Sends, agent: Agent) -> None:
    rows = [send(text) for text in ("one", "two", "three")]
    got = []
    for _turn in rows:
        claimed = take(agent)
        got.append(claimed.delivery.text)
        assert inbox.take(agent) == []
        outbox.confirm(delivery=claimed.delivery, lease=claimed.lease)
    assert got == ["one", "two", "three"]
    assert list(Message.objects.order_by("seq").values_list("text", flat=True)) == got


def test_two_conversations_do_not_hold_each_other_up(send: Sends, agent: Agent, ben: User) -> None:
    other = open_conversation(agent=agent, key="other")
    send("here")
    send("here too")
    send("there", conversation=other)
    assert [claimed.delivery.text for claimed in inbox.take(agent)] == ["here", "there"]
    assert inbox.take(agent) == []


def test_an_inbox_of_one_session_takes_only_that(send: Sends, agent: Agent) -> None:
    send("there", conversation=open_conversation(agent=agent, key="other"))
    send("here")
    assert [claimed.delivery.text for claimed in inbox.take(agent, session="main")] == ["here"]
    assert inbox.take(agent, session="nowhere") == []


@pytest.mark.parametrize("status", [Status.FAILED, Status.UNCONFIRMED])
def test_what_failed_holds_nobody_up_and_goes_when_retried(send: Sends, agent: Agent, status: str) -> None:
    first, second = send("first"), send("second")
    make(status, first, agent)
    assert take(agent).delivery.pk == second.pk
    outbox.retry(delivery=first)
    assert inbox.take(agent) == []  # the second is on its way
    outbox.recover_stuck(at=timezone.now() + LATER)
    assert take(agent).delivery.pk == first.pk


# What each press does in each state: the state after, or the error.
PRESSES: list[tuple[str, str, str]] = [
    (Status.QUEUED, "retry", Status.QUEUED),
    (Status.SENDING, "retry", Status.SENDING),
    (Status.FAILED, "retry", Status.QUEUED),
    (Status.UNCONFIRMED, "retry", Status.QUEUED),
    (Status.CONFIRMED, "retry", "refused"),
    (Status.DISCARDED, "retry", "refused"),
    (Status.QUEUED, "discard", Status.DISCARDED),
    (Status.SENDING, "discard", "refused"),
    (Status.FAILED, "discard", Status.DISCARDED),
    (Status.UNCONFIRMED, "discard", Status.DISCARDED),
    (Status.CONFIRMED, "discard", "refused"),
    (Status.DISCARDED, "discard", Status.DISCARDED),
]


@pytest.mark.parametrize(("status", "press", "expected"), PRESSES)
def test_presses(send: Sends, agent: Agent, status: str, press: str, expected: str) -> None:
    delivery = send()
    make(status, delivery, agent)
    if expected == "refused":
        with pytest.raises(NotNow) as refused:
            getattr(outbox, press)(delivery=delivery)
        assert refused.value.extra == {"status": status}
        expected = status
    else:
        getattr(outbox, press)(delivery=delivery)
    assert fresh(delivery).status == expected
    assert Message.objects.count() == (1 if status == Status.CONFIRMED else 0)


@pytest.mark.parametrize(
    "status", [Status.SENDING, Status.FAILED, Status.UNCONFIRMED, Status.CONFIRMED, "retried", "discarded later"]
)
def test_an_acceptance_counts_from_every_state_and_once(send: Sends, agent: Agent, status: str) -> None:
    delivery = send()
    base = {"retried": Status.FAILED, "discarded later": Status.UNCONFIRMED}.get(status, status)
    lease = make(base, delivery, agent)
    if status == "retried":
        outbox.retry(delivery=delivery)
    if status == "discarded later":
        outbox.discard(delivery=delivery)
    _row, first = outbox.confirm(delivery=delivery, lease=lease)
    assert first == (status != Status.CONFIRMED)
    assert outbox.confirm(delivery=delivery, lease=lease)[1] is False
    assert fresh(delivery).status == Status.CONFIRMED
    assert Message.objects.count() == 1
    assert Attempt.objects.get(lease=lease).outcome == "accepted"
    assert inbox.take(agent) == []


def test_a_lease_that_was_never_given_confirms_nothing(send: Sends, agent: Agent) -> None:
    delivery, other = send(), send(conversation=open_conversation(agent=agent, key="other"))
    leases = {claimed.delivery.pk: claimed.lease for claimed in inbox.take(agent)}
    for lease in ("made-up", "", leases[other.pk]):
        with pytest.raises(LeaseLost):
            outbox.confirm(delivery=delivery, lease=lease)
        with pytest.raises(LeaseLost):
            outbox.fail(delivery=delivery, lease=lease, code="refused", error="No.")
        with pytest.raises(LeaseLost):
            outbox.renew(delivery=delivery, lease=lease)
    assert fresh(delivery).status == Status.SENDING


def test_only_the_current_lease_refuses(send: Sends, agent: Agent) -> None:
    delivery = send()
    old = make(Status.UNCONFIRMED, delivery, agent)
    outbox.retry(delivery=delivery)
    new = take(agent).lease
    with pytest.raises(LeaseLost):
        outbox.fail(delivery=delivery, lease=old, code="refused", error="No.")
    outbox.fail(delivery=delivery, lease=new, code="refused", error="No." * 400)
    again = outbox.fail(delivery=delivery, lease=new, code="refused", error="No.")
    assert (again.status, again.error_code, len(again.error)) == (Status.FAILED, "refused", 500)
    # It refused, and accepted after all: what it has is in history.
    outbox.confirm(delivery=delivery, lease=new)
    assert Message.objects.count() == 1


def test_a_lease_runs_out_and_is_renewed(send: Sends, agent: Agent) -> None:
    delivery = send()
    claimed = take(agent)
    now = timezone.now()
    until = outbox.renew(delivery=delivery, lease=claimed.lease, at=now + dt.timedelta(seconds=50))
    assert outbox.recover_stuck(at=now + LATER) == 0
    assert outbox.recover_stuck(at=until) == 1
    found = fresh(delivery)
    assert (found.status, found.error_code) == (Status.UNCONFIRMED, "lease_expired")
    with pytest.raises(LeaseLost):
        outbox.renew(delivery=delivery, lease=claimed.lease)
    with pytest.raises(LeaseLost):
        outbox.fail(delivery=delivery, lease=claimed.lease, code="refused", error="No.")


def test_a_lease_past_its_end_is_lost_before_the_sweep_saw_it(send: Sends, agent: Agent) -> None:
    delivery, second = send(), send("second")
    claimed = take(agent)
    later = timezone.now() + LATER
    with pytest.raises(LeaseLost):
        outbox.renew(delivery=delivery, lease=claimed.lease, at=later)
    taken = outbox.claim_due(delivery.conversation, transport="inbox", at=later)
    assert taken is not None
    assert (taken.delivery.pk, fresh(delivery).status) == (second.pk, Status.UNCONFIRMED)


def test_what_nobody_got_goes_back_to_its_place(send: Sends, agent: Agent) -> None:
    first, _second = send("first"), send("second")
    claimed = take(agent)
    assert outbox.release(delivery=first, lease=claimed.lease)
    assert not outbox.release(delivery=first, lease=claimed.lease)
    assert (fresh(first).status, fresh(first).tries) == (Status.QUEUED, 0)
    assert take(agent).delivery.pk == first.pk


def test_a_webhook_that_is_down_waits_in_its_place(send: Sends, agent: Agent) -> None:
    agent.webhook_url = "https://agent.example/hook"
    agent.save(update_fields=["webhook_url"])
    first, _second = send("first"), send("second")
    assert inbox.take(agent) == []
    (place,) = outbox.first_in_line(transport="webhook", limit=10)
    claimed = outbox.claim_due(place, transport="webhook")
    assert claimed is not None
    pause = dt.timedelta(seconds=30)
    outbox.postpone(delivery=first, lease=claimed.lease, pause=pause, code="http_503", error="Busy.", http_status=503)
    found = fresh(first)
    assert (found.status, found.error_code, found.tries) == (Status.QUEUED, "http_503", 1)
    assert outbox.first_in_line(transport="webhook", limit=10) == []
    assert outbox.claim_due(place, transport="webhook") is None
    later = outbox.claim_due(place, transport="webhook", at=timezone.now() + pause)
    assert later is not None
    assert (later.delivery.pk, later.delivery.tries) == (first.pk, 2)


def test_editing_is_for_what_no_agent_can_have_seen(send: Sends, agent: Agent) -> None:
    delivery = send()
    outbox.edit(delivery=delivery, text="better")
    assert (fresh(delivery).text, fresh(delivery).status) == ("better", Status.QUEUED)
    with pytest.raises(InvalidInput):
        outbox.edit(delivery=delivery, text=" ")
    claimed = take(agent)
    with pytest.raises(NotNow):
        outbox.edit(delivery=delivery, text="too late")
    outbox.release(delivery=delivery, lease=claimed.lease)
    outbox.edit(delivery=delivery, text="nobody had it")
    make(Status.FAILED, delivery, agent)
    outbox.retry(delivery=delivery)
    with pytest.raises(SentBefore):
        outbox.edit(delivery=delivery, text="it knows the old one")
    assert fresh(delivery).text == "nobody had it"


def test_a_discarded_message_is_unsent_text_again(
    send: Sends, agent: Agent, conversation: Conversation, ben: User
) -> None:
    outbox.discard(delivery=send("first"))
    assert ComposerDraft.objects.get(user=ben).text == "first"
    outbox.discard(delivery=send("second"))
    draft = ComposerDraft.objects.get(user=ben)
    assert [draft.text, *(each["text"] for each in draft.alternates)] == ["first", "second"]


def test_the_database_itself_keeps_the_rules(send: Sends, agent: Agent) -> None:
    first, second = send(), send()
    take(agent)
    for row, status in ((second, Status.SENDING), (first, Status.CONFIRMED)):
        with pytest.raises(IntegrityError), transaction.atomic():
            Delivery.objects.filter(pk=row.pk).update(status=status)
