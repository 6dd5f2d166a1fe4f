"""The only door for changes of deliveries."""

from __future__ import annotations

import datetime as dt

from controlui.chat.errors import KeyReused
from controlui.chat.models import Conversation, Message, User
from controlui.chat.transitions import change
from controlui.chat.transitions.conversations import clean_text

from .models import Delivery


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
    The agent reads saved history, so the message is saved, and the delivery confirmed, in this transaction.
    Raises InvalidInput for a text that cannot be sent, KeyReused when the key carried another text.
    """
    text = clean_text(text)
    with change(conversation, at) as opened:
        earlier = Delivery.objects.filter(conversation=opened.conversation, key=key).first()
        if earlier is not None:
            if earlier.text != text or earlier.author_id != author.pk:
                raise KeyReused
            return earlier, False
        message = opened.add_message(
            stream=opened.stream(), kind=Message.Kind.PERSON, text=text, author=author, reply_to=reply_to
        )
        delivery = Delivery.objects.create(
            conversation=opened.conversation,
            author=author,
            key=key,
            text=text,
            reply_to=reply_to,
            status=Delivery.Status.CONFIRMED,
            message=message,
            created_at=opened.at,
        )
    return delivery, True
