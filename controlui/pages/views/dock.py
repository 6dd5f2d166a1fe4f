"""The dock's one form, and the drafts that are saved while a person types in it."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect

from controlui.chat.models import Message
from controlui.chat.queries import rows_for
from controlui.errors import Conflict
from controlui.pages.answering import Outcome, find_prompt, press, still_open, undo_of
from controlui.pages.forms import DockForm
from controlui.pages.guard import PersonRequest, personal
from controlui.pages.page import Place, dock_html, full_page, moved, partial, place_of, rows_html
from questions.transitions import save_draft

SEE_OTHER = 303


@personal("GET", "POST")
def dock(request: PersonRequest, uid: str) -> HttpResponse:
    """One press on a button of the dock. A reload of what an error drew leads back to the page."""
    if request.method == "GET":
        return redirect("conversation", uid)
    place = place_of(request, uid)
    outcome = press(place, DockForm.read(request.POST))
    place = moved(place, outcome.view)
    if request.htmx:
        return fragment(place, outcome)
    if outcome.status == 200:
        undo = urlencode({"undo": outcome.undo}) if outcome.undo else ""
        address = f"{place.address}{'&' if place.query else '?'}{undo}" if undo else place.address
        return HttpResponseRedirect(f"{address}#dock", status=SEE_OTHER)
    return full_page(place, status=outcome.status, notice=outcome.notice, error=outcome.error, errors=outcome.errors)


def fragment(place: Place, outcome: Outcome) -> HttpResponse:
    """The dock as it is now, and the summary of a prompt that has left it."""
    undo = outcome.undo or undo_of(place, place.request.POST)
    said = {"notice": outcome.notice, "error": outcome.error, "errors": outcome.errors, "undo": undo}
    html = str(dock_html(place, **said))
    if outcome.ended is not None:
        message = Message.objects.select_related("author", "run", "stream").get(pk=outcome.ended.message_id)
        html += partial("#timeline", "place", rows_html(place, rows_for([message])))
    response = HttpResponse(html, status=outcome.status)
    response["HX-Replace-Url"] = place.address
    if place.request.POST.get("action") == "check":
        response["HX-Refresh"] = "true"
    return response


@personal("POST", fragment=True)
def draft(request: PersonRequest, uid: str) -> HttpResponse:
    """Keeps what is typed; says how it was stored. 409 when the prompt has ended: the text is kept all the same."""
    place = place_of(request, uid)
    form = DockForm.read(request.POST)
    prompt = find_prompt(place, form.view.prompt)
    saved = save_draft(
        prompt=prompt,
        user=request.user,
        values=form.values,
        tab=form.save.tab,
        tab_seq=form.save.tab_seq,
        revision=form.save.revision,
    )
    ended = still_open(prompt, form.view)
    if ended.ended is not None:
        raise Conflict(ended.notice, code="already_resolved", extra={"revision": saved.revision})
    return JsonResponse({"revision": saved.revision, "stored": saved.stored})
