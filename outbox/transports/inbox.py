"""The agent's inbox: it takes deliveries with a lease, and says for each whether it accepted it (design section 5)."""

from __future__ import annotations

import datetime as dt
from typing import Any

from controlui.chat import clock
from controlui.chat.models import Agent, wire_time
from outbox.models import Attempt
from outbox.transitions import Claimed, claim_due, first_in_line

from .content import content

MAX_ITEMS = 20
SEEN_EVERY = dt.timedelta(minutes=1)


def take(agent: Agent, *, limit: int = MAX_ITEMS, session: str = "") -> list[Claimed]:
    """Leases what is first in line, at most one delivery of each conversation, the longest waiting first."""
    places = first_in_line(transport=Attempt.Transport.INBOX, agent_id=agent.pk, session=session, limit=limit)
    claims = (claim_due(place, transport=Attempt.Transport.INBOX) for place in places)
    return [claimed for claimed in claims if claimed is not None]


def note_reading(agent: Agent) -> None:
    """That the agent reads its inbox, for those who wait for it; written once a minute at most."""
    now = clock.now()
    if agent.inbox_read_at is None or now - agent.inbox_read_at > SEEN_EVERY:
        Agent.objects.filter(pk=agent.pk).update(inbox_read_at=now)
        agent.inbox_read_at = now


def item(claimed: Claimed) -> dict[str, Any]:
    """A leased delivery on the wire."""
    return content(claimed.delivery) | {"lease": claimed.lease, "leaseExpiresAt": wire_time(claimed.lease_until)}
