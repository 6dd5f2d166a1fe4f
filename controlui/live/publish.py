"""Sending to groups, after commit only. A lost message costs time, never truth (design rule 3)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer

from .groups import user_group

log = logging.getLogger(__name__)

Sending = tuple[str, dict[str, Any]]


async def _send_all(sendings: Sequence[Sending]) -> None:
    layer = get_channel_layer()
    for group, message in sendings:
        await layer.group_send(group, message)


def send(sendings: Sequence[Sending]) -> None:
    """Sends `(group, message)` pairs. The change is committed already, so trouble here is only logged:
    pages catch up by fetching and waiters by their slow re-check."""
    if not sendings:
        return
    try:
        async_to_sync(_send_all)(sendings)
    except Exception:
        log.exception("publish_failed", extra={"groups": len(sendings)})


def frame(group: str, payload: dict[str, Any]) -> Sending:
    """A sending that the consumer passes on to the browser as one JSON text frame."""
    return group, {"type": "frame", "payload": payload}


def close_sockets(user_id: int) -> None:
    """Closes every open socket of a person: signed out, revoked, or removed (style rule 28)."""
    send([(user_group(user_id), {"type": "revoke"})])
