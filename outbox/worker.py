"""Sends to webhooks: claims what is due, and hands each to a thread of its own, so that one that hangs holds up neither
other conversations nor the worker's sweeps. The inbox needs no worker: agents come and take."""

from __future__ import annotations

import datetime as dt
import logging
import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from django.conf import settings
from django.db import connection

from . import transitions
from .errors import LeaseLost
from .models import Attempt
from .transitions import Claimed
from .transports import webhook
from .transports.webhook import Reply

log = logging.getLogger(__name__)

# An attempt is over in a sixth of this; longer means that its worker was killed, and nobody knows.
SEND_LEASE = dt.timedelta(seconds=60)
# Of the threads of a process, one agent whose webhook hangs may hold so many.
PER_AGENT = 4


class Sender:
    """The threads of one process. Any number of processes may send: the claim decides.

    `on_free` is called, on the thread that became free, after each attempt.
    """

    def __init__(self, on_free: Callable[[], None] = lambda: None) -> None:
        self.threads = ThreadPoolExecutor(settings.WEBHOOK_SENDERS, thread_name_prefix="webhook")
        self.on_free = on_free
        self.under_way: dict[Future[None], int] = {}

    def send_due(self) -> int:
        """Claims as many as there are free threads, and starts them; how many."""
        self.under_way = {sending: agent for sending, agent in self.under_way.items() if not sending.done()}
        free = settings.WEBHOOK_SENDERS - len(self.under_way)
        if free <= 0:
            return 0
        busy = Counter(self.under_way.values())
        full = [agent for agent, number in busy.items() if number >= PER_AGENT]
        started = 0
        places = transitions.first_in_line(transport=Attempt.Transport.WEBHOOK, but=full, limit=2 * free)
        # Several workers look at once: each begins elsewhere, so that they do not meet at every row.
        random.shuffle(places)
        for place in places:
            if started == free:
                break
            if busy[place.agent_id] >= PER_AGENT:
                continue
            claimed = transitions.claim_due(place, transport=Attempt.Transport.WEBHOOK, lease=SEND_LEASE)
            if claimed is not None:
                self.start(claimed, place.agent_id)
                busy[place.agent_id] += 1
                started += 1
        return started

    def start(self, claimed: Claimed, agent: int) -> None:
        """One attempt on a thread."""
        sending = self.threads.submit(deliver, claimed)
        self.under_way[sending] = agent
        sending.add_done_callback(lambda _sent: self.on_free())

    def finish(self) -> None:
        """Waits for what is being sent; no attempt takes longer than webhook.TOTAL_SECONDS."""
        self.threads.shutdown(wait=True)


def deliver(claimed: Claimed) -> None:
    """One attempt on a thread of the sender; while that has nothing to say it holds no connection."""
    try:
        attempt(claimed)
    finally:
        connection.close()


def attempt(claimed: Claimed) -> None:
    """One attempt, and what it came to. Whatever goes wrong is written down and stops nobody else."""
    try:
        settle(claimed, webhook.send(claimed.delivery, claimed.delivery.conversation.agent))
    except LeaseLost:
        log.warning("webhook_lease_lost", extra={"delivery": claimed.delivery.uid})
    except Exception:
        # A poison message, or the database is gone. It is pushed ahead; if even that fails, its lease runs out.
        log.exception("webhook_failed", extra={"delivery": claimed.delivery.uid})
        set_aside(claimed)


def set_aside(claimed: Claimed) -> None:
    """After a fault of ours: nobody knows how far it came, so nothing is sent again by itself."""
    try:
        transitions.leave_unconfirmed(delivery=claimed.delivery, lease=claimed.lease, code="internal")
    except Exception:
        log.exception("webhook_not_set_aside", extra={"delivery": claimed.delivery.uid})


def settle(claimed: Claimed, reply: Reply) -> None:
    """The transition that a reply means."""
    delivery, lease = claimed.delivery, claimed.lease
    if reply.outcome == "accepted":
        transitions.confirm(delivery=delivery, lease=lease, http_status=reply.http_status)
    elif reply.outcome == "unknown":
        transitions.leave_unconfirmed(delivery=delivery, lease=lease, code=reply.code)
    elif reply.outcome == "later" and delivery.tries <= len(webhook.PAUSES):
        pause = max(webhook.PAUSES[delivery.tries - 1], reply.retry_after or dt.timedelta(0))
        transitions.postpone(
            delivery=delivery, lease=lease, pause=pause, code=reply.code, http_status=reply.http_status
        )
    else:
        transitions.fail(delivery=delivery, lease=lease, code=reply.code, http_status=reply.http_status)
