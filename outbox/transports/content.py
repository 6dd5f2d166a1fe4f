"""What an agent gets to read of a delivery, by whichever transport."""

from __future__ import annotations

from typing import Any

from controlui.chat.models import wire_time
from outbox.models import Delivery


def content(delivery: Delivery) -> dict[str, Any]:
    """A delivery on the wire, without its lease. `messageId` is the message's id in history once it is accepted."""
    data: dict[str, Any] = {
        "id": delivery.uid,
        "sessionKey": delivery.conversation.key,
        "messageId": delivery.uid,
        "kind": "answer" if delivery.about else "message",
        "text": delivery.text,
        "author": delivery.author.username,
        "createdAt": wire_time(delivery.created_at),
    }
    if delivery.about:
        data["promptId"] = delivery.about_wire_id
    if delivery.answers is not None:
        data["answers"] = delivery.answers
    if delivery.reply_to is not None:
        data["replyTo"] = delivery.reply_to.uid
    return data
