"""The only door for changes of deliveries. Each is one conditional UPDATE under the conversation's lock, and is told to
higher layers in the same transaction.

queued -> sending            claimed by a transport, first in line of its conversation
sending -> confirmed         the agent accepted; the message is saved in the same transaction
sending -> failed            the agent refused
sending -> queued            not handed out after all, or a webhook's next attempt
sending -> unconfirmed       nobody knows: the lease ran out, a worker was killed, no reply came
failed, unconfirmed -> queued            Retry: the same row and key
queued, failed, unconfirmed -> discarded Discard
any -> confirmed             the agent turns out to have accepted it
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db.models import Min, Q

from controlui.chat import clock
from controlui.chat.errors import KeyReused
from controlui.chat.ids import digest
from controlui.chat.models import Conversation, Message, Stream, User
from controlui.chat.transitions import Change, change, restore_composer_text
from controlui.chat.transitions.conversations import clean_text
from controlui.live.groups import inbox_group, work_group

from . import hooks
from .errors import LeaseLost, NotNow, SentBefore
from .models import Attempt, Delivery

log = logging.getLogger(__name__)

Status = Delivery.Status
Outcome = Attempt.Outcome
LEASE = dt.timedelta(seconds=60)
# Only these hold the rows behind them (design section 6).
IN_LINE = (Status.QUEUED, Status.SENDING)
OPEN = (Status.QUEUED, Status.SENDING, Status.FAILED, Status.UNCONFIRMED)
ERROR_MAX = 500


@dataclass(frozen=True, slots=True)
class Claimed:
    """A delivery to hand over now, with the lease of this attempt."""

    delivery: Delivery
    lease: str
    lease_until: dt.datetime


def enqueue(
    *,
    conversation: Conversation,
    author: User,
    text: str,
    key: str,
    reply_to: Message | None = None,
    at: dt.datetime | None = None,
) -> tuple[Delivery, bool]:
    """Takes a person's message for the agent; `(delivery, created)`.

    The same key again, from a second press, a reload or a replay, is the first delivery (bugs case 84).
    Raises InvalidInput for a text that cannot be sent, KeyReused when the key carried another text.
    """
    text = clean_text(text)
    with change(conversation, at) as opened:
        earlier = Delivery.objects.filter(conversation=opened.conversation, key=key).first()
        if earlier is not None:
            if earlier.text_digest != digest(text) or earlier.author_id != author.pk:
                raise KeyReused
            return earlier, False
        return enqueue_in(opened, author=author, text=text, key=key, reply_to=reply_to), True


def stream_of(opened: Change, reply_to: Message | None) -> Stream:
    """Who may see a message: with a reply to a question it quotes that, and so it is for the same people."""
    return reply_to.stream if reply_to is not None and reply_to.stream.prompts else opened.stream()


def enqueue_in(
    opened: Change, *, author: User, text: str, key: str, reply_to: Message | None = None, **more: Any
) -> Delivery:
    """Puts a message at the end of the line, inside an open change. `more`: `about`, `answers`, …"""
    delivery = Delivery.objects.create(
        conversation=opened.conversation,
        author=author,
        key=key,
        text=text,
        text_digest=digest(text),
        reply_to=reply_to,
        version=opened.touch(stream_of(opened, reply_to)),
        created_at=opened.at,
        status_at=opened.at,
        due_at=opened.at,
        **more,
    )
    tell(opened, delivery, "")
    return delivery


def move(opened: Change, delivery: Delivery, status: str, *, before: Collection[str], **changes: Any) -> bool:
    """The one conditional UPDATE: whether the row stood in one of `before`, and was moved. The object follows."""
    previous = delivery.status
    version = opened.touch(stream_of(opened, delivery.reply_to))
    changes |= {"status": status, "status_at": opened.at, "version": version}
    which = Delivery.objects.filter(pk=delivery.pk, status__in=before)
    if "lease" not in changes and status != Status.SENDING:
        changes |= {"lease": "", "lease_until": None}
    if which.update(**changes) != 1:
        return False
    for name, value in changes.items():
        setattr(delivery, name, value)
    tell(opened, delivery, previous)
    return True


def tell(opened: Change, delivery: Delivery, previous: str) -> None:
    """Higher layers now; after the commit the agent's open inbox calls, or the workers that call its webhook."""
    for listener in hooks.delivery_changed:
        listener(opened, delivery, previous)
    agent = opened.conversation.agent
    opened.sendings.append((work_group() if agent.webhook_url else inbox_group(agent.pk), {"type": "line.changed"}))


def claim_due(
    conversation: Conversation, *, transport: str, lease: dt.timedelta = LEASE, at: dt.datetime | None = None
) -> Claimed | None:
    """Takes the first in line of a conversation for one attempt; None when nothing may go now.

    An attempt whose lease ran out is *unconfirmed* first, and holds nobody any more.
    """
    with change(conversation, at) as opened:
        first = first_of_line(opened)
        if first is None or first.due_at > opened.at:
            return None
        first.conversation = opened.conversation
        attempt = Attempt.objects.create(
            delivery=first,
            number=first.attempts.count() + 1,
            transport=transport,
            started_at=opened.at,
        )
        until = opened.at + lease
        taken = move(
            opened, first, Status.SENDING, before=[Status.QUEUED],
            lease=attempt.lease, lease_until=until, tries=first.tries + 1, sent=True, error_code="", error="",
        )  # fmt: skip
        assert taken, "the conversation's lock is held"
    return Claimed(first, attempt.lease, until)


def first_of_line(opened: Change) -> Delivery | None:
    """Who goes next; None when nobody waits, or one is under way."""
    line = Delivery.objects.filter(conversation=opened.conversation, status__in=IN_LINE)
    # The one under way, of which there is at most one, then the first that waits.
    found = list(line.select_related("author", "reply_to__stream").order_by("-status", "pk")[:2])
    if found and found[0].status == Status.SENDING:
        stuck = found.pop(0)
        if stuck.lease_until is None or stuck.lease_until > opened.at:
            return None
        lose(opened, stuck)
    return found[0] if found else None


def end_attempt(lease: str, outcome: str, at: dt.datetime, **facts: Any) -> None:
    """Writes down how an attempt went. The first end stands, but an acceptance always."""
    attempts = Attempt.objects.filter(lease=lease)
    if outcome != Outcome.ACCEPTED:
        attempts = attempts.filter(outcome=Outcome.UNDER_WAY)
    attempts.update(outcome=outcome, ended_at=at, **facts)


def lose(opened: Change, delivery: Delivery, code: str = "lease_expired") -> None:
    """An attempt whose end nobody knows: never sent again by itself (design section 6)."""
    end_attempt(delivery.lease, Outcome.UNCONFIRMED, opened.at, error_code=code)
    move(opened, delivery, Status.UNCONFIRMED, before=[Status.SENDING], error_code=code, error="")


def find(opened: Change, uid: str) -> Delivery:
    """The delivery as it stands under the lock."""
    rows = Delivery.objects.select_related("author", "reply_to__stream", "message")
    return rows.get(conversation=opened.conversation, uid=uid)


def current(opened: Change, uid: str, lease: str) -> Delivery:
    """The delivery, if this lease is its present one and has not run out. Raises LeaseLost."""
    delivery = find(opened, uid)
    if delivery.status != Status.SENDING or delivery.lease != lease:
        raise LeaseLost(extra={"status": delivery.status})
    if delivery.lease_until is not None and delivery.lease_until <= opened.at:
        raise LeaseLost(extra={"status": delivery.status})
    return delivery


def confirm(
    *, delivery: Delivery, lease: str, http_status: int | None = None, at: dt.datetime | None = None
) -> tuple[Delivery, bool]:
    """The agent accepted: saves the message and settles the row; `(delivery, first)`, not first on a repeat.

    Counts with the lease of any attempt, also after Retry or Discard: what the agent has is in history.
    Raises LeaseLost for a lease that was never given.
    """
    with change(delivery.conversation, at) as opened:
        found = find(opened, delivery.uid)
        if not found.attempts.filter(lease=lease).exists():
            raise LeaseLost(extra={"status": found.status})
        first = found.status != Status.CONFIRMED
        if first:
            end_attempt(lease, Outcome.ACCEPTED, opened.at, http_status=http_status, error_code="", error="")
            save_message(opened, found)
    return found, first


def save_message(opened: Change, delivery: Delivery) -> None:
    """The message of an accepted delivery, once: unique by conversation and key, and by the row itself."""
    message = opened.add_message(
        stream=stream_of(opened, delivery.reply_to),
        kind=Message.Kind.PERSON,
        text=delivery.text,
        author=delivery.author,
        reply_to=delivery.reply_to,
        uid=delivery.uid,
        idempotency_key=f"outbox:{delivery.uid}",
    )
    every = [status for status in Status if status != Status.CONFIRMED]
    moved = move(opened, delivery, Status.CONFIRMED, before=every, message=message, error_code="", error="")
    assert moved, "the conversation's lock is held"


def fail(
    *,
    delivery: Delivery,
    lease: str,
    code: str,
    error: str = "",
    http_status: int | None = None,
    at: dt.datetime | None = None,
) -> Delivery:
    """The agent refused, with the current lease. A repeat of the refusal finds it failed. Raises LeaseLost."""
    error = error[:ERROR_MAX]
    with change(delivery.conversation, at) as opened:
        before = find(opened, delivery.uid)
        refused = before.attempts.filter(lease=lease, outcome=Outcome.REFUSED)
        if before.status == Status.FAILED and refused.exists():
            return before
        found = current(opened, delivery.uid, lease)
        end_attempt(lease, Outcome.REFUSED, opened.at, error_code=code, error=error, http_status=http_status)
        move(opened, found, Status.FAILED, before=[Status.SENDING], error_code=code, error=error)
    return found


def postpone(
    *,
    delivery: Delivery,
    lease: str,
    pause: dt.timedelta,
    code: str,
    error: str = "",
    http_status: int | None = None,
    at: dt.datetime | None = None,
) -> Delivery:
    """A webhook that is down for now: queued again, due after a pause. Raises LeaseLost."""
    error = error[:ERROR_MAX]
    with change(delivery.conversation, at) as opened:
        found = current(opened, delivery.uid, lease)
        end_attempt(lease, Outcome.FAILED, opened.at, error_code=code, error=error, http_status=http_status)
        due = opened.at + pause
        move(opened, found, Status.QUEUED, before=[Status.SENDING], due_at=due, error_code=code, error=error)
    return found


def release(*, delivery: Delivery, lease: str, at: dt.datetime | None = None) -> bool:
    """Back into the queue, when it is certain that nobody got it. Whether the lease was still the current one."""
    with change(delivery.conversation, at) as opened:
        try:
            found = current(opened, delivery.uid, lease)
        except LeaseLost:
            return False
        end_attempt(lease, Outcome.RELEASED, opened.at)
        sent = found.attempts.exclude(outcome=Outcome.RELEASED).exists()
        return move(opened, found, Status.QUEUED, before=[Status.SENDING], tries=max(0, found.tries - 1), sent=sent)


def leave_unconfirmed(*, delivery: Delivery, lease: str, code: str, at: dt.datetime | None = None) -> Delivery:
    """A send whose reply never came: it may have arrived. Raises LeaseLost."""
    with change(delivery.conversation, at) as opened:
        found = current(opened, delivery.uid, lease)
        lose(opened, found, code)
    return found


def renew(
    *, delivery: Delivery, lease: str, length: dt.timedelta = LEASE, at: dt.datetime | None = None
) -> dt.datetime:
    """More time for the agent that holds the current lease; when it ends now. Raises LeaseLost."""
    with change(delivery.conversation, at) as opened:
        found = current(opened, delivery.uid, lease)
        until = opened.at + length
        Delivery.objects.filter(pk=found.pk).update(lease_until=until)
    return until


def recover_stuck(*, limit: int = 100, at: dt.datetime | None = None) -> int:
    """Makes attempts past their lease unconfirmed, each in its own transaction; how many. For the worker loop."""
    now = at or clock.now()
    stuck = Delivery.objects.filter(status=Status.SENDING, lease_until__lte=now).order_by("lease_until")
    recovered = 0
    for delivery in stuck.select_related("conversation__agent")[:limit]:
        try:
            with change(delivery.conversation, at) as opened:
                found = find(opened, delivery.uid)
                if found.status == Status.SENDING and found.lease_until and found.lease_until <= opened.at:
                    lose(opened, found)
                    recovered += 1
        except Exception:
            # One bad row must not stop the others: it stays, and is tried again on the next turn.
            log.exception("delivery_sweep_failed", extra={"delivery": delivery.uid})
    return recovered


def retry(*, delivery: Delivery, at: dt.datetime | None = None) -> Delivery:
    """Sends the same row again, with the same key. A second press finds it in the queue. Raises NotNow."""
    with change(delivery.conversation, at) as opened:
        found = find(opened, delivery.uid)
        tried = move(
            opened, found, Status.QUEUED, before=[Status.FAILED, Status.UNCONFIRMED],
            due_at=opened.at, tries=0, error_code="", error="",
        )  # fmt: skip
    if not tried and found.status not in IN_LINE:
        raise NotNow(found)
    return found


def discard(*, delivery: Delivery, at: dt.datetime | None = None) -> Delivery:
    """Takes a message back that is not under way. A message of the composer goes back there as unsent text.

    A second press finds it discarded. Raises NotNow.
    """
    with change(delivery.conversation, at) as opened:
        found = find(opened, delivery.uid)
        gone = discard_in(opened, found)
        if gone and not found.about:
            restore_composer_text(conversation=opened.conversation, user=found.author, text=found.text)
    if not gone and found.status != Status.DISCARDED:
        raise NotNow(found)
    return found


def discard_in(opened: Change, delivery: Delivery) -> bool:
    """Discards inside an open change; whether it was in a state for that."""
    before = [Status.QUEUED, Status.FAILED, Status.UNCONFIRMED]
    return move(opened, delivery, Status.DISCARDED, before=before)


def edit(*, delivery: Delivery, text: str, at: dt.datetime | None = None) -> Delivery:
    """Changes the text of a queued message that no agent can have seen; its structured answers are dropped.

    Raises InvalidInput, NotNow, SentBefore.
    """
    text = clean_text(text)
    with change(delivery.conversation, at) as opened:
        found = find(opened, delivery.uid)
        if not found.sent and text != found.text and found.status == Status.QUEUED:
            move(opened, found, Status.QUEUED, before=[Status.QUEUED], text=text, answers=None)
    if found.status != Status.QUEUED:
        raise NotNow(found)
    if found.sent:
        raise SentBefore
    return found


def first_in_line(
    *, transport: str, agent_id: int | None = None, session: str = "", but: Collection[int] = (), limit: int
) -> list[Conversation]:
    """Conversations that may have something to claim now, the longest waiting first; nothing is locked.

    `transport`: "webhook" for agents with an address, "inbox" for the others; `but`: not of these agents.
    """
    at = clock.now()
    rows = Delivery.objects.filter(status=Status.QUEUED)
    no_address = Q(conversation__agent__webhook_url="")
    rows = rows.filter(no_address if transport == Attempt.Transport.INBOX else ~no_address)
    if agent_id is not None:
        rows = rows.filter(conversation__agent=agent_id)
    if but:
        rows = rows.exclude(conversation__agent__in=but)
    if session:
        rows = rows.filter(conversation__key=session, conversation__sessionless=False)
    held = Q(status=Status.SENDING, lease_until__gt=at) | Q(status=Status.QUEUED, due_at__gt=at)
    free = rows.exclude(conversation__in=Delivery.objects.filter(held).values("conversation"))
    first = free.values("conversation").annotate(first=Min("pk")).order_by("first")[:limit]
    places = Conversation.objects.select_related("agent").in_bulk([row["conversation"] for row in first])
    return [places[row["conversation"]] for row in first if row["conversation"] in places]
