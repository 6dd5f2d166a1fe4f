"""The dock, summaries and timelines as HTML: one function each for page, htmx answer and push (style rule 17)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest
from django.template.loader import render_to_string

from controlui.chat import clock
from controlui.chat.live import render_row
from controlui.chat.models import Conversation, Stream, User
from controlui.chat.queries import PromptRow, Row

from . import queries
from .models import Draft, Prompt


def render_dock(
    request: HttpRequest | None,
    conversation: Conversation,
    user: User,
    view: queries.DockView,
    *,
    streams: Sequence[Stream],
    **more: Any,
) -> str:
    """The dock of one tab; an empty, hidden element when nothing waits."""
    undo = more.pop("undo", "")
    dock = queries.dock(conversation, user, view, streams=streams, **more)
    context = {"dock": dock, "conversation": conversation, "notice": more.get("notice", ""), "undo": undo}
    return render_to_string("questions/_dock.html", context, request=request)


def render_summary(
    request: HttpRequest | None,
    row: PromptRow,
    prompt: Prompt,
    user: User,
    draft: Draft | None,
    at: dt.datetime,
    *,
    acts: bool = True,
) -> str:
    """One prompt's row of the timeline, for one viewer. Not `acts`: one who only looks on, with no button."""
    shown = queries.summary(prompt, user, draft, at, acts=acts)
    context = {"row": row, "summary": shown, "conversation": prompt.conversation, "user": user}
    return render_to_string("questions/_summary.html", context, request=request)


def render_rows(request: HttpRequest | None, rows: Sequence[Row], user: User, *, acts: bool = True) -> str:
    """Timeline rows for one viewer, prompts among them, in a bounded number of queries."""
    at = clock.now()
    messages = [row.message for row in rows if isinstance(row, PromptRow)]
    prompts = queries.prompts_of(messages)
    drafts = queries.drafts_of(prompts.values(), user) if prompts else {}
    parts = []
    for row in rows:
        if isinstance(row, PromptRow):
            prompt = prompts.get(row.message.pk)
            if prompt is not None:
                parts.append(render_summary(request, row, prompt, user, drafts.get(prompt.pk), at, acts=acts))
        else:
            parts.append(render_row(row))
    return "".join(parts)
