"""The outbox as HTML: one function for page, htmx answer and live update (style rule 17)."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpRequest
from django.template.loader import render_to_string

from controlui.chat.access import Actor
from controlui.chat.models import Conversation, Stream

from . import queries


def render_outbox(
    request: HttpRequest | None, conversation: Conversation, actor: Actor, *, streams: Sequence[Stream]
) -> str:
    """What has not reached the agent yet; an empty, hidden list when there is nothing."""
    context = {"outbox": queries.outbox(conversation, actor, streams), "conversation": conversation}
    return render_to_string("outbox/_outbox.html", context, request=request)
