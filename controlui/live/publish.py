"""Sending to groups, after commit only. A lost message costs time, never truth (design rule 3)."""

from __future__ import annotations

import asyncio
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


# The loop that serves this process, and the sends under way on it (a task that nobody holds may vanish).
_loop: asyncio.AbstractEventLoop | None = None
_under_way: set[asyncio.Task[None]] = set()


def serve_on(loop: asyncio.AbstractEventLoop) -> None:
    """Says which loop serves: sends go there by themselves, and a person's POST does not wait for the fan-out."""
    global _loop  # noqa: PLW0603  (one serving loop per process)
    _loop = loop


def send(sendings: Sequence[Sending]) -> None:
    """Sends `(group, message)` pairs. The change is committed already, so trouble here is only logged:
    pages catch up by fetching and waiters by their slow re-check."""
    if not sendings:
        return
    try:
        if _loop is not None and _loop.is_running():
            _loop.call_soon_threadsafe(_start, sendings)
        else:
            async_to_sync(_send_all)(sendings)
    except Exception:
        log.exception("publish_failed", extra={"groups": len(sendings)})


def _start(sendings: Sequence[Sending]) -> None:
    task = asyncio.ensure_future(_send_all(sendings))
    _under_way.add(task)
    task.add_done_callback(_finish)


def _finish(task: asyncio.Task[None]) -> None:
    _under_way.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("publish_failed", exc_info=error)


def frame(group: str, payload: dict[str, Any]) -> Sending:
    """A sending that the consumer passes on to the browser as one JSON text frame."""
    return group, {"type": "frame", "payload": payload}


def close_sockets(user_id: int) -> None:
    """Closes every open socket of a person: signed out, revoked, or removed (style rule 28)."""
    send([(user_group(user_id), {"type": "revoke"})])
