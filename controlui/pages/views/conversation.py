"""The page of a conversation, and older rows of it."""

from __future__ import annotations

from django.http import HttpResponse
from django.template.loader import render_to_string

from controlui.chat.queries import timeline
from controlui.pages.answering import undo_of
from controlui.pages.guard import PersonRequest, personal
from controlui.pages.page import PAGE, full_page, partial, place_of, rows_html


@personal("GET", "HEAD")
def conversation(request: PersonRequest, uid: str) -> HttpResponse:
    """The whole page, in the view that its address names."""
    place = place_of(request, uid)
    before = request.GET.get("before", "")[:64]
    return full_page(place, before=before, undo=undo_of(place, request.GET))


@personal("GET", "HEAD", fragment=True)
def older(request: PersonRequest, uid: str) -> HttpResponse:
    """The rows before a message, and the next way up."""
    place = place_of(request, uid)
    history = timeline(place.streams, before_uid=request.GET.get("before", "")[:64], limit=PAGE)
    context = {"conversation": place.conversation, "earlier": history.earlier}
    earlier = render_to_string("pages/_earlier.html", context, request=request)
    return HttpResponse(rows_html(place, history.rows) + partial("#earlier", "outerHTML", earlier))
