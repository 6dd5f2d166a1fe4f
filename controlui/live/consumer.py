"""The socket: a pipe. Who may hear what is in the ticket; this decides nothing (style rule 24)."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs

from channels.generic.websocket import AsyncWebsocketConsumer

from . import tickets

# Application close codes: the page fetches (and so learns the truth) before it tries again.
REFUSED = 4401


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    """Joins the groups of a valid ticket and forwards frames. Whatever the browser sends is ignored."""

    joined: tuple[str, ...] = ()

    async def connect(self) -> None:
        """Accepts, then closes with 4401 when the ticket is bad: a refused handshake has no readable code."""
        user = self.scope.get("user")
        ticket = parse_qs(self.scope["query_string"].decode("latin-1")).get("t", [""])[0]
        groups = tickets.read(ticket, user.pk if user is not None and user.is_active else None)
        await self.accept()
        if groups is None:
            await self.close(REFUSED)
            return
        for group in groups:
            await self.channel_layer.group_add(group, self.channel_name)
        self.joined = tuple(groups)

    async def disconnect(self, code: int) -> None:
        """Leaves every group it joined."""
        for group in self.joined:
            await self.channel_layer.group_discard(group, self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Nothing is ever taken from a socket: each change is a POST."""

    async def frame(self, message: dict[str, Any]) -> None:
        """One JSON text frame to the browser."""
        await self.send(json.dumps(message["payload"]))

    async def revoke(self, message: dict[str, Any]) -> None:
        """The person signed out, or lost a right."""
        await self.close(REFUSED)
