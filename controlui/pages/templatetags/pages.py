"""Filters and tags of every template: text, times, icons."""

from __future__ import annotations

import datetime as dt
from typing import Any
from urllib.parse import quote

from django import template
from django.http import HttpRequest
from django.utils.safestring import SafeString, mark_safe

from controlui.chat.ids import new_uid
from controlui.chat.models import User
from controlui.chat.scopes import scopes_of
from controlui.pages import prose

register = template.Library()
register.filter("plain", prose.plain, is_safe=True)
register.filter("prose", prose.prose, is_safe=True)
register.filter("option_label", prose.option_label, is_safe=True)

ICONS = {
    "menu": "M4 7h16M4 12h16M4 17h10",
    "refresh": "M20 11a8 8 0 1 0-2 6M20 5v6h-6",
    "fold": "M6 9l6 6 6-6",
    "previous": "M14 6l-6 6 6 6",
    "next": "M10 6l6 6-6 6",
}
BUBBLE = "M6 4h20a4 4 0 0 1 4 4v12a4 4 0 0 1-4 4H15l-8 6v-6H6a4 4 0 0 1-4-4V8a4 4 0 0 1 4-4z"


@register.simple_tag
def icon(name: str) -> SafeString:
    """A drawn sign; the button around it carries the words."""
    return mark_safe(  # noqa: S308  (from the table above)
        f'<svg class="icon icon--{name}" viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">'
        f'<path d="{ICONS[name]}"/></svg>'
    )


@register.simple_tag
def favicon(waiting: int | str) -> str:
    """The page's icon as a data: address (it saves a request); with a dot while something waits."""
    dot = '<circle cx="25" cy="8" r="7" fill="#e0533d" stroke="#fff" stroke-width="2"/>' if waiting else ""
    drawing = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path fill="#3157a8" d="{BUBBLE}"/>{dot}</svg>'
    )
    return "data:image/svg+xml," + quote(drawing, safe="/:=' ")


@register.simple_tag
def fresh_id() -> str:
    """A name for this drawing of a form, so that without scripts each page counts as a tab of its own."""
    return new_uid()


@register.filter
def countdown(seconds: int) -> str:
    """Time left, in minutes and seconds as scripts count it down: 9:59."""
    minutes, seconds = divmod(max(0, seconds), 60)
    return f"{minutes}:{seconds:02}"


@register.filter
def epoch_ms(moment: dt.datetime | None) -> str:
    """A moment as scripts count time; empty for none."""
    return str(int(moment.timestamp() * 1000)) if moment else ""


@register.filter
def own_address(request: HttpRequest | Any) -> str:
    """Where the person is now, to come back to."""
    return str(request.get_full_path()) if isinstance(request, HttpRequest) else "/"


@register.filter
def may(user: User, scope: str) -> bool:
    """Whether the person has a scope: links to pages that would refuse them are not drawn."""
    return scope in scopes_of(user)
