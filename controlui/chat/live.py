"""Rows of the timeline as HTML, and the frames that carry them: rendered once per audience after commit."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import translation

from controlui.live import groups
from controlui.live.publish import Sending, frame

from .models import Conversation, Message, Stream
from .queries import DayRow, MessageRow, PromptRow, Row, WorkRow, rows_for

TEMPLATES = {DayRow: "chat/_day.html", MessageRow: "chat/_message.html", WorkRow: "chat/_work.html"}


def render_row(row: Row) -> str:
    """One row in the active language. A prompt's row is drawn by the questions app, per viewer."""
    assert not isinstance(row, PromptRow)
    return render_to_string(TEMPLATES[type(row)], {"row": row})


def languages() -> list[str]:
    """The shipped languages: a push is drawn in each of them."""
    return [code for code, _name in settings.LANGUAGES]


def frames(stream: Stream, version: int, messages: Sequence[Message]) -> list[Sending]:
    """What to send when a stream has a new version: the rows themselves where everybody sees them the same,
    else only that something changed (summaries hang on the viewer, the dock on the tab)."""
    if stream.prompts or not messages or any(message.kind == Message.Kind.PROMPT for message in messages):
        changed = {"type": "changed", "stream": stream.uid, "version": version}
        return [frame(groups.stream_group(stream.uid, language), changed) for language in languages()]
    rows = rows_for(messages)
    sendings = []
    for language in languages():
        with translation.override(language):
            html = "".join(render_row(row) for row in rows)
        payload = {"type": "rows", "stream": stream.uid, "version": version, "html": html}
        sendings.append(frame(groups.stream_group(stream.uid, language), payload))
    return sendings


def announcements(stream: Stream) -> list[Sending]:
    """That a stream has a version, for pages that may have missed it: the worker loop's reminder."""
    changed = {"type": "changed", "stream": stream.uid, "version": stream.version}
    return [frame(groups.stream_group(stream.uid, language), changed) for language in languages()]


def list_frames(stream: Stream, conversation: Conversation) -> list[Sending]:
    """That the number of what waits may have changed, for badges and titles of pages elsewhere.

    Only those hear of it who may see the stream: timing alone would tell of a hidden prompt (design rule 8).
    """
    if not stream.prompts:
        return []
    whose = groups.list_groups(stream.audience_id, conversation.uid)
    return [frame(group, {"type": "list"}) for group in whose]


def refresh_frames(stream: Stream, conversation: Conversation) -> list[Sending]:
    """That there is a stream which open pages have no ticket for: told to those who may see it, nobody else."""
    from .access import Actor, people_of, sees_prompts_for

    people = people_of(conversation)
    if stream.prompts:
        people = [one for one in people if sees_prompts_for(Actor(user=one), conversation, stream.audience_id)]
    return [frame(groups.user_group(person.pk), {"type": "refresh"}) for person in people]
