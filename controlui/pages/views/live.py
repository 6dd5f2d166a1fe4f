"""What has changed since a page was drawn: the truth behind every push (design rule 3)."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.template.loader import render_to_string

from controlui.chat.queries import changed_messages, rows_for, timeline
from controlui.pages.answering import undo_of
from controlui.pages.forms import number
from controlui.pages.guard import PersonRequest, personal
from controlui.pages.page import (
    PAGE,
    Place,
    composer_draft,
    dock_html,
    list_items,
    live_state,
    outbox_html,
    partial,
    place_of,
    rows_html,
    writes,
)
from questions.queries import waiting_counts


@personal("GET", "HEAD", fragment=True)
def live(request: PersonRequest, uid: str) -> HttpResponse:
    """304 when the page is up to date, else the parts of it that are not."""
    place = place_of(request, uid)
    waiting = waiting_counts(place.actor)
    items = list_items(place.actor, place.conversation, waiting)
    kept = composer_draft(place)
    state = live_state(place, items, waiting, kept)
    known = known_versions(request)
    same = known == {stream.uid: stream.version for stream in place.streams} and request.GET.get("d") == state.drafts
    if same:
        response = HttpResponse(status=304)
    else:
        context: dict[str, Any] = {"conversation": place.conversation, "live": state, "items": items}
        if request.GET.get("c") != state.composer:
            # Typed on another page, or saved while this one was already being loaded.
            context["composed"] = kept.text if kept else ""
            context["composer"] = {"alternate": bool(kept and kept.alternates)}
        parts = [
            rows_part(place, known),
            partial("#outbox", "outerMorph", outbox_html(place)),
            partial("#dock", "outerMorph", dock_html(place, undo=undo_of(place, request.GET))),
            partial("#conversations", "outerMorph", render_to_string("pages/_conversations.html", context, request)),
            notice_part(place, context),
            partial("#live", "outerMorph", render_to_string("pages/_live.html", context, request)),
        ]
        response = HttpResponse("\n".join(part for part in parts if part))
    response["X-Server-Now"] = str(state.now)
    return response


def notice_part(place: Place, context: dict[str, Any]) -> str:
    """The composer's notice of a text edited elsewhere, where the page has one and does not know it."""
    if "composer" not in context or not writes(place):
        return ""
    html = render_to_string("pages/_composer_notice.html", context, place.request)
    return partial("#composer-notice", "outerMorph", html)


def known_versions(request: PersonRequest) -> dict[str, int]:
    """The streams that the page knows, each with the version it shows."""
    pairs = (pair.rpartition(":") for pair in request.GET.getlist("s")[:100])
    return {stream: number(version) for stream, _colon, version in pairs if stream}


def rows_part(place: Place, known: dict[str, int]) -> str:
    """The rows changed since then; after a long absence the newest page instead of what was there."""
    changed = changed_messages(known, place.streams)
    if changed is None:
        history = timeline(place.streams, limit=PAGE)
        context = {"conversation": place.conversation, "earlier": history.earlier}
        earlier = render_to_string("pages/_earlier.html", context, place.request)
        rows = partial("#timeline", "innerHTML", rows_html(place, history.rows))
        return rows + partial("#earlier", "outerHTML", earlier)
    return partial("#timeline", "place", rows_html(place, rows_for(changed))) if changed else ""
