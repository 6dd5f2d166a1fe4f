"""What a conversation's page shows: gathered here once, for the whole page and for its parts."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from controlui.chat import access, clock
from controlui.chat.access import Actor
from controlui.chat.ids import new_uid
from controlui.chat.models import ComposerDraft, Conversation, Stream
from controlui.chat.prepared import Prepared
from controlui.chat.queries import ConversationItem, Row, conversation_list, timeline
from outbox.live import render_outbox
from questions import queries
from questions.live import render_dock, render_rows
from questions.queries import DockView

from .guard import PersonRequest

PAGE = 50

_composer_drafts = Prepared(lambda place, user: ComposerDraft.objects.filter(conversation=place, user=user), int, int)


@dataclass(frozen=True, slots=True)
class Place:
    """A person at a conversation, with the streams they may see, and how their tab looks at the dock.

    The streams are read before anything that is drawn from them: a page may show more than the version it
    names, never less (design rule 3).
    """

    request: PersonRequest
    actor: Actor
    conversation: Conversation
    streams: list[Stream]
    view: DockView

    @property
    def acts(self) -> bool:
        """Whether this person takes part in it, and does not only look on."""
        return access.participates(self.actor, self.conversation)

    @property
    def query(self) -> str:
        """The view as the end of an address: forms carry it, so that one comes back to the same view."""
        query = self.view.query_string()
        return f"?{query}" if query else ""

    @property
    def address(self) -> str:
        """The page in this view."""
        return reverse("conversation", args=[self.conversation.uid]) + self.query


def place_of(request: PersonRequest, uid: str, *, need: str = "read") -> Place:
    """The place that an address means. Raises NotFound, or Forbidden with `need="write"`."""
    actor = Actor(user=request.user)
    conversation = access.get_conversation_for(actor, uid, need=need)
    streams = access.visible_streams(actor, conversation)
    return Place(request, actor, conversation, streams, DockView.from_query(request.GET))


def moved(place: Place, view: DockView) -> Place:
    """The same place in another view, with the streams as they are now."""
    streams = access.visible_streams(place.actor, place.conversation)
    return Place(place.request, place.actor, place.conversation, streams, view)


@dataclass(frozen=True, slots=True)
class LiveState:
    """What a page knows and where it learns of more, as #live carries it."""

    streams: str
    drafts: str
    composer: str
    now: int
    waiting: int
    ticket: str


def title_of(conversation: Conversation) -> str:
    """What people call it. What an agent asks outside of any conversation has a place, and no name of its own."""
    if conversation.sessionless:
        return _("Questions from %(agent)s") % {"agent": conversation.agent.name}
    return str(conversation)


def list_items(
    actor: Actor, current: Conversation | None = None, waiting: dict[int, int] | None = None
) -> list[ConversationItem]:
    """The list of conversations with what waits in each (`waiting`, where it was read already)."""
    waiting = queries.waiting_counts(actor) if waiting is None else waiting
    conversations = conversation_list(actor, current, waiting)
    return [
        ConversationItem(
            conversation=item,
            title=title_of(item),
            url=reverse("conversation", args=[item.uid]),
            current=current is not None and item.pk == current.pk,
            waiting=waiting.get(item.pk, 0),
        )
        for item in conversations
    ]


def live_state(
    place: Place, items: list[ConversationItem], waiting: dict[int, int], kept: ComposerDraft | None
) -> LiveState:
    """The state of a page drawn now. `drafts` changes with the person's drafts and with the list, `composer`
    with what they have typed for the conversation (`kept`).
    """
    shown = "|".join(f"{item.conversation.uid}:{item.title}:{item.waiting}" for item in items)
    drafts = queries.drafts_token(place.conversation, place.request.user)
    composed = str(kept.revision) if kept else ""
    return LiveState(
        streams=" ".join(f"{stream.uid}:{stream.version}" for stream in place.streams),
        drafts=f"{drafts}~{zlib.crc32(f'{shown}|{composed}'.encode()):x}",
        composer=composed,
        now=int(clock.now().timestamp() * 1000),
        waiting=sum(waiting.values()),
        ticket=access.ticket_for(place.request.user, place.streams, get_language() or settings.LANGUAGE_CODE),
    )


def rows_html(place: Place, rows: list[Row]) -> SafeString:
    """Timeline rows for this person."""
    return mark_safe(render_rows(place.request, rows, place.request.user, acts=place.acts))  # noqa: S308  (made by templates)


def dock_html(place: Place, **more: Any) -> SafeString:
    """The dock of this tab; who only looks on has none: a question waits for others there."""
    streams = place.streams if place.acts else []
    html = render_dock(place.request, place.conversation, place.request.user, place.view, streams=streams, **more)
    return mark_safe(html)  # noqa: S308  (made by templates)


def outbox_html(place: Place) -> SafeString:
    """What has not reached the agent yet."""
    html = render_outbox(place.request, place.conversation, place.actor, streams=place.streams)
    return mark_safe(html)  # noqa: S308  (made by templates)


def composer_draft(place: Place) -> ComposerDraft | None:
    """What the person has typed for the conversation and not sent."""
    return next(iter(_composer_drafts(place.conversation.pk, place.request.user.pk)), None)


def composer(
    kept: ComposerDraft | None, *, text: str | None = None, revision: int = 0, error: str = ""
) -> dict[str, Any]:
    """The composer's inputs: the person's draft, and a key for the next message.

    `text`: what stands in it instead, begun from `revision`. A text that was typed elsewhere is announced, and never
    overwritten by what is typed here without knowing it.
    """
    present = kept.text if kept else ""
    if text is None or text == present:
        text, revision = present, kept.revision if kept else 0
    elsewhere = bool(kept and kept.alternates) or bool(present.strip() and text != present)
    return {
        "key": new_uid(),
        "tab": new_uid(),
        "text": text,
        "revision": revision,
        "alternate": elsewhere,
        "error": error,
    }


def has_own_composer() -> bool:
    """Whether our message box stands in the composer's slot, and no other template."""
    return bool(settings.COMPOSER_TEMPLATE == "pages/_composer.html")


def writes(place: Place) -> bool:
    """Whether this person has our message box before them."""
    return has_own_composer() and access.may_speak(place.actor, place.conversation)


def composer_html(place: Place, **more: Any) -> str:
    """The composer alone, for its own form's answer."""
    context = {
        "conversation": place.conversation,
        "composer": composer(composer_draft(place), **more),
        "query": place.query,
    }
    return render_to_string(settings.COMPOSER_TEMPLATE, context, request=place.request)


def full_page(
    place: Place,
    *,
    status: int = 200,
    before: str = "",
    composer_with: dict[str, Any] | None = None,
    **dock_with: Any,
) -> HttpResponse:
    """The whole page of a conversation. `dock_with`: notice, error, errors of the dock."""
    history = timeline(place.streams, before_uid=before or None, limit=PAGE)
    waiting = queries.waiting_counts(place.actor)
    items = list_items(place.actor, place.conversation, waiting)
    kept = composer_draft(place)
    live = live_state(place, items, waiting, kept)
    may_speak = access.may_speak(place.actor, place.conversation)
    title, agent_name = title_of(place.conversation), place.conversation.agent.name
    waits_here = any(item.current and item.waiting for item in items)
    context = {
        "conversation": place.conversation,
        "title": title,
        "agent_name": "" if agent_name == title or place.conversation.sessionless else agent_name,
        "rows": rows_html(place, history.rows),
        "earlier": history.earlier,
        "before": before,
        "outbox": outbox_html(place),
        "dock": dock_html(place, **dock_with),
        "view": place.view,
        "query": place.query,
        "composer": composer(kept, **(composer_with or {})),
        "composer_template": settings.COMPOSER_TEMPLATE,
        "may_speak": may_speak,
        "check_form": "dock-form"
        if waits_here and not place.view.folded
        else "composer"
        if may_speak and has_own_composer()
        else "",
        "items": items,
        "live": live,
        "waiting": live.waiting,
    }
    return render(place.request, "pages/conversation.html", context, status=status)


def partial(target: str, swap: str, html: str) -> str:
    """A part of an answer that belongs elsewhere on the page."""
    return f'<hx-partial hx-target="{target}" hx-swap="{swap}">{html}</hx-partial>'
