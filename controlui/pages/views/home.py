"""The start: the newest conversation in which something waits, else the newest, or an empty page."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render

from controlui.chat.access import Actor
from controlui.pages.guard import PersonRequest, personal
from controlui.pages.page import list_items
from questions.queries import waiting_total


@personal("GET", "HEAD")
def home(request: PersonRequest) -> HttpResponse:
    """Leads to where this person is needed, or was last."""
    actor = Actor(user=request.user)
    items = list_items(actor)
    if items:
        return redirect(next((item for item in items if item.waiting), items[0]).url)
    return render(request, "pages/home.html", {"items": items, "waiting": waiting_total(actor)})
