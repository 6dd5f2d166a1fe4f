"""Reads of deliveries for pages: what has not settled yet, ready for a template."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

from controlui.chat.access import Actor
from controlui.chat.models import Agent, Conversation, Stream
from controlui.chat.prepared import Prepared

from .access import may_steer
from .models import Delivery
from .transitions import OPEN
from .words import sentence

Status = Delivery.Status
# A page shows so many at most, the oldest: they are what is stuck. It says how many more there are.
SHOWN = 50


@dataclass(frozen=True, slots=True)
class Going:
    """A delivery as one viewer sees it."""

    delivery: Delivery
    agent_name: str
    by_webhook: bool
    steers: bool
    edits: bool

    @property
    def status(self) -> str:
        """For style sheets and scripts."""
        return self.delivery.status

    @property
    def word(self) -> str:
        """The state in words (design section 6)."""
        words = {
            Status.QUEUED: _("queued"),
            Status.SENDING: _("sending"),
            Status.FAILED: _("not sent"),
            Status.UNCONFIRMED: _("delivery unconfirmed"),
            Status.CONFIRMED: _("sent"),
            Status.DISCARDED: _("discarded"),
        }
        return words[Status(self.delivery.status)]

    @property
    def since(self) -> dt.datetime:
        """Since when it stands so; in the queue, since when it waits."""
        return self.delivery.created_at if self.status == Status.QUEUED else self.delivery.status_at

    @property
    def explanation(self) -> str:
        """What that means and what can be done, as a sentence."""
        if self.status == Status.QUEUED and self.delivery.error_code:
            again = date_format(localtime(self.delivery.due_at), "H:i:s")
            return _("%(error)s Next try at %(time)s.") % {"error": self.trouble, "time": again}
        if self.status == Status.QUEUED and self.by_webhook:
            return _("Waiting to be sent to %(agent)s.") % {"agent": self.agent_name}
        if self.status == Status.QUEUED:
            return _("Waiting for %(agent)s to take it.") % {"agent": self.agent_name}
        if self.status == Status.FAILED:
            return self.trouble
        if self.status == Status.UNCONFIRMED:
            return _("It may have arrived. Retry sends the same message, never a second one.")
        return ""

    @property
    def trouble(self) -> str:
        """What went wrong, in the viewer's language; an agent's own words as they are."""
        return self.delivery.error or sentence(self.delivery.error_code)

    @property
    def can_retry(self) -> bool:
        """Whether Retry stands beside it."""
        return self.steers and self.status in {Status.FAILED, Status.UNCONFIRMED}

    @property
    def can_discard(self) -> bool:
        """Whether Discard stands beside it."""
        return self.steers and self.status in {Status.QUEUED, Status.FAILED, Status.UNCONFIRMED}

    @property
    def can_edit(self) -> bool:
        """Whether its text may still be changed."""
        return self.edits and self.status == Status.QUEUED


@dataclass(frozen=True, slots=True)
class Outbox:
    """What a conversation's people wrote and its agent has not accepted yet, the oldest first."""

    rows: list[Going]
    more: int


def going(delivery: Delivery, actor: Actor, agent: Agent) -> Going:
    """A delivery for a viewer."""
    mine = actor.user is not None and delivery.author_id == actor.user.pk
    return Going(
        delivery=delivery,
        agent_name=agent.name,
        by_webhook=bool(agent.webhook_url),
        steers=may_steer(actor, delivery),
        edits=mine and not delivery.sent,
    )


def unsettled(place: int, streams: list[int]) -> QuerySet[Delivery]:
    """What of a conversation is on its way, but for answers; a reply to a question is for who may see that."""
    seen = Q(reply_to=None) | Q(reply_to__stream__in=streams)
    return Delivery.objects.filter(seen, conversation=place, status__in=OPEN, about="")


_open = Prepared(
    lambda place, streams: (
        unsettled(place, streams).select_related("author", "conversation__agent").order_by("pk")[: SHOWN + 1]
    ),
    int,
    list,
)


def outbox(conversation: Conversation, actor: Actor, streams: Sequence[Stream]) -> Outbox:
    """The messages on their way, but for answers: those stand with their question. `streams`: what the actor sees."""
    seen = [stream.pk for stream in streams]
    rows = _open(conversation.pk, seen)
    more = 0
    if len(rows) > SHOWN:
        more = unsettled(conversation.pk, seen).count() - SHOWN
    return Outbox([going(row, actor, conversation.agent) for row in rows[:SHOWN]], more)
